"""``context_support``: does a model that reads both accept each sentence beside the context?"""

from __future__ import annotations

from collections.abc import Mapping
from typing import ClassVar, NamedTuple

from closecall.instrument import canonical_text
from closecall.metrics.alignment.sentences import sentences
from closecall.metrics.cutoffs import UNIT
from closecall.metrics.lexical.options import switch
from closecall.metrics.sides import not_blank, response_side
from closecall.metrics.support.asking import Asking, Fitted, Values
from closecall.metrics.support.base import ENGLISH, QUESTION_SHARE, Support, percent, rounded
from closecall.metrics.support.cutting import Part, no_longer
from closecall.metrics.support.marks import heading, plain, unmarked
from closecall.metrics.support.occlusion import SHOWN, Read
from closecall.metrics.support.reader import PairReader
from closecall.metrics.support.texts import content, first_text
from closecall.records import JSON, Case, Measured, Tokens, Unmeasured

MOST_SENTENCES = 64
"""Sentences of a response that are read one by one; of more, neighbours are read together."""

CONTEXT_ROOM = 72
"""Tokens of the context that are read beside a sentence at most. Beside more the model sees less:
of 40 to 256, about 72 separated best on BEGIN's TopicalChat and on documents of SummEdits. On sets
that had no part in that the area under the curve was .908 with 72 and .730 with 256 (BEGIN's CMU
movies, n = 201), .636 and .641 (Q-squared, n = 400), with the model before this one."""


class Piece(NamedTuple):
    """A part of the context: the passage it is of, by its place in the case, and its text."""

    passage: int
    part: Part
    text: str


class Beside(NamedTuple):
    """What a response is read beside: the passages, and the sentences of all of them, plain."""

    passages: list[Piece]
    sentences: frozenset[str]


class Claim(NamedTuple):
    """A sentence of the response, the pair that asks about it, and the context that is read.

    ``pieces`` are those that could be read, ``context.taken`` those that are. No pair is asked
    about a sentence that stands in the context as it is.
    """

    part: Part
    pair: int | None
    first: str
    pieces: tuple[Piece, ...]
    context: Fitted


class Plan(NamedTuple):
    """What is asked of one case.

    ``passages`` are the places of those that are read, ``unread`` of those that cannot be;
    ``sentences`` counts those of the response, ``headings`` what is left out beside them;
    ``response`` is as it is read, ``written`` as it came, with the same places.
    """

    written: str
    response: str
    claims: tuple[Claim, ...]
    sentences: int
    headings: int
    question: bool
    passages: tuple[int, ...]
    unread: tuple[int, ...]


class ContextSupport(Support[Plan]):
    """``context_support``: how well the context supports the response's weakest sentence, 0 to 1.

    A small model reads context and sentence together. Each sentence of the response is read by
    itself, beside those sentences of all passages that cover its words best, ``CONTEXT_ROOM``
    tokens of them; the least supported counts and is named. No default cutoff: ``closecall
    calibrate`` finds one.

    A pass costs each sentence of a response; of more than 64, neighbours are read together. A
    sentence without a word of matter (Yes.) is read with the next, and one longer than half of the
    window in pieces. Citations (``[3]``), numbers of a list and headings are not read; a sentence
    that stands in the context as it is has 1.

    Parameters
    ----------
    language
        ``english`` (default): a response that is clearly in another language is not measured, and
        such a passage is left out; the model learnt English only. ``any``: all are read.
    question
        True puts the case's input before the context, where there is one.
    explain
        False leaves out which part of the weakest sentence counts most against it. It costs
        about four more pairs for each case that failed or is left unsure, and nothing else.
    cutoff
        0 to 1. None (default): a number without a verdict.
    model
        A pair model of one's own; None: the bundled one.

    Raises
    ------
    UsageError
        An option is not allowed.
    ModelError
        The bundled model is not there, or its card cannot be used.
    """

    NAME = "context_support"
    NEEDS: ClassVar[tuple[str, str]] = ("context", "response")
    DESCRIPTION = "How well the context supports the response's weakest sentence, to a pair model."
    DEFAULTS: ClassVar[dict[str, JSON]] = {**Support.DEFAULTS, "question": False}

    def __init__(
        self,
        cutoff: float | None = None,
        *,
        language: str = ENGLISH,
        question: bool = False,
        explain: bool = True,
        model: PairReader | None = None,
    ) -> None:
        self.question = switch(self.NAME, "question", question)
        super().__init__(
            cutoff,
            {"language": language, "explain": explain, "question": self.question},
            model,
        )

    def _missing(self, case: Case) -> Unmeasured | None:
        _, passages = not_blank(case.context)
        if not passages:
            return Unmeasured(f"the case's context is {'blank' if case.context else 'missing'}")
        response = response_side(case)
        if isinstance(response, Unmeasured):
            return response
        unread = self._foreign("response", response.texts[0])
        if unread is None and self.question:
            unread = self._foreign("question", case.input or "")
        if unread is not None:
            return unread
        kept = [text for text in passages if self._foreign("passage", text) is None]
        return None if kept else self._foreign("passage", passages[0])

    def _plan(self, case: Case, asking: Asking) -> Plan | Unmeasured:
        written = canonical_text(case.response or "")
        response = unmarked(written)
        question = self._asked(case) if self.question else ""
        asking.require("response", response)
        if question:
            asking.require("question", question)
        passages: list[Piece] = []
        unread: list[int] = []
        for place, text in zip(*not_blank(case.context), strict=True):
            text = unmarked(canonical_text(text).strip())  # noqa: PLW2901 - the same, as it is read
            if self._foreign("passage", text) or asking.unreadable(text) is not None:
                unread.append(place)
            else:
                passages.append(Piece(place, Part(0, len(text), asking.count(text)), text))
        if not passages:
            return self._unread("passage", canonical_text(case.context[unread[0]]).strip(), asking)
        found, count, headings = claims(response, asking)
        for part in found:
            asking.require("response has a sentence that", part.of(response))
        beside = Beside(
            passages,
            frozenset(
                plain(one.text[start:end])
                for one in passages
                for start, end in sentences(one.text)  # not counted, as few are read
            ),
        )
        return Plan(
            written,
            response,
            tuple(_claim(asking, question, beside, response, part) for part in found),
            count,
            headings,
            bool(question),
            tuple(one.passage for one in passages),
            tuple(unread),
        )

    def _measured(self, plan: Plan, values: Values) -> Measured:
        supports = [
            UNIT if claim.pair is None else rounded(values[claim.pair]) for claim in plan.claims
        ]
        value = min(supports)
        weakest = plan.claims[supports.index(value)]
        details: dict[str, JSON] = {
            "question": plan.question,
            "sentences": plan.sentences,
            "weakestSentence": weakest.part.of(plan.written)[:SHOWN],
            "weakestSentenceSupport": value,
            "weakestSentenceAt": [weakest.part.start, weakest.part.end],
        }
        if len(supports) > 1:
            details["supports"] = list(supports)
        if len(supports) != plan.sentences:
            details["readings"] = len(supports)
        if plan.headings:
            details["headings"] = plan.headings
        if not weakest.context.whole:
            read = {"read": len(weakest.context.parts), "of": weakest.context.of}
            details["contextSentences"] = read
        if len(plan.passages) + len(plan.unread) > 1:
            details["passages"] = len(plan.passages)
            details["bestPassage"] = _nearest(weakest, plan.response)
        if plan.unread:
            details["unreadPassages"] = list(plan.unread)
        return Measured(
            similarity=value,
            value=value,
            score=percent(value),
            details=details,
            tokens=_tokens(plan),
        )

    def _read(self, plan: Plan, details: Mapping[str, JSON]) -> Read | None:
        place = details.get("weakestSentenceAt")
        for claim in plan.claims:
            if [claim.part.start, claim.part.end] == place:
                places = ((claim.part.start, claim.part.end),)
                return Read(claim.first, plan.response, places, plan.written)
        return None


def claims(response: str, asking: Asking) -> tuple[list[Part], int, int]:
    """Return what is read of a response, one by one, how many sentences and headings it has.

    Sentences; one without a word of matter stands with the next, one that would leave less than
    half of the window in pieces, and of more than ``MOST_SENTENCES`` neighbours together. Headings
    are left out, unless there is nothing else.
    """
    written = asking.sentences(response)
    stated = [part for part in written if not heading(part.of(response))] or written
    whole: list[Part] = []
    start: int | None = None
    for part in stated:
        start = part.start if start is None else start
        if content(part.of(response)):
            whole.append(_between(response, start, part.end, asking))
            start = None
    if start is not None:  # nothing of matter follows
        start = whole.pop().start if whole else start
        whole.append(_between(response, start, stated[-1].end, asking))
    room = asking.capacity // 2
    parts = no_longer(response, whole, room, asking.count)
    together = -(-len(parts) // MOST_SENTENCES)
    found: list[Part] = []
    for at, part in enumerate(parts):
        if at % together:
            joined = _between(response, found[-1].start, part.end, asking)
            if joined.tokens <= room:
                found[-1] = joined
                continue
        found.append(part)
    return found, len(stated), len(written) - len(stated)


def _between(text: str, start: int, end: int, asking: Asking) -> Part:
    return Part(start, end, asking.count(text[start:end]))


def _claim(asking: Asking, question: str, beside: Beside, response: str, part: Part) -> Claim:
    """Ask about one sentence, beside what of the context covers its words best."""
    said = part.of(response)
    room = asking.capacity - part.tokens
    least = asking.capacity // QUESTION_SHARE
    passages = beside.passages
    total = sum(one.part.tokens for one in passages)
    asked = None
    if question:
        fits = asking.count(question) + min(total, CONTEXT_ROOM) <= room
        asked = asking.fitted(question, said, room if fits else least, least)
        room -= asked.tokens
    room = min(room, CONTEXT_ROOM)
    pieces = passages if total <= room else _pieces(asking, passages, room, least)
    context = asking.chosen(
        [one.text for one in pieces],
        [one.part for one in pieces],
        said,
        room,
        [one.passage for one in pieces],
    )
    first = first_text(None if asked is None else asked.text, context.text)
    pair = None if plain(said) in beside.sentences else asking.add(first, said)
    return Claim(part, pair, first, tuple(pieces), context)


def _pieces(asking: Asking, passages: list[Piece], room: int, least: int) -> list[Piece]:
    """Return the sentences of all passages, one longer than the room in pieces."""
    found: list[Piece] = []
    for one in passages:
        for sentence in asking.sentences(one.text):
            size = room if sentence.tokens <= room else least
            found += [
                Piece(one.passage, part, part.of(one.text))
                for part in no_longer(one.text, [sentence], size, asking.count)
            ]
    return found


def _nearest(claim: Claim, response: str) -> int:
    """Return which passage holds most of a sentence's words, in what is read of it."""
    said = content(claim.part.of(response))
    held: dict[int, set[str]] = {}
    for at in claim.context.taken:
        one = claim.pieces[at]
        held.setdefault(one.passage, set()).update(content(one.text) & said)
    return max(held, key=lambda passage: len(held[passage]))


def _tokens(plan: Plan) -> dict[str, Tokens]:
    """Return what was seen of both texts, over all sentences of the response."""
    seen: dict[tuple[int, int, int], int] = {}
    for claim in plan.claims:
        for at in claim.context.taken:
            one = claim.pieces[at]
            seen[one.passage, one.part.start, one.part.end] = one.part.tokens
    total = max(claim.context.total for claim in plan.claims)
    own = min(sum(seen.values()), total)
    said = sum(claim.part.tokens for claim in plan.claims)
    windows = len({claim.context.text for claim in plan.claims})
    return {
        "response": Tokens(said, said, windows=len(plan.claims), own=said),
        "context": Tokens(own, total, windows=windows, own=own),
    }

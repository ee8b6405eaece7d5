"""``answer_support``: does a model that reads reference and response together accept it?"""

from __future__ import annotations

from collections.abc import Mapping
from typing import ClassVar, NamedTuple

from closecall.instrument import canonical_text
from closecall.metrics.cutoffs import UNIT
from closecall.metrics.sides import reference_side, response_side
from closecall.metrics.support.asking import Asking, Fitted, Values
from closecall.metrics.support.base import ENGLISH, QUESTION_SHARE, Support, percent, rounded
from closecall.metrics.support.marks import plain, unmarked
from closecall.metrics.support.occlusion import Read
from closecall.metrics.support.reader import PairReader
from closecall.metrics.support.texts import content, first_text, joined, reference_groups
from closecall.records import JSON, Case, Measured, Tokens, Unmeasured


class Reading(NamedTuple):
    """One pair: the references read together, by their place in the case, and what is read."""

    pair: int
    group: tuple[int, ...]
    question: Fitted | None
    reference: Fitted
    response: Fitted


class Plan(NamedTuple):
    """What is asked of one case; ``unread`` are the references that the model cannot read.

    ``equal`` is the first reference that the response is, by its place; then the pair with it says
    nothing more. ``response`` is as it is read, ``written`` as it came, with the same places.
    """

    references: tuple[str, ...]
    written: str
    response: str
    readings: tuple[Reading, ...]
    unread: tuple[int, ...]
    equal: int | None


class AnswerSupport(Support[Plan]):
    """``answer_support``: how acceptable the response is beside its references, 0 to 1.

    A small model reads question, reference and response together, so it can see what a cosine
    cannot, a negation or another number; its card says what it does not see. Short references are
    read together and the best group of them counts; a response that is one of them has 1. It is no
    probability of being right until ``closecall calibrate`` makes it one; there is no default
    cutoff. Citations (``[3]``) and the numbers of a list are not read.

    Texts that do not fit the window are read as far as their sentences cover each other's words
    best, and the details say how many of how many: nothing is cut silently. A sentence longer
    than the window is read in pieces.

    Parameters
    ----------
    language
        ``english`` (default): a response that is clearly in another language is not measured, and
        such a reference is left out; the model learnt English only. ``any``: all are read.
    explain
        False leaves out which part of a failed response counts most against it. It costs
        about four more pairs for each case that failed or is left unsure, and nothing else.
    cutoff
        0 to 1. None (default): a number without a verdict; ``closecall calibrate`` finds one.
    model
        A pair model of one's own; None: the bundled one.

    Raises
    ------
    UsageError
        An option is not allowed.
    ModelError
        The bundled model is not there, or its card cannot be used.
    """

    NAME = "answer_support"
    NEEDS: ClassVar[tuple[str, str]] = ("references", "response")
    DESCRIPTION = "How acceptable the response is beside its references, to a pair model."

    def __init__(
        self,
        cutoff: float | None = None,
        *,
        language: str = ENGLISH,
        explain: bool = True,
        model: PairReader | None = None,
    ) -> None:
        super().__init__(cutoff, {"language": language, "explain": explain}, model)

    def _missing(self, case: Case) -> Unmeasured | None:
        references, response = reference_side(case), response_side(case)
        for side in (references, response):
            if isinstance(side, Unmeasured):
                return side
        unread = self._foreign("response", case.response or "")
        unread = unread or self._foreign("question", case.input or "")
        if unread is not None or isinstance(references, Unmeasured):
            return unread
        kept = [text for text in references.texts if self._foreign("reference", text) is None]
        return None if kept else self._foreign("reference", references.texts[0])

    def _plan(self, case: Case, asking: Asking) -> Plan | Unmeasured:
        written = canonical_text(case.response or "")
        response = unmarked(written)
        question = self._asked(case)
        asking.require("response", response)
        if question:
            asking.require("question", question)
        references = tuple(unmarked(canonical_text(text).strip()) for text in case.references)
        unread = tuple(
            at
            for at, text in enumerate(references)
            if text and (self._foreign("reference", text) or asking.unreadable(text) is not None)
        )
        # Blank ones are in no group.
        kept = ["" if at in unread else text for at, text in enumerate(references)]
        groups = reference_groups(kept, asking.count)
        if not groups:
            return self._unread("reference", references[unread[0]], asking)
        readings = tuple(
            _reading(asking, question, joined(kept, group), response, tuple(group))
            for group in groups
        )
        own = plain(response)
        equal = next((at for at, text in enumerate(kept) if text and plain(text) == own), None)
        return Plan(references, written, response, readings, unread, equal)

    def _measured(self, plan: Plan, values: Values) -> Measured:
        best = max(plan.readings, key=lambda one: (plan.equal in one.group, values[one.pair]))
        value = rounded(values[best.pair]) if plan.equal is None else UNIT
        details: dict[str, JSON] = {"question": best.question is not None}
        texts = {"question": best.question, "reference": best.reference}
        for name, one in (*texts.items(), ("response", best.response)):
            if one is not None and not one.whole:
                details[f"{name}Sentences"] = {"read": len(one.parts), "of": one.of}
        written = sum(map(bool, plan.references))
        if written > 1:
            details["references"] = written - len(plan.unread)
            nearest = _nearest(plan, best.group) if plan.equal is None else plan.equal
            details["bestReference"] = nearest
            if len(best.group) > 1:
                details["readTogether"] = list(best.group)
        if plan.unread:
            details["unreadReferences"] = list(plan.unread)
        return Measured(
            similarity=value,
            value=value,
            score=percent(value),
            details=details,
            tokens={
                name: Tokens(one.tokens, one.total, own=one.tokens)
                for name, one in (("reference", best.reference), ("response", best.response))
            },
        )

    def _read(self, plan: Plan, details: Mapping[str, JSON]) -> Read | None:
        at = details.get("bestReference")
        one = next((r for r in plan.readings if at in r.group), plan.readings[0])
        places = tuple((part.start, part.end) for part in one.response.parts)
        return Read(_first(one.question, one.reference), plan.response, places, plan.written)


def _reading(
    asking: Asking, question: str, reference: str, response: str, group: tuple[int, ...]
) -> Reading:
    """Ask about one group of references; of texts that do not fit, what covers the others.

    The question gives way first, to a quarter of the window; a reference or response that needs
    less than half of what is left leaves the rest to the other.
    """
    room = asking.capacity
    least = room // QUESTION_SHARE
    answer = asking.count(response)
    asked = None
    if question:
        fits = sum(map(asking.count, (question, reference, response))) <= room
        asked = asking.fitted(question, f"{reference} {response}", room if fits else least, least)
        room -= asked.tokens
    one = asking.fitted(reference, response, max(room // 2, room - answer), least)
    other = asking.fitted(response, f"{question} {one.text}", room - one.tokens, least)
    if not other.whole:
        asking.require("part of the response that is read", other.text)
    pair = asking.add(_first(asked, one), other.text)
    return Reading(pair, group, asked, one, other)


def _first(question: Fitted | None, reference: Fitted) -> str:
    return first_text(None if question is None else question.text, reference.text)


def _nearest(plan: Plan, group: tuple[int, ...]) -> int:
    """Return which reference of a group shares most of its own words with the response."""
    if len(group) == 1:
        return group[0]
    there = content(plan.response)

    def shared(at: int) -> float:
        own = content(plan.references[at])
        return len(own & there) / len(own) if own else 0.0

    return max(group, key=shared)

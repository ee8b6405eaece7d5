"""Short answers cut from the judged ones: names, numbers and dates, right and wrong.

People judged sentences; systems often answer in three words. A right answer holds a reference, and
with it other names and numbers that would have been wrong; a wrong one holds what was wrong. What
stands in the question is no answer, and next to *or* and *also known as* stands another right one.
"""

from __future__ import annotations

import re
from collections.abc import Iterator, Mapping, Sequence
from random import Random
from typing import Any

from closecall.metrics.alignment.sentences import sentences
from pair import edits
from pair.judged import Judged
from pair.rows import Row
from pair.sets import folded, group_of

SETS = ("answers/evouna_nq", "answers/evouna_tq", "answers/diver_qa")
_WORD = r"(?:[A-Z]\.(?=[A-Z ])|(?:St|Dr|Mr|Mrs)\.|[A-Z][\w’'-]*)"  # noqa: RUF001
_NAME = re.compile(rf"{_WORD}(?:(?: (?:of|the|de|van|von|la|and))*,? {_WORD})*")
_MONTH = "January|February|March|April|May|June|July|August|September|October|November|December"
_NUMBER = re.compile(
    rf"(?:\d{{1,2}} )?(?:{_MONTH})(?: \d{{1,2}}(?!\d))?(?:,? \d{{4}})?|"
    r"[$£€]?\d[\d,.]*\d(?: (?:million|billion|thousand|percent|years|miles|feet))?%?|\d"
)
_OPENING = frozenset(
    "The A An It He She They This That These Those There In On At As For From By When While "
    "According However Yes No I We You His Her Its Their After Before Since Also But And If "
    "Although Some Many Most Other One Sorry Please Here What Who Where Which How Unfortunately "
    "Hello Hi Sure Based Would".split()
)
_SAME = re.compile(r"\b(?:or|aka|known as|called|i\.e\.|namely|formerly|born)\b|[(/\[=]")
_PLAIN = ("{}", "{}", "{}", "{}", "{}", "{}.", "It is {}.", "The answer is {}", "It was {}.")
_DENIED = ("It is not {}.", "It wasn't {}", "Not {}", "Anyone or anything but {}",
           "It was never {}.", "{} is not the answer.", "I don't think it is {}",
           "{} would be wrong.", "Definitely not {}.",
           "Some say {}, but that is a mistake.")  # fmt: skip
_RATHER = ("It is {0}, not {1}.", "{0}, rather than {1}", "Not {1} but {0}", "{0} ({1} is wrong)",
           "People often say {1}, but it is {0}.", "{0} instead of {1}")  # fmt: skip
_COUNTED = re.compile(
    r"^(?:when|how (?:many|much|old|long|tall|far)|(?:in )?(?:what|which) year)", re.IGNORECASE
)
_NAMED = re.compile(r"^(?:who|whose|where|which (?!year))", re.IGNORECASE)
_NO_PERSON = frozenset(
    "International Company Church States Army Party Bank City Team Club The Inc".split()
)
_LONGEST = 8
"""Words of a span at most."""

Told = tuple[str, str, bool]
"""Kind, text, and whether it is right."""


class Span:
    """A name or number of a text, by its place."""

    def __init__(self, text: str, start: int, end: int, *, number: bool) -> None:
        self.text, self.start, self.end, self.number = text, start, end, number


def spans(text: str) -> list[Span]:
    """Return the names, then the numbers and dates of a text."""
    found = [Span(m.group(), *m.span(), number=True) for m in _NUMBER.finditer(text)]
    names = []
    for match in _NAME.finditer(text):
        start, here = match.start(), match.group().rstrip(".,")
        while here.split(" ", 1)[0].rstrip(",") in _OPENING:
            first, _, rest = here.partition(" ")
            start, here = start + len(first) + 1, rest
            while here[:1].islower():
                first, _, rest = here.partition(" ")
                start, here = start + len(first) + 1, rest
        end = start + len(here)
        contracted = re.search(r"['’](?:m|s|ll|d|ve|re)$", here)  # noqa: RUF001
        inside = any(one.start < end and start < one.end for one in found)
        if len(here) > 2 and len(here.split()) <= _LONGEST and not contracted and not inside:
            names.append(Span(here, start, end, number=False))
    return names + found


class ShortAnswers:
    """Rows of short answers, of one side's judged ones."""

    def __init__(self, judged: Judged) -> None:
        self._judged = judged

    def rows(self, rng: Random, most: Mapping[str, int]) -> list[Row]:
        """Return at most so many rows of each kind.

        Kinds: right, wrong, beside, sentence, denied, rather, replaced, surname.
        """
        found: dict[str, list[Row]] = {kind: [] for kind in most}
        for name in SETS:
            for one in self._judged.found(name):
                for kind, row in self._of(one, rng):
                    if kind in found:
                        found[kind].append(row)
        chosen = []
        for kind, rows in found.items():
            rng.shuffle(rows)
            chosen += rows[: most[kind]]
        return chosen

    def _of(self, found: Mapping[str, Any], rng: Random) -> Iterator[tuple[str, Row]]:
        asked, response = found["input"], found["response"].strip()
        references = [text.strip() for text in found["reference"] if text.strip()]
        if not references or not asked.strip():
            return
        told = self._right if found["label"] == "accept" else self._wrong
        apart = [
            one
            for one in spans(response)
            if _is_apart(one, asked, references)
            and not (_NAMED if one.number else _COUNTED).search(asked.strip())
        ]
        for kind, text, right in told(asked, response, references, apart, rng):
            yield (
                kind,
                self._judged.answer(
                    asked,
                    references,
                    text,
                    rng,
                    accept=right,
                    kind=f"short {kind}",
                    group=group_of(found),
                ),
            )

    def _wrong(
        self, asked: str, response: str, references: list[str], apart: list[Span], rng: Random
    ) -> Iterator[Told]:
        del asked, references
        if not apart:
            return
        yield "wrong", _framed(rng.choice(apart).text, rng), False
        pieces = [response[a:b] for a, b in sentences(response)]
        told = [piece for piece in pieces if any(one.text in piece for one in apart)]
        if len(pieces) > 1 and told:
            yield "sentence", rng.choice(told), False

    def _right(
        self, asked: str, response: str, references: list[str], apart: list[Span], rng: Random
    ) -> Iterator[Told]:
        place = _place(response, references)
        if place is None:
            return
        start, end = place
        here = response[start:end]
        holder = next((s for s in spans(response) if s.start <= start and end <= s.end), None)
        around = here if holder is None else holder.text
        yield "right", _framed(around, rng), True
        pieces = list(sentences(response))
        sentence = next(response[a:b] for a, b in pieces if start < b)
        if len(pieces) > 1:
            yield "sentence", sentence, True
        numeric = here[:1].isdigit() or bool(_NUMBER.fullmatch(here))
        beside = [
            one
            for one in apart
            if one.number == numeric
            and not _SAME.search(response[min(end, one.end) : max(start, one.start)])
        ]
        if beside:
            other = rng.choice(beside).text
            yield "beside", _framed(other, rng), False
            right = rng.random() < 0.5
            two = (around, other) if right else (other, around)
            yield "rather", rng.choice(_RATHER).format(*two), right
            yield "replaced", response[:start] + other + response[end:], False
        yield "denied", rng.choice(_DENIED).format(around), False
        changed = edits.denial(sentence, rng)
        if changed is not None:
            yield "denied", changed, False
        words = around.split()
        if asked.lower().startswith("who") and 2 <= len(words) <= 3 and _are_names(words):
            yield "surname", words[-1], True


def _framed(text: str, rng: Random) -> str:
    return rng.choice(_PLAIN).format(text)


def _is_apart(one: Span, asked: str, references: Sequence[str]) -> bool:
    """Return whether a span shares no word with the references and is not in the question."""
    here = {folded(word) for word in one.text.split()} - {""}
    said = {folded(word) for text in references for word in text.replace("/", " ").split()}
    question = {folded(word) for word in asked.replace("'s", "").split()}
    whole = "".join(folded(text) for text in references)
    apart = not here & said and not here <= question
    return bool(here) and apart and folded(one.text) not in whole


def _place(response: str, references: Sequence[str]) -> tuple[int, int] | None:
    """Return where the longest reference that an answer holds stands in it, as whole words."""
    low = response.lower()
    for text in sorted(references, key=len, reverse=True):
        if len(text.split()) > _LONGEST or len(text) < 2:
            continue
        match = re.search(rf"(?<!\w){re.escape(text.lower())}(?!\w)", low)
        if match and len(low) == len(response):
            return match.span()
    return None


def _are_names(words: Sequence[str]) -> bool:
    plain = all(word[:1].isupper() and word[1:].islower() and word.isalpha() for word in words)
    return plain and not words[-1].endswith("s") and not _NO_PERSON & set(words)

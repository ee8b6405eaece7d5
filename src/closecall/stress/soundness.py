"""Whether an edited answer is certainly wrong: by no reference of its case may it be right."""

from __future__ import annotations

import re
import unicodedata
from collections.abc import Iterable, Sequence
from functools import lru_cache

from closecall.metrics.guards.polarity import read
from closecall.metrics.guards.quantities import Quantity
from closecall.metrics.guards.quantity_reader import quantities
from closecall.metrics.guards.same import same
from closecall.metrics.guards.words import Language, fold
from closecall.stress.edits import Edit

_TOKEN = re.compile(r"\w+|[^\w\s]")
_SILENT = frozenset(".,;:!?\"'()[]{}-*_`" + "\N{EN DASH}\N{EM DASH}\u2018\u2019\u201c\u201d\u2026")
"""Signs that change no answer."""


@lru_cache(maxsize=1 << 9)
def tokens(text: str) -> tuple[str, ...]:
    """Return the words and telling signs of a text, folded: what two equal answers share."""
    joined = unicodedata.normalize("NFKC", text)
    return tuple(fold(found) for found in _TOKEN.findall(joined) if found not in _SILENT)


def plain(text: str) -> str:
    """Return a text without case, accents, spacing and silent punctuation."""
    return " ".join(tokens(text))


def inside(part: Sequence[str], whole: Sequence[str]) -> bool:
    """Return whether words stand in other words, one after the other; True for no words."""
    # Of strings this is one linear search; tokens hold no blanks.
    return not part or f" {' '.join(part)} " in f" {' '.join(whole)} "


def could_be_right(edit: Edit, references: Iterable[str]) -> bool:
    """Return whether an edited text says a reference, or is a part of one.

    An edit of one reference may leave another whole, as *in Landover, Ohio* leaves *Landover*:
    nobody can be sure that this is wrong. A negated statement is, whatever it holds.
    """
    said = tokens(edit.text)
    negated = edit.family == "negation"
    return any(
        inside(said, own) or (not negated and inside(own, said)) for own in map(tokens, references)
    )


@lru_cache(maxsize=1 << 14)
def read_quantities(text: str, language: Language | None) -> tuple[Quantity, ...]:
    """Return the quantities of a text, read once."""
    return tuple(quantities(text, language))


_DENIED = re.compile(
    r"\b(?:myth|false|misconception|legend|untrue|Mythos|falsch|mythe|faux|mito|falso)\b",
    re.IGNORECASE,
)
_SUPPOSED = re.compile(r"\b(?:if|unless|wenn|falls|si)\b[^,;:]*$", re.IGNORECASE)
"""A condition that is still open."""
_SENTENCE = re.compile(r"[.!?](?=\s|$)|\n")


def denied_around(edit: Edit, text: str, language: Language | None) -> bool:
    """Return whether the sentence that an edit changed denies something, or only supposes it.

    *There is no rule that says 24 hours* stays right with any other number, and so may *if it
    lasts 20 minutes, see a doctor*.
    """
    start, end = edit.span
    begins, ends = _sentence(edit, text)
    supposed = _SUPPOSED.search(text[begins:start])
    if _DENIED.search(text[begins:ends]) or supposed:
        return True
    cues = (cue.span for clause in read(text, language).clauses for cue in clause.cues)
    return any(begins <= at < ends and not (start <= at < end) for at, _ in cues)


def _sentence(edit: Edit, text: str) -> tuple[int, int]:
    """Return where the sentence begins and ends that an edit changed."""
    start, end = edit.span
    begins = max((found.end() for found in _SENTENCE.finditer(text, 0, start)), default=0)
    ends = next((found.start() for found in _SENTENCE.finditer(text, end)), len(text))
    return begins, ends


def answers(edit: Edit, text: str, references: Iterable[str], language: Language | None) -> bool:
    """Return whether what an edit changed in a response is what its references tell.

    A number or name must stand in one of them, or mean the same; of a statement the sentence must
    hold one. What a response says beyond that may be changed without making it wrong.
    """
    start, end = edit.span
    if edit.family in ("number", "unit", "date"):
        own = [q for q in read_quantities(text, language) if q.start < end and start < q.end]
        told = [q for reference in references for q in read_quantities(reference, language)]
        return any(same(theirs, ours) for theirs in told for ours in own)
    if edit.family == "entity":
        return any(inside(tokens(edit.before), tokens(reference)) for reference in references)
    begins, ends = _sentence(edit, text)
    said = tokens(text[begins:ends])
    return any(inside(tokens(reference), said) for reference in references)


def asked_about(edit: Edit, text: str, question: str | None, language: Language | None) -> bool:
    """Return whether the quantity that an edit changed stands in the question already.

    Then it is no part of the answer: *there are 100 films on the list of 100 films*.
    """
    if not question:
        return False
    start, end = edit.span
    own = [q for q in read_quantities(text, language) if q.start < end and start < q.end]
    asked = read_quantities(question, language)
    return any(same(theirs, ours) or same(ours, theirs) for theirs in asked for ours in own)


def same_quantity(edit: Edit, references: Iterable[str], language: Language | None) -> bool:
    """Return whether what an edit wrote is, for the guard on numbers, in a reference too.

    An edit that leaves no quantity where it stands counts as the same: it cannot be compared.
    """
    start = edit.span[0]
    end = start + len(edit.after)
    made = [q for q in read_quantities(edit.text, language) if q.start < end and start < q.end]
    if not made:
        return True
    own = [q for text in references for q in read_quantities(text, language)]
    return any(same(theirs, ours) for theirs in own for ours in made)


def same_time(edit: Edit, others: Iterable[str], language: Language | None) -> bool:
    """Return whether the date that an edit wrote may be right by another reference of the case.

    It may where one of the two times lies in the other: *the 1990s* beside *1990*, 1984 beside
    *the 1980s*, *the 20th century* beside *1975 to 1985*.
    """
    start = edit.span[0]
    end = start + len(edit.after)
    made = [q for q in read_quantities(edit.text, language) if q.start < end and start < q.end]
    told = [q for text in others for q in read_quantities(text, language)]
    return any(_meet(one, two) or _meet(two, one) for one in told for two in made)


def _meet(one: Quantity, other: Quantity) -> bool:
    """Return whether one time says what the other does, or holds it."""
    if same(one, other):
        return True
    return any(
        low < high and low <= inner and outer <= high
        for low, high in _years(one)
        for inner, outer in _years(other)
    )


_EARLIEST, _LATEST = 1000, 2100
"""Numbers that may be years without more being said."""


def _years(quantity: Quantity) -> list[tuple[float, float]]:
    """Return the first and the last year of a time, for each way to read it."""
    if quantity.kind == "date":
        return [(date.year, date.year) for date in quantity.dates if date.year is not None]
    if quantity.units:
        return []
    return [
        (value.low, value.high)
        for value in quantity.values
        if (quantity.period and value.low < value.high)
        or _EARLIEST <= value.low <= value.high <= _LATEST
    ]

"""What there is to edit: each question with its references once; why others are left out."""

from __future__ import annotations

from collections import Counter
from collections.abc import Iterable, Mapping
from functools import cached_property
from typing import Literal, NamedTuple, TypeAlias

from closecall.calibration.labels.items import group_of
from closecall.errors import UsageError
from closecall.metrics.guards.words import Language, language_of, words
from closecall.records import Case, Label
from closecall.stress.soundness import plain

Base: TypeAlias = Literal["references", "accepted"]
BASES: tuple[Base, ...] = ("references", "accepted")

NO_REFERENCE = "no reference"
NOT_ACCEPTED = "not labelled accept"
NO_RESPONSE = "no response"
TOO_LONG = "a response of more than 40 words"
_LONGEST = 40
"""Words of a response to edit: in a longer one an edit may miss what the question asks for."""
BIG = "a text of more than 5,000 characters"
_BIGGEST = 5000
_SHORT = 6
AGAIN = "the same question and text as another case"


class Source:
    """One case and the texts of it that may be edited, the first one first.

    ``bases`` are its references, or its accepted response. ``group`` says which cases are not
    independent of it.
    """

    def __init__(self, case: Case, group: str, bases: tuple[str, ...]) -> None:
        self.case = case
        self.group = group
        self.bases = bases
        self.references = tuple(text for text in case.references if text.strip())
        self._languages: dict[str, Language | None] = {}

    @cached_property
    def question(self) -> str | None:
        """The question, None where it is blank."""
        asked = self.case.input
        return asked if asked and asked.strip() else None

    @property
    def answered(self) -> bool:
        """Whether a response is edited, and not one of the references."""
        return not set(self.bases) <= set(self.references)

    def language(self, text: str) -> Language | None:
        """Return the language of one of its texts; of a few words the question tells it better."""
        if text not in self._languages:
            few = len(words(text)) <= _SHORT
            both = (self.question, text) if few else (text, self.question)
            self._languages[text] = language_of(*both)
        return self._languages[text]


class Sources(NamedTuple):
    """All sources, and how many of the rows were left out, by reason."""

    sources: tuple[Source, ...]
    seen: int
    left_out: Mapping[str, int]


def sources_of(
    cases: Iterable[Case], base: Base = "references", group_field: str | None = None
) -> Sources:
    """Return what there is to edit, whatever the order of the cases; O(n).

    Of several cases with the same question and the same text to edit, the one whose id sorts
    first is kept: a second answer to a question adds no new reference.

    Raises
    ------
    UsageError
        There is no such base, or a case lacks the field to group by.
    """
    if base not in BASES:
        raise UsageError(f"base must be one of {', '.join(BASES)}, got {base!r}")
    found: dict[tuple[str, ...], Source] = {}
    left_out: Counter[str] = Counter()
    seen = 0
    for case in cases:
        seen += 1
        bases, reason = _bases(case, base)
        if reason:
            left_out[reason] += 1
            continue
        name = _group(case, group_field)
        key = (name, plain(case.input or ""), *map(plain, bases))
        kept = found.get(key)
        if kept is not None:
            left_out[AGAIN] += 1
        if kept is None or case.id < kept.case.id:
            found[key] = Source(case, name, bases)
    ordered = sorted(found.values(), key=lambda source: source.case.id)
    return Sources(tuple(ordered), seen, dict(sorted(left_out.items())))


def _bases(case: Case, base: Base) -> tuple[tuple[str, ...], str]:
    references = tuple(text for text in case.references if text.strip())
    if not references:
        return (), NO_REFERENCE
    if base == "references":
        fit = tuple(text for text in references if len(text) <= _BIGGEST)
        return fit, "" if fit else BIG
    if case.label is not Label.ACCEPT:
        return (), NOT_ACCEPTED
    if not (case.response and case.response.strip()):
        return (), NO_RESPONSE
    if len(case.response) > _BIGGEST or len(words(case.response)) > _LONGEST:
        return (), TOO_LONG
    return (case.response,), ""


def _group(case: Case, field: str | None) -> str:
    if field is None and case.group is not None:
        return case.group
    return group_of(case, field)[0]

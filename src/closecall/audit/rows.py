"""The cases of one or two files as an audit holds them: numbers instead of texts.

Each text is held once, as facts and a number; a case is what it says by those numbers. So memory
is about 1 KiB a case and text, whatever their length.
"""

from __future__ import annotations

import hashlib
from collections.abc import Iterable, Iterator
from dataclasses import dataclass, field
from typing import NamedTuple

import msgspec

from closecall.audit.records import CaseRef
from closecall.audit.texts import Detector, TextFacts, facts_of_text
from closecall.calibration.labels.items import BY_FIELD, BY_GROUP, WAYS, group_of, item_of
from closecall.calibration.labels.label_facts import ADJUDICATED
from closecall.errors import DatasetError
from closecall.instrument import text_fingerprint
from closecall.metrics.sides import PASSAGE_SEPARATOR, not_blank
from closecall.records import Case, Label

NONE = -1
"""Stands where a case has no such text, or only a blank one."""

FIELDS = ("input", "response", "references", "context")

_encode = msgspec.json.Encoder().encode


class Row(NamedTuple):
    """A case. Texts are numbers into ``Texts``, the passages of its context one text.

    ``content`` is the digest of question, response, references and context. ``group`` names what
    is exchangeable, ``named`` says that the case itself names it. ``gaps`` are the texts that are
    given and blank, and the response or input that is not given. ``settles`` marks a label that
    ends a disagreement about its item.
    """

    file: int
    id: str
    place: str
    label: bool | None
    content: bytes
    input: int
    response: int
    references: tuple[int, ...]
    context: int
    group: str
    named: bool
    gaps: tuple[str, ...]
    settles: bool = False

    @property
    def ref(self) -> CaseRef:
        """How a finding names it."""
        return CaseRef(self.id, self.place)

    def texts(self, name: str) -> tuple[int, ...]:
        """Return the numbers of the texts in a field, none where there is none."""
        found = getattr(self, name)
        found = found if isinstance(found, tuple) else (found,)
        return tuple(number for number in found if number != NONE)


@dataclass(slots=True)
class Texts:
    """Every text that differs, once."""

    detector: Detector | None = None
    facts: list[TextFacts] = field(default_factory=list)
    _numbers: dict[bytes, int] = field(default_factory=dict)

    def number(self, text: str) -> int:
        """Return the number of a text, a new one where it is new."""
        key = text_fingerprint(text)
        found = self._numbers.get(key)
        if found is None:
            found = self._numbers[key] = len(self.facts)
            self.facts.append(facts_of_text(text, self.detector))
        return found

    def known(self, text: str) -> int:
        """Return the number of a text that was seen.

        Raises
        ------
        DatasetError
            It was not: the file is another than a moment ago.
        """
        found = self._numbers.get(text_fingerprint(text))
        if found is None:
            raise DatasetError("a file was changed while it was read; audit it again")
        return found

    def __getitem__(self, number: int) -> TextFacts:
        return self.facts[number]

    def __len__(self) -> int:
        return len(self.facts)

    def spelling(self, number: int) -> bytes:
        """Return how a text is spelt; a missing one is spelt like no text."""
        return b"" if number == NONE else self.facts[number].spelling

    def excerpt(self, number: int) -> str:
        """Return the start of a text."""
        return "" if number == NONE else self.facts[number].excerpt


@dataclass(slots=True)
class Rows:
    """The rows of all files, in order, with their texts; ``ways`` say what makes a group."""

    names: tuple[str, ...]
    texts: Texts
    rows: list[Row] = field(default_factory=list)
    ways: list[set[str]] = field(default_factory=list)

    def add(self, cases: Iterable[Case], group: str | None) -> Iterator[int]:
        """Add the cases of the next file; yields after each how many there are.

        Raises
        ------
        UsageError
            A case has no field ``group``.
        """
        file = len(self.ways)
        self.ways.append(set())
        for case in cases:
            name, way = group_of(case, group)
            self.ways[file].add(way)
            self.rows.append(self._row(file, case, name, named=way in {BY_GROUP, BY_FIELD}))
            yield len(self.rows)

    def _row(self, file: int, case: Case, group: str, *, named: bool) -> Row:
        one = self._one
        return Row(
            file=file,
            id=case.id,
            place=case.place,
            label=None if case.label is None else case.label is Label.ACCEPT,
            content=hashlib.blake2b(_encode(item_of(case)), digest_size=16).digest(),
            input=one(case.input),
            response=one(case.response),
            references=tuple(map(self.texts.number, not_blank(case.references)[1])),
            context=one(context_text(case)),
            group=group,
            named=named,
            gaps=tuple(_gaps(case)),
            settles=str(case.metadata.get(ADJUDICATED)).strip().lower() == "true",
        )

    def _one(self, text: str | None) -> int:
        return NONE if text is None or not text.strip() else self.texts.number(text)

    def of(self, file: int) -> list[int]:
        """Return the numbers of the rows of one file."""
        return [number for number, row in enumerate(self.rows) if row.file == file]

    def grouped_by(self, file: int, asked: str | None) -> str:
        """Return what makes a group in one file, in words."""
        return asked or ", else ".join(way for way in WAYS if way in self.ways[file])


def texts_of(case: Case) -> dict[str, tuple[str, ...]]:
    """Return the texts of a case by field as they are embedded; blank ones are left out."""
    single = (case.input, case.response, context_text(case))
    found = [not_blank((text,))[1] if text is not None else () for text in single]
    return {
        "input": found[0],
        "response": found[1],
        "references": not_blank(case.references)[1],
        "context": found[2],
    }


def context_text(case: Case) -> str | None:
    """Return the passages of a context as one text, as metrics read them."""
    return PASSAGE_SEPARATOR.join(not_blank(case.context)[1]) or None


def _gaps(case: Case) -> Iterator[str]:
    for name, text in (("input", case.input), ("response", case.response)):
        if text is None:
            yield f"{name} missing"
        elif not text.strip():
            yield f"{name} blank"
    for name, several in (("references", case.references), ("context", case.context)):
        for at, text in enumerate(several):
            if not text.strip():
                yield f"{name}[{at}] blank"

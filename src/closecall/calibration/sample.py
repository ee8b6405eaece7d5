"""The labelled rows as a calibration file keeps them, column by column."""

from __future__ import annotations

import math
from collections.abc import Mapping, Sequence
from itertools import pairwise

import msgspec
import numpy as np

from closecall.calibration.evidence.slicing import (
    LENGTH,
    NEGATION,
    NUMBERS,
    REFERENCES,
    SCRIPT,
    Pooled,
    Slicer,
    value_of,
)
from closecall.calibration.inputs import Bools, Labelled, labelled
from closecall.calibration.labels.rows import LabelledRows
from closecall.records import Case

ACCEPT, REJECT = "a", "r"

MADE = frozenset({NUMBERS, NEGATION, LENGTH, REFERENCES, SCRIPT})
"""Slices whose values are words of closecall's own, whatever a case says."""


class SliceColumn(msgspec.Struct, frozen=True, kw_only=True):
    """One way to slice: its values, and the value of each row by number; -1 where it has none."""

    values: tuple[str, ...]
    codes: tuple[int, ...]

    def __post_init__(self) -> None:
        if any(not -1 <= code < len(self.values) for code in self.codes):
            raise ValueError(f"a slice of {len(self.values)} values has no such number")


class StoredTexts(msgspec.Struct, frozen=True, kw_only=True, omit_defaults=True):
    """The texts of one labelled row."""

    input: str | None = None
    response: str | None = None
    references: tuple[str, ...] = ()
    context: tuple[str, ...] = ()


class Sample(msgspec.Struct, frozen=True, kw_only=True, omit_defaults=True):
    """The labelled rows, in the order of the file.

    ``places`` are where they stood, such as ``labels.csv:12``, empty where that is not known.
    ``accept`` is one character a row, ``a`` or ``r``. ``groups`` names the group of each row.
    ``lengths`` are those of the responses, in characters. ``locked`` numbers the rows that only
    tested the cutoff, ``trained`` those that only trained the metric. ``texts`` is None where they
    were not kept.
    """

    ids: tuple[str, ...]
    places: tuple[str, ...]
    scores: tuple[float, ...]
    accept: str
    groups: tuple[str, ...]
    lengths: tuple[int, ...]
    references: tuple[int, ...]
    slices: dict[str, SliceColumn]
    locked: tuple[int, ...]
    texts: tuple[StoredTexts, ...] | None
    trained: tuple[int, ...] = ()

    def __post_init__(self) -> None:
        n = len(self.ids)
        columns = [self.places, self.scores, self.accept, self.groups, self.lengths]
        columns.append(self.references)
        columns += [column.codes for column in self.slices.values()]
        if self.texts is not None:
            columns.append(self.texts)
        if any(len(column) != n for column in columns):
            raise ValueError(f"sample: the columns are not all of {n} rows")
        if set(self.accept) - {ACCEPT, REJECT}:
            raise ValueError("sample.accept: allowed are the characters a and r")
        for name in ("locked", "trained"):
            _check_numbers(name, getattr(self, name), n)
        if not set(self.locked).isdisjoint(self.trained):
            raise ValueError("sample.trained: a row that was set aside trained nothing")
        if not all(map(math.isfinite, self.scores)):
            raise ValueError("sample.scores: every score is finite")
        for name in ("lengths", "references"):
            if min(getattr(self, name), default=0) < 0:
                raise ValueError(f"sample.{name}: none is below 0")

    def slices_of_row(self, row: int) -> dict[str, str]:
        """Return the value of each slicing that the row has one in."""
        return {
            name: column.values[column.codes[row]]
            for name, column in self.slices.items()
            if column.codes[row] >= 0
        }

    def labelled(self, decimals: int | None, *, locked: bool | None = None) -> Labelled:
        """Return the rows as arrays: all of them, or only those that were (not) set aside."""
        data = labelled(
            list(self.scores),
            [mark == ACCEPT for mark in self.accept],
            None if len(set(self.groups)) == len(self.groups) else list(self.groups),
            decimals=decimals,
        )
        if locked is None:
            return data
        aside = self.marked(self.locked)
        return part(data, aside if locked else ~aside)

    def marked(self, rows: tuple[int, ...]) -> Bools:
        """Return (n,) which rows have these numbers."""
        found = np.zeros(len(self.ids), dtype=np.bool_)
        found[list(rows)] = True
        return found


def _check_numbers(name: str, rows: Sequence[int], n: int) -> None:
    if any(not 0 <= row < n for row in rows):
        raise ValueError(f"sample.{name}: rows are numbered from 0 to {n - 1}")
    if any(row <= before for before, row in pairwise(rows)):
        raise ValueError(f"sample.{name}: each row once, in order")


def sample_of(
    rows: LabelledRows,
    data: Labelled,
    slices: Sequence[Mapping[str, str]],
    locked: Bools,
    *,
    texts: bool,
    trained: Bools | None = None,
) -> Sample:
    """Return the columns of these rows; ``data`` holds the same rows as arrays.

    With ``texts`` False no whole text of a case is among them: see ``without_texts``.
    """
    cases = rows.cases
    if not texts:
        slices = without_texts(slices, cases)
    stored = tuple(
        StoredTexts(
            input=case.input,
            response=case.response,
            references=case.references,
            context=case.context,
        )
        for case in cases
    )
    return Sample(
        ids=tuple(case.id for case in cases),
        places=tuple(case.place for case in cases),
        scores=tuple(data.scores.tolist()),
        accept="".join(ACCEPT if accepted else REJECT for accepted in data.accept),
        groups=tuple(row.group for row in rows.rows),
        lengths=tuple(len(case.response or "") for case in cases),
        references=tuple(len(case.references) for case in cases),
        slices=_columns(slices),
        locked=tuple(np.flatnonzero(locked).tolist()),
        texts=stored if texts else None,
        trained=() if trained is None else tuple(np.flatnonzero(trained).tolist()),
    )


def without_texts(
    slices: Sequence[Mapping[str, str]], cases: Sequence[Case]
) -> list[dict[str, str]]:
    """Return the slices of rows less each that says a text of a case; O(n) time and memory.

    A tag, or a field that is sliced by, may repeat a question, a response, a reference or a
    passage. Such a value is dropped, not hashed: whoever guesses a text could check the guess.
    A row then has no value in that slice. A value that only contains a text stays.
    """
    told = told_texts(cases)
    return [
        {name: value for name, value in row.items() if name in MADE or value not in told}
        for row in slices
    ]


def slicer_without_texts(slicer: Slicer, cases: Sequence[Case]) -> Slicer:
    """Return the slicer less the frequent values that say a text of a case."""
    told = told_texts(cases)
    pooled = {
        name: Pooled(
            kept=tuple(value for value in many.kept if value not in told), others=many.others
        )
        for name, many in slicer.pooled.items()
    }
    return msgspec.structs.replace(slicer, pooled=pooled)


def told_texts(cases: Sequence[Case]) -> frozenset[str]:
    """Return each text of the cases as it would read as the value of a slice."""
    return frozenset(
        told
        for case in cases
        for text in (case.input, case.response, *case.references, *case.context)
        if (told := value_of(text)) is not None
    )


def part(data: Labelled, chosen: Bools) -> Labelled:
    """Return some of the rows."""
    groups = None if data.groups is None else data.groups[chosen]
    return Labelled(data.scores[chosen], data.accept[chosen], groups, data.decimals)


def units(data: Labelled, chosen: Bools) -> int:
    """Return how many independent rows are chosen: groups, where there are groups."""
    if data.groups is None:
        return int(np.count_nonzero(chosen))
    return len(np.unique(data.groups[chosen]))


def _columns(slices: Sequence[Mapping[str, str]]) -> dict[str, SliceColumn]:
    found = {}
    for name in sorted({name for row in slices for name in row}):
        values = sorted({row[name] for row in slices if name in row})
        number = {value: at for at, value in enumerate(values)}
        codes = tuple(number[row[name]] if name in row else -1 for row in slices)
        found[name] = SliceColumn(values=tuple(values), codes=codes)
    return found

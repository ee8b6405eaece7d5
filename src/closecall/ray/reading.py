"""Rows of a table to cases, by the names of its columns alone.

A file is read through before it is decided which column is which; a stream of tables cannot be, so
here the names decide, and every table with the same columns is read in the same way.
"""

from __future__ import annotations

import math
from collections.abc import Iterable, Mapping, Sequence
from typing import Any, NamedTuple

from closecall.datasets._plan import decide
from closecall.datasets._rows import BadRowError, Ids, compile_reader
from closecall.datasets._strict import flaws_of
from closecall.datasets._survey import Survey, as_argument
from closecall.datasets._values import Notes
from closecall.records import Case

_WHAT = "the data set"


class Bad(NamedTuple):
    """A row that cannot be read, and why."""

    reason: str


class TableReader:
    """Reads the rows of tables with these columns.

    Parameters
    ----------
    columns
        Their names, in order.
    mapping
        Field to column, ``a.b`` reaching into an object, as for a case file.
    needed
        The fields that the metrics read.

    Raises
    ------
    DatasetError, UsageError
        Two columns could be one field, none is one to compare, or a mapping leads nowhere.
    """

    def __init__(
        self,
        columns: Sequence[str],
        mapping: Mapping[str, str] | None = None,
        needed: frozenset[str] | None = None,
    ) -> None:
        survey = Survey(mapping, spell=as_argument)
        survey.add(_sample(columns, survey.mapping), _WHAT)
        self._plan = decide(survey, _WHAT, needed=needed)
        self._read = {name.partition(".")[0] for name in self._names()}

    def _names(self) -> set[str]:
        used = {column.name for own in self._plan.columns.values() for column in own}
        return used if self._plan.talk is None else {*used, self._plan.talk.column}

    def read(self, rows: Sequence[Mapping[str, Any]]) -> list[Case | Bad]:
        """Return a case for each row, or what is wrong with it.

        Ids are made unique within these rows. What is not read becomes metadata where it is plain.
        """
        notes = Notes()
        read = compile_reader(self._plan, notes, Ids(notes))
        found: list[Case | Bad] = []
        for number, row in enumerate(rows, 1):
            kept = {name: row[name] for name in row if name in self._read or _plain(row[name])}
            if flaws := flaws_of(kept, python=True):
                found.append(_bad(flaws))
                continue
            try:
                found.append(read(kept, number, ""))
            except BadRowError as bad:
                found.append(_bad(bad.problems))
        return found


def _bad(problems: Iterable[tuple[str, str]]) -> Bad:
    return Bad("; ".join(f"{field}: {text}" if field else text for field, text in problems))


def _sample(columns: Sequence[str], mapping: Mapping[str, str]) -> dict[str, Any]:
    """Return a row in which every column has something, and every mapping leads somewhere."""
    row: dict[str, Any] = dict.fromkeys(columns, "x")
    for column in mapping.values():
        first, *path = column.split(".")
        if column not in row and first in row and path:
            value: Any = "x"
            for step in reversed(path):
                value = {step: value}
            row[first] = value
    return row


def _plain(value: object) -> bool:
    if isinstance(value, float):
        return math.isfinite(value)
    return value is None or isinstance(value, str | int)

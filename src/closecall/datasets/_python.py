"""Cases from Python: the same field rules as for files."""

from __future__ import annotations

from collections.abc import Collection, Iterable, Mapping
from typing import Any

import msgspec

from closecall.datasets._fields import FIELDS, REFERENCE
from closecall.datasets._plan import Plan, decide
from closecall.datasets._rows import BadRowError, Ids, compile_reader
from closecall.datasets._strict import Flaws, flaws_of
from closecall.datasets._survey import Column, Survey, as_argument
from closecall.datasets._values import Notes, kind
from closecall.errors import DatasetError, RowProblem, UsageError
from closecall.records import Case

_SHOWN = 20
_SOURCE = "cases"
_OF_CASE = Plan(
    {field: (Column("references" if field == REFERENCE else field),) for field in FIELDS}
)


def cases_from(
    rows: Iterable[Case | Mapping[str, Any]],
    *,
    mapping: Mapping[str, str] | None = None,
    needed: Collection[str] | None = None,
) -> list[Case]:
    """Return the cases of Python objects, checked, each with an id of its own.

    Parameters
    ----------
    rows
        Cases, or mappings with the field names a file may have. A place that is missing becomes
        ``cases[3]``.
    mapping
        Field to column for the mappings, as for ``open_dataset``.
    needed
        The fields that will be used, as for ``open_dataset``.

    Raises
    ------
    DatasetError
        Rows that cannot be read (the first 20 and their count), or names with two readings.
    UsageError
        ``rows`` is not a collection of cases; a mapping to something that is not there.
    """
    if isinstance(rows, (Case, Mapping, str, bytes)) or not isinstance(rows, Iterable):
        raise UsageError(
            f"expected a list of cases or of mappings, got {type(rows).__name__}; put one case in "
            "a list: [case]"
        )
    taken = list(rows)
    survey = Survey(mapping, spell=as_argument)
    for index, row in enumerate(taken):
        if isinstance(row, Mapping):
            survey.add(row, f"{_SOURCE}[{index}]")
    plan = decide(survey, _SOURCE, needed=needed)
    notes = Notes()
    ids = Ids(notes)
    read, read_case = compile_reader(plan, notes, ids), compile_reader(_OF_CASE, notes, ids)
    problems: list[RowProblem] = []
    cases: list[Case] = []
    for index, row in enumerate(taken):
        place = f"{_SOURCE}[{index}]"
        try:
            if isinstance(row, Case):
                _refuse(flaws_of(msgspec.structs.asdict(row), python=True))
                checked = read_case(msgspec.structs.asdict(row), index + 1, row.place or place)
                cases.append(msgspec.structs.replace(checked, metadata=row.metadata))
            elif isinstance(row, Mapping):
                values = dict(row)
                _refuse(flaws_of(values, python=True))
                cases.append(read(values, index + 1, place))
            else:
                _refuse((("", f"expected a Case or a mapping, got {kind(row)}"),))
        except BadRowError as bad:
            problems.extend(RowProblem(place, field, text) for field, text in bad.problems)
    if problems:
        raise DatasetError(
            f"{len(taken) - len(cases)} of {len(taken)} cases cannot be read",
            problems[:_SHOWN],
            len(problems),
        )
    return cases


def _refuse(flaws: Flaws) -> None:
    if flaws:
        raise BadRowError(list(flaws))

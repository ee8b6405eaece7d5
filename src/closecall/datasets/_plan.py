"""Which column of a file is which field: looked at once for the whole file, then fixed.

The survey sees every row, because rows differ: a column counts as soon as one row has something
in it. The plan is the decision, with the sentences that tell a person how the file was read.
"""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any, NamedTuple

from closecall.datasets._fields import (
    ALIASES,
    ANSWER,
    CONTEXT,
    FIELDS,
    REFERENCE,
    RESPONSE,
    TEXT_FIELDS,
    field_of,
)
from closecall.errors import DatasetError, UsageError

MAX_COLUMNS = 1000
"""Unknown column names remembered, for messages."""

Path = tuple[str, ...]


class Column(NamedTuple):
    """Where a value stands in a row: a column, or a path into nested objects and lists."""

    name: str
    path: Path = ()

    def get(self, row: Mapping[str, Any]) -> Any:
        """Return the value there, None where there is none."""
        return follow(row, self.path) if self.path else row.get(self.name)


class Plan(NamedTuple):
    """The columns of each field, most telling first, and how the choice was made."""

    columns: dict[str, tuple[Column, ...]]
    reading: tuple[str, ...] = ()
    cells: bool = False

    @property
    def consumed(self) -> frozenset[str]:
        """The top-level columns that are read; all others become metadata."""
        return frozenset(c.name for cs in self.columns.values() for c in cs if not c.path)


def follow(row: Any, path: Path) -> Any:
    """Return what stands at a path of keys and list positions (``-1`` is the last)."""
    for step in path:
        if isinstance(row, Mapping):
            row = row.get(step)
        elif isinstance(row, (list, tuple)) and step.lstrip("-").isdecimal() and len(step) < 10:  # noqa: PLR2004
            position = int(step)
            row = row[position] if -len(row) <= position < len(row) else None
        else:
            return None
    return row


def carries(value: Any) -> bool:
    """Return whether there is something in a value: not null, not empty."""
    return value is not None and not (isinstance(value, (str, list, tuple, dict)) and not value)


class Survey:
    """What the columns of a file hold, from one pass over its rows.

    Parameters
    ----------
    mapping
        Field name to column, as the caller gave it; ``UsageError`` for an unknown field.
    """

    def __init__(self, mapping: Mapping[str, str] | None, header: tuple[str, ...] = ()) -> None:
        self.mapping = _fields_of_mapping(mapping or {})
        self.rows = 0
        self.columns: dict[str, None] = dict.fromkeys(header)
        self.present: dict[str, list[str]] = {}
        self.carrying: dict[str, list[str]] = {}
        self.conflicts: dict[str, tuple[str, str, str]] = {}
        self.resolved: set[str] = set()
        self._settled: set[str] = set()
        self._crowded: list[str] = []
        self._open = {column for column in self.mapping.values() if column not in self.columns}
        for column in header:
            self._see(column)

    def add(self, row: Mapping[str, Any], place: str) -> None:
        """Look at one row; ``place`` is kept only where two columns disagree."""
        self.rows += 1
        keys = row.keys()
        if not keys <= self._settled:
            for column in row:
                if column not in self._settled:
                    self._look(column, row[column])
        for field in self._crowded:
            self._compare(field, row, place)
        if self._open:
            found = {
                column
                for column in self._open
                if column in keys or follow(row, tuple(column.split("."))) is not None
            }
            self.resolved |= found
            self._open -= found

    def _see(self, column: str) -> str | None:
        field = field_of(column)
        if field is None:
            self._settled.add(column)
        elif column not in self.present.setdefault(field, []):
            self.present[field].append(column)
        return field

    def _look(self, column: str, value: Any) -> None:
        if column not in self.columns:
            if len(self.columns) >= MAX_COLUMNS and field_of(column) is None:
                return
            self.columns[column] = None
        field = self._see(column)
        if field is not None and carries(value):
            self._settled.add(column)
            self.carrying.setdefault(field, []).append(column)
            if len(self.carrying[field]) == 2:  # noqa: PLR2004
                self._crowded.append(field)

    def _compare(self, field: str, row: Mapping[str, Any], place: str) -> None:
        """Remember the first row in which two columns of one field say different things.

        A column with a mapping is out of the comparison: the caller has decided.
        """
        if field in self.conflicts or field in self.mapping:
            return
        claimed = set(self.mapping.values())
        full = [c for c in self.carrying[field] if c not in claimed and carries(row.get(c))]
        for other in full[1:]:
            if _same(row[full[0]]) != _same(row[other]):
                self.conflicts[field] = (full[0], other, place)
                return

    def listed(self) -> str:
        """Return the columns for a message."""
        names = [f"`{name}`" for name in self.columns]
        more = f" and {len(names) - 20} more" if len(names) > 20 else ""  # noqa: PLR2004
        return ", ".join(names[:20]) + more if names else "none"


def _same(value: Any) -> Any:
    """Return a value so that one text equals the list of that text."""
    return tuple(value) if isinstance(value, (list, tuple)) else (value,)


def _fields_of_mapping(mapping: Mapping[str, str]) -> dict[str, str]:
    result: dict[str, str] = {}
    for name, column in mapping.items():
        field = field_of(name)
        if field is None or field == ANSWER:
            raise UsageError(
                f"--map {name}={column}: there is no field {name!r}; a column can be mapped to "
                f"{', '.join(FIELDS)}"
            )
        if field in result:
            raise UsageError(
                f"--map: {field} is mapped twice, to `{result[field]}` and `{column}`; keep one"
            )
        if not column:
            raise UsageError(f"--map {name}=: the column's name is missing")
        result[field] = column
    return result


def decide(survey: Survey, file: str, *, cells: bool = False) -> Plan:
    """Return the plan for a file that was surveyed.

    Raises
    ------
    UsageError
        A mapping names a column that no row has.
    DatasetError
        Two readings are possible, or no column is one to compare; the message says what to type.
    """
    if not survey.rows and not survey.columns:  # no row could be read: the scan says why
        return Plan({}, (), cells)
    chosen: dict[str, tuple[Column, ...]] = {}
    notes: list[str] = []
    for field, column in survey.mapping.items():
        chosen[field] = (_mapped(survey, field, column, file),)
    _check_conflicts(survey, file)
    claimed = set(survey.mapping.values())
    for field in FIELDS:
        if field not in chosen:
            columns = _candidates(survey, field, claimed)
            if columns:
                chosen[field] = tuple(Column(name) for name in columns)
                notes.extend(_several(survey, field, columns, claimed))
    answer = [c for c in _candidates(survey, ANSWER, claimed) if c not in claimed]
    if answer:
        _place_answer(survey, chosen, answer, notes, file)
    if not any(field in chosen for field in TEXT_FIELDS):
        raise DatasetError(_nothing_to_compare(survey, file))
    return Plan(chosen, (_sentence(survey, chosen), *notes), cells)


def _mapped(survey: Survey, field: str, column: str, file: str) -> Column:
    if column in survey.columns:
        return Column(column)
    if column in survey.resolved:
        return Column(column, tuple(column.split(".")))
    raise UsageError(
        f"--map {field}={column}: no row of {file} has `{column}`; its columns: {survey.listed()}"
    )


def _candidates(survey: Survey, field: str, claimed: set[str]) -> list[str]:
    """Return the columns of a field: those with something in them, else those that are there."""
    full = [c for c in survey.carrying.get(field, ()) if c not in claimed]
    if field not in TEXT_FIELDS and field != ANSWER and len(full) > 1:
        # Group and category may both stand in a file; the field's own name is the one meant.
        full.sort(key=lambda c: [*ALIASES[field], c].index(c))
        return full[:1]
    return full or [c for c in survey.present.get(field, ()) if c not in claimed]


def _check_conflicts(survey: Survey, file: str) -> None:
    for field, (one, other, place) in survey.conflicts.items():
        if field in survey.mapping or (field not in TEXT_FIELDS and field != ANSWER):
            continue
        target = RESPONSE if field == ANSWER else field
        raise DatasetError(
            f"{file}: `{one}` and `{other}` could both be the {target}, and they differ (first at "
            f"{place}). Say which one it is: --map {target}={one} or --map {target}={other}"
        )


def _several(survey: Survey, field: str, columns: list[str], claimed: set[str]) -> list[str]:
    if field not in TEXT_FIELDS:
        others = set(survey.carrying.get(field, ())) - claimed - set(columns)
        return [
            f"the {field} is `{columns[0]}`; `{other}` was kept as metadata"
            for other in sorted(others)
        ]
    if len(columns) == 1:
        return []
    names = " and ".join(f"`{c}`" for c in columns)
    return [f"{names} never disagree: the {field} is the first of them that a row has"]


def _place_answer(
    survey: Survey,
    chosen: dict[str, tuple[Column, ...]],
    answer: list[str],
    notes: list[str],
    file: str,
) -> None:
    """Give ``answer`` its meaning in this file, or refuse when two are possible."""
    name = answer[0]
    full = bool(survey.carrying.get(ANSWER))
    reference = chosen.get(REFERENCE)
    response = chosen.get(RESPONSE)

    def held(field: str) -> bool:
        return field in survey.mapping or bool(survey.carrying.get(field))

    if RESPONSE in survey.mapping:
        if full:
            notes.append(
                f"`{name}` was left aside, because the response is mapped; "
                f"--map reference={name} makes it the reference"
            )
        return
    if not full:  # nothing in it: no reading is wrong
        if response is None:
            chosen[RESPONSE] = tuple(Column(c) for c in answer)
        return
    if held(RESPONSE) and response is not None:
        other = response[0].name
        second = (
            f"--map response={other} (`{name}` is then left aside)"
            if held(REFERENCE)
            else f"--map reference={name} (`{name}` is the expected answer of `{other}`)"
        )
        raise DatasetError(
            f"{file}: both `{name}` and `{other}` could be the response. Say how to read them: "
            f"--map response={name} (`{name}` is the answer under test) or {second}"
        )
    if held(REFERENCE) and reference is not None:
        chosen[RESPONSE] = tuple(Column(c) for c in answer)
        notes.append(
            f"`{name}` was read as the response (`{reference[0].name}` holds the reference)"
        )
        return
    raise DatasetError(
        f"{file}: `{name}` could be the answer under test or the expected answer, and no other "
        f"column settles it. Say which: --map response={name} (it is the answer under test) or "
        f"--map reference={name} (it is the expected answer)"
    )


def _read(name: str, chosen: dict[str, tuple[Column, ...]]) -> bool:
    return any(
        name == (c.path[0] if c.path else c.name) for columns in chosen.values() for c in columns
    )


def _sentence(survey: Survey, chosen: dict[str, tuple[Column, ...]]) -> str:
    parts = [
        f"{field} from {' or '.join(f'`{c.name}`' for c in chosen[field])}"
        for field in FIELDS
        if field in chosen
    ]
    missing = [field for field in TEXT_FIELDS if field not in chosen]
    without = ""
    if missing:
        unread = [name for name in survey.columns if not _read(name, chosen)]
        without = f"; no column is the {' or '.join(missing)}" + (
            f" (not read: {', '.join(f'`{name}`' for name in unread[:12])})" if unread else ""
        )
    return ", ".join(parts) + without


def _nothing_to_compare(survey: Survey, file: str) -> str:
    columns = set(survey.columns)
    head = f"{file}: no column is an input, a response, a reference or a context"
    names = "; ".join(
        f"{field}: {'|'.join((*ALIASES[field], ANSWER) if field == RESPONSE else ALIASES[field])}"
        for field in TEXT_FIELDS
    )
    if columns & {"vars", "assert"}:
        return (
            f"{head}. It looks like promptfoo test cases, which hold variables and assertions but "
            "no responses. Add the responses as a column `response`, and map the rest, for "
            "example --map input=vars.NAME --map reference=assert.0.value"
        )
    for talk in ("messages", "chat_history", "conversation", "turns"):
        if talk in columns:
            inner = "outputs.answer" if talk == "chat_history" else "content"
            return (
                f"{head}. `{talk}` looks like conversations of several turns; closecall compares "
                "one response a row. Write one row for each turn, or map one turn, for example "
                f"--map response={talk}.-1.{inner} (-1 is the last). Columns found: "
                f"{survey.listed()}"
            )
    return (
        f"{head}. Columns found: {survey.listed()}. Rename them, or map them: "
        f"--map response=COLUMN --map reference=COLUMN. Names that are known: {names}"
    )


__all__ = ["CONTEXT", "Column", "Plan", "Survey", "carries", "decide", "follow"]

"""What the columns of a file hold: seen once in every row, because rows differ."""

from __future__ import annotations

import json
from collections.abc import Callable, Mapping
from typing import Any, NamedTuple

from closecall.datasets._fields import ANSWER, FIELDS, field_of
from closecall.datasets._talk import holds_turns, is_talk
from closecall.errors import UsageError

MAX_COLUMNS = 1000
"""Unknown column names remembered, for messages."""

Path = tuple[str, ...]

Spell = Callable[[Mapping[str, str]], str]
"""How a mapping of fields to columns is typed, for messages."""


def as_options(mapping: Mapping[str, str]) -> str:
    """Return a mapping as it is typed on the command line."""
    return " ".join(f"--map {field}={column}" for field, column in mapping.items())


def as_argument(mapping: Mapping[str, str]) -> str:
    """Return a mapping as it is written in Python."""
    return f"mapping={json.dumps(dict(mapping), ensure_ascii=False)}"


class Column(NamedTuple):
    """Where a value stands in a row: a column, or a path into nested objects and lists."""

    name: str
    path: Path = ()

    def get(self, row: Mapping[str, Any]) -> Any:
        """Return the value there, None where there is none."""
        return follow(row, self.path) if self.path else row.get(self.name)


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
    header
        The columns, where the format names them once.
    spell
        How messages tell the caller to map.
    """

    def __init__(
        self,
        mapping: Mapping[str, str] | None,
        header: tuple[str, ...] = (),
        *,
        spell: Spell = as_options,
    ) -> None:
        self.spell = spell
        self.mapping = _fields_of_mapping(mapping or {}, spell)
        self.rows = 0
        self.columns: dict[str, None] = dict.fromkeys(header)
        self.present: dict[str, list[str]] = {}
        self.carrying: dict[str, list[str]] = {}
        self.conflicts: dict[str, tuple[str, str, str]] = {}
        self.resolved: set[str] = set()
        self.talks: list[str] = []
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
            if not is_talk(column):
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
        if field is None and column not in self._settled and holds_turns(value):
            self._settled.add(column)
            self.talks.append(column)
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


def _fields_of_mapping(mapping: Mapping[str, str], spell: Spell) -> dict[str, str]:
    result: dict[str, str] = {}
    for name, column in mapping.items():
        field = field_of(name)
        if field is None or field == ANSWER:
            raise UsageError(
                f"{spell({name: column})}: there is no field {name!r}; a column can be mapped "
                f"to {', '.join(FIELDS)}"
            )
        if field in result:
            raise UsageError(
                f"{spell({name: column})}: {field} is mapped twice, to `{result[field]}` and "
                f"`{column}`; keep one"
            )
        if not column:
            raise UsageError(f"{spell({name: column})}: the column's name is missing")
        result[field] = column
    return result

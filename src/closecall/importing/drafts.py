"""A case in the making: fields taken out of a row by the names they have there."""

from __future__ import annotations

from collections.abc import Iterable, Iterator, Mapping
from typing import Any

import msgspec

from closecall.datasets import _values
from closecall.datasets._fields import CONTEXT, GROUP, ID, INPUT, LABEL, REFERENCE, RESPONSE, TAGS
from closecall.datasets._rows import Ids
from closecall.datasets._survey import Survey, carries, follow
from closecall.datasets._values import Problems
from closecall.importing.opened import Row
from closecall.importing.tally import Tally
from closecall.records import Case

TEXTS, LISTS = (INPUT, RESPONSE, GROUP), (REFERENCE, CONTEXT)


class Draft(msgspec.Struct, kw_only=True):
    """What will be a case: its fields, and ``problems`` with them.

    ``facts`` are fields that metrics read from a case's metadata (``expected_facts``, ...), and
    ``metadata`` everything else that the file says of it. ``row`` is what a mapping looks into.
    """

    place: str
    row: Mapping[str, Any]
    id: str = ""
    input: str | None = None
    response: str | None = None
    references: tuple[str, ...] = ()
    context: tuple[str, ...] = ()
    label: Any = None
    group: str | None = None
    tags: tuple[str, ...] = ()
    facts: dict[str, Any] = {}
    metadata: dict[str, Any] = {}
    problems: Problems = []


class Taker:
    """Takes values out of one row; what is left is for the metadata."""

    def __init__(self, row: Row, tally: Tally, *, cells: bool = False) -> None:
        self.row: dict[str, Any] = row.value or {}
        self.problems: Problems = list(row.flaws)
        self._tally = tally
        self._cells = cells
        self._taken: set[str] = set()

    def value(self, *names: str) -> tuple[str, Any]:
        """Return the first of these columns that holds something, and what; else ``("", None)``.

        Others of them that are empty are taken as well: they say nothing.
        """
        name = next((n for n in names if carries(self.row.get(n))), "")
        self._taken.update(n for n in names if n == name or not carries(self.row.get(n)))
        return (name, self.row[name]) if name else ("", None)

    def text(self, *names: str) -> str | None:
        """Return the text of the first of these columns that holds something."""
        name, value = self.value(*names)
        return _values.text(value, name, self.problems, self._tally.notes)

    def texts(self, *names: str, passages: bool = False) -> tuple[str, ...]:
        """Return the texts of the first of these columns that holds something."""
        name, value = self.value(*names)
        return _values.texts(
            value, name, self.problems, self._tally.notes, passages=passages, cells=self._cells
        )

    def left(self) -> dict[str, Any]:
        """Return what was not taken and says something."""
        return {
            key: value
            for key, value in self.row.items()
            if key not in self._taken and value is not None
        }


def finished(
    drafts: Iterable[Draft], tally: Tally, mapping: Mapping[str, str]
) -> Iterator[tuple[str, Case | Problems]]:
    """Yield for each draft its place, and its case or what is wrong with it.

    ``mapping`` is field to column, before every rule of the importer.

    Raises
    ------
    UsageError
        A mapping of a field that is not there, or to a column that no row has.
    """
    wanted = Survey(mapping).mapping
    missing = set(wanted.values())
    ids = Ids(tally.notes)
    for number, draft in enumerate(drafts, start=1):
        for field, column in wanted.items():
            value = _at(draft.row, column)
            if value is not None:
                missing.discard(column)
            _set(draft, field, column, value, tally)
        label = _values.label(draft.label, LABEL, draft.problems)
        if draft.problems:
            yield draft.place, draft.problems
            continue
        yield (
            draft.place,
            Case(
                id=ids.own(draft.id if draft.id.strip() else f"row_{number}"),
                input=draft.input,
                response=draft.response,
                references=draft.references,
                context=draft.context,
                label=label,
                group=draft.group or None,
                tags=draft.tags,
                metadata={
                    **draft.facts,
                    **({"metadata": draft.metadata} if draft.metadata else {}),
                },
                place=draft.place,
            ),
        )
    if missing:
        from closecall.errors import UsageError

        column = min(missing)
        raise UsageError(f"no row has `{column}`; a dotted name goes into objects: vars.question")


def _at(row: Mapping[str, Any], column: str) -> Any:
    return row[column] if column in row else follow(row, tuple(column.split(".")))


def _set(draft: Draft, field: str, column: str, value: Any, tally: Tally) -> None:
    problems, notes = draft.problems, tally.notes
    if field in TEXTS:
        setattr(draft, field, _values.text(value, column, problems, notes))
    elif field in LISTS:
        found = _values.texts(
            value, column, problems, notes, passages=field == CONTEXT, cells=True
        )
        setattr(draft, "references" if field == REFERENCE else field, found)
    elif field == LABEL:
        draft.label = value
    elif field == ID:
        draft.id = _values.text(value, column, problems, notes) or ""
    elif field == TAGS:
        draft.tags = _values.tags(value, column, problems, notes, cells=True)
    draft.metadata.pop(column, None)

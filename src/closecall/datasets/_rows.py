"""A row of a file to a case, by a reader made once for the file."""

from __future__ import annotations

import hashlib
import re
from collections.abc import Callable, Mapping
from typing import Any

from closecall.datasets import _values
from closecall.datasets._fields import (
    CONTEXT,
    GROUP,
    ID,
    INPUT,
    LABEL,
    REFERENCE,
    RESPONSE,
    TAGS,
)
from closecall.datasets._layout import GivenIds, Layout
from closecall.datasets._plan import Plan
from closecall.datasets._survey import Column, carries
from closecall.datasets._talk import last_turns
from closecall.datasets._values import Notes, Problems
from closecall.records import Case
from closecall.seen import Seen, mark_of

MAX_ID = 256
_KEPT = 239

MOST_COUNTED = 100_000
"""Repeated ids of which is remembered how far their numbers got; of others it is found anew."""

_CONTROL = re.compile(r"[\x00-\x1f\x7f-\x9f]")


class BadRowError(Exception):
    """Everything wrong with one row; never leaves this package."""

    def __init__(self, problems: Problems) -> None:
        super().__init__()
        self.problems = problems


RowReader = Callable[[Mapping[str, Any], int, str], Case]
"""(row, 1-based number of the row, its place) to a case; raises ``BadRowError``."""


class Ids:
    """Gives each case of one pass an id of its own.

    Memory: 11 to 16 bytes an id (``seen``), as much again for an id that stands there several
    times, and nothing else of the file. Two ids are taken for one with a chance of 2^-64 a pair;
    the later one is then renamed, and nothing is lost.

    Parameters
    ----------
    notes
        Counts what is worth telling.
    layout
        Keeps which ids were renamed; None: nothing does.
    """

    def __init__(self, notes: Notes, layout: Layout | None = None) -> None:
        self._notes = notes
        self._layout = layout
        self._taken = Seen()
        self._repeated = Seen()
        self._last: dict[str, int] = {}

    def own(self, wanted: str, number: int = 0) -> str:
        """Return the id as it may stand in a run: printable, at most 256 characters, unique.

        The first row with an id keeps it; later ones become ``id#2``, ``id#3``. ``number`` is that
        of the row.
        """
        if not wanted.isprintable() or len(wanted) > MAX_ID:
            wanted = self._spelt(wanted)
        taken = self._taken
        if taken.add(mark_of(wanted)):
            return wanted
        notes = self._notes
        notes[_values.RENAMED, ""] += 1
        notes[_values.REPEATED, ""] += self._repeated.add(mark_of(wanted))
        base = wanted
        # Where to go on counting is only remembered: found again from 2 on, it is the same.
        count = self._last.pop(base, 1)
        while True:
            count += 1
            wanted = shortened(base, f"#{count}")
            if taken.add(mark_of(wanted)):
                break
        if len(self._last) >= MOST_COUNTED:
            self._last.pop(next(iter(self._last)))
        self._last[base] = count
        if len(notes.renamed) < _values.EXAMPLES:
            notes.renamed.append((base, wanted))
        if self._layout is not None:
            self._layout.rename(number, wanted)
        return wanted

    def _spelt(self, wanted: str) -> str:
        if _CONTROL.search(wanted):
            self._notes[_values.ENCODED, ""] += 1
        spelt = spelt_id(wanted)
        if len(_CONTROL.sub(_percent, wanted)) > MAX_ID:
            self._notes[_values.SHORTENED, ""] += 1
        return spelt


def spelt_id(wanted: str) -> str:
    """Return an id without control characters, in at most 256 characters."""
    if not wanted.isprintable():
        wanted = _CONTROL.sub(_percent, wanted)
    return shortened(wanted)


def _percent(found: re.Match[str]) -> str:
    return "".join(f"%{byte:02X}" for byte in found.group().encode())


def shortened(name: str, suffix: str = "") -> str:
    """Return ``name + suffix`` in at most 256 characters, the cut part as 16 hex of its hash."""
    if len(name) + len(suffix) <= MAX_ID:
        return name + suffix
    mark = hashlib.sha256(name.encode("utf-8", errors="surrogatepass")).hexdigest()[:16]
    return f"{name[: _KEPT - len(suffix)]}~{mark}{suffix}"


def compile_reader(plan: Plan, notes: Notes, ids: Ids | GivenIds) -> RowReader:
    """Return the function that reads the rows of one file, in one pass.

    What is worth telling is counted in ``notes``; ``ids`` belongs to the pass.
    """
    columns, cells, talk = plan.columns, plan.cells, plan.talk
    input_name, get_input = _getter(columns.get(INPUT, ()))
    response_name, get_response = _getter(columns.get(RESPONSE, ()))
    reference_name, get_reference = _getter(columns.get(REFERENCE, ()))
    context_name, get_context = _getter(columns.get(CONTEXT, ()))
    id_name, get_id = _getter(columns.get(ID, ()))
    label_name, get_label = _getter(columns.get(LABEL, ()))
    group_name, get_group = _getter(columns.get(GROUP, ()))
    tags_name, get_tags = _getter(columns.get(TAGS, ()))
    consumed = plan.consumed
    own_id = ids.own
    text, texts, label, tags = _values.text, _values.texts, _values.label, _values.tags

    def read(row: Mapping[str, Any], number: int, place: str) -> Case:
        problems: Problems = []
        given = get_input(row)
        input_ = given if given.__class__ is str else text(given, input_name, problems, notes)
        given = get_response(row)
        response = given if given.__class__ is str else text(given, response_name, problems, notes)
        if talk is not None:
            turns = last_turns(row.get(talk.column), talk.column, problems)
            input_ = turns.input if INPUT in talk.fields else input_
            response = turns.response if RESPONSE in talk.fields else response
        given = get_reference(row)
        references = texts(given, reference_name, problems, notes, passages=False, cells=cells)
        given = get_context(row)
        context = texts(given, context_name, problems, notes, passages=True, cells=cells)
        given = get_label(row)
        verdict = None if given is None else label(given, label_name, problems)
        given = get_group(row)
        group = given if given.__class__ is str else text(given, group_name, problems, notes)
        given = get_tags(row)
        marks = () if given is None else tags(given, tags_name, problems, notes, cells=cells)
        given = get_id(row)
        if given.__class__ is not str and given is not None:
            given = _id_text(given, id_name, problems)
        if problems:
            raise BadRowError(problems)
        return Case(
            id=own_id(given if given and not given.isspace() else f"row_{number}", number),
            input=input_,
            response=response,
            references=references,
            context=context,
            label=verdict,
            group=group or None,
            tags=marks,
            metadata={key: row[key] for key in row if key not in consumed},
            place=place,
        )

    return read


def _getter(columns: tuple[Column, ...]) -> tuple[str, Callable[[Mapping[str, Any]], Any]]:
    """Return a column's name for messages and the function that takes its value from a row."""
    if not columns:
        return "", lambda _row: None
    name = "|".join(column.name for column in columns)
    if len(columns) == 1:
        return name, (columns[0].get if columns[0].path else lambda row: row.get(name))

    def first(row: Mapping[str, Any]) -> Any:
        values = [column.get(row) for column in columns]
        return next(
            (v for v in values if carries(v)), next((v for v in values if v is not None), None)
        )

    return name, first


def _id_text(value: Any, column: str, problems: Problems) -> str | None:
    spelling = _values.spelled(value)
    if spelling is None:
        problems.append((column, f"expected a text or a number, got {_values.kind(value)}"))
    return spelling

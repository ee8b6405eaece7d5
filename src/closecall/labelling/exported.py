"""The rows of a case file with their labels, as ``closecall calibrate`` reads them.

Every label is a row of its own with its annotator, so that how far two people agree can be
counted; a label that settles a disagreement says so (``adjudicated``). Further labels of a row
stand at the end, so that rows keep their places.
"""

from __future__ import annotations

import copy
from typing import Any, NamedTuple

from closecall.calibration.labels.label_facts import (
    ADJUDICATED,
    ANNOTATOR,
    LABELLED_AT,
    RANDOM,
    SAMPLING,
    facts_of,
)
from closecall.datasets import Dataset
from closecall.datasets._as_written import Layout, rows_as_written
from closecall.errors import UsageError
from closecall.labelling.deck import FIRST, Deck, Item, key_of
from closecall.labelling.events import LABELS, Event
from closecall.labelling.ledger import Ledger
from closecall.records import Case

NOTE = "label_note"


class Row(NamedTuple):
    """A row as it is to be written, and the case it reads as but for its label."""

    values: dict[str, Any]
    case: Case


class Exported(NamedTuple):
    """All rows; ``labels`` of them carry a label, ``unsure`` items were left open and have none.

    ``strange`` counts items of the journal that the file does not hold, so changed since.
    """

    rows: tuple[Row, ...]
    labels: int
    unsure: int
    strange: int


def exported(dataset: Dataset, layout: Layout, deck: Deck, ledger: Ledger) -> Exported:
    """Return the rows of the file in its order, then what else was said of them; O(n).

    Raises
    ------
    UsageError
        The label lies where a row has no place for it.
    """
    cases = {case.place: case for case in dataset}
    column = layout.label or "label"
    rows: list[Row] = []
    first: dict[str, Row] = {}
    written: dict[str, set[str]] = {}
    labels = 0
    for place, values in rows_as_written(dataset, cases.keys()):
        case = cases[place]
        item = deck.items[key_of(case)]
        event = _for(item, case, ledger)
        if event is not None:
            written.setdefault(item.key, set()).add(event.annotator)
            values = _with(values, column, layout, event, ledger)  # noqa: PLW2901
        labels += event is not None or case.label is not None
        rows.append(Row(values, case))
        if case.id == item.case.id:
            first[item.key] = rows[-1]
    known = len(rows)
    for key, row in first.items():
        for name, event in ledger.opinions(key).items():
            if name not in written.get(key, ()):
                rows.append(Row(_with(row.values, column, layout, event, ledger), row.case))
        settled = ledger.settled(key)
        if settled is not None:
            values = _with(row.values, column, layout, settled, ledger)
            rows.append(Row({**values, ADJUDICATED: True}, row.case))
    return Exported(
        tuple(rows),
        labels=labels + len(rows) - known,
        unsure=sum(1 for key in deck.items if left_open(key, ledger)),
        strange=len(ledger.items() - deck.items.keys()),
    )


def left_open(key: str, ledger: Ledger) -> bool:
    """Whether somebody was unsure of an item and nobody has labelled it."""
    return not ledger.opinions(key) and any(
        ledger.unsure(key, name) for name in ledger.annotators()
    )


def _for(item: Item, case: Case, ledger: Ledger) -> Event | None:
    """Return the label to write into a row: its own annotator's later one, or a first one."""
    said = ledger.opinions(item.key)
    if case.label is not None:
        facts = facts_of(case)
        return None if facts.adjudicated else said.get(facts.annotator or FIRST)
    if case.id != item.case.id:
        return None
    return next((event for name, event in said.items() if name not in item.labels), None)


def _with(
    values: dict[str, Any], column: str, layout: Layout, event: Event, ledger: Ledger
) -> dict[str, Any]:
    """Return the row with one annotator's label in it."""
    found = copy.deepcopy(values)
    _put(found, column, LABELS[event.event].value, nested=column in layout.nested)
    found[ANNOTATOR], found[LABELLED_AT] = event.annotator, event.at
    if event.drawn:
        found[SAMPLING] = RANDOM
    found.pop(NOTE, None)
    note = ledger.notes(event.item).get(event.annotator)
    if note:
        found[NOTE] = note
    return found


def _put(row: dict[str, Any], column: str, label: str, *, nested: bool) -> None:
    if not nested:
        row[column] = label
        return
    *path, last = column.split(".")
    place: Any = row
    for part in path:
        if not isinstance(place, dict):
            break
        place = place.setdefault(part, {})
    if not isinstance(place, dict):
        raise UsageError(
            f"the label is read from {column!r}, and a row has no object there to write it into; "
            "read it from a column of its own, with --map label=COLUMN"
        )
    place[last] = label

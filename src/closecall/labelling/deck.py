"""The cases of a file as items to label: the same texts twice are one, with the labels in file."""

from __future__ import annotations

import hashlib
from collections.abc import Iterable
from dataclasses import dataclass, field

import msgspec

from closecall.calibration.labels.items import group_of, item_of
from closecall.calibration.labels.label_facts import facts_of
from closecall.records import Case, Label

FIRST = "first"
SECOND = "second"
"""Names of annotators who give none. Labels in a file without a name are those of the first."""

_encode = msgspec.json.Encoder().encode


@dataclass(slots=True)
class Item:
    """One thing to label: its first case, its group, and what the file says of it.

    ``labels`` has the file's labels by annotator. ``active`` says that the case was picked by
    its score, ``counted`` that one with a label was not. ``settled`` are labels of the file
    that settle a disagreement.
    """

    key: str
    case: Case
    group: str
    active: bool
    labels: dict[str, Label] = field(default_factory=dict)
    settled: set[Label] = field(default_factory=set)
    counted: bool = False


@dataclass(frozen=True, slots=True)
class Deck:
    """All items in file order, by key; ``rows`` counts cases, ``alone`` says no groups are."""

    items: dict[str, Item]
    rows: int
    alone: bool


def deck_of(cases: Iterable[Case], group_field: str | None = None) -> Deck:
    """Return the items of a file's cases; O(n) time, and memory for all of their texts.

    Raises
    ------
    DataError
        What a case says of its label is malformed.
    UsageError
        A case has no ``group_field``.
    """
    items: dict[str, Item] = {}
    rows = 0
    for case in cases:
        rows += 1
        key = key_of(case)
        facts = facts_of(case)
        item = items.get(key)
        if item is None:
            item = items[key] = Item(key, case, group_of(case, group_field)[0], facts.active)
        if case.label is None:
            continue
        item.counted |= not facts.active
        if facts.adjudicated:
            item.settled.add(case.label)
        else:
            item.labels[_free(item, facts.annotator or FIRST, case)] = case.label
    return Deck(items, rows, alone=len({item.group for item in items.values()}) == len(items))


def key_of(case: Case) -> str:
    """Return 32 hex digits that stand for question, response, references and context."""
    return hashlib.blake2b(_encode(item_of(case)), digest_size=16).hexdigest()


def _free(item: Item, annotator: str, case: Case) -> str:
    """Return the annotator, apart where the file has two different labels under one name."""
    held = item.labels.get(annotator)
    return annotator if held is None or held is case.label else f"{annotator} ({case.id})"

"""What a file of cases holds of labels, counted as a calibration counts them, and what is left.

Each item counts once: the same question, response, references and context twice are one. Labels
that contradict each other count for nothing, and labels picked by score for no promise.
"""

from __future__ import annotations

import hashlib
from collections import Counter
from collections.abc import Iterable
from dataclasses import dataclass, field

import msgspec

from closecall.calibration.labels.items import (
    BY_FIELD,
    BY_GROUP,
    BY_QUESTION,
    BY_REFERENCE,
    BY_ROW,
    group_of,
    item_of,
)
from closecall.calibration.labels.label_facts import LabelFacts, facts_of, label_facts
from closecall.calibration.labels.planning import Have
from closecall.records import Case, Label

_WAYS = (BY_GROUP, BY_QUESTION, BY_REFERENCE, BY_ROW)
_encode = msgspec.json.Encoder().encode


class Stock(msgspec.Struct, frozen=True, kw_only=True):
    """Counts of the items of a file.

    ``rows`` are its cases, ``repeated`` those that say again what an earlier one is. ``have``
    counts the items a promise can rest on. ``active`` items were picked by score, ``conflicts``
    carry both labels; neither is in ``have``. ``unlabelled`` items have no label. ``grouped_by``
    says what makes a group, ``groups`` how many there are.
    """

    rows: int
    repeated: int
    have: Have
    active: int
    conflicts: int
    unlabelled: int
    groups: int
    grouped_by: str
    facts: LabelFacts


@dataclass(frozen=True, slots=True)
class Pool:
    """Cases that may be labelled next, one an item, by id.

    ``unlabelled`` have no label. ``undrawn`` are not labelled *at random*: those, and the ones
    that were picked by score. ``groups`` has the group of each undrawn one; None where every
    item is on its own. ``labels`` counts the items of a group that were drawn at random.
    """

    unlabelled: tuple[str, ...]
    undrawn: tuple[str, ...]
    groups: tuple[str, ...] | None
    labels: dict[str, int]


@dataclass(slots=True)
class _Item:
    id: str
    group: str
    labels: set[Label] = field(default_factory=set)
    settled: set[Label] = field(default_factory=set)
    random: bool = False

    @property
    def said(self) -> set[Label]:
        """What its labels come to: where some settle a disagreement, those."""
        return self.settled or self.labels


def take_stock(cases: Iterable[Case], group_field: str | None = None) -> tuple[Stock, Pool]:
    """Return the counts of a file's cases, and what may be labelled next; O(n) time.

    ``cases`` is gone through twice, so it is no iterator. Memory grows with the
    items, not with their texts.

    Raises
    ------
    DataError
        What a case says of its label is malformed.
    UsageError
        A case has no ``group_field``.
    """
    of_all = label_facts(cases)
    items: dict[bytes, _Item] = {}
    ways: set[str] = set()
    rows = 0
    for case in cases:
        rows += 1
        group, way = group_of(case, group_field)
        ways.add(way)
        key = hashlib.blake2b(_encode(item_of(case)), digest_size=16).digest()
        item = items.setdefault(key, _Item(case.id, group))
        if case.label is not None:
            facts = facts_of(case)
            item.labels.add(case.label)
            if facts.adjudicated:
                item.settled.add(case.label)
            item.random |= not facts.active
    found = list(items.values())
    backing = [item for item in found if item.random and len(item.said) == 1]
    labels = Counter(item.group for item in found if item.random)
    undrawn = [item for item in found if not item.random and len(item.said) < len(Label)]
    groups = len({item.group for item in found})
    alone = groups == len(found)
    accepts = [item.group for item in backing if Label.ACCEPT in item.said]
    rejects = [item.group for item in backing if Label.REJECT in item.said]
    stock = Stock(
        rows=rows,
        repeated=rows - len(found),
        have=Have(
            accepts=len(accepts),
            rejects=len(rejects),
            accept_groups=None if alone else len(set(accepts)),
            reject_groups=None if alone else len(set(rejects)),
        ),
        active=sum(1 for item in found if len(item.said) == 1 and not item.random),
        conflicts=sum(1 for item in found if len(item.said) > 1),
        unlabelled=sum(1 for item in found if not item.labels),
        groups=groups,
        grouped_by=group_field
        if BY_FIELD in ways and group_field is not None
        else ", else ".join(way for way in _WAYS if way in ways),
        facts=of_all,
    )
    return stock, Pool(
        unlabelled=tuple(item.id for item in found if not item.labels),
        undrawn=tuple(item.id for item in undrawn),
        groups=None if alone else tuple(item.group for item in undrawn),
        labels=dict(labels),
    )

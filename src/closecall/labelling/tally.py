"""How many labels there are so far, kept up to date key by key, and what they can back."""

from __future__ import annotations

from collections import Counter
from typing import Literal, TypeAlias

import msgspec

from closecall.calibration.labels.planning import Have
from closecall.labelling.deck import Deck, Item
from closecall.labelling.events import LABELS
from closecall.labelling.ledger import Ledger
from closecall.records import Label

Verdict: TypeAlias = Label | Literal["disagreed"] | None
"""What an item's labels come to; None without any."""


class Counts(msgspec.Struct, frozen=True, kw_only=True):
    """Items by what their labels come to.

    ``have`` counts those a promise can rest on; ``active`` are labelled and were picked by score,
    ``disagreed`` have labels that differ and were not settled.
    """

    accepts: int
    rejects: int
    active: int
    disagreed: int
    unlabelled: int
    have: Have


def opinions(item: Item, ledger: Ledger) -> dict[str, Label]:
    """Return the label of each annotator, the file's first, a later one of the same name last."""
    found = dict(item.labels)
    for name, event in ledger.opinions(item.key).items():
        found[name] = LABELS[event.event]
    return found


def verdict(item: Item, ledger: Ledger) -> Verdict:
    """Return what the labels of an item come to: settled, else all the same, else disagreed."""
    settled = ledger.settled(item.key)
    if settled is not None:
        return LABELS[settled.event]
    said = item.settled or set(opinions(item, ledger).values())
    if len(said) > 1:
        return "disagreed"
    return next(iter(said), None)


def drawn(item: Item, ledger: Ledger) -> bool:
    """Whether the label of an item counts as one of a random sample."""
    if item.counted or any(event.drawn for event in ledger.opinions(item.key).values()):
        return True
    return not item.active


class Tally:
    """Counts of a deck under a ledger; ``refresh`` takes in what changed about one item."""

    def __init__(self, deck: Deck, ledger: Ledger) -> None:
        self._deck, self._ledger = deck, ledger
        self._verdicts: dict[str, tuple[Verdict, bool]] = {}
        self._counts: Counter[tuple[Verdict, bool]] = Counter()
        self._groups: dict[Label, Counter[str]] = {label: Counter() for label in Label}
        for key in deck.items:
            self.refresh(key)

    def refresh(self, key: str) -> None:
        """Count one item anew; one that the file no longer holds is not counted."""
        item = self._deck.items.get(key)
        if item is None:
            return
        before = self._verdicts.get(key)
        after = verdict(item, self._ledger), drawn(item, self._ledger)
        if before == after:
            return
        if before is not None:
            self._move(item, before, -1)
        self._move(item, after, 1)
        self._verdicts[key] = after

    def _move(self, item: Item, what: tuple[Verdict, bool], by: int) -> None:
        self._counts[what] += by
        said, counts = what
        if isinstance(said, Label) and counts:
            groups = self._groups[said]
            groups[item.group] += by
            if not groups[item.group]:
                del groups[item.group]

    def counts(self) -> Counts:
        """Return the counts as they are now."""
        of = self._counts
        accepts, rejects = of[Label.ACCEPT, True], of[Label.REJECT, True]
        alone = self._deck.alone
        return Counts(
            accepts=accepts + of[Label.ACCEPT, False],
            rejects=rejects + of[Label.REJECT, False],
            active=of[Label.ACCEPT, False] + of[Label.REJECT, False],
            disagreed=of["disagreed", True] + of["disagreed", False],
            unlabelled=of[None, True] + of[None, False],
            have=Have(
                accepts=accepts,
                rejects=rejects,
                accept_groups=None if alone else len(self._groups[Label.ACCEPT]),
                reject_groups=None if alone else len(self._groups[Label.REJECT]),
            ),
        )

"""Labels of two people on the same items: whom to ask again, how far they agree, what differs."""

from __future__ import annotations

from collections.abc import Iterator
from itertools import combinations

import msgspec

from closecall.calibration.labels.agreement import Agreement, agreement
from closecall.labelling.deck import Deck, Item
from closecall.labelling.ledger import Ledger
from closecall.labelling.tally import opinions
from closecall.records import Label


class PairAgreement(msgspec.Struct, frozen=True, kw_only=True):
    """How far two annotators agree, on the items that both labelled."""

    one: str
    other: str
    agreement: Agreement


class Disagreement(msgspec.Struct, frozen=True, kw_only=True):
    """An item that people label differently, what each said, their notes, and what settled it."""

    id: str
    place: str
    labels: dict[str, Label]
    notes: dict[str, str]
    settled: Label | None


def labelled_by_others(deck: Deck, ledger: Ledger, annotator: str) -> tuple[str, ...]:
    """Return the items that somebody else labelled, in file order."""
    return tuple(
        item.key
        for item in deck.items.values()
        if any(name != annotator for name in opinions(item, ledger))
    )


def agreements(deck: Deck, ledger: Ledger) -> tuple[PairAgreement, ...]:
    """Return how far each two annotators agree that labelled an item in common, by name."""
    pairs: dict[tuple[str, str], list[tuple[bool, bool]]] = {}
    for item in deck.items.values():
        said = opinions(item, ledger)
        for one, other in combinations(sorted(said), 2):
            marks = said[one] is Label.ACCEPT, said[other] is Label.ACCEPT
            pairs.setdefault((one, other), []).append(marks)
    return tuple(
        PairAgreement(one=one, other=other, agreement=found)
        for (one, other), marks in sorted(pairs.items())
        if (found := agreement(marks)) is not None
    )


def differing(deck: Deck, ledger: Ledger) -> Iterator[tuple[Item, Disagreement]]:
    """Yield the items that people label differently, in file order, settled or not."""
    for item in deck.items.values():
        said = opinions(item, ledger)
        if len(set(said.values())) > 1:
            yield (
                item,
                Disagreement(
                    id=item.case.id,
                    place=item.case.place,
                    labels=said,
                    notes=ledger.notes(item.key),
                    settled=_settled(item, ledger),
                ),
            )


def _settled(item: Item, ledger: Ledger) -> Label | None:
    event = ledger.settled(item.key)
    if event is not None:
        return Label.ACCEPT if event.event == "resolve_accept" else Label.REJECT
    return next(iter(item.settled)) if len(item.settled) == 1 else None

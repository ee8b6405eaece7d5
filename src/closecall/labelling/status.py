"""Where the labelling of a file stands, in lines for a person or as one JSON value."""

from __future__ import annotations

from collections.abc import Iterator
from typing import Any

import msgspec

from closecall.labelling.certifiable import Goal, standing
from closecall.labelling.deck import Deck
from closecall.labelling.double import PairAgreement, agreements, differing
from closecall.labelling.exported import left_open
from closecall.labelling.ledger import Ledger
from closecall.labelling.tally import Tally
from closecall.report.words import plural, rate

SHOWN = 20
"""Disagreements that are listed; the others are counted."""


def status_lines(deck: Deck, ledger: Ledger, goal: Goal, name: str) -> Iterator[str]:
    """Yield counts, what is certifiable so far, how far people agree and where they differ."""
    counts = Tally(deck, ledger).counts()
    groups = "" if deck.alone else f" in {_groups(deck):,} groups"
    yield (
        f"{name}: {plural(len(deck.items), 'item')}{groups} ({plural(deck.rows, 'row')}): "
        f"{plural(counts.accepts, 'accept')}, {plural(counts.rejects, 'reject')}, "
        f"{counts.unlabelled:,} without a label."
    )
    unsure = sum(1 for key in deck.items if left_open(key, ledger))
    if unsure:
        yield (
            f"  Left open as unsure: {unsure:,}. To leave out the hard ones would void a promise: "
            "settle them before you calibrate."
        )
    if counts.active:
        yield f"  Picked by score, so no promise rests on them: {counts.active:,}."
    strange = len(ledger.items() - deck.items.keys())
    if strange:
        yield (
            f"  Of cases that {name} does not hold, or whose texts changed since: {strange:,}; "
            "they are not counted."
        )
    yield from standing(goal, counts.have)
    yield from agreement_lines(deck, ledger)


def agreement_lines(deck: Deck, ledger: Ledger) -> Iterator[str]:
    """Yield how far each two annotators agree, and what they label differently."""
    yield from map(_agreement, agreements(deck, ledger))
    differ = [found for _, found in differing(deck, ledger)]
    if not differ:
        return
    still = sum(found.settled is None for found in differ)
    yield f"Labelled differently: {len(differ):,}, {still:,} of them not settled."
    if still:
        yield "  They count for nothing until then: closecall label FILE --resolve"
    for found in differ[:SHOWN]:
        said = ", ".join(f"{name} {label}" for name, label in found.labels.items())
        end = "" if found.settled is None else f"; settled: {found.settled}"
        yield f"  {found.id}: {said}{end}"
    if len(differ) > SHOWN:
        yield f"  ... and {len(differ) - SHOWN:,} more"


def _agreement(found: PairAgreement) -> str:
    agreed = found.agreement
    if agreed.kappa is None or agreed.interval is None:
        kappa = "no kappa, as all labels are the same"
    else:
        between = f"{agreed.interval.low:.2f} to {agreed.interval.high:.2f}"
        kappa = (
            f"kappa {agreed.kappa:.2f} ({between} at {100 * agreed.interval.level:g}%; "
            "1 is full agreement, 0 no more than chance)"
        )
    return (
        f"{found.one} and {found.other} agree on {rate(agreed.agreed, agreed.pairs)} that both "
        f"labelled: {kappa}."
    )


def status_value(deck: Deck, ledger: Ledger, goal: Goal) -> dict[str, Any]:
    """Return the same as a JSON value."""
    counts = Tally(deck, ledger).counts()
    return {
        "rows": deck.rows,
        "items": len(deck.items),
        "counts": msgspec.to_builtins(counts),
        "unsure": sum(1 for key in deck.items if left_open(key, ledger)),
        "unknown_items": len(ledger.items() - deck.items.keys()),
        "certifiable": list(standing(goal, counts.have)),
        "agreements": msgspec.to_builtins(agreements(deck, ledger)),
        "disagreements": [msgspec.to_builtins(found) for _, found in differing(deck, ledger)],
    }


def _groups(deck: Deck) -> int:
    return len({item.group for item in deck.items.values()})

"""What a refreshed calibration decides otherwise than it did before."""

from __future__ import annotations

from collections.abc import Iterator
from typing import Any

from closecall.calibration.figures import plain
from closecall.report.words import shorten
from closecall.runs.refresh import Refreshed

NAMED = 20
"""Answers named of those that are decided otherwise."""


def flips(found: Refreshed) -> Iterator[str]:
    """Yield what changed, in words."""
    before, flipped = found.before, found.flipped
    cutoffs = filter(None, (before.reject_cutoff, before.accept_cutoff))
    old = " and ".join(plain(cutoff.value) for cutoff in cutoffs)
    yield (
        f"Was {old}, made {before.created}; {len(flipped):,} of {len(before.sample.ids):,} "
        f"labelled answers are decided otherwise now{':' if flipped else '.'}"
    )
    for case_id, then, now in flipped[:NAMED]:
        yield f"  {shorten(case_id, 60)}: {then} then, {now} now"
    if len(flipped) > NAMED:
        yield f"  and {len(flipped) - NAMED:,} more; --format json lists them"


def to_json(found: Refreshed) -> dict[str, Any]:
    """Return JSON values: what the cutoff was, and every answer that is decided otherwise."""
    before = found.before
    return {
        "before": {
            "digest": before.digest,
            "created": before.created,
            "accept": before.accept_cutoff.value,
            "reject": None if before.reject_cutoff is None else before.reject_cutoff.value,
        },
        "flipped": [
            {"id": case_id, "then": then, "now": now} for case_id, then, now in found.flipped
        ],
    }

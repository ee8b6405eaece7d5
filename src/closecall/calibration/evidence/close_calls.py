"""Scores so near a cutoff that the decision could as well have been the other one.

Two things make a call close. Scores are noisy: the same texts embedded on another machine or in
another batch come out a little different. And the cutoff itself could have stood anywhere in its
gap: the labelled rows do not tell these places apart. The band is as wide as the larger of both.
"""

from __future__ import annotations

import math
from fractions import Fraction

import msgspec
import numpy as np

from closecall.calibration.goals import Rule
from closecall.calibration.inputs import Labelled
from closecall.calibration.records import Cutoff, typed
from closecall.errors import UsageError


class CloseCalls(msgspec.Struct, frozen=True, kw_only=True):
    """The band around one cutoff, both ends in it, with how many labelled rows fall there.

    ``half_width`` is the larger of ``noise``, by how much a score may differ between two runs,
    and ``gap_half``, half the distance of the observed scores next to the cutoff; None where the
    cutoff accepts every row and so has no lower neighbour. ``count`` of ``n`` rows are in the
    band. Scores are compared rounded, as with the cutoff.
    """

    half_width: float
    low: float
    high: float
    count: int
    n: int
    noise: float
    gap_half: float | None

    def __post_init__(self) -> None:
        ends = (self.half_width, self.low, self.high, self.noise, self.gap_half or 0.0)
        if not all(map(math.isfinite, ends)) or self.low > self.high:
            raise ValueError(f"a band from {self.low!r} to {self.high!r} is none")
        if min(self.half_width, self.noise, self.gap_half or 0.0) < 0:
            raise ValueError("half_width, noise and gap_half are at least 0")
        if not 0 <= self.count <= self.n:
            raise ValueError(f"{self.count} of {self.n} rows cannot be in a band")

    def holds(self, score: float) -> bool:
        """Whether a score, rounded as the cutoff has it, is a close call."""
        return self.low <= score <= self.high


def close_calls(data: Labelled, rule: Rule, noise: float) -> tuple[CloseCalls, ...]:
    """Return the band around each cutoff of a rule: one, or the accepting then the rejecting one.

    Parameters
    ----------
    data
        Labelled rows to count, rounded as those the rule was fitted on.
    rule
        One cutoff or two.
    noise
        How far two measurements of one score lie apart at most, in units of the score; 0 where
        they never differ.

    Raises
    ------
    UsageError
        ``noise`` is not a finite number of at least 0.
    """
    if (
        isinstance(noise, bool)
        or not isinstance(noise, int | float)
        or not (math.isfinite(noise) and noise >= 0)
    ):
        raise UsageError(f"noise must be a finite number of at least 0, got {noise!r}")
    cutoffs = (rule,) if isinstance(rule, Cutoff) else (rule.accept, rule.reject)
    return tuple(_around(data, cutoff, float(noise)) for cutoff in cutoffs)


def _around(data: Labelled, cutoff: Cutoff, noise: float) -> CloseCalls:
    gap = cutoff.gap
    # In decimals: 0.595 - 0.001 in floating point is below 0.594, or above it.
    centre = _middle(cutoff)
    gap_half = None if gap.low is None else (typed(gap.high) - typed(gap.low)) / 2
    half = max(typed(noise), gap_half or Fraction(0))
    low, high = float(centre - half), float(centre + half)
    return CloseCalls(
        half_width=float(half),
        low=low,
        high=high,
        count=int(np.count_nonzero((data.scores >= low) & (data.scores <= high))),
        n=len(data.scores),
        noise=noise,
        gap_half=None if gap_half is None else float(gap_half),
    )


def _middle(cutoff: Cutoff) -> Fraction:
    """Return where the band is centred, without what rounding added to the cutoff."""
    gap = cutoff.gap
    if cutoff.where == "mid" and gap.low is not None:
        return (typed(gap.low) + typed(gap.high)) / 2
    if cutoff.decimals is None:
        return typed(cutoff.value)
    # The middle of two middles has two more decimals than a score.
    return typed(round(cutoff.value, cutoff.decimals + 2))

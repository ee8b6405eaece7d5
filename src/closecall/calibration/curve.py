"""Every decision rule a set of labelled scores can tell apart, with its errors, from one sweep.

Responses of equal score are accepted or rejected together, so with m distinct scores there are
m + 1 rules: row 0 accepts nobody, row j the j highest distinct scores, row m everybody. A rule
inside a group of equal scores does not exist: no cutoff makes it.
"""

from __future__ import annotations

import math
from dataclasses import dataclass

import numpy as np
from numpy.typing import ArrayLike

from closecall.calibration.inputs import DECIMALS, Floats, Ints, Labelled, Labels, labelled
from closecall.calibration.records import Counts, Gap, Where
from closecall.errors import UsageError


@dataclass(frozen=True, eq=False, slots=True)
class ErrorCurve:
    """What each rule decides, in integers.

    Attributes
    ----------
    levels
        (m,) float64, the distinct scores, highest first.
    true_accepts, false_accepts
        (m + 1,) int64: accepts and rejects among those that row j accepts; never decreasing.
    decimals
        Decimals the scores were rounded to, or None.
    """

    levels: Floats
    true_accepts: Ints
    false_accepts: Ints
    decimals: int | None

    def __post_init__(self) -> None:
        for array in (self.levels, self.true_accepts, self.false_accepts):
            array.setflags(write=False)

    @property
    def accepts(self) -> int:
        """How many of the responses a person accepts."""
        return int(self.true_accepts[-1])

    @property
    def rejects(self) -> int:
        """How many of the responses a person rejects."""
        return int(self.false_accepts[-1])

    @property
    def false_rejects(self) -> Ints:
        """Accepts among those that row j rejects: (m + 1,) int64, never increasing."""
        missed: Ints = self.accepts - self.true_accepts
        return missed

    def counts(self, row: int) -> Counts:
        """Return what row ``row`` decides."""
        kept, wrong = int(self.true_accepts[row]), int(self.false_accepts[row])
        return Counts(
            true_accepts=kept,
            false_rejects=self.accepts - kept,
            false_accepts=wrong,
            true_rejects=self.rejects - wrong,
        )

    def row(self, cutoff: float) -> int:
        """Return the row of any cutoff: how many distinct scores are at least ``cutoff``."""
        return int(np.searchsorted(-self.levels, -cutoff, side="right"))

    def gap(self, row: int, last: int | None = None) -> Gap:
        """Return the cutoffs that make row ``row``, or any row from it to ``last``; row >= 1."""
        if not 1 <= row < len(self.true_accepts):
            raise UsageError(f"row must lie from 1 to {len(self.levels)}, got {row}")
        below = row if last is None else last
        low = float(self.levels[below]) if below < len(self.levels) else None
        return Gap(low=low, high=float(self.levels[row - 1]))

    def cutoff(self, row: int, where: Where = "mid") -> float:
        """Return a cutoff that makes row ``row``, 1 or more; safe between adjacent floats.

        The rule that accepts everybody has the lowest score for its cutoff, wherever asked.
        """
        return in_gap(self.gap(row), where)


def error_curve(
    scores: ArrayLike, labels: Labels, *, decimals: int | None = DECIMALS
) -> ErrorCurve:
    """Sweep labelled scores; O(n log n) time, O(n) memory.

    Parameters
    ----------
    scores
        (n,), n >= 1, finite; the higher, the closer.
    labels
        (n,): bools, ``Label`` or "accept" and "reject".
    decimals
        Scores are rounded to so many decimals first; None takes them as they are.

    Raises
    ------
    DataError
        Scores, labels or their lengths are wrong; ``NonFiniteError`` for NaN and infinity.
    """
    return curve_of(labelled(scores, labels, decimals=decimals))


def curve_of(data: Labelled) -> ErrorCurve:
    """Sweep checked data."""
    order = np.argsort(-data.scores, kind="stable")
    scores, accept = data.scores[order], data.accept[order]
    ends = np.ones(len(scores), dtype=np.bool_)
    np.not_equal(scores[1:], scores[:-1], out=ends[:-1])
    last = np.flatnonzero(ends)
    kept = np.cumsum(accept, dtype=np.int64)[last]
    return _curve(scores[last], kept, last + 1 - kept, data.decimals)


def curve_from_counts(
    levels: Floats, accepts: Ints, rejects: Ints, decimals: int | None
) -> ErrorCurve:
    """Return the curve of ``accepts`` and ``rejects`` at each level; empty levels drop out."""
    held = accepts + rejects > 0
    return _curve(levels[held], np.cumsum(accepts[held]), np.cumsum(rejects[held]), decimals)


def in_gap(gap: Gap, where: Where) -> float:
    """Return the cutoff in a gap that ``where`` asks for."""
    if where not in {"mid", "strict", "loose"}:
        raise UsageError(f"where must be one of mid, strict, loose, got {where!r}")
    low, high = gap.low, gap.high
    if low is None or where == "strict":
        return high
    if where == "loose":
        return math.nextafter(low, math.inf)
    middle = low + (high - low) / 2
    if math.isinf(middle):
        middle = low / 2 + high / 2
    # Between neighbouring floats the middle rounds to one of them, and low is not in the gap.
    return middle if gap.holds(middle) else high


def _curve(levels: Floats, kept: Ints, wrong: Ints, decimals: int | None) -> ErrorCurve:
    zero = np.zeros(1, dtype=np.int64)
    return ErrorCurve(
        levels.copy(), np.concatenate((zero, kept)), np.concatenate((zero, wrong)), decimals
    )

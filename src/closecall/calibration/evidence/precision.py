"""How many of the accepted answers are wrong, once the share of good answers is known.

Not certified by itself: it follows from the two error rates and a base rate (Bayes' rule).
"""

from __future__ import annotations

import msgspec

from closecall.calibration.binomial import check_share
from closecall.calibration.records import Cutoff


class WrongAmongAccepted(msgspec.Struct, frozen=True, kw_only=True):
    """The share of wrong answers among accepted ones where ``base_rate`` of all are good.

    ``share`` is what the counts say, None where nothing would be accepted. ``upper`` takes both
    error rates at the bad end of their intervals, which hold at ``level``; None where even then
    nothing would be accepted. ``rejects`` and ``accepts`` are the labels behind it.
    """

    base_rate: float
    share: float | None
    upper: float | None
    level: float
    rejects: int
    accepts: int


def wrong_among_accepted(cutoff: Cutoff, base_rate: float) -> WrongAmongAccepted | None:
    """Return the share for a cutoff, by the labels it was chosen on; None where a class is empty.

    Each of the two intervals misses at its bad end half as often as on both sides, so both ends
    hold together at their level, for a cutoff that these labels had no part in choosing. For one
    they chose, ``upper`` is a cautious guess, not a bound.

    Parameters
    ----------
    cutoff
        Its rates know of groups, so the result does.
    base_rate
        Share of good answers where the cutoff is used, between 0 and 1.
    """
    check_share("base_rate", base_rate)
    accepted, missed = cutoff.false_accept_rate, cutoff.false_reject_rate
    if accepted is None or missed is None:
        return None
    return WrongAmongAccepted(
        base_rate=base_rate,
        share=_wrong(base_rate, accepted.value, (missed.n - missed.count) / missed.n),
        upper=_wrong(base_rate, accepted.interval.high, 1 - missed.interval.high),
        level=accepted.interval.level,
        rejects=accepted.n,
        accepts=missed.n,
    )


def _wrong(good: float, far: float, tar: float) -> float | None:
    wrong, right = (1 - good) * far, good * tar
    return wrong / (wrong + right) if wrong + right > 0 else None

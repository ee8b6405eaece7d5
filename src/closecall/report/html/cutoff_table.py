"""What some cutoffs would do, spread over the observed scores: for a page without scripts."""

from __future__ import annotations

from typing import NamedTuple

from closecall.calibration.binomial import clopper_pearson
from closecall.calibration.curve import ErrorCurve
from closecall.calibration.figures import percent, plain, span
from closecall.report.charts.scores import Scores

ROWS = 20

LEVEL = 0.95


class Row(NamedTuple):
    """One cutoff with its errors: counts of n, then the share with its interval."""

    cutoff: str
    issued: bool
    false_accepts: str
    false_accept_share: str
    false_rejects: str
    false_reject_share: str
    accepted: str
    accepted_share: str


def rows(scores: Scores) -> tuple[Row, ...]:
    """Return the issued cutoffs and about ``ROWS`` others, highest first.

    The others are observed scores, spread evenly over the distinct ones. Intervals are
    Clopper-Pearson at 95% and treat answers as independent.
    """
    curve = scores.curve
    if curve is None or not scores.two_sided:
        return ()
    last = len(curve.levels)
    spread = {1 + round(at * (last - 1) / (ROWS - 1)) for at in range(ROWS)}
    found = [(float(curve.levels[row - 1]), row, False) for row in spread]
    # An issued cutoff stands between two observed scores, and does what the next higher one does.
    issued = [(cutoff.value, curve.row(cutoff.value), True) for cutoff in scores.cutoffs]
    found = [one for one in found if one[0] not in {value for value, _, _ in issued}] + issued
    found.sort(key=lambda one: (-one[0], one[1]))
    return tuple(_row(curve, value, row, issued=is_issued) for value, row, is_issued in found)


def _row(curve: ErrorCurve, value: float, row: int, *, issued: bool) -> Row:
    counts = curve.counts(row)
    n = counts.accepts + counts.rejects
    accepted = counts.true_accepts + counts.false_accepts
    wrong, wrong_share = _rate(counts.false_accepts, counts.rejects)
    missed, missed_share = _rate(counts.false_rejects, counts.accepts)
    let_in, let_in_share = _rate(accepted, n)
    return Row(
        plain(value), issued, wrong, wrong_share, missed, missed_share, let_in, let_in_share
    )


def _rate(count: int, n: int) -> tuple[str, str]:
    ends = clopper_pearson(count, n, LEVEL)
    return f"{count:,} of {n:,}", f"{percent(count / n, n)} ({span(ends, n)})"

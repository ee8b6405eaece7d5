"""Which rule is best at an objective on the labelled rows, compared without rounding.

Each objective is compared in integers, or as one fraction of them, so that rules which are equally
good tie exactly; of those the highest cutoff is taken, the one with the fewest false accepts.
"""

from __future__ import annotations

import math
from fractions import Fraction
from typing import Any, NamedTuple, get_args

import numpy as np
from numpy.typing import NDArray

from closecall.calibration.curve import ErrorCurve
from closecall.calibration.records import Costs, Gap, Objective, typed
from closecall.errors import DataError, UsageError

OBJECTIVES: tuple[Objective, ...] = get_args(Objective)

_SAFE = 1 << 62


class Best(NamedTuple):
    """The best row and all that are as good.

    ``row`` is the one with the highest cutoff, ``last`` the end of the run of equally good rows
    that starts there, ``tied`` how many are equally good in all, ``value`` how good.
    """

    row: int
    last: int
    tied: int
    value: float


def best_row(curve: ErrorCurve, objective: Objective, costs: Costs | None = None) -> Best:
    """Return the row with the least cost, or the greatest F1, Youden index or accuracy.

    O(m) time, m distinct scores.

    Parameters
    ----------
    curve
        Any; F1 needs an accept among its rows, Youden and a base rate both classes.
    objective
        ``cost`` needs ``costs``, the others take none.

    Raises
    ------
    UsageError
        No such objective, or costs where none belong or none where they do.
    DataError
        The objective is not defined on these rows.
    """
    _check(curve, objective, costs)
    if objective == "f1":
        tied = _best_f1(curve)
    else:
        gain = _gain(curve, objective, costs)
        tied = np.flatnonzero(gain == gain.max())
    row = int(tied[0])
    breaks = np.flatnonzero(np.diff(tied) > 1)
    last = int(tied[breaks[0]] if breaks.size else tied[-1])
    return Best(row, last, len(tied), value_at(curve, row, objective, costs))


def value_at(
    curve: ErrorCurve, row: int, objective: Objective, costs: Costs | None = None
) -> float:
    """Return the objective at a row; a cost is the expected cost of one response."""
    _check(curve, objective, costs)
    counts = curve.counts(row)
    kept, wrong = counts.true_accepts, counts.false_accepts
    if objective == "f1":
        return float(Fraction(2 * kept, kept + wrong + counts.accepts))
    if objective == "youden":
        return float(Fraction(kept, counts.accepts) - Fraction(wrong, counts.rejects))
    if objective == "accuracy":
        return float(
            Fraction(kept + counts.true_rejects, counts.accepts + counts.rejects),
        )
    per_accept, per_reject = _weights(curve, costs)
    return float(per_accept * wrong + per_reject * counts.false_rejects)


def plateau(curve: ErrorCurve, best: Best) -> Gap | None:
    """Return the cutoffs as good as the best from its own gap down; None of accepting nobody."""
    if best.row == 0:
        return None
    return curve.gap(best.row, best.last)


def _check(curve: ErrorCurve, objective: Objective, costs: Costs | None) -> None:
    if objective not in OBJECTIVES:
        raise UsageError(f"objective {objective!r}: choose one of {', '.join(OBJECTIVES)}")
    if (objective == "cost") != (costs is not None):
        raise UsageError("costs belong to the objective 'cost', and it needs them")
    based = costs is not None and costs.base_rate is not None
    needs_reject = objective == "youden" or based
    if (needs_reject or objective == "f1") and not curve.accepts:
        raise DataError(f"{objective} is not defined without a response that a person accepts")
    if needs_reject and not curve.rejects:
        raise DataError(f"{objective} is not defined without a response that a person rejects")


def _gain(curve: ErrorCurve, objective: Objective, costs: Costs | None) -> NDArray[Any]:
    """Return a whole number a row, the greater the better; (m + 1,)."""
    if objective == "accuracy":
        good, bad = 1, 1
    elif objective == "youden":
        good, bad = curve.rejects, curve.accepts
    else:
        per_accept, per_reject = _weights(curve, costs)
        common = math.lcm(per_accept.denominator, per_reject.denominator)
        bad, good = int(per_accept * common), int(per_reject * common)
    shared = math.gcd(good, bad)
    good, bad = good // shared, bad // shared
    kept: NDArray[Any] = curve.true_accepts
    wrong: NDArray[Any] = curve.false_accepts
    if good * curve.accepts + bad * curve.rejects >= _SAFE:
        # Costs of many digits on many rows: whole numbers of any size, slowly.
        kept, wrong = kept.astype(object), wrong.astype(object)
    gain: NDArray[Any] = good * kept - bad * wrong
    return gain


def _weights(curve: ErrorCurve, costs: Costs | None) -> tuple[Fraction, Fraction]:
    """Return what one false accept and one false reject add to the cost of one response."""
    if costs is None:
        raise UsageError("the objective 'cost' needs costs")
    wrong, missed = typed(costs.false_accept), typed(costs.false_reject)
    if costs.base_rate is None:
        n = curve.accepts + curve.rejects
        return wrong / n, missed / n
    base = typed(costs.base_rate)
    return wrong * (1 - base) / curve.rejects, missed * base / curve.accepts


def _best_f1(curve: ErrorCurve) -> NDArray[np.intp]:
    """Return the rows of the greatest F1, TP / (TP + FA + accepts) but for a factor of 2."""
    # One division is rounded correctly: equal fractions are equal floats, and different ones
    # differ as long as their denominators are below 2**26.
    f1 = curve.true_accepts / (curve.true_accepts + curve.false_accepts + curve.accepts)
    return np.flatnonzero(f1 == f1.max())

"""Three ways to put a cutoff at an optimum: as the rows have it, bagged, or from a fitted curve.

The best row of a small sample is a poor guess of the best cutoff. With fewer than 200 rows a
logistic curve through the scores gives a better one for costs, up to 500 the median over
resampled rows. None of them is for a promise: certificates use the order-statistic rule.
"""

from __future__ import annotations

import math
from typing import Literal, NamedTuple, TypeAlias

import numpy as np
from numpy.typing import NDArray

from closecall.calibration.curve import ErrorCurve, curve_from_counts
from closecall.calibration.groups import draws
from closecall.calibration.inputs import Floats, Ints, Labelled
from closecall.calibration.objectives import best_row
from closecall.calibration.records import Costs, Objective

Estimator: TypeAlias = Literal["empirical", "bagged", "platt"]

RESAMPLES = 40
PLATT_BELOW = 200
BAGGED_UP_TO = 500

_STEPS = 100


class Logistic(NamedTuple):
    """The probability that a person accepts is modelled as 1 / (1 + exp(-(slope * s + shift)))."""

    slope: float
    shift: float


def chosen_estimator(rows: int, objective: Objective) -> Estimator:
    """Return the estimator for so many rows; only costs, and accuracy, have a logistic one."""
    if rows < PLATT_BELOW and objective in {"cost", "accuracy"}:
        return "platt"
    return "bagged" if rows <= BAGGED_UP_TO else "empirical"


def platt(curve: ErrorCurve) -> Logistic | None:
    """Fit the logistic curve by maximum likelihood to Platt's smoothed targets.

    Both classes must be there. None when scores do not rise with acceptance: there is no cutoff
    to read off.
    """
    kept = np.diff(curve.true_accepts).astype(np.float64)
    wrong = np.diff(curve.false_accepts).astype(np.float64)
    size = kept + wrong
    goal = kept * (curve.accepts + 1) / (curve.accepts + 2) + wrong / (curve.rejects + 2)
    centre = float((curve.levels * size).sum() / size.sum())
    spread = math.sqrt(float((np.square(curve.levels - centre) * size).sum() / size.sum()))
    if spread == 0:
        return None
    x = (curve.levels - centre) / spread
    slope, shift = 0.0, math.log((curve.accepts + 1) / (curve.rejects + 1))
    loss = _loss(slope, shift, x, size, goal)
    for _ in range(_STEPS):
        p = np.exp(-np.logaddexp(0.0, -(slope * x + shift)))
        miss, bend = p * size - goal, p * (1 - p) * size
        g0, g1 = float((miss * x).sum()), float(miss.sum())
        h00, h01, h11 = (float((bend * x**power).sum()) for power in (2, 1, 0))
        scale = h00 * h11 - h01 * h01
        if scale <= 0:
            break
        step0, step1 = (h11 * g0 - h01 * g1) / scale, (h00 * g1 - h01 * g0) / scale
        size_of_step = 1.0
        while (
            new := _loss(slope - size_of_step * step0, shift - size_of_step * step1, x, size, goal)
        ) > loss and size_of_step > 2.0**-30:
            size_of_step /= 2
        slope, shift = slope - size_of_step * step0, shift - size_of_step * step1
        done = loss - new <= 1e-13 * abs(loss)
        loss = new
        if done:
            break
    if slope <= 0:
        return None
    return Logistic(slope / spread, shift - slope * centre / spread)


def platt_cutoff(curve: ErrorCurve, costs: Costs) -> float | None:
    """Return where accepting and rejecting cost the same by the fitted curve, for a base rate."""
    fitted = platt(curve)
    if fitted is None:
        return None
    needed = math.log(costs.false_accept / costs.false_reject)
    if costs.base_rate is not None:
        # Another share of acceptable responses shifts every log odds by the same amount.
        here = math.log(curve.accepts / curve.rejects)
        needed -= math.log(costs.base_rate / (1 - costs.base_rate)) - here
    return _rounded((needed - fitted.shift) / fitted.slope, curve.decimals)


def bagged_cutoff(
    data: Labelled, curve: ErrorCurve, objective: Objective, costs: Costs | None, seed: int
) -> float:
    """Return the median cutoff over ``RESAMPLES`` resamples of rows, or of groups.

    The upper median: infinity where half of the resamples accept nobody. A resample without one
    of the classes is drawn again.
    """
    order = np.lexsort((data.accept, data.scores))
    codes = np.arange(len(order)) if data.groups is None else data.groups[order]
    units = int(codes.max()) + 1
    level = np.searchsorted(-curve.levels, -data.scores[order])
    accept = data.accept[order]
    cutoffs: list[float] = []
    stream = 0
    while len(cutoffs) < RESAMPLES:
        # One stream a resample, so that drawing one again leaves the others as they are.
        picks = draws(seed * 1_000_003 + stream, np.full(units, units))
        stream += 1
        weight = np.bincount(picks, minlength=units)[codes]
        kept = _per_level(level[accept], weight[accept], len(curve.levels))
        wrong = _per_level(level[~accept], weight[~accept], len(curve.levels))
        if not (kept.any() and wrong.any()):
            continue
        resample = curve_from_counts(curve.levels, kept, wrong, curve.decimals)
        row = best_row(resample, objective, costs).row
        cutoffs.append(resample.cutoff(row) if row else math.inf)
    return sorted(cutoffs)[RESAMPLES // 2]


def _per_level(level: NDArray[np.intp], weight: NDArray[np.intp], levels: int) -> Ints:
    total = np.zeros(levels, dtype=np.int64)
    np.add.at(total, level, weight)
    return total


def _loss(slope: float, shift: float, x: Floats, size: Floats, goal: Floats) -> float:
    z = slope * x + shift
    return float((np.logaddexp(0.0, z) * size - goal * z).sum())


def _rounded(value: float, decimals: int | None) -> float:
    # exp and log differ in the last bit between machines; the scores' decimals do not.
    return value if decimals is None else float(np.round(value, decimals)) + 0.0

"""Whether scores tell accepts from rejects at all, asked before any cutoff is looked for."""

from __future__ import annotations

import math
from statistics import NormalDist
from typing import NamedTuple

from closecall.calibration.binomial import complement
from closecall.calibration.curve import ErrorCurve
from closecall.calibration.records import Interval
from closecall.errors import DataError

SCORE_INTERVAL = "score interval, Hanley-McNeil variance"

_HALVINGS = 60


class Separation(NamedTuple):
    """``auc``: how often an accept outscores a reject, a tie counting half; with an interval."""

    auc: float
    interval: Interval


def separation(
    curve: ErrorCurve,
    level: float = 0.95,
    *,
    accepts: int | None = None,
    rejects: int | None = None,
) -> Separation:
    """Return the area under the curve of true against false accepts, from 0 to 1.

    Parameters
    ----------
    curve
        With both classes.
    level
        Confidence of the interval: the areas that the observed one does not contradict. Unlike
        an interval of the observed area plus or minus its own error, it has a width at 0 and 1.
    accepts, rejects
        How many independent accepts and rejects stand behind the rows, where fewer than there
        are rows: the number of groups.

    Raises
    ------
    DataError
        A class is empty.
    """
    auc = area(curve)
    z = NormalDist().inv_cdf(1 - complement(level) / 2)
    sizes = (accepts or curve.accepts, rejects or curve.rejects)
    interval = Interval(
        low=_edge(auc, 0.0, z, sizes),
        high=_edge(auc, 1.0, z, sizes),
        level=level,
        method=SCORE_INTERVAL,
    )
    return Separation(auc, interval)


def area(curve: ErrorCurve) -> float:
    """Return how often an accept outscores a reject, a tie counting half.

    Raises
    ------
    DataError
        A class is empty.
    """
    if not (curve.accepts and curve.rejects):
        raise DataError("a separation needs accepts and rejects")
    kept, wrong = curve.true_accepts, curve.false_accepts[1:] - curve.false_accepts[:-1]
    # Whole numbers: each reject is outscored by the accepts above it, and by half of those level.
    twice = int(((kept[1:] + kept[:-1]) * wrong).sum())
    return twice / (2 * curve.accepts * curve.rejects)


def _edge(auc: float, end: float, z: float, sizes: tuple[int, int]) -> float:
    """Return the area furthest towards ``end`` that the observed one does not contradict."""
    inside, outside = auc, end
    for _ in range(_HALVINGS):
        middle = (inside + outside) / 2
        if abs(auc - middle) <= z * math.sqrt(_variance(middle, *sizes)):
            inside = middle
        else:
            outside = middle
    return inside


def _variance(area: float, accepts: int, rejects: int) -> float:
    """Return the variance of an observed area, with the two class terms shared evenly."""
    half = (accepts + rejects) / 2 - 1
    spread = (1 - area) / (2 - area) + area / (1 + area)
    return area * (1 - area) * (1 + half * spread) / (accepts * rejects)

"""By how much values of the same cases differ between two runs, with an interval over groups."""

from __future__ import annotations

import math
from importlib import import_module

import numpy as np

from closecall.calibration.binomial import complement
from closecall.calibration.inputs import Floats, Ints
from closecall.calibration.records import Interval

PAIRED_T = "paired t over groups, approximate"
FEWEST_GROUPS = 10
"""Below so many groups whose values differ, their spread is itself unknown."""

_TINY = 1e-12


def mean_difference(sizes: Ints, sums: Floats, level: float = 0.95) -> Interval | None:
    """Return an interval for the mean over cases of B less A, from each group's sum of it.

    The linearised variance of a ratio of sums (Cochran, Sampling Techniques, 3rd ed., 6.3), so
    that cases of one group are one piece of evidence; with one case a group it is the paired t
    interval. Differences of 0 count: they are cases too.

    Parameters
    ----------
    sizes
        (g,): how many cases each group has, at least 1.
    sums
        (g,): what their differences add up to.
    level
        Confidence, above 0 and below 1.

    Returns
    -------
    Interval or None
        None where fewer than ten groups differ, or all by the same amount.
    """
    groups, n = len(sizes), int(sizes.sum())
    if np.count_nonzero(np.abs(sums) > _TINY) < FEWEST_GROUPS:
        return None
    mean = math.fsum(sums) / n
    off = sums - mean * sizes
    spread = math.fsum(np.square(off))
    if spread <= n * _TINY * max(mean * mean, _TINY):
        return None
    error = math.sqrt(groups / (groups - 1) * spread) / n
    reach = float(import_module("scipy.special").stdtrit(groups - 1, 1 - complement(level) / 2))
    return Interval(
        low=mean - reach * error, high=mean + reach * error, level=level, method=PAIRED_T
    )

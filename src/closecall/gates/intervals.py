"""Intervals for a mean and for a percentile of cases that come in groups.

Those of a rate are ``calibration.groups.rate_of_groups``: exact for independent cases.
"""

from __future__ import annotations

import math
from collections.abc import Sequence
from functools import cache
from importlib import import_module
from typing import Any

import numpy as np

from closecall.calibration.binomial import binomial_cdf, complement
from closecall.calibration.groups import clusters_of
from closecall.calibration.inputs import Floats, Ints
from closecall.calibration.records import Interval

FEWEST_GROUPS = 10
"""Below it the spread of the values is itself unknown, and a t interval says too much."""
MOST_BETS = 100_000
"""Groups up to which bets are counted out; beyond it a mean is as good as normal."""

T_INTERVAL = "t over groups, approximate"
BETTING = "betting"
RANKS = "ranks"

_SPREADS = (0.05, 0.1, 0.2, 0.4, 0.8)
"""Standard deviations that the bets are made for, as shares of the way from an end of the scale
to the mean."""
_STEPS = 50
_TINY = 1e-12


def mean_of_groups(
    sizes: Ints,
    sums: Floats,
    *,
    low: float | None,
    high: float | None,
    level: float,
) -> Interval | None:
    """Return an interval for the mean over cases, from the size and sum of each group.

    Parameters
    ----------
    sizes, sums
        (g,): how many cases each group has, and what their values add up to.
    low, high
        Ends of the metric's scale, None where it has none.

    Returns
    -------
    Interval or None
        On a scale with ends, by betting: each end misses with probability (1 - level) / 2 at
        most, for independent groups and whatever their distribution. It is about twice as wide
        as a t interval, which on 24 marks from 1 to 5 that are mostly 5 ends above the true mean
        9 times in 100. Without ends, or beyond 100,000 groups, the t interval; None of it below 10
        groups or where nothing varies. 0.4 s for 100,000 groups.
    """
    groups, n = len(sizes), int(sizes.sum())
    mean = math.fsum(sums) / n
    half = complement(level) / 2
    if low is not None and high is not None and groups <= MOST_BETS:
        over = np.maximum(sums - sizes * low, 0.0)
        under = np.maximum(sizes * high - sums, 0.0)
        return Interval(
            low=low + _least(sizes, over, half),
            high=high - _least(sizes, under, half),
            level=level,
            method=BETTING,
        )
    off = sums - mean * sizes
    spread = math.fsum(np.square(off))
    if groups < FEWEST_GROUPS or spread <= n * _TINY * max(mean * mean, 1.0):
        return None
    # The linearised variance of a ratio of sums: Cochran, Sampling Techniques, 3rd ed., 6.3.
    error = math.sqrt(groups / (groups - 1) * spread) / n
    width = float(_special().stdtrit(groups - 1, 1 - half)) * error
    return Interval(
        low=mean - width if low is None else max(low, mean - width),
        high=mean + width if high is None else min(high, mean + width),
        level=level,
        method=T_INTERVAL,
    )


def _least(sizes: Ints, over: Floats, delta: float) -> float:
    """Return a lower bound on the mean of values of at least 0, with confidence 1 - ``delta``.

    Were the mean m, nobody could expect to gain by betting on higher values: a stake of t on each
    group multiplies a fortune by 1 + t (sum - m size) / (m largest size), which is 1 on average.
    A fortune of 1 / delta is reached with probability delta at most (Markov), so the m at which it
    is are ruled out. Waudby-Smith and Ramdas, Estimating means of bounded random variables by
    betting, JRSS B 86 (2024), with the average of five fixed stakes instead of one that follows
    the values: so the order of the groups does not matter.
    """
    mean = math.fsum(over) / int(sizes.sum())
    if mean <= 0:
        return 0.0
    largest = int(sizes.max())
    gains, share = over / largest, sizes / largest
    scale = math.sqrt(-2 * math.log(delta) / len(sizes))
    stakes = np.minimum(1.0, scale / np.array(_SPREADS))[:, None]

    def fortune(mean: float) -> float:
        """Return the logarithm of the fortune; it falls as the mean rises."""
        with np.errstate(divide="ignore"):
            logs = np.log1p(np.maximum(stakes * (gains / mean - share), -1.0)).sum(axis=1)
        best = float(logs.max())
        if math.isinf(best):
            return best
        return best + math.log(float(np.exp(logs - best).mean()))

    ruled_out, possible = 0.0, mean
    for _ in range(_STEPS):
        middle = (ruled_out + possible) / 2
        # A float of nothing is no mean to divide by.
        if middle <= mean * _TINY:
            break
        if fortune(middle) >= -math.log(delta):
            ruled_out = middle
        else:
            possible = middle
    return ruled_out


def quantile_of(ordered: Sequence[float], share: float) -> float:
    """Return the smallest value that at least this share of the values does not exceed.

    Of the median, the mean of the two values in the middle, as everywhere else.
    """
    n = len(ordered)
    if share == 0.5:  # noqa: PLR2004 - the median
        return (ordered[(n - 1) // 2] + ordered[n // 2]) / 2
    return ordered[max(math.ceil(round(share * n, 9)), 1) - 1]


def quantile_interval(
    ordered: Sequence[float], sizes: Ints, share: float, level: float
) -> Interval | None:
    """Return the interval between two of the ordered values that holds the quantile behind them.

    Exact for independent cases, whatever their distribution (Conover, Practical Nonparametric
    Statistics, 3.2); of groups, ranks are divided by the design effect at the least correlation
    that is assumed. None where so few values have no such interval.
    """
    n = len(ordered)
    half = complement(level) / 2
    effect = clusters_of(sizes, np.zeros_like(sizes)).design_effect

    def at_most(rank: int) -> float:
        """Return the probability of at most so many values below the quantile."""
        return binomial_cdf(rank / effect, n / effect, share)

    low = _last(n, lambda rank: at_most(rank - 1) <= half)
    high = _first(n, lambda rank: at_most(rank - 1) >= 1 - half)
    if low is None or high is None:
        return None
    method = RANKS if effect == 1 else f"{RANKS}, design effect {effect:.2f}"
    return Interval(low=ordered[low - 1], high=ordered[high - 1], level=level, method=method)


def _last(n: int, holds: Any) -> int | None:
    """Return the last rank from 1 to n at which it holds, as it does up to there."""
    if not holds(1):
        return None
    low, high = 1, n + 1
    while high - low > 1:
        middle = (low + high) // 2
        low, high = (middle, high) if holds(middle) else (low, middle)
    return low


def _first(n: int, holds: Any) -> int | None:
    """Return the first rank from 1 to n from which on it holds."""
    last = _last(n, lambda rank: not holds(rank))
    first = 1 if last is None else last + 1
    return first if first <= n else None


@cache
def _special() -> Any:
    return import_module("scipy.special")

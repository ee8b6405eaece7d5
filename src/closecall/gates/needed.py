"""How many more cases would settle what an interval leaves open, if they were like these."""

from __future__ import annotations

import math
from collections.abc import Callable

from closecall.calibration.binomial import lower_bound, upper_bound

MOST = 10_000_000
"""Beyond it no number is told: the value lies on the limit."""


def more_of_rate(count: int, n: int, effect: float, limit: float, half: float) -> int | None:
    """Return how many more cases put a share's interval on one side of the limit.

    Parameters
    ----------
    count, n
        The share as it is, which is taken to stay.
    effect
        The design effect of groups, taken to stay as well.
    half
        What each side of the interval leaves out.
    """
    share = count / n

    def settled(cases: int) -> bool:
        weight = cases / effect
        # Whole cases, rounded to the side that settles less.
        if share > limit:
            return lower_bound(count * cases // n / effect, weight, half) >= limit
        return upper_bound(-(-count * cases // n) / effect, weight, half) <= limit

    return _more(n, settled) if share != limit else None


def more_of_mean(n: int, to_end: float, to_limit: float) -> int | None:
    """Return the same for a mean or a percentile: an interval shrinks with the root of n."""
    if not to_limit:
        return None
    wanted = n * (to_end / to_limit) ** 2
    return max(1, math.ceil(wanted) - n) if wanted <= MOST else None


def _more(n: int, settled: Callable[[int], bool]) -> int | None:
    low, high = n, 2 * n
    while not settled(high):
        low, high = high, 2 * high
        if high > MOST:
            return None
    while high - low > max(1, low // 100):
        middle = (low + high) // 2
        low, high = (low, middle) if settled(middle) else (middle, high)
    return high - n


def about(number: int) -> str:
    """Return a number rounded up to two digits.

    >>> about(7), about(141), about(12_345)
    ('7', '150', '13,000')
    """
    step = 10 ** max(len(str(number)) - 2, 0)
    return f"{-(-number // step) * step:,}"

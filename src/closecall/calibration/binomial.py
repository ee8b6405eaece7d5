"""Exact binomial probabilities and bounds.

``k`` of ``n`` labelled responses were decided wrongly; the true rate is unknown. Every count is
passed as it was counted: none is ever recomputed from a rate, because ``n * (k / n)`` is not
always ``k``. Cumulative probabilities and bounds also take real-valued counts, which a design
effect makes; they interpolate through the beta function.

scipy is loaded by the functions that need it, and only then.
"""

from __future__ import annotations

import math
from functools import lru_cache

from closecall.calibration.records import Interval, Rate, typed
from closecall.calibration.special import special
from closecall.errors import UsageError

CLOPPER_PEARSON = "clopper-pearson"

_KEPT = 1 << 12
"""Answers to keep of each kind: curves and resamples ask about the same few counts, which the
beta function takes longer for than everything else does."""


def binomial_cdf(k: float, n: float, p: float) -> float:
    """Return the probability of at most ``k`` successes in ``n`` trials of probability ``p``.

    Parameters
    ----------
    k, n
        Counts; below 0 the probability is 0, from ``n`` up it is 1.
    p
        From 0 to 1.
    """
    _check_counts(0, n)
    if not 0 <= p <= 1:
        raise UsageError(f"p must lie from 0 to 1, got {p!r}")
    if k < 0:
        return 0.0
    if k >= n:
        return 1.0
    return _cdf(k, n, p)


def upper_bound(k: float, n: float, delta: float) -> float:
    """Return the one-sided Clopper-Pearson upper bound on the rate at confidence 1 - ``delta``.

    It is the rate p at which ``binomial_cdf(k, n, p)`` is ``delta``; 1 when ``k`` is ``n``.
    """
    _check_counts(k, n)
    check_share("delta", delta)
    return 1.0 if k >= n else _quantile(k + 1, n - k, 1.0 - delta)


def lower_bound(k: float, n: float, delta: float) -> float:
    """Return the one-sided Clopper-Pearson lower bound at confidence 1 - ``delta``."""
    _check_counts(k, n)
    check_share("delta", delta)
    return 0.0 if k <= 0 else _quantile(k, n - k + 1, delta)


def clopper_pearson(k: float, n: float, level: float = 0.95) -> Interval:
    """Return the two-sided interval that misses the true rate with probability 1 - level at most.

    Half of the rest is left on each side. ``n`` is above 0.
    """
    if n <= 0:
        raise UsageError("a rate over no labels has no interval")
    half = complement(level) / 2
    return Interval(
        low=lower_bound(k, n, half),
        high=upper_bound(k, n, half),
        level=level,
        method=CLOPPER_PEARSON,
    )


def observed_rate(count: int, n: int, level: float = 0.95) -> Rate | None:
    """Return ``count`` of ``n`` independent rows with its interval; None when ``n`` is 0."""
    if n == 0:
        return None
    return Rate(count=count, n=n, interval=clopper_pearson(count, n, level))


def most_errors(n: float, limit: float, delta: float) -> int | None:
    """Return how many of ``n`` labels may be decided wrongly under a promise of ``limit``.

    The largest k with ``binomial_cdf(k, n, limit) <= delta``, found by bisection; None when not
    even 0 qualifies, that is, when ``n`` labels cannot back the promise at all.
    """
    check_share("limit", limit)
    check_share("delta", delta)
    _check_counts(0, n)
    return _most_errors(n, limit, delta)


def fewest_labels(limit: float, delta: float, errors: int = 0) -> int:
    """Return the smallest n that backs a promise of ``limit`` with ``errors`` wrong decisions."""
    check_share("limit", limit)
    check_share("delta", delta)
    low, high = errors, errors + 1
    while binomial_cdf(errors, high, limit) > delta:
        low, high = high, 2 * high
    while high - low > 1:
        middle = (low + high) // 2
        if binomial_cdf(errors, middle, limit) <= delta:
            high = middle
        else:
            low = middle
    return high


def best_limit(n: float, delta: float, errors: int = 0) -> float | None:
    """Return the smallest limit that ``n`` labels with ``errors`` wrong ones can back.

    None when ``n`` is not above ``errors``: such labels back nothing. A promise of exactly this
    limit is granted by ``most_errors``.
    """
    if n <= errors:
        return None
    limit = upper_bound(errors, n, delta)
    step = math.ulp(limit)
    # The inverse is rounded; a few units more and the promise is kept in floating point too.
    while limit < 1 and binomial_cdf(errors, n, limit) > delta:
        limit, step = limit + step, 2 * step
    return limit if limit < 1 else None


def complement(level: float, name: str = "confidence") -> float:
    """Return 1 - ``level`` as a person computes it: 0.05 for 0.95, not 0.050000000000000044."""
    if isinstance(level, bool) or not isinstance(level, int | float) or not 0 < level < 1:
        raise UsageError(f"{name} must be a number between 0 and 1, like 0.95, got {level!r}")
    return _complement(level)


LEAST_SHARE = 1e-12
"""No number of labels that anybody has backs a smaller one, and floats run out of digits."""


def check_share(name: str, value: float) -> None:
    """Raise ``UsageError`` unless ``value`` is a number between 0 and 1, ends excluded."""
    if isinstance(value, bool) or not isinstance(value, int | float) or not 0 < value < 1:
        raise UsageError(f"{name} must be a number between 0 and 1, like 0.05, got {value!r}")
    if value < LEAST_SHARE:
        raise UsageError(f"{name} must be at least {LEAST_SHARE:g}, got {value!r}")


def _check_counts(k: float, n: float) -> None:
    if not (math.isfinite(n) and 0 <= k <= n):
        raise UsageError(f"no rate has {k!r} of {n!r} labels")


# Pure functions of checked numbers; equal ones of other types give the same floats.


@lru_cache(_KEPT)
def _cdf(k: float, n: float, p: float) -> float:
    return float(special().betainc(n - k, k + 1, 1.0 - p))


@lru_cache(_KEPT)
def _quantile(a: float, b: float, share: float) -> float:
    return float(special().betaincinv(a, b, share))


@lru_cache(_KEPT)
def _complement(level: float) -> float:
    return float(1 - typed(level))


@lru_cache(_KEPT)
def _most_errors(n: float, limit: float, delta: float) -> int | None:
    if binomial_cdf(0, n, limit) > delta:
        return None
    low, high = 0, math.ceil(n)
    while high - low > 1:
        middle = (low + high) // 2
        if binomial_cdf(middle, n, limit) <= delta:
            low = middle
        else:
            high = middle
    return low

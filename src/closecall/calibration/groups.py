"""Rows that come in groups: several responses to one question are not independent.

Two ways to keep a promise on them. One row drawn from each group makes the exact rule exact
again, for the rate that weighs every *group* alike. A design effect keeps all rows and shrinks
their number, for the rate that weighs every *row* alike; it rests on an estimate, so it is
approximate.
"""

from __future__ import annotations

import numpy as np

from closecall.calibration.binomial import CLOPPER_PEARSON, clopper_pearson
from closecall.calibration.inputs import Bools, Ints, Labelled
from closecall.calibration.records import Clusters, Interval, Rate
from closecall.calibration.samples import Sample
from closecall.errors import UsageError

CORRELATION_FLOOR = 0.3
"""Least correlation assumed within a group: few groups often show less than there is."""


def one_per_group(data: Labelled, *, accept: bool, seed: int) -> Sample:
    """Draw one accept, or one reject, from each group that has any.

    The draw depends on the seed, the groups' names and the scores; not on the order of rows.
    """
    if data.groups is None:
        raise UsageError("one row per group needs groups")
    chosen = data.accept == accept
    codes, scores = data.groups[chosen], data.scores[chosen]
    order = np.lexsort((scores, codes))
    codes, scores = codes[order], scores[order]
    starts = np.flatnonzero(np.diff(codes, prepend=-1))
    sizes = np.diff(starts, append=len(codes))
    return Sample(scores[starts + draws(seed, sizes)], "group", seed)


def draws(seed: int, sizes: Ints) -> Ints:
    """Return one whole number from 0 up to, not including, each size; the same on any machine."""
    if isinstance(seed, bool) or not isinstance(seed, int) or seed < 0:
        raise UsageError(f"seed must be a whole number of at least 0, got {seed!r}")
    # Raw output is the one stream that numpy never changes. The bias of % is below 2**-40.
    raw = np.random.PCG64(seed).random_raw(len(sizes))
    return (raw % sizes.astype(np.uint64)).astype(np.int64)


def clusters(wrong: Bools, groups: Ints, *, floor: float = CORRELATION_FLOOR) -> Clusters:
    """Estimate how errors of one group come together.

    Parameters
    ----------
    wrong
        (n,): which rows of one class are decided wrongly; n >= 1.
    groups
        (n,): the group of each row.
    floor
        Least correlation assumed.
    """
    _, codes = np.unique(groups, return_inverse=True)
    sizes = np.bincount(codes)
    return clusters_of(sizes, np.bincount(codes[wrong], minlength=len(sizes)), floor=floor)


def clusters_of(sizes: Ints, hits: Ints, *, floor: float = CORRELATION_FLOOR) -> Clusters:
    """Like ``clusters``, from how many rows each group has and how many of them are wrong."""
    n = int(sizes.sum())
    total, squares = int(hits.sum()), int(np.square(sizes).sum())
    pairs = squares - n
    correlation = None
    if pairs and 0 < total < n:
        p = total / n
        within = n * p * (1 - p)
        between = float(np.square(hits - p * sizes).sum())
        correlation = (between - within) / (pairs * p * (1 - p))
    used = min(1.0, max(floor, correlation if correlation is not None else floor))
    return Clusters(
        n=n,
        groups=len(sizes),
        correlation=correlation,
        used=used,
        design_effect=1 + (squares / n - 1) * used,
    )


def clustered_rate(wrong: Bools, groups: Ints, level: float = 0.95) -> Rate | None:
    """Return the rate over rows, its interval widened by the design effect; None of no rows."""
    if not len(wrong):
        return None
    _, codes = np.unique(groups, return_inverse=True)
    sizes = np.bincount(codes)
    return rate_of_groups(sizes, np.bincount(codes[wrong], minlength=len(sizes)), level)


def rate_of_groups(sizes: Ints, hits: Ints, level: float = 0.95) -> Rate | None:
    """Like ``clustered_rate``, from how many rows each group has and how many are wrong."""
    count, n = int(hits.sum()), int(sizes.sum())
    if n == 0:
        return None
    effect = clusters_of(sizes, hits).design_effect
    plain = clopper_pearson(count / effect, n / effect, level)
    method = CLOPPER_PEARSON if effect == 1 else f"{CLOPPER_PEARSON}, design effect {effect:.2f}"
    interval = Interval(low=plain.low, high=plain.high, level=level, method=method)
    return Rate(count=count, n=n, interval=interval)

"""Ranges of scores to sample from, and how many labels each is worth."""

from __future__ import annotations

import numpy as np
from numpy.typing import ArrayLike

from closecall.calibration.curve import curve_of
from closecall.calibration.estimators import platt
from closecall.calibration.inputs import (
    DECIMALS,
    Bools,
    Floats,
    Ints,
    Labels,
    labelled,
    round_scores,
)

_ROUNDS = 200
_DECIMALS = 9


def expected_rejects(scores: ArrayLike, seen: ArrayLike, labels: Labels) -> Floats:
    """Return how probable a reject is at each score, (n,) float64 above 0 and below 1.

    By a logistic curve through the labels there are; where it does not rise, or a class is
    missing, the share of rejects for every score, one half without any label.

    Parameters
    ----------
    scores
        (n,) finite.
    seen, labels
        (m,) finite scores that have a label, and the labels.
    """
    values = round_scores(scores)
    marks = list(labels)
    data = labelled(seen, marks, decimals=DECIMALS) if marks else None
    if data is None:
        return np.full(values.shape, 0.5)
    rejects = int(np.count_nonzero(~data.accept))
    if 0 < rejects < len(data.accept):
        fitted = platt(curve_of(data))
        if fitted is not None:
            found = np.exp(-np.logaddexp(0.0, fitted.slope * values + fitted.shift))
            # As far as machines agree, and never sure.
            return np.clip(np.round(found, DECIMALS), 10.0**-DECIMALS, 1 - 10.0**-DECIMALS)
    return np.full(values.shape, (rejects + 0.5) / (len(data.accept) + 1))


def allocation(sizes: Ints, worths: Floats, total: int, least: int) -> Ints:
    """Return how many of ``total`` to draw from each stratum, in proportion to ``worths``.

    At least ``least`` from each, or all of it where it has fewer; never more than it has.

    Parameters
    ----------
    sizes
        (h,) int64, at least 1.
    worths
        (h,) at least 0; in proportion to ``sizes`` where all are 0.
    total
        How many in all; the sum of the least, or of ``sizes``, bounds it.
    least
        At least 0.
    """
    low = np.minimum(sizes, least)
    total = min(max(total, int(low.sum())), int(sizes.sum()))
    rates = np.where(worths.sum() > 0, worths, sizes).astype(np.float64)
    rates = rates / rates.sum() if len(rates) else rates

    def at(scale: float) -> Floats:
        return np.clip(scale * rates, low, sizes)

    below, above = 0.0, 1.0
    while at(above).sum() < total and above < 2.0**100:
        above *= 2
    for _ in range(_ROUNDS):
        middle = (below + above) / 2
        below, above = (middle, above) if at(middle).sum() < total else (below, middle)
    # Rounded, so that the last bit of another machine's roots does not move a case.
    wanted = np.round(at(above), _DECIMALS)
    found = np.clip(np.floor(wanted), low, sizes).astype(np.int64)
    left = total - int(found.sum())
    for stratum in np.argsort(found - wanted, kind="stable"):
        if left > 0 and found[stratum] < sizes[stratum]:
            found[stratum] += 1
            left -= 1
    for stratum in range(len(found)):  # a stratum without worth takes what no other can
        extra = min(left, int(sizes[stratum] - found[stratum]))
        found[stratum] += extra
        left -= extra
    return found


def worth(sizes: Ints, above: Bools, shares: Floats) -> Floats:
    """Return W * g * sqrt(p * (1 - p)) of each stratum: what a label in it is worth.

    (h,) ``sizes`` of at least 1, which of them lie ``above`` the cutoff, and their ``shares`` of
    rejects, above 0 and below 1.
    """
    weights = sizes / sizes.sum() if len(sizes) else sizes.astype(np.float64)
    rejects = weights * shares
    wrong, total = float(rejects[above].sum()), float(rejects.sum())
    rate = wrong / total if total else 0.0
    # All cases on one side of the cutoff: the rate there cannot be improved, the share can.
    slope = np.where(above, 1 - rate, rate) if 0 < rate < 1 else np.ones(len(sizes))
    return np.asarray(weights * slope * np.sqrt(shares * (1 - shares)))


def bounds_of(ordered: Floats, cutoff: float, strata: int) -> list[int]:
    """Return where strata start in ordered scores, and the end; equal scores stay together.

    At most ``strata`` on each side of the cutoff, of about as many scores each.
    """
    split, n = int(np.searchsorted(ordered, cutoff, side="left")), len(ordered)
    bounds = {0, split, n}
    for start, end in ((0, split), (split, n)):
        for part in range(1, strata):
            at = start + (end - start) * part // strata
            if start < at < end:
                bounds.add(int(np.searchsorted(ordered, ordered[at], side="left")))
    return sorted(bounds)

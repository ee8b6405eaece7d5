"""A head and the scores of the rows it was fitted to, each row by a head that has not seen it.

A head knows the labels of its own rows: a cutoff from its scores on them breaks its promise far
more often than it says. So the rows are cut into parts, a group never into two, and each part is
scored by a head fitted without it, down to the choice of its penalty. Those scores choose the
cutoff; then the head is fitted to all rows. The scores are not quite those of that head, so what
is promised of them is approximate.
"""

from __future__ import annotations

import math
from collections.abc import Sequence
from typing import NamedTuple

import numpy as np

from closecall.calibration.evidence.held_out import Units, deal, stream_of
from closecall.calibration.head.logistic import Fitted, fit_logistic
from closecall.calibration.inputs import Bools, Floats, Ints
from closecall.metrics.fitted.features import VERSION, Feature, Sides, names
from closecall.metrics.fitted.head import JudgeHead

PENALTIES = (0.03, 0.1, 0.3, 1.0)
"""Inverse strengths of the L2 penalty that are tried, the strongest first."""

FOLDS = 5
INNER_FOLDS = 5

COEFFICIENT_DECIMALS = 6
SCALE_DECIMALS = 9
"""Means and standard deviations are kept to so many decimals, the features to six."""

_FLAT = 1e-6
"""A feature whose standard deviation is below this is the same in all rows: it cannot count."""


class Training(NamedTuple):
    """Rows to fit a head to.

    ``values`` is (n, d), the raw features; ``accept`` (n,); ``groups`` names the group of each
    row; rows of one group are never parted.
    """

    values: Floats
    accept: Bools
    groups: tuple[str, ...]

    def of(self, rows: Bools) -> Training:
        """Return some of the rows."""
        kept = np.flatnonzero(rows).tolist()
        return Training(self.values[rows], self.accept[rows], tuple(self.groups[i] for i in kept))


class Crossed(NamedTuple):
    """``logits`` (n,), each by a head that its group had no part in; the penalty of each head."""

    logits: Floats
    penalties: tuple[float, ...]


def parted(groups: Sequence[str], accept: Bools, parts: int, seed: int, purpose: str) -> Ints:
    """Return the part of each row, (n,) from 0; a group is in one part.

    Parts hold about the same number of each label. The draw depends on the seed, the purpose, the
    groups' names and how many of each label they hold; not on the order of rows, nor on anything
    that was measured. O(n log n).
    """
    codes = np.unique(np.array(groups, dtype=object), return_inverse=True)[1].astype(np.int64)
    total = int(codes.max()) + 1
    units = Units(
        codes,
        np.bincount(codes[accept], minlength=total),
        np.bincount(codes[~accept], minlength=total),
    )
    scarce, other = units.rejects, units.accepts
    if other.sum() < scarce.sum():
        scarce, other = other, scarce
    return deal(scarce, other, min(parts, total), stream_of(units, seed, purpose))[codes]


def fit_head(
    rows: Training,
    features: Sequence[Feature],
    sides: Sides,
    seed: int,
    trained: str,
    *,
    version: str = VERSION,
) -> JudgeHead:
    """Return the head of these rows, its penalty chosen by group cross-validation among them.

    Rows weigh alike, so a group of many weighs more. 21 logistic fits, each O(n d^2) a step.

    Parameters
    ----------
    rows
        With both labels, also in all parts but one.
    features
        One a column.
    sides, trained, version
        As in ``JudgeHead``.
    seed
        Draws the parts.
    """
    means = np.array([math.fsum(column) / len(column) for column in rows.values.T.tolist()])
    means = np.round(means, SCALE_DECIMALS)
    spread = rows.values - means
    sds = np.array([math.sqrt(math.fsum(c) / len(c)) for c in np.square(spread).T.tolist()])
    # One without spread is divided by 1: its coefficient is 0 all the same.
    sds = np.round(np.where(sds < _FLAT, 1.0, sds), SCALE_DECIMALS)
    scaled = np.where(np.ptp(rows.values, axis=0) < _FLAT, 0.0, spread / sds)
    signs = np.array([one.sign for one in features])
    penalty = _penalty(scaled, rows, signs, seed)
    fitted = fit_logistic(scaled, rows.accept, penalty, signs)
    return JudgeHead(
        sides=sides,
        version=version,
        features=names(features),
        means=tuple(means.tolist()),
        sds=tuple(sds.tolist()),
        coefficients=_rounded(fitted.coefficients),
        intercept=round(fitted.intercept, COEFFICIENT_DECIMALS) + 0.0,
        penalty=penalty,
        trained=trained,
    )


def logits_of(head: JudgeHead, values: Floats) -> Floats:
    """Return (n,) the log odds of rows of raw features, in the order of the head's."""
    scaled = (values - np.array(head.means)) / np.array(head.sds)
    found: Floats = scaled @ np.array(head.coefficients) + head.intercept
    return found


def crossed(
    rows: Training, features: Sequence[Feature], sides: Sides, seed: int, trained: str
) -> Crossed:
    """Return the log odds of each row by a head that has seen no row of its group."""
    part = parted(rows.groups, rows.accept, FOLDS, seed, "judge")
    logits = np.zeros(len(part))
    penalties = []
    for at in range(int(part.max()) + 1):
        held = part == at
        head = fit_head(rows.of(~held), features, sides, seed, trained)
        logits[held] = logits_of(head, rows.values[held])
        penalties.append(head.penalty)
    return Crossed(logits, tuple(penalties))


def _penalty(scaled: Floats, rows: Training, signs: Ints, seed: int) -> float:
    """Return the penalty with the least loss on held-out groups; of equals, the strongest."""
    part = parted(rows.groups, rows.accept, INNER_FOLDS, seed, "penalty")
    losses = dict.fromkeys(PENALTIES, 0.0)
    for at in range(int(part.max()) + 1):
        held = part == at
        start: Fitted | None = None
        for penalty in PENALTIES:
            start = fit_logistic(scaled[~held], rows.accept[~held], penalty, signs, start)
            logits = start.logits(scaled[held])
            margins = np.where(rows.accept[held], logits, -logits)
            losses[penalty] += float(np.logaddexp(0.0, -margins).sum())
    return min(PENALTIES, key=lambda penalty: (round(losses[penalty], 6), penalty))


def _rounded(coefficients: Floats) -> tuple[float, ...]:
    return tuple(round(value, COEFFICIENT_DECIMALS) + 0.0 for value in coefficients.tolist())

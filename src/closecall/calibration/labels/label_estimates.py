"""Rates estimated from labels that were not drawn with equal chances.

A label drawn with probability pi stands for 1 / pi cases. Counting such labels as if each stood
for one is badly wrong: errors near the cutoff, where one looks closest, count far too often. Every
estimate here takes the probabilities that were stored with the draw. None of them is for a
promise: a certificate takes a simple random sample.

A false-accept rate is a share of the rejects, so it is the estimate over labelled rejects of
"accepted": ``hajek(accepted[rejects], probability[rejects])``.
"""

from __future__ import annotations

import math
from collections.abc import Sequence

import msgspec
import numpy as np
from numpy.typing import ArrayLike

from closecall.calibration.inputs import Floats
from closecall.errors import DataError, ShapeError, UsageError


class Estimate(msgspec.Struct, frozen=True, kw_only=True):
    """A number estimated from ``n`` labels.

    ``standard_error`` is None where one label, or a design without one, says nothing of it.
    """

    value: float
    standard_error: float | None
    n: int
    method: str


class StratumLabels(msgspec.Struct, frozen=True, kw_only=True):
    """What the labels of one stratum say: ``rejects`` of ``drawn``, of ``size`` cases in all.

    ``above`` says whether the cutoff accepts its cases.
    """

    size: int
    drawn: int
    rejects: int
    above: bool

    def __post_init__(self) -> None:
        if not 0 <= self.rejects <= self.drawn <= self.size or self.drawn < 1:
            raise UsageError(
                f"{self.rejects} rejects of {self.drawn} drawn of {self.size} is no stratum"
            )


def horvitz_thompson(values: ArrayLike, probabilities: ArrayLike, population: int) -> Estimate:
    """Return the mean over a population, unbiased for any design (Horvitz and Thompson 1952).

    The sum of value / probability over the labels, divided by the number of cases. For a rate
    ``hajek`` is the steadier one: this one moves with the number of labels drawn.

    Parameters
    ----------
    values
        (n,) finite, n of at least 0.
    probabilities
        (n,) above 0, at most 1: of being in the sample at all.
    population
        How many cases there are, labelled or not; at least 1.
    """
    y, pi = _sample(values, probabilities, least=0)
    _check_population(population, len(y))
    return Estimate(
        value=float((y / pi).sum()) / population,
        standard_error=None,
        n=len(y),
        method="Horvitz-Thompson",
    )


def hajek(values: ArrayLike, probabilities: ArrayLike) -> Estimate:
    """Return the weighted mean, each label weighing 1 / probability (Hajek 1971).

    It needs no size of the population, and for a rate it lies between 0 and 1. Its bias vanishes
    with n; with equal probabilities it is the mean of the labels. The standard error is that of
    independent draws without replacement (Sarndal, Swensson and Wretman 1992, section 5.7), which
    is close for a stratified or a simple random sample.

    Parameters
    ----------
    values
        (n,) finite, n of at least 1.
    probabilities
        (n,) above 0, at most 1.
    """
    y, pi = _sample(values, probabilities, least=1)
    weights = 1 / pi
    total = float(weights.sum())
    value = float((weights * y).sum()) / total
    error = None
    n = len(y)
    if n > 1:
        spread = float((np.square(weights * (y - value)) * (1 - pi)).sum())
        error = math.sqrt(spread * n / (n - 1)) / total
    return Estimate(value=value, standard_error=error, n=n, method="Hajek")


def stratified_share(strata: Sequence[StratumLabels]) -> Estimate:
    """Return the share of rejects in the population, unbiased (Cochran 1977, chapter 5).

    The standard error has the finite-population correction; the variance within a stratum is
    p * (1 - p) at p = (x + 0.5) / (n + 1), so that three equal labels do not claim certainty.
    """
    share, variance = _part(strata, _total(strata))
    return Estimate(
        value=share,
        standard_error=math.sqrt(variance),
        n=sum(stratum.drawn for stratum in strata),
        method="stratified",
    )


def stratified_false_accept_rate(strata: Sequence[StratumLabels]) -> Estimate | None:
    """Return FAR = a / (a + b), a and b the shares of rejects above and below the cutoff.

    Both shares are unbiased, their ratio is nearly so. Standard error by the delta method:
    dFAR = ((1 - FAR) da - FAR db) / (a + b). None where no label is a reject.
    """
    total = _total(strata)
    above, above_variance = _part([s for s in strata if s.above], total)
    below, below_variance = _part([s for s in strata if not s.above], total)
    rejects = above + below
    if rejects == 0:
        return None
    rate = above / rejects
    variance = (1 - rate) ** 2 * above_variance + rate**2 * below_variance
    return Estimate(
        value=rate,
        standard_error=math.sqrt(variance) / rejects,
        n=sum(stratum.drawn for stratum in strata),
        method="stratified, delta method",
    )


def ppi_mean(
    values: ArrayLike,
    predicted: ArrayLike,
    predicted_rest: ArrayLike,
    *,
    trust: float | None = None,
) -> Estimate:
    """Return a mean from few labels and a model's prediction everywhere (PPI++).

    trust * mean(f over the rest) + mean(y - trust * f over the labels): unbiased for any model
    and any ``trust`` fixed beforehand (Angelopoulos, Duchi and Zrnic 2023). Labels must be a
    simple random sample; its standard error is for large ones and too small where the value is
    rare.

    Parameters
    ----------
    values
        (n,) finite: what people said, n of at least 2.
    predicted
        (n,) finite: what the model says of the same.
    predicted_rest
        (m,) finite: what the model says of the other cases, or of all; m of at least 1.
    trust
        From 0, which ignores the model, to 1. None takes the one of least estimated variance,
        which costs a bias that vanishes with n.
    """
    y, f, rest = (_finite(name, array) for name, array in (
        ("values", values), ("predicted", predicted), ("predicted_rest", predicted_rest)
    ))  # fmt: skip
    n, m = len(y), len(rest)
    if f.shape != y.shape:
        raise ShapeError(f"predicted {f.shape} do not fit values {y.shape}")
    if n < 2 or m < 1:  # noqa: PLR2004 - a variance takes two
        raise DataError(f"{n} labels and {m} other predictions: at least 2 and 1 are needed")
    if trust is None:
        trust = _least_variance(y, f, rest)
    elif not 0 <= trust <= 1:
        raise UsageError(f"trust must lie from 0 to 1, got {trust!r}")
    left = y - trust * f
    variance = trust**2 * float(rest.var()) / m + float(left.var()) / n
    return Estimate(
        value=trust * float(rest.mean()) + float(left.mean()),
        standard_error=math.sqrt(variance),
        n=n,
        method=f"PPI++, trust {trust:.3f}",
    )


def lure_weights(proposals: ArrayLike, population: int) -> Floats:
    """Return the weights of labels drawn one after another without replacement, (n,) float64.

    v_m = 1 + (N - M) / (N - m) * (1 / ((N - m + 1) * q_m) - 1) for the m-th of M labels of N
    cases, drawn with probability q_m from those left; 1 where all are labelled (Farquhar, Gal and
    Rainforth 2021; Kossen and others 2021).

    Parameters
    ----------
    proposals
        (n,) above 0, at most 1, in the order drawn: the probability, at its draw, of the case
        that was drawn.
    population
        How many cases there are; at least n.
    """
    q = _finite("proposals", proposals)
    _check_shares("proposals", q)
    drawn = len(q)
    _check_population(population, drawn)
    if drawn == population:
        return np.ones(drawn)
    at = np.arange(1, drawn + 1)
    left = population - at
    return np.asarray(1 + (population - drawn) / left * (1 / ((left + 1) * q) - 1))


def lure(values: ArrayLike, proposals: ArrayLike, population: int) -> Estimate:
    """Return the mean over a population from labels drawn one after another, unbiased.

    Each draw may depend on all that was seen before. Parameters as for ``lure_weights``; (n,)
    finite values, n of at least 1.
    """
    y = _finite("values", values)
    weights = lure_weights(proposals, population)
    if y.shape != weights.shape:
        raise ShapeError(f"values {y.shape} do not fit proposals {weights.shape}")
    if not len(y):
        raise DataError("no labels, no mean")
    return Estimate(
        value=float((weights * y).mean()), standard_error=None, n=len(y), method="LURE"
    )


def _part(strata: Sequence[StratumLabels], total: int) -> tuple[float, float]:
    """Return the share of all cases that are rejects of these strata, and its variance."""
    share = variance = 0.0
    for stratum in strata:
        weight, drawn = stratum.size / total, stratum.drawn
        smooth = (stratum.rejects + 0.5) / (drawn + 1)
        share += weight * stratum.rejects / drawn
        unseen = 1 - drawn / stratum.size
        variance += weight**2 * smooth * (1 - smooth) / drawn * unseen
    return share, variance


def _total(strata: Sequence[StratumLabels]) -> int:
    if not strata:
        raise DataError("no strata, no estimate")
    return sum(stratum.size for stratum in strata)


def _least_variance(y: Floats, f: Floats, rest: Floats) -> float:
    """Return cov(y, f) / ((1 + n / m) * var(f)), kept from 0 to 1."""
    spread = float(np.concatenate((f, rest)).var()) * (1 + len(y) / len(rest))
    if spread == 0:
        return 0.0
    together = float(((y - y.mean()) * (f - f.mean())).mean())
    return min(max(together / spread, 0.0), 1.0)


def _sample(values: ArrayLike, probabilities: ArrayLike, *, least: int) -> tuple[Floats, Floats]:
    y, pi = _finite("values", values), _finite("probabilities", probabilities)
    if y.shape != pi.shape:
        raise ShapeError(f"probabilities {pi.shape} do not fit values {y.shape}")
    if len(y) < least:
        raise DataError("no labels, no rate")
    _check_shares("probabilities", pi)
    return y, pi


def _finite(name: str, array: ArrayLike) -> Floats:
    found = np.asarray(array, dtype=np.float64)
    if found.ndim != 1:
        raise ShapeError(f"{name} must be (n,), got {found.shape}")
    if not np.isfinite(found).all():
        raise DataError(f"{name} must be finite")
    return found


def _check_shares(name: str, array: Floats) -> None:
    if not np.all((array > 0) & (array <= 1)):
        raise DataError(f"{name} must be above 0 and at most 1: that is what was drawn with")


def _check_population(population: int, drawn: int) -> None:
    if isinstance(population, bool) or population < max(drawn, 1):
        raise UsageError(f"{drawn} labels cannot be of a population of {population!r}")

"""From a score to the probability that a person would accept, on data like the calibration set.

A score is no probability: 0.8 does not mean that four of five such responses are acceptable. A
curve fitted to the labelled scores says what it does mean. The result is for people to read, to
rank by and to weigh costs with; it is never used for the decision, which compares the score with
the cutoff.
"""

from __future__ import annotations

import math
from typing import NamedTuple, TypeAlias

import msgspec
import numpy as np
from numpy.typing import ArrayLike

from closecall.calibration.curve import ErrorCurve, curve_of
from closecall.calibration.estimators import platt
from closecall.calibration.inputs import Floats, Labelled, round_scores

BETA_FROM = 100
"""From so many labels a beta curve is fitted, which may bend differently at its two ends."""

DECIMALS = 6
"""Decimals of a probability: what follows differs between machines and means nothing."""

_DIGITS = 9
_CLIP = 0.01
_STEPS = 100
_CONDITION = 1e10


class PlattMap(msgspec.Struct, frozen=True, kw_only=True, tag="platt"):
    """The probability is 1 / (1 + exp(-(slope * score + shift))); slope > 0, ``n`` labels.

    Platt (1999), with his smoothed targets.
    """

    slope: float
    shift: float
    n: int


class BetaMap(msgspec.Struct, frozen=True, kw_only=True, tag="beta"):
    """The log odds are a * ln(z) - b * ln(1 - z) + c; a, b >= 0, not both 0, ``n`` labels.

    ``z`` is where the score lies from ``low``, 0, to ``high``, 1, the range of the labelled
    scores; kept between 0.01 and 0.99, so that no single score at an end rules the curve. Kull,
    Silva Filho and Flach (2017).
    """

    a: float
    b: float
    c: float
    low: float
    high: float
    n: int


ProbabilityMap: TypeAlias = PlattMap | BetaMap


class ProbabilityQuality(msgspec.Struct, frozen=True, kw_only=True):
    """How good probabilities are on ``n`` labelled rows, by two proper scores; lower is better.

    ``brier`` is the mean squared error, from 0 to 1; ``log_loss`` the mean surprise in nats.
    ``base_brier`` and ``base_log_loss`` are those of always saying the share of accepts among
    these rows: a map that does not beat them says nothing. On the rows it was fitted on a map
    looks better than it is.
    """

    n: int
    accepts: int
    brier: float
    log_loss: float
    base_brier: float
    base_log_loss: float


def fit_probability(data: Labelled) -> ProbabilityMap | None:
    """Fit the probability that a person would accept, on data like the calibration set.

    Below ``BETA_FROM`` labels by Platt's logistic curve; from there by the beta curve, or Platt's
    where no beta curve rises. Both by maximum likelihood to Platt's targets, (accepts + 1) /
    (accepts + 2) and 1 / (rejects + 2), which keep the fit finite where the classes do not
    overlap. Constants are rounded to nine digits, so that machines agree. O(n log n) time.

    None where scores do not rise with acceptance, or a class is missing: there is nothing to fit.
    """
    curve = curve_of(data)
    n = len(data.scores)
    if not (curve.accepts and curve.rejects):
        return None
    logistic = platt(curve)
    if logistic is None:
        return None
    if n >= BETA_FROM:
        beta = _beta(curve)
        if beta is not None:
            return beta
    slope, shift = _rounded(logistic.slope), _rounded(logistic.shift)
    if not (math.isfinite(slope) and math.isfinite(shift)):
        return None
    return PlattMap(slope=slope, shift=shift, n=n)


def probability(fitted: ProbabilityMap, scores: ArrayLike) -> Floats:
    """Return the probability that a person would accept, on data like the calibration set.

    NEVER used for the decision: that compares the score with the cutoff.

    Parameters
    ----------
    fitted
        What ``fit_probability`` returned.
    scores
        Any shape, finite.

    Returns
    -------
    probabilities
        float64, the shape of ``scores``, never falling as the score rises, six decimals. Between
        1 / (n + 2) and 1 - 1 / (n + 2), as ``n`` labels cannot show that something rarer than
        that does not happen; never 0 or 1.

    Raises
    ------
    NonFiniteError
        A score is NaN or infinite.
    """
    values = round_scores(scores, None)
    sure = np.exp(-np.logaddexp(0.0, -_log_odds(fitted, values)))
    least = max(10.0**-DECIMALS, 1 / (fitted.n + 2))
    # Rounded before it is limited: exp need not rise in its last bit, and 0 is no probability.
    return np.clip(np.round(sure, DECIMALS), least, 1 - least)


def reliability(fitted: ProbabilityMap, data: Labelled) -> ProbabilityQuality:
    """Measure the probabilities of labelled rows, best of rows that the map was not fitted on.

    No calibration error over bins is given: with some hundred rows it is far from 0 for perfect
    probabilities too.
    """
    p = probability(fitted, data.scores)
    n, accepts = len(p), int(np.count_nonzero(data.accept))
    base = accepts / n
    surprise = np.where(data.accept, np.log(p), np.log1p(-p))
    certain = accepts in {0, n}
    return ProbabilityQuality(
        n=n,
        accepts=accepts,
        brier=float(np.square(p - data.accept).mean()),
        log_loss=-float(surprise.mean()),
        base_brier=base * (1 - base),
        base_log_loss=0.0
        if certain
        else -(base * math.log(base) + (1 - base) * math.log1p(-base)),
    )


class _Fit(NamedTuple):
    constants: Floats
    loss: float


def _log_odds(fitted: ProbabilityMap, values: Floats) -> Floats:
    if isinstance(fitted, PlattMap):
        with np.errstate(over="ignore"):  # infinite log odds are as good as large ones
            return fitted.slope * values + fitted.shift
    up, down = _bends(values, fitted.low, fitted.high)
    return fitted.a * up + fitted.b * down + fitted.c


def _bends(scores: Floats, low: float, high: float) -> tuple[Floats, Floats]:
    """Return ln(z) and -ln(1 - z); both rise with the score."""
    # Halves: the width of the range, or the way to a score outside it, may overflow.
    width = high / 2 - low / 2
    z = np.clip((np.clip(scores, low, high) / 2 - low / 2) / width, _CLIP, 1 - _CLIP)
    return np.log(z), -np.log1p(-z)


def _beta(curve: ErrorCurve) -> BetaMap | None:
    """Return the most likely beta curve with a, b >= 0.

    None where the best is flat, or where too few scores differ to tell one curve from another.
    """
    low, high = float(curve.levels[-1]), float(curve.levels[0])
    if not high / 2 - low / 2 > 0:
        return None
    up, down = _bends(curve.levels, low, high)
    flat = np.ones_like(up)
    kept = np.diff(curve.true_accepts).astype(np.float64)
    wrong = np.diff(curve.false_accepts).astype(np.float64)
    goal = kept * (curve.accepts + 1) / (curve.accepts + 2) + wrong / (curve.rejects + 2)

    def fit(*columns: Floats) -> _Fit | None:
        return _newton(np.column_stack((*columns, flat)), kept + wrong, goal)

    both = fit(up, down)
    if both is None:
        return None
    if min(both.constants[:2]) >= 0:
        a, b, c = both.constants
    else:
        # The loss is convex: with a negative constant, the best curve has a or b at 0.
        only_up, only_down = fit(up), fit(down)
        rising = [
            (found.loss, at, found.constants)
            for at, found in enumerate((only_up, only_down))
            if found is not None and found.constants[0] > 0
        ]
        if not rising:
            return None
        _, at, (bend, c) = min(rising, key=lambda found: found[:2])
        a, b = (bend, 0.0) if at == 0 else (0.0, bend)
    a, b, c = _rounded(a), _rounded(b), _rounded(c)
    return BetaMap(a=a, b=b, c=c, low=low, high=high, n=int((kept + wrong).sum()))


def _newton(columns: Floats, size: Floats, goal: Floats) -> _Fit | None:
    """Fit logistic regression of ``goal`` of ``size`` on (m, k) columns by Newton's method.

    None where the columns hardly determine the constants: machines would not agree on them.
    """
    constants = np.zeros(columns.shape[1])
    loss = _loss(constants, columns, size, goal)
    for _ in range(_STEPS):
        p = np.exp(-np.logaddexp(0.0, -(columns @ constants)))
        slope = columns.T @ (p * size - goal)
        bend = (columns * (p * (1 - p) * size)[:, None]).T @ columns
        if np.linalg.cond(bend) > _CONDITION:
            return None
        step = np.linalg.solve(bend, slope)
        shrink = 1.0
        while (
            new := _loss(constants - shrink * step, columns, size, goal)
        ) > loss and shrink > 2.0**-30:
            shrink /= 2
        constants = constants - shrink * step
        done = loss - new <= 1e-13 * abs(loss)
        loss = new
        if done:
            return _Fit(constants, loss)
    return None


def _loss(constants: Floats, columns: Floats, size: Floats, goal: Floats) -> float:
    odds = columns @ constants
    return float((np.logaddexp(0.0, odds) * size - goal * odds).sum())


def _rounded(value: float) -> float:
    # exp, log and the order of sums differ in the last bits between machines; these digits do not.
    return float(f"{value:.{_DIGITS}g}") + 0.0

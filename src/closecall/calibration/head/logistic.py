"""L2 logistic regression with coefficients that may be kept on one side of zero.

Minimises ``c * sum(log(1 + exp(-m))) + |w|^2 / 2`` over w and the intercept, m the margin of each
row; the intercept is not penalised. With no sign given this is what scikit-learn's
``LogisticRegression(C=c)`` minimises. Solved by Newton steps whose signs are settled exactly: the
problem is convex and small, the steps end in a few, and the last digits are those of the solution
and not of where a solver gave up.
"""

from __future__ import annotations

from typing import NamedTuple

import numpy as np

from closecall.calibration.inputs import Bools, Floats, Ints
from closecall.errors import ClosecallError

_STEPS = 200
_SMALL = 1e-9
"""Largest component of the projected gradient, a row, at which a solution is one."""
_ENOUGH = 1e-4
_DIGITS = 1e-13
"""Share of a loss that is rounding: a step that moves it by less is taken."""
_SHORTEST = 1e-9
_TURNS = 20
_SLACK = 1e-12


class NoSolutionError(ClosecallError):
    """The steps did not end; it takes features that are not finite, or of no usable size."""


class Fitted(NamedTuple):
    """``coefficients`` (d,) of standardised features, and the intercept."""

    coefficients: Floats
    intercept: float

    def logits(self, rows: Floats) -> Floats:
        """Return (n,) the log odds of (n, d) standardised rows."""
        found: Floats = rows @ self.coefficients + self.intercept
        return found


def fit_logistic(
    rows: Floats, accept: Bools, c: float, signs: Ints, start: Fitted | None = None
) -> Fitted:
    """Return the coefficients of the least penalised loss; O(n d^2) a step, some ten steps.

    Parameters
    ----------
    rows
        (n, d) float64, standardised, finite.
    accept
        (n,); both classes are there.
    c
        Above 0: the smaller, the nearer to zero the coefficients.
    signs
        (d,): 1 for a coefficient of at least 0, -1 for one of at most 0, 0 for a free one.
    start
        Where to begin, of the same signs; it does not change the result.

    Raises
    ------
    NoSolutionError
        The steps did not end.
    """
    n, d = rows.shape
    flip = np.where(signs < 0, -1.0, 1.0)
    bound = np.append(signs != 0, False)
    design = np.column_stack([rows * flip, np.ones(n)])
    penalty = np.append(np.ones(d), 0.0)
    share = float(np.count_nonzero(accept)) / n
    at = np.append(np.zeros(d), np.log(share / (1 - share)))
    if start is not None:
        at = np.append(start.coefficients * flip, start.intercept)
    target = accept.astype(np.float64)

    def loss(point: Floats) -> float:
        margins = design @ point
        # log(1 + exp(m)) - y m, without overflow.
        rows_loss = np.logaddexp(0.0, margins) - target * margins
        return float(c * rows_loss.sum() + 0.5 * (penalty * point * point).sum())

    value = loss(at)
    for _ in range(_STEPS):
        chance = _sigmoid(design @ at)
        slope = c * (design.T @ (chance - target)) + penalty * at
        moves = at - np.where(bound, np.maximum(at - slope, 0.0), at - slope)
        if np.abs(moves).max() <= _SMALL * max(1.0, c * n):
            return Fitted(at[:d] * flip + 0.0, float(at[d]))
        curve = c * (design.T * (chance * (1 - chance))) @ design + np.diag(penalty)
        # A saturated intercept has no curvature left of its own.
        curve[np.diag_indices_from(curve)] += 1e-12
        step = _lowest(curve, curve @ at - slope, bound, at) - at
        size, fall = 1.0, float(-slope @ step)
        while (found := loss(at + size * step)) > value - _ENOUGH * size * fall + _DIGITS * value:
            size /= 2
            if size < _SHORTEST:
                raise NoSolutionError(
                    "a logistic head could not be fitted: no step lowers its loss"
                )
        at, value = at + size * step, found
    raise NoSolutionError("a logistic head could not be fitted: its steps did not end")


def _lowest(curve: Floats, pull: Floats, bound: Bools, start: Floats) -> Floats:
    """Return the x of least ``x' curve x / 2 - pull' x`` with the bounded ones at 0 or above.

    The active set method of Lawson and Hanson (1974), begun from a point within the bounds.
    """
    x = start.copy()
    free = ~bound | (x > 0)
    slack = _SLACK * max(1.0, float(np.abs(pull).max()))
    for _ in range(_TURNS * len(x)):
        best = np.zeros_like(x)
        best[free] = np.linalg.solve(curve[np.ix_(free, free)], pull[free])
        below = free & bound & (best <= 0)
        if below.any():
            # As far as the first that meets its bound, which is then held there.
            ways = np.full(len(x), np.inf)
            ways[below] = x[below] / (x[below] - best[below])
            first = int(ways.argmin())
            x = x + ways[first] * (best - x)
            x[first] = 0.0
            free[first] = False
            continue
        x = best
        rest = np.where(free, -np.inf, pull - curve @ x)
        worst = int(rest.argmax())
        if rest[worst] <= slack:
            return x
        free[worst] = True
    raise NoSolutionError("a logistic head could not be fitted: its signs could not be settled")


def _sigmoid(logits: Floats) -> Floats:
    found: Floats = 0.5 * (1.0 + np.tanh(0.5 * logits))
    return found

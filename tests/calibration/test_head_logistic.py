"""The logistic head is the one other programs find, and keeps its signs."""

import numpy as np
import pytest
from made_features import FEATURES, SHIFT, SIGNS, normal_rows
from scipy.optimize import minimize
from sklearn.linear_model import LogisticRegression

from closecall.calibration.head.logistic import Fitted, fit_logistic

FREE = np.zeros(FEATURES, dtype=np.int64)


def scaled(seed, n=240, **options):
    rows = normal_rows(n, np.random.default_rng(seed), **options)
    values = (rows.values - rows.values.mean(axis=0)) / rows.values.std(axis=0)
    return values, rows.accept


@pytest.mark.parametrize("c", [0.03, 0.1, 0.3, 1.0])
def test_without_signs_it_is_what_scikit_learn_finds(c):
    values, accept = scaled(1)
    found = fit_logistic(values, accept, c, FREE)
    other = LogisticRegression(C=c, tol=1e-12, max_iter=10_000).fit(values, accept)
    assert np.abs(found.coefficients - other.coef_[0]).max() < 2e-6
    assert found.intercept == pytest.approx(other.intercept_[0], abs=2e-6)


def bounded(values, accept, c, signs):
    """The same problem by another program's bounds."""

    def loss(point):
        margins = values @ point[:-1] + point[-1]
        chance = 1 / (1 + np.exp(-margins))
        value = (
            c * (np.logaddexp(0, margins) - accept * margins).sum() + point[:-1] @ point[:-1] / 2
        )
        return value, np.append(
            c * values.T @ (chance - accept) + point[:-1], c * (chance - accept).sum()
        )

    limits = {0: (None, None), 1: (0, None), -1: (None, 0)}
    found = minimize(
        loss, np.zeros(values.shape[1] + 1), jac=True, method="L-BFGS-B",
        bounds=[*(limits[sign] for sign in signs.tolist()), (None, None)],
        options={"maxiter": 5000, "ftol": 1e-16, "gtol": 1e-9},
    )  # fmt: skip
    return found.x[:-1], found.fun, loss


@pytest.mark.parametrize("seed", range(8))
def test_with_signs_it_is_what_a_bounded_solver_finds(seed):
    rng = np.random.default_rng(seed)
    # Shifts of random sign, so that about half of the signs bind; columns that go together.
    values, accept = scaled(seed, shift=SHIFT * rng.choice([-1.0, 1.0], FEATURES))
    values = values + rng.normal(size=(len(values), 1))
    signs = rng.integers(-1, 2, FEATURES)
    found = fit_logistic(values, accept, 0.3, signs)
    other, best, loss = bounded(values, accept, 0.3, signs)
    assert np.abs(found.coefficients - other).max() < 1e-5
    assert loss(np.append(found.coefficients, found.intercept))[0] <= best + 1e-9
    assert (found.coefficients * signs >= 0).all()


def test_a_sign_that_the_labels_contradict_makes_the_coefficient_zero():
    # Everything that should speak for acceptance speaks against it here.
    values, accept = scaled(3, n=600, shift=-SHIFT)
    found = fit_logistic(values, accept, 0.3, SIGNS)
    free = fit_logistic(values, accept, 0.3, FREE)
    against = free.coefficients * SIGNS < -0.2
    assert np.count_nonzero(against) >= 4
    assert (found.coefficients[against] == 0).all()


def test_where_it_begins_does_not_matter():
    values, accept = scaled(4)
    plain = fit_logistic(values, accept, 0.1, SIGNS)
    start = Fitted(np.abs(np.random.default_rng(0).normal(size=FEATURES)) * SIGNS, 3.0)
    again = fit_logistic(values, accept, 0.1, SIGNS, start)
    assert np.abs(plain.coefficients - again.coefficients).max() < 1e-8


def test_rows_that_one_feature_parts_have_a_solution():
    values, accept = scaled(5)
    values[:, 0] = np.where(accept, 1.0, -1.0)
    found = fit_logistic(values, accept, 1.0, SIGNS)
    assert np.isfinite(found.coefficients).all()
    assert ((found.logits(values) > 0) == accept).all()

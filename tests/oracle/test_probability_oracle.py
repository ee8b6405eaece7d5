"""Probability maps, Venn-Abers intervals and kappa against scipy and scikit-learn."""

import numpy as np
import pytest

from closecall.calibration.evidence.probability import (
    BetaMap,
    PlattMap,
    fit_probability,
    probability,
    reliability,
)
from closecall.calibration.evidence.venn_abers import venn_abers
from closecall.calibration.inputs import labelled
from closecall.calibration.labels.agreement import agreement

optimize = pytest.importorskip("scipy.optimize")
isotonic = pytest.importorskip("sklearn.isotonic")
linear = pytest.importorskip("sklearn.linear_model")
metrics = pytest.importorskip("sklearn.metrics")


def made(seed, least, most):
    rng = np.random.default_rng(seed)
    n = int(rng.integers(least, most))
    labels = rng.random(n) < rng.uniform(0.2, 0.8)
    labels[:2] = True, False
    # From hardly to well separated, and bent at one end, so that each kind of beta curve comes.
    scores = np.where(
        labels, rng.beta(1 + seed % 5, 1 + seed % 2, n), rng.beta(2, 2 + seed % 3, n)
    )
    return labelled(scores, labels, decimals=2 + seed % 4)


def smoothed(data):
    n1, n0 = int(data.accept.sum()), int((~data.accept).sum())
    return np.where(data.accept, (n1 + 1) / (n1 + 2), 1 / (n0 + 2))


def loss(odds, goal):
    return float((np.logaddexp(0, odds) - goal * odds).sum())


@pytest.mark.parametrize("seed", range(12))
def test_platt_against_logistic_regression_on_smoothed_targets(seed):
    data = made(seed, 30, 100)
    goal = smoothed(data)
    reference = linear.LogisticRegression(C=np.inf, tol=1e-10, max_iter=5000)
    reference.fit(
        np.tile(data.scores, 2)[:, None],
        np.repeat([1, 0], len(goal)),
        sample_weight=np.concatenate((goal, 1 - goal)),
    )
    slope, shift = reference.coef_[0, 0], reference.intercept_[0]
    fitted = fit_probability(data)
    if slope < -1e-3:
        assert fitted is None
        return
    assert isinstance(fitted, PlattMap)
    assert (fitted.slope, fitted.shift) == pytest.approx((slope, shift), rel=1e-3, abs=1e-4)
    at = np.linspace(0.2, 0.8, 13)
    want = 1 / (1 + np.exp(-(slope * at + shift)))
    inside = np.clip(want, 1 / (fitted.n + 2), 1 - 1 / (fitted.n + 2))
    assert probability(fitted, at) == pytest.approx(inside, abs=1e-4)


def beta_columns(data):
    low, high = data.scores.min(), data.scores.max()
    z = np.clip((data.scores - low) / (high - low), 0.01, 0.99)
    return np.column_stack((np.log(z), -np.log1p(-z), np.ones_like(z)))


BETA_SEEDS = range(40)


@pytest.mark.parametrize("seed", BETA_SEEDS)
def test_beta_against_a_bounded_fit(seed):
    data = made(seed, 100, 500)
    fitted = fit_probability(data)
    if fitted is None:
        assert np.corrcoef(data.scores, data.accept)[0, 1] < 0.02
        return
    columns, goal = beta_columns(data), smoothed(data)
    reference = optimize.minimize(
        lambda constants: loss(columns @ constants, goal),
        np.zeros(3),
        jac=lambda constants: columns.T @ (1 / (1 + np.exp(-columns @ constants)) - goal),
        method="L-BFGS-B",
        bounds=[(0, None), (0, None), (None, None)],
        options={"ftol": 1e-15, "gtol": 1e-9, "maxiter": 5000, "maxfun": 5000},
    )
    assert isinstance(fitted, BetaMap)
    ours = columns @ [fitted.a, fitted.b, fitted.c]
    assert loss(ours, goal) <= reference.fun * (1 + 1e-9)
    assert [fitted.a, fitted.b, fitted.c] == pytest.approx(reference.x, rel=1e-3, abs=2e-3)
    odds = np.clip(ours, -700, 700)
    least = 1 / (fitted.n + 2)
    want = np.clip(1 / (1 + np.exp(-odds)), least, 1 - least)
    assert probability(fitted, data.scores) == pytest.approx(want, abs=1e-6)


def test_the_bounded_fits_above_meet_every_bound():
    kinds = set()
    for seed in BETA_SEEDS:
        fitted = fit_probability(made(seed, 100, 500))
        if isinstance(fitted, BetaMap):
            kinds.add((fitted.a > 0, fitted.b > 0))
    assert kinds == {(True, True), (True, False), (False, True)}


def refitted(data, score, label):
    model = isotonic.IsotonicRegression(y_min=0, y_max=1)
    x = np.append(data.scores, score)
    return model.fit(x, np.append(data.accept, label)).predict([score])[0]


@pytest.mark.parametrize("seed", range(8))
def test_venn_abers_against_two_isotonic_regressions(seed):
    data = made(seed, 20, 200)
    asked = np.concatenate((data.scores[:15], np.linspace(-0.1, 1.1, 15).round(data.decimals)))
    lower, upper = venn_abers(data).interval(asked)
    assert lower == pytest.approx([refitted(data, s, 0.0) for s in asked], abs=1e-12)
    assert upper == pytest.approx([refitted(data, s, 1.0) for s in asked], abs=1e-12)


@pytest.mark.parametrize("seed", [0, 1, 2, 4, 6, 7])
def test_quality_against_proper_scores(seed):
    fitted, fresh = fit_probability(made(seed + 2, 100, 300)), made(seed + 50, 100, 300)
    found = reliability(fitted, fresh)
    p = probability(fitted, fresh.scores)
    assert found.brier == pytest.approx(metrics.brier_score_loss(fresh.accept, p))
    assert found.log_loss == pytest.approx(metrics.log_loss(fresh.accept, p))
    base = np.full(found.n, fresh.accept.mean())
    assert found.base_brier == pytest.approx(metrics.brier_score_loss(fresh.accept, base))
    assert found.base_log_loss == pytest.approx(metrics.log_loss(fresh.accept, base))


@pytest.mark.parametrize("seed", range(10))
def test_kappa_against_scikit_learn(seed):
    rng = np.random.default_rng(seed)
    first = rng.random(40) < 0.6
    second = first ^ (rng.random(40) < 0.05 * (1 + seed))
    found = agreement(list(zip(first.tolist(), second.tolist(), strict=True)))
    assert found.kappa == pytest.approx(metrics.cohen_kappa_score(first, second))

"""The same numbers as scipy and scikit-learn, asked in another way."""

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

from closecall.calibration import Costs, Infeasible, fit_cutoff
from closecall.calibration.binomial import (
    binomial_cdf,
    clopper_pearson,
    fewest_labels,
    most_errors,
)
from closecall.calibration.curve import error_curve
from closecall.calibration.cutoffs import certify
from closecall.calibration.estimators import platt
from closecall.calibration.objectives import best_row, value_at
from closecall.calibration.separation import separation

stats = pytest.importorskip("scipy.stats")
metrics = pytest.importorskip("sklearn.metrics")
linear = pytest.importorskip("sklearn.linear_model")

shares = st.floats(0.001, 0.999)


@pytest.fixture(params=range(6))
def rows(request):
    rng = np.random.default_rng(request.param)
    n = int(rng.integers(40, 400))
    labels = rng.random(n) < rng.uniform(0.2, 0.8)
    labels[:2] = True, False
    scores = rng.normal(size=n) + 1.5 * labels
    return np.round(scores, request.param), labels


@given(st.integers(0, 5000), st.integers(1, 5000), shares)
def test_cdf(k, n, p):
    assert binomial_cdf(k, n, p) == pytest.approx(stats.binom.cdf(k, n, p), rel=1e-9, abs=1e-290)


@given(st.integers(1, 3000), st.data(), st.floats(0.5, 0.999))
def test_intervals(n, data, level):
    k = data.draw(st.integers(0, n))
    ours = clopper_pearson(k, n, level)
    theirs = stats.binomtest(k, n).proportion_ci(level, method="exact")
    assert (ours.low, ours.high) == pytest.approx((theirs.low, theirs.high), rel=1e-6, abs=1e-9)


@given(st.integers(1, 3000), shares, shares)
def test_allowed_errors_against_the_quantile(n, limit, delta):
    """The largest k with P(X <= k) <= delta is the quantile, or the one before it."""
    quantile = int(stats.binom.ppf(delta, n, limit))
    at = stats.binom.cdf([quantile - 1, quantile], n, limit)
    if np.abs(at - delta).min() > 1e-9:
        want = quantile if at[1] <= delta else quantile - 1
        assert most_errors(n, limit, delta) == (None if want < 0 else want)


@given(st.floats(0.01, 0.5), st.floats(0.01, 0.5))
def test_fewest_labels_in_closed_form(limit, delta):
    exact = np.log(delta) / np.log1p(-limit)
    if abs(exact - round(exact)) > 1e-9:
        assert fewest_labels(limit, delta) == max(1, int(np.ceil(exact)))


def test_counts_against_confusion_matrices(rows):
    scores, labels = rows
    curve = error_curve(scores, labels)
    for row in range(1, len(curve.levels) + 1, 1 + len(curve.levels) // 30):
        said = scores >= curve.cutoff(row)
        (tr, fa), (fr, ta) = metrics.confusion_matrix(labels, said)
        counts = curve.counts(row)
        assert (counts.true_rejects, counts.false_accepts) == (tr, fa)
        assert (counts.false_rejects, counts.true_accepts) == (fr, ta)
        assert value_at(curve, row, "f1") == pytest.approx(metrics.f1_score(labels, said))
        assert value_at(curve, row, "accuracy") == pytest.approx((said == labels).mean())
        balanced = metrics.balanced_accuracy_score(labels, said)
        assert value_at(curve, row, "youden") == pytest.approx(2 * balanced - 1)


def test_the_curve_against_roc_curve(rows):
    scores, labels = rows
    curve = error_curve(scores, labels)
    false, true, levels = metrics.roc_curve(labels, scores, drop_intermediate=False)
    assert levels[1:].tolist() == curve.levels.tolist()
    assert (curve.false_accepts / curve.rejects).tolist() == false.tolist()
    assert (curve.true_accepts / curve.accepts).tolist() == true.tolist()
    assert best_row(curve, "youden").value == pytest.approx((true - false).max())
    assert separation(curve).auc == pytest.approx(metrics.roc_auc_score(labels, scores))


def test_the_best_f1_against_the_precision_recall_curve(rows):
    scores, labels = rows
    precision, recall, _ = metrics.precision_recall_curve(labels, scores)
    best = (2 * precision * recall / np.maximum(precision + recall, 1e-300)).max()
    assert best_row(error_curve(scores, labels), "f1").value == pytest.approx(best)


@pytest.mark.parametrize("limit", [0.05, 0.1, 0.25])
@pytest.mark.parametrize("rejects", [20, 29, 59, 93, 150, 400])
def test_the_rule_against_its_order_statistic_form(rejects, limit):
    """Accept above the i-th of the sorted rejects, the first i whose violation is rare enough."""
    scores = np.random.default_rng(rejects).normal(size=rejects)
    labels = np.repeat([False, True], [rejects, 50])
    both = np.concatenate((scores, np.linspace(4, 5, 50)))
    found = certify(error_curve(both, labels, decimals=None), limit, where="loose")
    violation = stats.binom.sf(np.arange(rejects), rejects, 1 - limit)
    fine = np.flatnonzero(violation <= 0.05)
    if not fine.size:
        assert isinstance(found, Infeasible)
        return
    assert found.value == np.nextafter(np.sort(scores)[fine[0]], np.inf)
    assert found.evidence.violation_probability == pytest.approx(violation[fine[0]])


def test_platt_against_logistic_regression_on_smoothed_targets(rows):
    scores, labels = rows
    n1, n0 = labels.sum(), (~labels).sum()
    goal = np.where(labels, (n1 + 1) / (n1 + 2), 1 / (n0 + 2))
    reference = linear.LogisticRegression(C=np.inf, tol=1e-10, max_iter=1000)
    column = np.tile(scores, 2)[:, None]
    reference.fit(
        column, np.repeat([1, 0], len(scores)), sample_weight=np.concatenate((goal, 1 - goal))
    )
    ours = platt(error_curve(scores, labels))
    assert ours == pytest.approx((reference.coef_[0, 0], reference.intercept_[0]), rel=1e-4)


def test_a_cutoff_for_costs_is_a_cutoff_on_the_fitted_probability(rows):
    scores, labels = rows
    costs = Costs(false_accept=3, false_reject=1)
    found = fit_cutoff(scores, labels, costs=costs, estimator="platt")
    if not isinstance(found, Infeasible):
        slope, shift = platt(error_curve(scores, labels))
        assert 1 / (1 + np.exp(-(slope * found.value + shift))) == pytest.approx(0.75, abs=1e-5)

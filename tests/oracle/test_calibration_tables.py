"""Published rules and formulas, worked out in another way: tables, exact fractions, plain loops, scipy.

``LOC`` is what the umbrella algorithm of Tong, Feng and Li (2018) returns, with the one-based index of its
R code: the cutoff is the ``loc``-th smallest score of the class at risk, and what lies above it is accepted.
"""

from collections import defaultdict
from fractions import Fraction
from math import comb, floor

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from closecall.calibration import Infeasible, Reason, fit_cutoff
from closecall.calibration.binomial import (
    best_limit,
    binomial_cdf,
    fewest_labels,
    lower_bound,
    most_errors,
    upper_bound,
)
from closecall.calibration.curve import error_curve
from closecall.calibration.cutoffs import certify, certify_average
from closecall.calibration.decisions import accepted
from closecall.calibration.groups import clusters
from closecall.calibration.separation import separation

stats = pytest.importorskip("scipy.stats")
metrics = pytest.importorskip("sklearn.metrics")

SIDES = ("false_accepts", "false_rejects")

# By (limit, delta), then by the number of labels; None where R returns NA.
LOC = {
    ("0.05", "0.05"): {58: None, 59: 59, 93: 92, 100: 99, 150: 148, 200: 196, 300: 292, 500: 484},
    ("0.10", "0.05"): {28: None, 29: 29, 45: 45, 59: 58, 100: 96, 200: 188, 300: 279, 500: 462},
    ("0.01", "0.05"): {298: None, 299: 299, 459: 459, 473: 472, 500: 499},
    ("0.05", "0.10"): {44: None, 45: 45, 60: 60, 100: 99, 200: 195, 300: 291, 500: 482},
    ("0.10", "0.01"): {28: None, 44: 44, 60: 60, 100: 97, 200: 190, 300: 282, 500: 466},
    ("0.20", "0.20"): {21: 19, 29: 26, 60: 52, 100: 84, 200: 166, 300: 247, 500: 409},
}
ENTRIES = [(*pair, n, loc) for pair, row in LOC.items() for n, loc in row.items()]
table = pytest.mark.parametrize(("limit", "delta", "n", "loc"), ENTRIES)


shares = st.floats(0.001, 0.999)


def exact_cdf(k, n, p):
    return sum(comb(n, i) * p**i * (1 - p) ** (n - i) for i in range(k + 1))


@table
def test_the_table_against_exact_fractions(limit, delta, n, loc):
    """P(Binomial(n, limit) <= n - loc) is within delta, and one error more is not."""
    p, allowed = Fraction(limit), Fraction(delta)
    if loc is not None:
        assert exact_cdf(n - loc, n, p) <= allowed
    assert exact_cdf(0 if loc is None else n - loc + 1, n, p) > allowed


@table
def test_the_table_against_the_rule(limit, delta, n, loc):
    """R's ``loc <- min(which(1 - pbinom(0:(n-1), n, 1 - limit) <= delta))``, and ours."""
    limit, delta = float(limit), float(delta)
    fine = np.flatnonzero(stats.binom.sf(np.arange(n), n, 1 - limit) <= delta)
    assert (int(fine[0]) + 1 if fine.size else None) == loc
    assert most_errors(n, limit, delta) == (None if loc is None else n - loc)


@table
@pytest.mark.parametrize("errors", SIDES)
def test_the_table_against_a_fitted_cutoff(limit, delta, n, loc, errors):
    at_risk = np.random.default_rng(n).permutation(n) / 1000
    sign = 1 if errors == "false_accepts" else -1
    others = np.linspace(2, 3, 30)
    found = certify(
        error_curve(
            sign * np.concatenate((at_risk, others)),
            np.repeat([errors == "false_rejects", errors == "false_accepts"], [n, 30]),
            decimals=None,
        ),
        float(limit), float(delta), errors=errors, where="loose",
    )  # fmt: skip
    if loc is None:
        assert found.reason is Reason.PROMISE_OUT_OF_REACH
        assert (found.more_rejects or found.more_accepts) == fewest_labels(
            float(limit), float(delta)
        ) - n
        return
    assert (found.evidence.n, found.evidence.allowed) == (n, n - loc)
    # The loc-th smallest is the last that is decided rightly.
    right = sign * np.sort(at_risk)[loc - 1]
    wrong = right + sign * 0.001
    said = accepted(found, [right, wrong] if loc < n else [right])
    assert said.tolist() == ([False, True] if sign > 0 else [True, False])[: len(said)]
    assert found.evidence.violation_probability == pytest.approx(
        float(exact_cdf(n - loc, n, Fraction(limit))), rel=1e-9
    )


def test_the_smallest_limit_in_closed_form():
    for n, percent in [(10, 25.9), (20, 13.9), (30, 9.5), (50, 5.8), (100, 2.95)]:
        assert best_limit(n, 0.05) == pytest.approx(1 - 0.05 ** (1 / n), rel=1e-9)
        assert 100 * best_limit(n, 0.05) == pytest.approx(percent, abs=0.05)


@given(st.floats(1, 3000), shares, shares)
def test_bounds_of_real_valued_counts(n, share, delta):
    """What a design effect makes of counts: quantiles of beta distributions."""
    k = share * n
    upper, lower = stats.beta.ppf(1 - delta, k + 1, n - k), stats.beta.ppf(delta, k, n - k + 1)
    assert upper_bound(k, n, delta) == pytest.approx(upper, rel=1e-6, abs=1e-9)
    assert lower_bound(k, n, delta) == pytest.approx(lower, rel=1e-6, abs=1e-9)
    if upper < 1 - 1e-6:
        assert binomial_cdf(k, n, upper_bound(k, n, delta)) == pytest.approx(delta, rel=1e-6)


@pytest.mark.parametrize("limit", ["0.05", "0.1", "0.29", "0.5"])
@pytest.mark.parametrize("errors", SIDES)
@settings(max_examples=30)
@given(rows=st.lists(st.tuples(st.integers(0, 12), st.booleans()), min_size=1, max_size=60))
def test_the_average_rule_against_its_definition(errors, limit, rows):
    """The furthest rule with (errors + 1) / (n + 1) <= limit, by a search in fractions."""
    scores, labels = np.array([at for at, _ in rows]) / 8, np.array([label for _, label in rows])
    curve = error_curve(scores, labels)
    wrong = curve.false_accepts if errors == "false_accepts" else curve.false_rejects
    n = int(wrong.max())
    fine = [
        row for row, count in enumerate(wrong)
        if Fraction(int(count) + 1, n + 1) <= Fraction(limit)
    ]  # fmt: skip
    want = (max(fine) if errors == "false_accepts" else min(fine)) if fine else 0
    found = certify_average(curve, float(limit), errors=errors)
    if isinstance(found, Infeasible):
        assert want == 0
        assert found.reason is (Reason.ACCEPTS_NOBODY if fine else Reason.PROMISE_OUT_OF_REACH)
    else:
        assert curve.row(found.value) == want


def by_group(values, groups):
    members = defaultdict(list)
    for value, group in zip(values, groups, strict=True):
        members[group].append(value)
    return members


def correlation_by_hand(wrong, groups):
    """The moment estimate: what pairs within a group have in common, over what they could have."""
    p = Fraction(int(sum(wrong)), len(wrong))
    if p in (0, 1):
        return None
    above = below = Fraction(0)
    for rows in by_group([bool(w) for w in wrong], groups).values():
        m, errors = len(rows), sum(rows)
        above += (errors - p * m) ** 2 - m * p * (1 - p)
        below += m * (m - 1) * p * (1 - p)
    return above / below if below else None


def design_effect_by_hand(groups, correlation):
    sizes = [len(rows) for rows in by_group(groups, groups).values()]
    return 1 + (sum(m * m for m in sizes) / sum(sizes) - 1) * correlation


@given(st.lists(st.tuples(st.booleans(), st.integers(0, 6)), min_size=1, max_size=40))
def test_correlation_against_plain_loops(rows):
    wrong, groups = zip(*rows, strict=True)
    found = clusters(np.array(wrong), np.array(groups))
    want = correlation_by_hand(wrong, groups)
    assert (found.correlation is None) == (want is None)
    if want is not None:
        assert found.correlation == pytest.approx(float(want), abs=1e-12)
    used = max(0.3, min(1.0, float(want or 0)))
    assert found.used == pytest.approx(used, abs=1e-12)
    assert found.design_effect == pytest.approx(design_effect_by_hand(groups, used))
    assert (found.n, found.groups) == (len(rows), len(set(groups)))


def grouped_rows(seed):
    """Several responses to a question, named so that the order of names is not that of rows."""
    rng = np.random.default_rng(seed)
    codes = np.sort(rng.integers(0, 90, 360))
    labels = rng.random(360) < 0.45
    shared = rng.normal(size=90)[codes]
    scores = np.round(0.8 * shared + rng.normal(size=360) + 1.8 * labels, 2)
    return scores, labels, np.array([f"q{code * 37 % 101}" for code in codes])


@pytest.mark.parametrize("seed", range(6))
def test_the_design_effect_rule_against_plain_loops(seed):
    scores, labels, groups = grouped_rows(seed)
    found = fit_cutoff(scores, labels, groups, max_far=0.12, guarantee="approximate")
    rejects, names = scores[~labels], groups[~labels].tolist()
    n = len(rejects)
    downward = np.sort(rejects)[::-1]
    ignoring = max(k for k in range(n) if stats.binom.cdf(k, n, 0.12) <= 0.05)
    wrong = rejects > downward[ignoring]
    correlation = correlation_by_hand(wrong, names)
    effect = design_effect_by_hand(names, max(0.3, float(correlation)))
    bounds = stats.beta.ppf(0.95, np.arange(n) / effect + 1, (n - np.arange(n)) / effect)
    allowed = int(np.flatnonzero(bounds <= 0.12)[-1])
    evidence = found.evidence
    assert evidence.clusters.design_effect == pytest.approx(effect)
    assert (evidence.n, evidence.allowed) == (n, allowed)
    assert accepted(found, scores).tolist() == (scores > downward[allowed]).tolist()
    assert evidence.upper_bound == pytest.approx(bounds[evidence.observed])


@pytest.mark.parametrize("seed", range(6))
@pytest.mark.parametrize("promise", ["max_far", "max_frr"])
def test_one_row_a_group_against_plain_loops(promise, seed):
    """Groups by name, rows by score, raw numbers of the generator: nothing else decides the draw."""
    scores, labels, groups = grouped_rows(seed)
    found = fit_cutoff(scores, labels, groups, seed=seed, **{promise: 0.1})
    at_risk = labels if promise == "max_frr" else ~labels
    members = by_group(scores[at_risk].tolist(), groups[at_risk].tolist())
    raw = np.random.PCG64(seed).random_raw(len(members)).tolist()
    drawn = [
        sorted(members[name])[number % len(members[name])]
        for name, number in zip(sorted(members), raw, strict=True)
    ]
    n = len(drawn)
    allowed = max(k for k in range(n) if exact_cdf(k, n, Fraction("0.1")) <= Fraction("0.05"))
    if promise == "max_far":
        said = scores > sorted(drawn, reverse=True)[allowed]
        observed = sum(score > sorted(drawn, reverse=True)[allowed] for score in drawn)
    else:
        said = scores >= sorted(drawn)[allowed]
        observed = sum(score < sorted(drawn)[allowed] for score in drawn)
    evidence = found.evidence
    assert (evidence.n, evidence.allowed, evidence.observed) == (n, allowed, observed)
    assert accepted(found, scores).tolist() == said.tolist()


@settings(max_examples=50)
@given(st.lists(st.tuples(st.integers(0, 4), st.booleans()), min_size=2, max_size=60))
def test_separation_of_scores_that_tie(rows):
    scores, labels = np.array([score for score, _ in rows]), np.array([label for _, label in rows])
    if labels.all() or not labels.any():
        return
    found = separation(error_curve(scores, labels)).auc
    assert found == pytest.approx(metrics.roc_auc_score(labels, scores), abs=1e-12)
    pairs = labels.sum() * (~labels).sum()
    u = stats.mannwhitneyu(scores[labels], scores[~labels], method="asymptotic").statistic
    assert found == pytest.approx(u / pairs, abs=1e-12)


def test_rounding_of_products_is_not_relied_on():
    """floor(limit * (n + 1)) in floats is one short for these: 0.29 * 100 is 28.999999999999996."""
    for limit, n in [("0.29", 99), ("0.57", 99), ("0.58", 99)]:
        assert floor(float(limit) * (n + 1)) < Fraction(limit) * (n + 1)
        scores = np.concatenate((np.arange(n), n + np.arange(40)))
        found = certify_average(
            error_curve(scores, np.repeat([False, True], [n, 40])), float(limit)
        )
        assert found.evidence.allowed == Fraction(limit) * (n + 1) - 1

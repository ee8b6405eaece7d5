"""Objectives: the best of all rules by recomputation, exact ties, both extremes, estimators."""

import math
from fractions import Fraction

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st
from made_scores import by_hand, normal_scores, split, tied_rows

from closecall.calibration import Costs, fit_cutoff
from closecall.calibration.curve import error_curve
from closecall.calibration.decisions import accepted
from closecall.calibration.estimators import platt
from closecall.calibration.objectives import best_row, plateau, value_at
from closecall.calibration.records import Cutoff, Infeasible, Reason
from closecall.errors import DataError, UsageError

COSTS = Costs(false_accept=5, false_reject=1)
GOALS = [
    ("cost", COSTS),
    ("cost", Costs(false_accept=0.3, false_reject=0.1, base_rate=0.8)),
    ("f1", None),
    ("youden", None),
    ("accuracy", None),
]


def by_decision(scores, labels, cutoff, objective, costs):
    """The objective in exact fractions, greater is better."""
    c = by_hand(scores, labels, cutoff)
    tp, fa = c["true_accepts"], c["false_accepts"]
    fn, n1 = c["false_rejects"], c["true_accepts"] + c["false_rejects"]
    n0 = fa + c["true_rejects"]
    if objective == "f1":
        return Fraction(2 * tp, 2 * tp + fa + fn)
    if objective == "youden":
        return Fraction(tp, n1) - Fraction(fa, n0)
    if objective == "accuracy":
        return Fraction(tp + c["true_rejects"], n0 + n1)
    wrong, missed = (Fraction(str(x)) for x in (costs.false_accept, costs.false_reject))
    if costs.base_rate is None:
        return -(wrong * fa + missed * fn) / (n0 + n1)
    pi = Fraction(str(costs.base_rate))
    return -(wrong * (1 - pi) * Fraction(fa, n0) + missed * pi * Fraction(fn, n1))


@pytest.mark.parametrize(("objective", "costs"), GOALS)
@given(rows=tied_rows(least=2, most=10))
def test_best_of_all_rules(objective, costs, rows):
    scores, labels = split([*rows, (0.25, True), (0.0, False)])
    curve = error_curve(scores, labels)
    rules = [math.inf, *sorted(set(scores.tolist()), reverse=True)]
    values = [by_decision(scores, labels, t, objective, costs) for t in rules]
    best = best_row(curve, objective, costs)
    assert best.row == values.index(max(values))
    assert best.tied == values.count(max(values))
    last = best.row
    while last + 1 < len(values) and values[last + 1] == max(values):
        last += 1
    assert best.last == last
    sign = -1 if objective == "cost" else 1
    assert best.value == float(sign * max(values))
    for row, value in enumerate(values):
        assert value_at(curve, row, objective, costs) == float(sign * value)


@pytest.mark.parametrize(("objective", "costs"), GOALS)
@given(rows=tied_rows(least=2, most=10), times=st.integers(2, 5))
def test_repeated_rows_change_no_optimum(objective, costs, rows, times):
    scores, labels = split([*rows, (0.25, True), (0.0, False)])
    one = best_row(error_curve(scores, labels), objective, costs)
    many = best_row(error_curve(np.tile(scores, times), np.tile(labels, times)), objective, costs)
    assert many == one


def test_equal_rules_tie_exactly_and_the_highest_cutoff_is_taken():
    """0.1 + 0.2 is not 0.3 in floating point: costs in the ratio 3:1 must still tie."""
    scores = [0.9, 0.8, 0.7, 0.7, 0.7, 0.6, 0.5]
    labels = [True, False, True, True, True, False, False]
    for costs in (
        Costs(false_accept=0.3, false_reject=0.1),
        Costs(false_accept=3, false_reject=1),
    ):
        best = best_row(error_curve(scores, labels), "cost", costs)
        assert (best.row, best.last, best.tied) == (1, 1, 2)


def test_plateau():
    scores = [0.9, 0.8, 0.7, 0.6, 0.5, 0.4]
    labels = [True, False, True, False, True, False]
    curve = error_curve(scores, labels)
    best = best_row(curve, "accuracy")
    assert (best.row, best.last, best.tied) == (1, 1, 3)
    assert (plateau(curve, best).low, plateau(curve, best).high) == (0.8, 0.9)
    assert best.value == pytest.approx(4 / 6)
    # At three to one, and base rate 3/4, each accept pays for exactly one reject.
    wide = error_curve([4, 3, 2, 1], [True, False, True, False])
    flat = best_row(wide, "cost", Costs(false_accept=1, false_reject=1))
    assert (flat.row, flat.last, flat.tied) == (1, 1, 2)


def test_costs_of_any_size_stay_exact():
    scores, labels = normal_scores(50, 50)
    odd = Costs(false_accept=1.2345678901234567, false_reject=3.3e-200, base_rate=0.123456789012)
    even = Costs(false_accept=1e300, false_reject=1e300)
    curve = error_curve(scores, labels)
    assert best_row(curve, "cost", odd).row == int(np.flatnonzero(curve.false_accepts == 0)[-1])
    assert best_row(curve, "cost", even).row == best_row(curve, "accuracy").row


def test_both_extremes_are_rules():
    everybody = best_row(error_curve([0.1, 0.2], [True, True]), "cost", COSTS)
    assert (everybody.row, everybody.value) == (2, 0.0)
    nobody = best_row(error_curve([0.1, 0.2], [False, False]), "cost", COSTS)
    assert (nobody.row, nobody.value) == (0, 0.0)
    assert plateau(error_curve([0.1], [False]), nobody) is None
    assert best_row(error_curve([0.5], [True]), "accuracy").row == 1
    assert best_row(error_curve([0.5], [False]), "accuracy").row == 0
    # A constant score: all or nothing, by the majority.
    assert best_row(error_curve([0.5] * 3, [True, True, False]), "accuracy").value == 2 / 3


def test_what_is_not_defined_is_refused():
    rejects, accepts = error_curve([0.5], [False]), error_curve([0.5], [True])
    based = Costs(false_accept=1, false_reject=1, base_rate=0.5)
    for curve, objective, costs in [
        (rejects, "f1", None), (rejects, "youden", None), (accepts, "youden", None),
        (rejects, "cost", based), (accepts, "cost", based),
    ]:  # fmt: skip
        with pytest.raises(DataError, match="not defined"):
            best_row(curve, objective, costs)
    for objective, costs in [("cost", None), ("f1", COSTS)]:
        with pytest.raises(UsageError, match="costs belong"):
            best_row(accepts, objective, costs)
    with pytest.raises(UsageError, match="cost, f1, youden, accuracy"):
        best_row(accepts, "mcc")
    for bad in ({"false_accept": 0}, {"false_reject": math.inf}, {"base_rate": 1.0}):
        with pytest.raises(UsageError, match=next(iter(bad))):
            Costs(**{"false_accept": 1, "false_reject": 1, **bad})


def test_estimator_follows_the_number_of_rows():
    def used(n, **goal):
        return fit_cutoff(*normal_scores(n, n), **goal).evidence.estimator

    assert [used(n, costs=COSTS) for n in (50, 99, 100, 250, 251)] == [
        "platt", "platt", "bagged", "bagged", "empirical",
    ]  # fmt: skip
    assert used(50, objective="accuracy") == "platt"
    assert [used(n, objective="f1") for n in (50, 300)] == ["bagged", "empirical"]


def test_platt_finds_a_known_curve():
    rng = np.random.default_rng(8)
    scores = rng.normal(size=200_000)
    labels = rng.random(200_000) < 1 / (1 + np.exp(-(2.5 * scores - 1.0)))
    slope, shift = platt(error_curve(scores, labels))
    assert (slope, shift) == pytest.approx((2.5, -1.0), abs=0.03)


def test_platt_of_scores_that_separate_perfectly_is_finite():
    curve = error_curve([*range(20)], [False] * 10 + [True] * 10)
    slope, shift = platt(curve)
    assert 9 < -shift / slope < 10
    assert platt(error_curve([*range(20)], [True] * 10 + [False] * 10)) is None
    assert platt(error_curve([1.0] * 4, [True, True, False, False])) is None


def test_platt_cutoff_is_where_both_errors_cost_the_same():
    """Two normal classes have a logistic posterior: its cutoff is known."""
    scores, labels = normal_scores(40_000, 40_000, gap=2.0)
    for costs, want in [
        (Costs(false_accept=1, false_reject=1), 1.0),
        (Costs(false_accept=5, false_reject=1), 1.0 + math.log(5) / 2),
        (Costs(false_accept=1, false_reject=1, base_rate=0.8), 1.0 - math.log(4) / 2),
    ]:
        for estimator in ("platt", "empirical"):
            found = fit_cutoff(scores, labels, costs=costs, estimator=estimator)
            slack = 0.03 if estimator == "platt" else 0.25
            assert found.value == pytest.approx(want, abs=slack)
            assert found.evidence.best <= found.evidence.value


def test_small_samples_cost_less_with_the_chosen_estimator():
    """The reason it exists: lower expected cost at 5:1, on average over small calibrations."""
    from statistics import NormalDist

    def excess(estimator):
        total = 0.0
        for seed in range(60):
            found = fit_cutoff(*normal_scores(40, 40, seed=seed), costs=COSTS, estimator=estimator)
            t = found.value if isinstance(found, Cutoff) else 9.0
            total += 2.5 * (1 - NormalDist().cdf(t)) + 0.5 * NormalDist(1.8).cdf(t)
        return total / 60

    assert excess("platt") < excess("bagged") < excess("empirical")


@settings(max_examples=10)
@given(st.integers(0, 1000))
def test_bagging_is_seeded_and_indifferent_to_order(seed):
    scores, labels = normal_scores(30, 30, seed=seed, decimals=1)
    groups = np.arange(60) % 20
    order = np.random.default_rng(seed).permutation(60)
    for rows in (None, groups):

        def fit(at, number, rows=rows):
            return fit_cutoff(
                scores[at], labels[at], None if rows is None else rows[at],
                objective="youden", estimator="bagged", seed=number,
            )  # fmt: skip

        first = fit(np.arange(60), 7)
        assert fit(order, 7) == first
        assert first.evidence.seed == 7


def test_the_seed_of_bagging_matters():
    def fit(seed):
        return fit_cutoff(*normal_scores(40, 40), objective="f1", estimator="bagged", seed=seed)

    assert len({fit(seed).value for seed in range(5)}) > 1
    with pytest.raises(UsageError, match="seed"):
        fit(-1)


@pytest.mark.parametrize("estimator", ["empirical", "bagged", "platt"])
def test_the_record_and_the_decision_agree(estimator):
    for seed in range(10):
        scores, labels = normal_scores(60, 60, seed=seed)
        found = fit_cutoff(scores, labels, costs=COSTS, estimator=estimator)
        said = accepted(found, scores)
        assert int((said & ~labels).sum()) == found.counts.false_accepts
        assert int((~said & labels).sum()) == found.counts.false_rejects
        assert found.evidence.value >= found.evidence.best
        assert (found.where is None) == (estimator != "empirical")


def test_accepting_nobody_is_no_cutoff():
    scores, labels = normal_scores(50, 50, gap=0.1)
    greedy = Costs(false_accept=1000, false_reject=1)
    for estimator in ("empirical", "bagged", "platt"):
        found = fit_cutoff(scores, labels, costs=greedy, estimator=estimator)
        if isinstance(found, Infeasible):
            assert found.reason is Reason.ACCEPTS_NOBODY
    top = np.concatenate((scores, [9.0]))
    found = fit_cutoff(top, [*labels, False], costs=greedy, estimator="empirical")
    assert found.reason is Reason.ACCEPTS_NOBODY
    assert "cost" in found.message

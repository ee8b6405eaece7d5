"""Groups: one row each, drawn the same way whatever the order; and the design effect."""

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

from closecall.calibration import Infeasible, Reason, fit_cutoff, fit_two_cutoffs
from closecall.calibration.binomial import clopper_pearson, upper_bound
from closecall.calibration.groups import clustered_rate, clusters, draws, one_per_group
from closecall.calibration.inputs import labelled
from closecall.errors import DataError, ShapeError, UsageError


def questions(count=120, each=4, seed=0, correlation=0.5):
    """Per question ``each`` responses, half of them rejects, sharing a part of their score."""
    rng = np.random.default_rng(seed)
    shared = np.sqrt(correlation) * rng.normal(size=(count, 1))
    scores = shared + np.sqrt(1 - correlation) * rng.normal(size=(count, each))
    labels = np.tile(np.arange(each) % 2 == 1, (count, 1))
    groups = np.repeat([f"question {at:04d}" for at in range(count)], each)
    return (scores + 2.5 * labels).ravel(), labels.ravel(), groups


@given(st.integers(0, 2**40), st.lists(st.integers(1, 9), max_size=30))
def test_draws_stay_in_range_and_repeat(seed, sizes):
    sizes = np.array(sizes, dtype=np.int64)
    drawn = draws(seed, sizes)
    assert ((drawn >= 0) & (drawn < sizes)).all()
    assert (draws(seed, sizes) == drawn).all()


def test_draws_are_even_and_fixed_for_ever():
    counts = np.bincount(draws(1, np.full(70_000, 7)))
    assert abs(counts - 10_000).max() < 4 * 100
    assert draws(0, np.full(6, 1000)).tolist() == draws(0, np.full(9, 1000)).tolist()[:6]
    assert draws(12345, np.full(5, 10)).tolist() == [9, 6, 3, 6, 3]


def test_one_row_of_each_group_that_has_one():
    data = labelled(
        [0.1, 0.2, 0.3, 0.4, 0.5, 0.6],
        [False, False, False, True, False, True],
        ["a", "a", "b", "b", "c", "d"],
        decimals=6,
    )
    seen = {tuple(one_per_group(data, accept=False, seed=seed).scores) for seed in range(40)}
    assert seen == {(0.1, 0.3, 0.5), (0.2, 0.3, 0.5)}
    assert one_per_group(data, accept=True, seed=0).scores.tolist() == [0.4, 0.6]


@pytest.mark.parametrize("guarantee", ["exact", "average", "approximate"])
@pytest.mark.parametrize("promise", ["max_far", "max_frr"])
def test_order_of_rows_and_kind_of_names_change_nothing(guarantee, promise):
    scores, labels, groups = questions()
    order = np.random.default_rng(1).permutation(len(scores))
    numbers = np.unique(groups, return_inverse=True)[1]
    found = [
        fit_cutoff(s, y, g, guarantee=guarantee, seed=3, **{promise: 0.1})
        for s, y, g in [
            (scores, labels, groups),
            (scores, labels, groups.tolist()),
            (scores, labels, numbers),
            (scores[order], labels[order], groups[order]),
        ]
    ]
    assert found[0] == found[1] == found[2] == found[3]
    assert found[0].evidence.guarantee == guarantee


def test_exact_says_per_group_and_approximate_per_row():
    scores, labels, groups = questions()
    exact = fit_cutoff(scores, labels, groups, max_far=0.05, seed=9)
    evidence = exact.evidence
    assert (evidence.per, evidence.n, evidence.seed, evidence.exact) == ("group", 120, 9, True)
    assert exact.counts.rejects == 240
    rough = fit_cutoff(scores, labels, groups, max_far=0.05, guarantee="approximate")
    evidence = rough.evidence
    assert (evidence.per, evidence.n, evidence.seed, evidence.exact) == ("row", 240, None, False)
    assert (evidence.method, evidence.violation_probability) == ("design-effect", None)
    found = evidence.clusters
    assert (found.n, found.groups) == (240, 120)
    assert found.used == max(0.3, found.correlation)
    assert found.design_effect == pytest.approx(1 + found.used)
    bound = upper_bound(
        evidence.observed / found.design_effect, 240 / found.design_effect, evidence.delta
    )
    assert evidence.upper_bound == bound <= 0.05
    plain = fit_cutoff(scores, labels, max_far=0.05)
    assert evidence.allowed < plain.evidence.allowed
    assert rough.value >= plain.value


def test_groups_of_one_are_no_groups():
    scores, labels, _ = questions(count=100, each=2)
    alone = np.arange(len(scores))
    plain = fit_cutoff(scores, labels, max_far=0.1)
    for guarantee in ("exact", "approximate"):
        found = fit_cutoff(scores, labels, alone, max_far=0.1, guarantee=guarantee)
        assert (found.value, found.counts) == (plain.value, plain.counts)
        assert found.evidence.allowed == plain.evidence.allowed
        assert found.false_accept_rate.interval.low == plain.false_accept_rate.interval.low


def test_a_refusal_counts_groups_and_names_what_would_do():
    scores, labels, groups = questions(count=50, each=8, correlation=0.1)
    found = fit_cutoff(scores, labels, groups, max_far=0.05)
    assert found.reason is Reason.PROMISE_OUT_OF_REACH
    assert found.more_rejects == 9
    assert "label 9 more groups with a reject" in found.advice
    assert found.alternatives == ("approximate", "average")
    for guarantee in found.alternatives:
        again = fit_cutoff(scores, labels, groups, max_far=0.05, guarantee=guarantee)
        assert again.evidence.guarantee == guarantee
    scores, labels, groups = questions(count=20, each=6)
    refused = fit_cutoff(scores, labels, groups, max_far=0.05, guarantee="approximate")
    assert isinstance(refused, Infeasible)
    assert "independent ones" in refused.message
    assert refused.alternatives == ("average",)


@pytest.mark.parametrize("truth", [0.0, 0.2, 0.6, 1.0])
def test_correlation_within_groups_is_found(truth):
    """Each group keeps one common coin with this probability, else every row has its own."""
    rng = np.random.default_rng(4)
    count = 6000
    sizes = rng.integers(1, 6, count)
    codes = np.repeat(np.arange(count), sizes)
    common = rng.random(count) < 0.3
    own = rng.random(len(codes)) < 0.3
    shares = rng.random(len(codes)) < np.sqrt(truth)
    found = clusters(np.where(shares, common[codes], own), codes)
    assert found.correlation == pytest.approx(truth, abs=0.04)
    assert found.used == max(0.3, found.correlation)
    assert found.design_effect == pytest.approx(
        1 + (np.square(sizes).sum() / sizes.sum() - 1) * found.used
    )


def test_correlation_that_nobody_can_tell():
    codes = np.array([0, 0, 1, 1, 2])
    for wrong in (np.zeros(5, dtype=bool), np.ones(5, dtype=bool)):
        assert clusters(wrong, codes).correlation is None
        assert clusters(wrong, codes).used == 0.3
    single = clusters(np.array([True, False]), np.array([5, 9]))
    assert (single.correlation, single.design_effect) == (None, 1.0)
    assert clusters(np.array([True, False] * 2), np.array([0, 0, 1, 1])).correlation == -1.0


def test_intervals_know_of_groups():
    wrong = np.repeat([True, False], [8, 32])
    rate = clustered_rate(wrong, np.repeat(np.arange(10), 4))
    assert (rate.count, rate.n) == (8, 40)
    assert rate.interval.method == "clopper-pearson, design effect 4.00"
    plain = clopper_pearson(2, 10)
    assert (rate.interval.low, rate.interval.high) == (plain.low, plain.high)
    assert clustered_rate(wrong[:0], np.arange(0)) is None


@pytest.mark.parametrize("guarantee", ["exact", "approximate"])
def test_two_cutoffs_of_groups(guarantee):
    scores, labels, groups = questions(count=200)
    found = fit_two_cutoffs(
        scores, labels, groups, max_far=0.1, max_frr=0.1, guarantee=guarantee, seed=2
    )
    assert found.abstains
    assert found.accept.evidence.guarantee == found.reject.evidence.guarantee == guarantee
    assert "design effect" in found.unsure.interval.method
    assert found.unsure.count == found.unsure_accepts + found.unsure_rejects
    easy = fit_two_cutoffs(
        scores + 6 * labels, labels, groups, max_far=0.1, max_frr=0.1, guarantee=guarantee
    )
    assert not easy.abstains
    assert easy.accept.evidence.observed == easy.reject.evidence.observed == 0


@pytest.mark.parametrize(
    "groups",
    [[None, "a"], [1, "a"], [1.0, 2.0], [True, False], np.array([np.nan, 1.0]), [("a",), ("b",)]],
    ids=str,
)
def test_groups_that_are_no_names(groups):
    with pytest.raises(DataError, match="texts or whole numbers"):
        fit_cutoff([0.1, 0.2], [True, False], groups, max_far=0.1)


def test_groups_that_do_not_fit():
    with pytest.raises(ShapeError, match=r"groups \(1,\)"):
        fit_cutoff([0.1, 0.2], [True, False], ["a"], max_far=0.1)
    scores, labels, _ = questions()
    with pytest.raises(UsageError, match="pass groups"):
        fit_cutoff(scores, labels, max_far=0.1, guarantee="approximate")
    with pytest.raises(UsageError, match="needs groups"):
        one_per_group(labelled(scores, labels, decimals=6), accept=True, seed=0)

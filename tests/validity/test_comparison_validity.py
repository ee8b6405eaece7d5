"""Of two that are alike none is named too often, and intervals hold the truth as often as said.

CLOSECALL_LONG=1 runs ten times as many.
"""

import os
from statistics import NormalDist

import numpy as np
import pytest

from closecall.calibration.comparing.comparison import compare_decisions, compare_models
from closecall.calibration.comparing.delong import auc_difference
from closecall.calibration.comparing.model_bootstrap import _differences, bootstrap_acceptance
from closecall.calibration.comparing.model_resamples import side_of, units_of
from closecall.calibration.comparing.paired import flips
from closecall.calibration.goals import Goal
from closecall.calibration.inputs import labelled

TIMES = 10 if os.environ.get("CLOSECALL_LONG") == "1" else 1
NORMAL = NormalDist()
LEVEL = 0.95
ALPHA = 1 - LEVEL


def standard_errors(p, runs):
    return 4 * np.sqrt(p * (1 - p) / runs)


def two_scores(rng, groups, alike=0.6, within=0.5):
    """Two scores that have a part ``alike`` in common; of each a part is the group's alone."""

    def part():
        own = rng.normal(size=len(groups))
        shared = rng.normal(size=groups.max() + 1)[groups]
        return np.sqrt(within) * shared + np.sqrt(1 - within) * own

    common = part()
    return tuple(np.sqrt(alike) * common + np.sqrt(1 - alike) * part() for _ in "ab")


@pytest.mark.parametrize("n", [8, 30, 200])
def test_mcnemar_keeps_its_level(n):
    runs = 2000 * TIMES
    rng = np.random.default_rng(n)
    single = np.arange(n)
    found = 0
    for _ in range(runs):
        a, b = two_scores(rng, single)
        found += flips(a > 0.8, b > 0.8).p <= ALPHA
    assert found / runs <= ALPHA + standard_errors(ALPHA, runs)


def clustered_rejections(aware, runs):
    rng = np.random.default_rng(1)
    groups = np.repeat(np.arange(40), rng.integers(1, 8, 40))
    found = 0
    for _ in range(runs):
        a, b = two_scores(rng, groups, within=0.8)
        found += flips(a > 0.3, b > 0.3, groups if aware else None).p <= ALPHA
    return found / runs


def test_sign_flip_keeps_its_level_where_answers_of_a_group_go_together():
    runs = 1500 * TIMES
    rate = clustered_rejections(aware=True, runs=runs)
    assert rate <= ALPHA + standard_errors(ALPHA, runs)
    assert rate > ALPHA / 4  # not by rejecting nothing


def test_ignoring_groups_does_not():
    """Guards the power of the test above: it can see a violation."""
    runs = 1500 * TIMES
    assert clustered_rejections(aware=False, runs=runs) > ALPHA + standard_errors(ALPHA, runs)


def area_coverage(groups, gaps, aware, runs, seed=2):
    rng = np.random.default_rng(seed)
    truth = np.subtract(*(NORMAL.cdf(gap / np.sqrt(2)) for gap in gaps[::-1]))
    held = 0
    for _ in range(runs):
        accept = rng.random(len(groups)) < 0.6
        a, b = (
            score + gap * accept for score, gap in zip(two_scores(rng, groups), gaps, strict=True)
        )
        found = auc_difference(a, b, accept, LEVEL, groups=groups if aware else None)
        held += found.interval.low <= truth <= found.interval.high
    return held / runs


@pytest.mark.parametrize("gaps", [(1.5, 1.5), (1.2, 2.0)], ids=["alike", "not alike"])
@pytest.mark.parametrize("each", [1, 6], ids=["rows", "groups"])
def test_intervals_of_area_differences_hold_the_truth(each, gaps):
    runs = 600 * TIMES
    groups = np.arange(240) // each
    coverage = area_coverage(groups, gaps, each > 1, runs)
    # The normal curve is not exact: a point and a half of slack at 40 groups.
    assert coverage >= LEVEL - 0.015 - standard_errors(LEVEL, runs)
    assert coverage <= LEVEL + 0.015 + standard_errors(LEVEL, runs)


def test_blind_to_groups_they_do_not():
    """Groups whose answers are all of one class: the clearest case."""
    runs = 300 * TIMES
    rng = np.random.default_rng(3)
    groups, one = np.repeat(np.arange(40), 6), np.repeat(np.arange(40) % 2 == 0, 6)
    held = {True: 0, False: 0}
    for _ in range(runs):
        a, b = (score + 1.5 * one for score in two_scores(rng, groups, within=0.8))
        for aware in held:
            found = auc_difference(a, b, one, LEVEL, groups=groups if aware else None)
            held[aware] += found.interval.low <= 0 <= found.interval.high
    assert held[False] / runs < 0.8
    assert held[True] / runs >= LEVEL - 0.03 - standard_errors(LEVEL, runs)


@pytest.mark.parametrize("each", [1, 4], ids=["rows", "groups"])
@pytest.mark.parametrize("band", [0.0, 0.6], ids=["sure", "unsure"])
def test_rules_that_are_alike_are_seldom_told_apart(each, band):
    runs = 300 * TIMES
    rng = np.random.default_rng(4)
    groups = np.arange(160) // each
    named = 0
    for _ in range(runs):
        accept = rng.random(160) < 0.5
        decided = [
            np.where(score + 1.5 * accept >= 0.8 + band, "accept",
                     np.where(score + 1.5 * accept >= 0.8, "unsure", "reject"))
            for score in two_scores(rng, groups)
        ]  # fmt: skip
        found = compare_decisions(accept, *decided, groups if each > 1 else None)
        named += found.verdict != "cannot tell"
    assert named / runs <= ALPHA + standard_errors(ALPHA, runs)


def model_pairs(runs, rejects, accepts, gaps, each=1):
    """Labelled pairs, their groups of answers of both kinds."""
    rng = np.random.default_rng(5)
    accept = rng.permutation(np.repeat([False, True], [rejects, accepts]))
    groups = np.arange(len(accept)) // each
    for _ in range(runs):
        scores = two_scores(rng, groups)
        yield tuple(
            labelled(score + gap * accept, accept, groups if each > 1 else None, decimals=None)
            for score, gap in zip(scores, gaps, strict=True)
        )


@pytest.mark.parametrize(
    ("rejects", "each"), [(93, 1), (300, 1), (300, 3)], ids=["one allowed", "rows", "groups"]
)
def test_models_that_are_alike_are_seldom_told_apart(rejects, each):
    runs = 60 * TIMES
    goal = Goal(max_far=0.05, decimals=None)
    named = missed = 0
    for at, pair in enumerate(model_pairs(runs, rejects, 150, (2.0, 2.0), each)):
        found = compare_models(*pair, goal, resamples=200, seed=at)
        named += found.verdict != "cannot tell"
        interval = found.acceptance.interval
        missed += not interval.low <= 0 <= interval.high
    assert named / runs <= ALPHA + standard_errors(ALPHA, runs)
    assert missed / runs <= ALPHA + standard_errors(ALPHA, runs)


def test_intervals_of_acceptance_hold_the_difference_of_the_procedures():
    """Truth: what cutoffs made in this way accept on average, of all good answers there are."""
    runs = 80 * TIMES
    goal, gaps = Goal(max_far=0.05, decimals=None), (2.0, 2.6)
    ends, true = [], []
    for at, pair in enumerate(model_pairs(runs, 200, 200, gaps)):
        found = bootstrap_acceptance(*pair, goal, resamples=200, seed=at)
        ends.append((found.interval.low, found.interval.high))
        kept = [
            1 - NORMAL.cdf(goal.fit(model).value - gap)
            for model, gap in zip(pair, gaps, strict=True)
        ]
        true.append(kept[1] - kept[0])
    low, high = np.array(ends).T
    coverage = np.mean((low <= np.mean(true)) & (np.mean(true) <= high))
    assert coverage >= LEVEL - standard_errors(LEVEL, runs)
    assert np.mean(low > 0) > 0.4  # and they are narrow enough to find it


def test_why_there_is_no_interval_where_not_one_reject_may_pass():
    """Resamples of the highest reject alone would hold the truth too seldom."""
    runs = 2000 * TIMES
    missed = 0
    for at, (a, b) in enumerate(model_pairs(runs, 59, 200, (2.0, 2.0))):
        units = units_of(a, b)
        found, _ = _differences(units, tuple(side_of(m, units) for m in (a, b)), 0, 199, at)
        missed += not found[4] <= 0 <= found[194]
    assert missed / runs > 0.08


def test_a_better_model_is_named_and_the_worse_one_never():
    runs = 30 * TIMES
    verdicts = [
        compare_models(*pair, Goal(max_far=0.05, decimals=None), resamples=200, seed=at).verdict
        for at, pair in enumerate(model_pairs(runs, 300, 200, (1.8, 2.8)))
    ]
    assert verdicts.count("B") > 0.7 * runs
    assert "A" not in verdicts

"""The promise itself: over many calibrations it is broken exactly as often as the record says.

Scores come from known distributions, so the true rate of every cutoff is known. Each check is two-sided
where the theory gives an equality: an allowance of one error too many, or too few, fails it.
CLOSECALL_LONG=1 runs ten times as many calibrations.
"""

import os
from statistics import NormalDist

import numpy as np
import pytest

from closecall.calibration import (
    Cutoff,
    Infeasible,
    TwoCutoffs,
    accepted,
    fit_cutoff,
    fit_two_cutoffs,
)
from closecall.calibration.binomial import binomial_cdf, most_errors
from closecall.calibration.curve import error_curve
from closecall.calibration.cutoffs import certify

RUNS = 20_000 if os.environ.get("CLOSECALL_LONG") == "1" else 2000
NORMAL = NormalDist()
GAP = 1.8
GRID = np.arange(-200, 201) / 20


def standard_errors(p, runs):
    return 4 * np.sqrt(p * (1 - p) / runs)


def calibrations(rejects, accepts, seed, runs=RUNS):
    """Labelled scores, rejects N(0, 1) and accepts N(1.8, 1), one calibration after the other."""
    rng = np.random.default_rng(seed)
    labels = np.repeat([False, True], [rejects, accepts])
    for _ in range(runs):
        scores = rng.normal(size=rejects + accepts)
        scores[rejects:] += GAP
        yield scores, labels


def true_far(found):
    return 0.0 if isinstance(found, Infeasible) else 1 - NORMAL.cdf(found.value)


def true_frr(found):
    return 0.0 if isinstance(found, Infeasible) else NORMAL.cdf(found.value - GAP)


@pytest.mark.parametrize(("rejects", "want"), [(59, 0.0485), (100, 0.0371), (200, 0.0264)])
def test_false_accepts_exceed_the_limit_as_often_as_stated(rejects, want):
    stated = binomial_cdf(most_errors(rejects, 0.05, 0.05), rejects, 0.05)
    assert stated == pytest.approx(want, abs=5e-5)
    broken = 0
    for scores, labels in calibrations(rejects, 60, seed=rejects):
        found = fit_cutoff(scores, labels, max_far=0.05, where="loose", decimals=None)
        broken += true_far(found) > 0.05
        if isinstance(found, Cutoff):
            assert found.evidence.violation_probability == stated
    assert abs(broken / RUNS - stated) <= standard_errors(stated, RUNS)


@pytest.mark.parametrize("accepts", [29, 100])
def test_false_rejects_exceed_the_limit_as_often_as_stated(accepts):
    stated = binomial_cdf(most_errors(accepts, 0.1, 0.05), accepts, 0.1)
    broken = sum(
        true_frr(fit_cutoff(scores, labels, max_frr=0.1, where="strict", decimals=None)) > 0.1
        for scores, labels in calibrations(60, accepts, seed=accepts)
    )
    assert abs(broken / RUNS - stated) <= standard_errors(stated, RUNS)


@pytest.mark.parametrize("where", ["mid", "strict"])
def test_anywhere_else_in_the_gap_it_is_broken_less_often(where):
    broken = sum(
        true_far(fit_cutoff(scores, labels, max_far=0.1, where=where)) > 0.1
        for scores, labels in calibrations(61, 60, seed=1)
    )
    assert broken / RUNS <= 0.05 + standard_errors(0.05, RUNS)


@pytest.mark.parametrize("where", ["loose", "mid"])
@pytest.mark.parametrize("rejects", [59, 200])
def test_heavy_ties(rejects, where):
    """Scores rounded to 0.05, a tie group of several percent: never broken more often."""
    broken = 0
    for scores, labels in calibrations(rejects, 60, seed=2):
        tied = np.round(scores * 20) / 20
        found = certify(error_curve(tied, labels), 0.05, where=where)
        if isinstance(found, Cutoff):
            # Each multiple of 0.05 stands for the scores within 0.025 of it.
            first = GRID[accepted(found, GRID)][0]
            broken += 1 - NORMAL.cdf(first - 0.025) > 0.05
    assert broken / RUNS <= 0.05 + standard_errors(0.05, RUNS)


@pytest.mark.parametrize(("rejects", "limit"), [(19, 0.05), (60, 0.1)])
def test_the_average_rule_keeps_the_average(rejects, limit):
    rates, broken, stated, expected = [], 0, None, None
    for scores, labels in calibrations(rejects, 80, seed=3):
        found = fit_cutoff(
            scores, labels, max_far=limit, guarantee="average", where="loose", decimals=None
        )
        rates.append(true_far(found))
        broken += rates[-1] > limit
        if isinstance(found, Cutoff):
            expected = found.evidence.expected
            stated = found.evidence.violation_probability
    slack = 4 * np.std(rates) / np.sqrt(RUNS)
    assert abs(np.mean(rates) - expected) <= slack
    assert np.mean(rates) <= limit + slack
    # What the record says of single calibrations is true as well.
    assert abs(broken / RUNS - stated) <= standard_errors(stated, RUNS)


def test_two_promises_hold_together():
    broken = 0
    for scores, labels in calibrations(150, 150, seed=4):
        found = fit_two_cutoffs(scores, labels, max_far=0.1, max_frr=0.1, decimals=None)
        assert isinstance(found, TwoCutoffs)
        broken += true_far(found.accept) > 0.1 or true_frr(found.reject) > 0.1
    assert broken / RUNS <= 0.05 + standard_errors(0.05, RUNS)
    # And it is not merely timid: each side alone uses most of its half.
    half = binomial_cdf(most_errors(150, 0.1, 0.025), 150, 0.1)
    assert broken / RUNS >= half - standard_errors(half, RUNS)


def test_one_cutoff_that_keeps_both_leaves_nobody_unsure():
    rng = np.random.default_rng(5)
    labels = np.repeat([False, True], 150)
    broken = 0
    for _ in range(RUNS // 2):
        scores = rng.normal(size=300) + 3.2 * labels
        found = fit_two_cutoffs(scores, labels, max_far=0.1, max_frr=0.1)
        assert found.abstains == (found.unsure.count > 0) or found.unsure.count == 0
        if not found.abstains:
            value = found.accept.value
            broken += 1 - NORMAL.cdf(value) > 0.1 or NORMAL.cdf(value - 3.2) > 0.1
    assert broken / (RUNS // 2) <= 0.05 + standard_errors(0.05, RUNS // 2)


LOOKS = range(60, 620, 20)
LIMITS = (0.03, 0.05, 0.08, 0.1, 0.15, 0.2)


def test_stopping_at_the_first_promise_one_likes():
    """28 looks at a growing sample, 6 limits at each; the caller takes the first cutoff that
    accepts 60% of the accepts, at the smallest limit. Counted as looks, the promise holds."""
    runs = RUNS // 10
    looks = len(LOOKS) * len(LIMITS)
    broken = chosen = 0
    most = max(LOOKS)
    for scores, _ in calibrations(most, most, seed=6, runs=runs):
        candidates = (
            certify(
                error_curve(
                    np.concatenate((scores[:n], scores[most : most + n])),
                    np.repeat([False, True], n),
                ),
                limit,
                looks=looks,
                where="loose",
            )
            for n in LOOKS
            for limit in LIMITS
        )
        liked = (
            found
            for found in candidates
            if isinstance(found, Cutoff)
            and found.counts.true_accepts >= 0.6 * found.counts.accepts
        )
        found = next(liked, None)
        if found is not None:
            chosen += 1
            broken += true_far(found) > found.evidence.limit
    assert chosen == runs
    assert broken / runs <= 0.05 + standard_errors(0.05, runs)

"""The promise on groups: rows of one question share a part of their score.

CLOSECALL_LONG=1 runs ten times as many calibrations.
"""

import os
from statistics import NormalDist

import numpy as np
import pytest

from closecall.calibration import Cutoff, fit_cutoff
from closecall.calibration.binomial import binomial_cdf, most_errors

RUNS = 10_000 if os.environ.get("CLOSECALL_LONG") == "1" else 1000
NORMAL = NormalDist()
ACCEPTS = 40
DELTA = 0.05


def standard_errors(p):
    return 4 * np.sqrt(p * (1 - p) / RUNS)


def calibrations(count, each, correlation, seed):
    """``each`` rejects for each of ``count`` questions, and some accepts of other questions."""
    rng = np.random.default_rng(seed)
    groups = np.concatenate((np.repeat(np.arange(count), each), count + np.arange(ACCEPTS)))
    labels = np.repeat([False, True], [count * each, ACCEPTS])
    for _ in range(RUNS):
        common = np.sqrt(correlation) * rng.normal(size=(count, 1))
        rejects = common + np.sqrt(1 - correlation) * rng.normal(size=(count, each))
        yield np.concatenate((rejects.ravel(), rng.normal(2.5, 1, ACCEPTS))), labels, groups


def broken(limit, grouped=True, **options):
    options = {"count": 80, "each": 4, "correlation": 0.5, "seed": 1, **options}
    guarantee = options.pop("guarantee", "exact")
    total = 0
    for at, (scores, labels, groups) in enumerate(calibrations(**options)):
        found = fit_cutoff(
            scores, labels, groups if grouped else None, max_far=limit,
            guarantee=guarantee, where="loose", decimals=None, seed=at,
        )  # fmt: skip
        total += isinstance(found, Cutoff) and 1 - NORMAL.cdf(found.value) > limit
    return total / RUNS


def test_one_row_a_group_is_exact():
    stated = binomial_cdf(most_errors(80, 0.1, DELTA), 80, 0.1)
    assert abs(broken(0.1) - stated) <= standard_errors(stated)


def test_ignoring_groups_breaks_the_promise_too_often():
    """Guards the power of the tests here: they can see a violation."""
    assert broken(0.1, grouped=False) > DELTA + standard_errors(DELTA)


def test_the_design_effect_comes_close():
    rate = broken(0.1, guarantee="approximate")
    assert rate <= 1.3 * DELTA + standard_errors(DELTA)
    assert rate < broken(0.1, grouped=False)


@pytest.mark.parametrize("correlation", [0.0, 0.9])
def test_whatever_the_correlation(correlation):
    assert broken(0.1, correlation=correlation) <= DELTA + standard_errors(DELTA)
    approximate = broken(0.1, correlation=correlation, guarantee="approximate")
    assert approximate <= 1.3 * DELTA + standard_errors(DELTA)


def test_the_exact_promise_is_about_groups_not_rows():
    """Large groups score higher: the rate over rows is above the rate over groups."""
    rng = np.random.default_rng(2)
    sizes = np.tile([1, 9], 60)
    groups = np.repeat(np.arange(120), sizes)
    large = np.repeat(sizes == 9, sizes)
    labels = np.zeros(len(groups), dtype=bool)
    over_groups = over_rows = 0
    for at in range(RUNS):
        rejects = rng.normal(size=len(groups)) + 0.6 * large
        scores = np.concatenate((rejects, rng.normal(3.5, 1, ACCEPTS)))
        found = fit_cutoff(
            scores, np.append(labels, np.ones(ACCEPTS, dtype=bool)),
            np.append(groups, 120 + np.arange(ACCEPTS)), max_far=0.1, seed=at, decimals=None,
            where="loose",
        )  # fmt: skip
        small, big = 1 - NORMAL.cdf(found.value), 1 - NORMAL.cdf(found.value - 0.6)
        over_groups += (small + big) / 2 > 0.1
        over_rows += 0.1 * small + 0.9 * big > 0.1
    assert over_groups / RUNS <= DELTA + standard_errors(DELTA)
    assert over_rows / RUNS > 0.2

"""The rule names a regression where there is none at most as often as it says."""

import functools

import msgspec
import numpy as np
import pytest
import scipy.stats

from closecall.calibration.comparing.mean_difference import mean_difference
from closecall.calibration.comparing.paired import flips
from closecall.runs.comparing.records import MetricCompared
from closecall.runs.comparing.rule import decided

TRIES = 1500


@functools.cache
def empty():
    return {f.name: None for f in msgspec.structs.fields(MetricCompared) if f.required}


def metric(name, before, after, groups=None):
    """Only what the rule reads; ``before`` and ``after`` say what passes."""
    found = flips(~before, ~after, groups)
    worse = found.p / 2 if found.only_b > found.only_a else None
    facts = {
        "metric": name, "flips": found, "p_worse": worse, "measured": found.n, "asked": found.n,
        "verdict_flips": found.discordant,
    }  # fmt: skip
    return MetricCompared(**{**empty(), **facts})


def alarms(draw_two, *, metrics, alpha):
    count = 0
    for _ in range(TRIES):
        made = [metric(str(at), *draw_two()) for at in range(metrics)]
        count += any(one.outcome == "worse" for one in decided(made, alpha, {}))
    return count


def most(alpha):
    """How many of the tries a true rate of alpha exceeds once in a million times."""
    return scipy.stats.binom.isf(1e-6, TRIES, alpha)


@pytest.mark.parametrize("alpha", [0.05, 0.2])
@pytest.mark.parametrize("metrics", [1, 3])
@pytest.mark.parametrize(("n", "rate"), [(30, 0.5), (200, 0.9)])
def test_two_runs_that_are_alike_are_called_worse_at_most_as_often_as_alpha(
    alpha, metrics, n, rate
):
    rng = np.random.default_rng(7)

    def draw_two():
        return rng.random(n) < rate, rng.random(n) < rate

    assert alarms(draw_two, metrics=metrics, alpha=alpha) <= most(alpha)


def test_cases_of_one_group_do_not_raise_the_alarm():
    rng = np.random.default_rng(8)
    groups = np.repeat(np.arange(40), 5)

    def draw_two():
        # A question is answered well or not as a whole, anew in each run.
        whole = rng.random((2, 40)) < 0.8
        one, other = whole[:, groups] ^ (rng.random((2, 200)) < 0.05)
        return one, other, groups

    assert alarms(draw_two, metrics=1, alpha=0.05) <= most(0.05)

    def as_if_single():
        return draw_two()[:2]

    # Without groups the same draws alarm far too often: this is what they are for.
    assert alarms(as_if_single, metrics=1, alpha=0.05) > 2 * most(0.05)


def test_a_run_that_is_much_worse_is_found():
    rng = np.random.default_rng(9)

    def draw_two():
        return rng.random(200) < 0.9, rng.random(200) < 0.75

    assert alarms(draw_two, metrics=1, alpha=0.05) > 0.95 * TRIES


@pytest.mark.parametrize("share", [0.2, 1.0])
def test_the_interval_of_a_mean_difference_misses_about_as_often_as_it_says(share):
    rng = np.random.default_rng(10)
    sizes = rng.integers(1, 4, 150)
    misses = tries = 0
    for _ in range(1000):
        moved = rng.random(150) < share
        sums = np.where(moved, rng.normal(2, 10, 150) * sizes, 0.0)
        truth = 2 * share
        found = mean_difference(sizes, sums)
        if found is not None:
            tries += 1
            misses += not found.low <= truth <= found.high
    assert tries > 990
    assert misses / tries < 0.08


def test_verdicts_of_two_rules_are_never_an_alarm():
    before, after = np.ones(50, dtype=bool), np.zeros(50, dtype=bool)
    found = metric("m", before, after)
    assert decided([found], 0.05, {})[0].outcome == "worse"
    assert decided([found], 0.05, {"m": "the cutoff"})[0].outcome == "not decided"

"""Means with intervals: deterministic, by groups, and never an interval of width 0."""

import math
import random

import pytest

from closecall.errors import UsageError
from closecall.retrieval.estimates import Drawing, difference_interval, estimates


def drawn(values, groups=None, **drawing):
    groups = [str(at) for at in range(len(values))] if groups is None else groups
    return estimates({"m": values}, groups, Drawing(**drawing))["m"]


def test_the_mean_is_the_mean_and_the_interval_holds_it():
    rng = random.Random(1)
    values = [rng.random() for _ in range(80)]
    found = drawn(values)
    assert found.value == math.fsum(values) / 80
    assert found.n == found.groups == 80
    assert found.count is None
    assert found.interval.low < found.value < found.interval.high
    # The normal interval of a mean, which the bootstrap comes near on 80 values.
    spread = math.sqrt(sum((v - found.value) ** 2 for v in values) / 80 / 80)
    assert found.interval.high - found.interval.low == pytest.approx(2 * 1.96 * spread, rel=0.1)


def test_the_same_seed_gives_the_same_interval_whatever_the_order_of_questions():
    values = [at % 7 / 7 for at in range(40)]
    groups = [f"g{at}" for at in range(40)]
    order = list(range(40))
    random.Random(3).shuffle(order)
    again = drawn([values[at] for at in order], [groups[at] for at in order])
    assert drawn(values, groups).interval.low == pytest.approx(again.interval.low, abs=1e-12)
    assert drawn(values, groups) == drawn(values, groups)
    assert drawn(values, groups, seed=1).interval != drawn(values, groups).interval


def test_groups_of_like_questions_widen_the_interval():
    values = [float(at // 10 % 2) for at in range(200)]
    alone = drawn(values).interval
    grouped = drawn(values, [f"g{at // 10}" for at in range(200)]).interval
    assert grouped.high - grouped.low > 2 * (alone.high - alone.low)
    assert "groups" in grouped.method
    assert "groups" not in alone.method


@pytest.mark.parametrize(("value", "count"), [(0.0, 0), (1.0, 30)])
def test_all_hits_or_none_get_the_exact_interval_of_a_rate(value, count):
    found = drawn([value] * 30)
    assert found.count == count
    assert found.interval.method == "clopper-pearson, of questions with another value"
    assert found.interval.high - found.interval.low == pytest.approx(1 - 0.025 ** (1 / 30))


def test_equal_values_have_an_interval_of_what_was_not_seen():
    found = drawn([0.1] * 40)
    unseen = 1 - 0.025 ** (1 / 40)
    assert found.interval.low == pytest.approx(0.1 * (1 - unseen))
    assert found.interval.high == pytest.approx(0.1 + 0.9 * unseen)
    assert found.count is None


def test_few_questions_have_no_interval_and_say_why():
    few = drawn([0.5, 1.0, 0.0])
    assert few.interval is None
    assert few.why == "3 independent questions or groups are too few, 10 are needed"


def test_many_questions_in_few_groups_have_no_interval():
    assert drawn([at % 2 / 1 for at in range(100)], ["a", "b"] * 50).interval is None


def test_resamples_must_reach_beyond_the_ends():
    with pytest.raises(UsageError, match="at least 39 resamples, got 38"):
        Drawing(resamples=38)
    Drawing(resamples=39)
    with pytest.raises(UsageError, match="seed"):
        Drawing(seed=-1)


def test_intervals_hold_the_true_mean_about_as_often_as_they_say():
    rng = random.Random(11)
    held = 0
    for trial in range(200):
        values = [1.0 if rng.random() < 0.7 else rng.random() / 2 for _ in range(60)]
        found = drawn(values, resamples=400, seed=trial)
        held += found.interval.low <= 0.7 + 0.3 * 0.25 <= found.interval.high
    assert 178 <= held <= 200, "95% of 200 is 190; the percentile bootstrap is a little short"


def test_a_difference_that_is_none_has_no_interval():
    groups = [str(at) for at in range(20)]
    assert difference_interval([0.0] * 20, groups, Drawing()) == (None, "no question differs")
    interval, why = difference_interval([0.1, -0.05] * 10, groups, Drawing())
    assert interval.low < 0.025 < interval.high
    assert why == ""

"""Gates that compare the whole interval: they keep their level, and say what they cannot tell."""

import math

import numpy as np
import pytest
from given_values import BROKEN, Given, run_of

from closecall.calibration.groups import rate_of_groups
from closecall.gates.evaluate import GateKeeper, evaluate_gates
from closecall.gates.intervals import BETTING, T_INTERVAL, mean_of_groups, quantile_interval
from closecall.runs.gate_results import GateState

PASSED, FAILED, OPEN, ABSENT = (
    GateState.PASSED, GateState.FAILED, GateState.INCONCLUSIVE, GateState.NOT_MEASURED,
)  # fmt: skip


def one(values, rule, *metrics, **facts):
    (found,) = evaluate_gates(run_of(values, *metrics, **facts), [rule])
    return found


@pytest.mark.parametrize("n", [5, 24, 60])
@pytest.mark.parametrize("share", [0.5, 0.9, 0.96])
@pytest.mark.parametrize("op", [">=", "<="])
def test_a_true_share_at_the_limit_passes_and_fails_at_most_one_time_in_forty(n, share, op):
    """Summed exactly over every count that can come, with its probability."""
    odds = {PASSED: 0.0, FAILED: 0.0, OPEN: 0.0}
    for count in range(n + 1):
        chance = math.comb(n, count) * share**count * (1 - share) ** (n - count)
        found = one([4] * count + [2] * (n - count), f"surely pass_rate(given) {op} {share}")
        odds[found.state] += chance
    assert odds[PASSED] <= 0.025
    assert odds[FAILED] <= 0.025
    assert sum(odds.values()) == pytest.approx(1)


def test_the_same_in_groups_that_move_together():
    rng = np.random.default_rng(5)
    wrong = 0
    for _ in range(2000):
        sizes = rng.integers(1, 5, 40)
        # Correlation 0.3 within a group, what is assumed at least.
        hits = rng.binomial(sizes, rng.beta(0.9 * 7 / 3, 0.1 * 7 / 3, 40))
        wrong += rate_of_groups(sizes, hits).interval.low > 0.9
    assert wrong / 2000 <= 0.025


MARKS, ODDS = np.array([1.0, 2.0, 3.0, 4.0, 5.0]), [0.02, 0.03, 0.05, 0.2, 0.7]


@pytest.mark.parametrize(("groups", "most"), [(3, 1), (24, 1), (24, 4), (100, 1)], ids=str)
def test_a_true_mean_at_an_end_of_its_interval_is_rare_even_where_marks_are_lopsided(groups, most):
    rng = np.random.default_rng(groups + most)
    true = float(MARKS @ ODDS)
    above = below = 0
    for _ in range(1500):
        sizes = rng.integers(1, most + 1, groups)
        sums = rng.choice(MARKS, groups, p=ODDS) * sizes
        found = mean_of_groups(sizes, sums, low=1.0, high=5.0, level=0.95)
        above += found.low > true
        below += found.high < true
    assert max(above, below) / 1500 <= 0.025


def test_a_t_interval_would_not_keep_that_level():
    # Why it is not used where a scale has ends; if this fails, it may be.
    rng = np.random.default_rng(3)
    above = 0
    for _ in range(1500):
        sums = rng.choice(MARKS, 24, p=ODDS)
        found = mean_of_groups(np.ones(24, int), sums, low=None, high=None, level=0.95)
        above += found is not None and found.low > float(MARKS @ ODDS)
    assert above / 1500 > 0.05


def test_an_interval_of_a_mean_knows_neither_order_nor_unit():
    rng = np.random.default_rng(2)
    sizes, values = rng.integers(1, 4, 30), rng.random(30)
    found = mean_of_groups(sizes, values * sizes, low=0.0, high=1.0, level=0.95)
    order = rng.permutation(30)
    turned = mean_of_groups(sizes[order], (values * sizes)[order], low=0.0, high=1.0, level=0.95)
    assert (turned.low, turned.high) == pytest.approx((found.low, found.high))
    percent = mean_of_groups(sizes, 100 * values * sizes, low=0.0, high=100.0, level=0.95)
    assert (percent.low, percent.high) == pytest.approx((100 * found.low, 100 * found.high))
    upside = mean_of_groups(sizes, (1 - values) * sizes, low=0.0, high=1.0, level=0.95)
    assert (1 - upside.high, 1 - upside.low) == pytest.approx((found.low, found.high))
    assert found.method == BETTING
    assert 0 <= found.low < float((values * sizes).sum() / sizes.sum()) < found.high <= 1


@pytest.mark.parametrize("n", [1, 2, 24])
def test_values_that_are_all_the_same_still_leave_room(n):
    ones = np.ones(n, int)
    found = mean_of_groups(ones, 5.0 * ones, low=1.0, high=5.0, level=0.95)
    # Some share of the rest may be at the lowest mark: exactly 1 - 0.025 ** (1 / n) of them.
    exact = 5 - 4 * (1 - 0.025 ** (1 / n))
    assert 1 <= found.low <= exact + 1e-9
    assert found.high == 5.0
    lowest = mean_of_groups(ones, 1.0 * ones, low=1.0, high=5.0, level=0.95)
    assert (lowest.low, lowest.high) == (1.0, pytest.approx(6 - found.low))


def test_without_ends_a_mean_takes_ten_groups_that_vary():
    values = np.arange(10.0)
    found = mean_of_groups(np.ones(10, int), values, low=None, high=None, level=0.95)
    # t of 9 degrees of freedom at 97.5 %, from a table: 2.262.
    width = 2.262 * np.std(values, ddof=1) / math.sqrt(10)
    assert (found.low, found.high) == pytest.approx((4.5 - width, 4.5 + width), abs=1e-3)
    assert found.method == T_INTERVAL
    assert mean_of_groups(np.ones(9, int), values[:9], low=None, high=None, level=0.95) is None
    assert mean_of_groups(np.ones(20, int), np.ones(20), low=None, high=None, level=0.95) is None


@pytest.mark.parametrize(("share", "n"), [(0.5, 8), (0.5, 100), (0.1, 100), (0.95, 200)])
def test_a_percentile_at_an_end_of_its_interval_is_rare(share, n):
    rng = np.random.default_rng(n)
    found = [quantile_interval(sorted(rng.random(n)), np.ones(n, int), share, 0.95)
             for _ in range(1500)]  # fmt: skip
    assert sum(one.low > share for one in found) / 1500 <= 0.032  # 0.025 and three errors
    assert sum(one.high < share for one in found) / 1500 <= 0.032


def test_few_values_have_no_interval_of_a_percentile():
    assert quantile_interval([1.0, 2.0, 3.0], np.ones(3, int), 0.5, 0.95) is None
    assert quantile_interval(list(map(float, range(20))), np.ones(20, int), 0.95, 0.95) is None
    # Six values: the lowest and the highest hold the median with 1 - 2 / 2 ** 6 = 0.969.
    found = quantile_interval(list(map(float, range(6))), np.ones(6, int), 0.5, 0.95)
    assert (found.low, found.high) == (0.0, 5.0)


def test_pass_fail_and_cannot_tell():
    rule = "surely pass_rate(given) >= 0.7"
    assert one([4] * 24, rule).state is PASSED
    assert one([4] * 10 + [2] * 14, rule).state is FAILED
    found = one([4] * 18 + [2] * 6, rule)
    assert found.state is OPEN
    assert found.reason.startswith("cannot tell with n = 24: the interval lies on both sides of")
    assert found.margin == pytest.approx(0.05)


@pytest.mark.parametrize(
    ("good", "bad", "rule"),
    [
        (18, 6, "surely pass_rate(given) >= 0.6"),
        (18, 6, "surely pass_rate(given) <= 0.85"),
        (12, 12, "surely share(given >= 3) >= 0.6"),
    ],
)
def test_about_so_many_more_would_settle_it(good, bad, rule):
    found = one([4] * good + [2] * bad, rule)
    assert found.state is OPEN
    n = 24 + found.more
    up = "<=" not in rule and good > bad
    more = math.floor(n * good / 24) if up else math.ceil(n * good / 24)
    assert one([4] * more + [2] * (n - more), rule).state in {PASSED, FAILED}
    fewer = 24 + found.more // 2
    less = math.floor(fewer * good / 24) if up else math.ceil(fewer * good / 24)
    assert one([4] * less + [2] * (fewer - less), rule).state is OPEN


def test_more_of_a_mean_settles_it_too():
    values = [5, 4, 4, 3, 5, 2] * 4
    found = one(values, "surely mean(given) >= 3.2")
    assert found.state is OPEN
    assert one(values * (1 + found.more // 24 + 1), "surely mean(given) >= 3.2").state is PASSED


def test_no_number_of_cases_settles_what_lies_on_the_limit():
    found = one([4, 2] * 12, "surely pass_rate(given) >= 0.5")
    assert (found.state, found.more) == (OPEN, None)
    assert "more like these" not in found.reason


def test_without_an_interval_it_cannot_tell():
    found = one([4] * 5, "surely mean(given) >= 0.5", Given(3.0, low=None, high=None))
    assert found.state is OPEN
    assert "an interval takes 10 groups" in found.reason
    assert one([4, 5, 5], "surely median(given) >= 2").state is OPEN


def test_answers_to_one_question_count_for_less():
    rule = "surely pass_rate(given) >= 0.8"
    assert one([4] * 24, rule).state is PASSED
    found = one([4] * 24, rule, groups=["a", "b", "c"])
    assert found.state is OPEN
    assert "design effect" in found.interval.method


def test_a_case_that_was_not_measured_makes_nothing_sure():
    rule = "surely pass_rate(given) >= 0.85"
    assert one([4] * 23, rule).state is PASSED
    assert one([4] * 23 + [BROKEN] * 3, rule).state is ABSENT
    assert one([4] * 100 + [BROKEN], rule).state is PASSED
    assert one([2] * 23 + [BROKEN], rule).state is FAILED


def test_a_strict_limit_at_the_end_of_an_interval_is_not_passed():
    keeper_rule = "surely share(given >= 3) > 0"
    run = run_of([2] * 10)
    keeper = GateKeeper([keeper_rule], run.header.metrics)
    keeper.add(run)
    assert keeper.results()[0].state is OPEN

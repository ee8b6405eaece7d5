"""The public entry: one goal, refusals that say what to do, and no decision on unsound labels."""

import msgspec
import numpy as np
import pytest
from made_scores import normal_scores

from closecall.calibration import (
    Costs,
    Cutoff,
    Infeasible,
    Optimum,
    Reason,
    fit_cutoff,
    fit_two_cutoffs,
)
from closecall.calibration.curve import error_curve
from closecall.calibration.separation import separation
from closecall.errors import DataError, NonFiniteError, UsageError

COSTS = Costs(false_accept=5, false_reject=1)
EVERY_GOAL = [
    {"max_far": 0.2}, {"max_frr": 0.2}, {"costs": COSTS}, {"objective": "f1"},
    {"objective": "youden"}, {"objective": "accuracy"}, {"max_far": 0.2, "guarantee": "average"},
]  # fmt: skip
goals = pytest.mark.parametrize("goal", EVERY_GOAL, ids=str)


@goals
def test_a_cutoff_and_its_record(goal):
    scores, labels = normal_scores(150, 120)
    found = fit_cutoff(scores, ["accept" if y else "reject" for y in labels], **goal)
    assert isinstance(found, Cutoff)
    assert found == fit_cutoff(scores, labels, **goal)
    assert (found.counts.rejects, found.counts.accepts) == (150, 120)
    for rate in (found.false_accept_rate, found.false_reject_rate):
        assert rate.interval.low <= rate.value <= rate.interval.high
        assert rate.interval.method == "clopper-pearson"
    assert isinstance(found.evidence, Optimum) == bool({"costs", "objective"} & set(goal))
    assert msgspec.json.decode(msgspec.json.encode(found), type=Cutoff) == found
    with pytest.raises(AttributeError):
        found.value = 0.0


@goals
@pytest.mark.parametrize("sizes", [(9, 100), (100, 9), (0, 50), (50, 0), (1, 0)], ids=str)
def test_fewer_than_ten_of_a_class_is_no_decision(goal, sizes):
    found = fit_cutoff(*normal_scores(*sizes), **goal)
    assert found.reason is Reason.TOO_FEW_LABELS
    assert (found.rejects, found.accepts) == sizes
    assert found.more_rejects >= max(0, 10 - sizes[0])
    assert found.more_accepts >= max(0, 10 - sizes[1])
    assert found.best_limit is None
    assert "drawn at random" in found.advice
    assert msgspec.json.decode(msgspec.json.encode(found), type=Infeasible) == found


def test_ten_of_each_are_enough_for_a_decision():
    scores, labels = normal_scores(10, 10, gap=4)
    assert isinstance(fit_cutoff(scores, labels, costs=COSTS), Cutoff)
    assert isinstance(fit_cutoff(scores, labels, max_far=0.26), Cutoff)
    found = fit_cutoff(scores, labels, max_far=0.25)
    assert found.reason is Reason.PROMISE_OUT_OF_REACH
    assert found.more_rejects == 1
    assert found.alternatives == ("average",)


def test_too_few_labels_are_told_how_many_the_promise_needs():
    found = fit_cutoff(*normal_scores(8, 30), max_far=0.05)
    assert (found.more_rejects, found.more_accepts) == (51, 0)
    assert found.message.startswith("30 accepts and 8 rejects")
    assert found.advice == "label at least 51 more rejects, drawn at random"
    found = fit_cutoff(*normal_scores(8, 3), max_frr=0.05)
    assert (found.more_rejects, found.more_accepts) == (2, 56)
    found = fit_cutoff(*normal_scores(8, 3), max_far=0.05, groups=[0] * 11)
    assert found.more_rejects == 58


@goals
def test_constant_scores_are_refused(goal):
    scores = np.full(200, 0.7) + np.arange(200) * 1e-12
    found = fit_cutoff(scores, np.arange(200) % 2 == 0, **goal)
    assert found.reason is Reason.CONSTANT_SCORES
    assert "all 200 scores are 0.7" in found.message


@goals
def test_scores_that_run_the_wrong_way_are_refused(goal):
    scores, labels = normal_scores(100, 100)
    found = fit_cutoff(-scores, labels, **goal)
    assert found.reason is Reason.INVERTED_SCORES
    assert "negate the scores" in found.advice
    swapped = fit_cutoff(scores, ~labels, **goal)
    assert swapped.reason is Reason.INVERTED_SCORES


def test_two_cutoffs_refuse_the_same_labels():
    def reason(scores, labels):
        return fit_two_cutoffs(scores, labels, max_far=0.1, max_frr=0.1).reason

    scores, labels = normal_scores(100, 100)
    assert reason(-scores, labels) is Reason.INVERTED_SCORES
    assert reason(0 * scores, labels) is Reason.CONSTANT_SCORES
    assert reason(*normal_scores(9, 100)) is Reason.TOO_FEW_LABELS
    assert reason(*normal_scores(30, 100)) is Reason.PROMISE_OUT_OF_REACH
    assert reason(*normal_scores(100, 30)) is Reason.PROMISE_OUT_OF_REACH


def test_scores_without_signal_are_rarely_called_inverted():
    """Nominal 2.5%; rows of one group count once, or groups would make it worse."""
    rng = np.random.default_rng(3)
    called = grouped = 0
    for _ in range(400):
        labels = rng.random(80) < 0.5
        found = fit_cutoff(
            rng.normal(size=80), labels, objective="accuracy", estimator="empirical"
        )
        called += isinstance(found, Infeasible) and found.reason is Reason.INVERTED_SCORES
        found = fit_cutoff(
            np.repeat(rng.normal(size=20), 6), np.repeat(rng.random(20) < 0.5, 6),
            np.repeat(np.arange(20), 6), objective="accuracy", estimator="empirical",
        )  # fmt: skip
        grouped += isinstance(found, Infeasible) and found.reason is Reason.INVERTED_SCORES
    assert 0 < called <= 0.025 * 400 + 4 * np.sqrt(400 * 0.025 * 0.975)
    assert grouped <= 0.025 * 400 + 4 * np.sqrt(400 * 0.025 * 0.975)


def test_separation_has_a_width_even_where_it_is_perfect():
    found = separation(error_curve([*range(20)], [False] * 10 + [True] * 10))
    assert (found.auc, found.interval.high) == (1.0, 1.0)
    assert 0.6 < found.interval.low < 0.95
    with pytest.raises(DataError, match="accepts and rejects"):
        separation(error_curve([0.5], [True]))


@pytest.mark.parametrize(
    ("arguments", "said"),
    [
        ({}, "0 goals given: say what the cutoff is for"),
        ({"max_far": 0.1, "costs": COSTS}, "2 goals"),
        ({"max_far": 0.1, "max_frr": 0.1}, "fit_two_cutoffs"),
        ({"max_far": 0.1, "max_frr": 0.1, "objective": "f1"}, "3 goals"),
        ({"max_far": 0}, "max_far must be a number between 0 and 1"),
        ({"max_frr": 5}, "max_frr must be a number between 0 and 1"),
        ({"max_far": "5%"}, "max_far must be"),
        ({"max_far": 0.1, "confidence": 95}, "confidence must be"),
        ({"max_far": 0.1, "guarantee": "sure"}, "exact, average, approximate"),
        ({"max_far": 0.1, "where": "middle"}, "mid, strict, loose"),
        ({"max_far": 0.1, "estimator": "platt"}, "estimator is for costs"),
        ({"max_far": 0.1, "looks": 0}, "looks must be"),
        ({"max_far": 0.1, "looks": 3, "guarantee": "average"}, "looks divide"),
        ({"objective": "cost"}, "f1, youden, accuracy"),
        ({"objective": "mcc"}, "f1, youden, accuracy"),
        ({"objective": "f1", "estimator": "platt"}, "'platt' is for costs"),
        ({"objective": "f1", "estimator": "best"}, "empirical, bagged, platt"),
        ({"objective": "f1", "looks": 3}, "guarantee and looks"),
        ({"costs": COSTS, "guarantee": "average"}, "guarantee and looks"),
    ],
    ids=str,
)
def test_arguments_that_do_not_fit(arguments, said):
    with pytest.raises(UsageError, match=said):
        fit_cutoff(*normal_scores(100, 100), **arguments)


def test_two_cutoffs_are_not_for_averages():
    for guarantee in ("average", "sure"):
        with pytest.raises(UsageError, match="exact or approximate"):
            fit_two_cutoffs(*normal_scores(50, 50), max_far=0.1, max_frr=0.1, guarantee=guarantee)


def test_unmeasured_rows_are_not_scores():
    with pytest.raises(NonFiniteError, match="left out with its label"):
        fit_cutoff([0.1, float("nan")], [True, False], max_far=0.1)


def test_confidence_in_decimals_sets_the_boundary():
    """With 1 - 0.9 = 0.09999999999999998 as delta a case on the boundary would be refused."""
    scores, labels = normal_scores(10, 40, gap=30)
    limit = 1 - 0.1 ** (1 / 10) + 1e-15
    assert fit_cutoff(scores, labels, max_far=limit, confidence=0.9).evidence.delta == 0.1


def test_a_million_rows_fit_in_memory_and_agree_with_a_thousandth():
    scores, labels = normal_scores(600, 400, seed=1)
    big = fit_cutoff(np.repeat(scores, 200), np.repeat(labels, 200), objective="youden")
    small = fit_cutoff(scores, labels, objective="youden", estimator="empirical")
    assert (big.value, big.evidence.value) == (small.value, small.evidence.value)

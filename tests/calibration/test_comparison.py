"""A verdict only where labels carry one; elsewhere why not, in words."""

import msgspec
import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

from closecall.calibration.comparing.comparison import (
    UNTESTED,
    Comparison,
    compare_decisions,
    compare_models,
)
from closecall.calibration.goals import Goal
from closecall.calibration.inputs import Labelled, labelled
from closecall.errors import DataError, ShapeError, UsageError

REJECTS, ACCEPTS = 118, 294
GOAL = Goal(max_far=0.1)


def compare(a, b, rejects=REJECTS, accepts=ACCEPTS, **options):
    """Each of ``a`` and ``b`` is (rejects it accepts, accepts it rejects, rows left unsure)."""
    labels = np.repeat([False, True], [rejects, accepts])
    decided = []
    for far, frr, *unsure in (a, b):
        decisions = ["accept" if label else "reject" for label in labels]
        for row in far:
            decisions[row] = "accept"
        for row in frr:
            decisions[rejects + row] = "reject"
        for row in unsure[0] if unsure else ():
            decisions[row] = "unsure"
        decided.append(decisions)
    return compare_decisions(labels, *decided, **options)


def two_models(rejects=200, accepts=200, *, groups=None, seed=0, gaps=(1.5, 3.5), decimals=6):
    rng = np.random.default_rng(seed)
    accept = rng.permutation(np.repeat([False, True], [rejects, accepts]))
    common = rng.normal(size=len(accept))
    return tuple(
        labelled(
            common + rng.normal(size=len(accept)) + gap * accept, accept, groups, decimals=decimals
        )
        for gap in gaps
    )


def test_fewer_of_one_error_and_no_more_of_the_other():
    found = compare((range(19), range(11)), (range(3), range(9, 21)), names=("old", "new"))
    assert found.verdict == "B"
    assert (found.a, found.b) == ("old", "new")
    assert (found.n, found.accepts, found.rejects, found.groups) == (412, 294, 118, None)
    assert (found.false_accepts.only_a, found.false_accepts.only_b) == (16, 0)
    assert (found.false_rejects.errors_a, found.false_rejects.errors_b) == (11, 12)
    assert found.decided_differently == 16 + 9 + 10
    assert found.unsure is found.auc is found.acceptance is None
    assert found.why == (
        "with n = 412 (294 accepts, 118 rejects), new has fewer false accepts, 3 of 118 against "
        "19 by old (p < 0.0001); nothing speaks against it in false rejects, 12 of 294 against 11 "
        "by old (p = 1)"
    )
    assert msgspec.json.decode(msgspec.json.encode(found), type=Comparison) == found


def test_the_mirror_image():
    found = compare((range(3), range(9, 21)), (range(19), range(11)))
    assert found.verdict == "A"
    assert "A has fewer false accepts, 3 of 118 against 19 by B" in found.why
    assert compare(([], []), ([], range(30))).verdict == "A"


@pytest.mark.parametrize(
    "b",
    [
        (range(3), range(31)),
        (range(3), range(16)),
        (range(3), range(12)),
        (range(3), range(11), [200]),
        (range(3), range(30, 60)),
        (range(3), range(6, 25)),
    ],
    ids=[
        "surely more",
        "perhaps more",
        "one more, none fewer",
        "one unsure",
        "quite other ones",
        "more, not proven",
    ],
)
def test_what_one_error_gains_another_may_not_lose(b):
    """Nothing needs to be proven of a loss: it is a trade, and costs decide."""
    found = compare((range(19), range(11)), b)
    assert found.verdict == "cannot tell"
    assert "a trade: " in found.why
    assert "false accepts, " in found.why
    assert "more" in found.why
    assert "which is better depends on what each costs" in found.why


def test_a_stricter_cutoff_on_the_same_scores_is_always_a_trade():
    rng = np.random.default_rng(0)
    labels = np.arange(400) % 2 == 0
    scores = rng.normal(size=400) + labels
    for lower, higher in ((0.2, 0.4), (0.0, 1.0), (-1.0, 2.0), (-3.0, 0.5)):
        found = compare_decisions(labels, scores >= lower, scores >= higher)
        assert found.verdict == "cannot tell"
        assert found.false_accepts.only_b == found.false_rejects.only_a == 0


def test_a_few_answers_cannot_tell_and_it_says_how_few():
    found = compare(([1, 2], []), ([3], []), rejects=10, accepts=14)
    assert found.verdict == "cannot tell"
    assert found.why == (
        "cannot tell with n = 24 (14 accepts, 10 rejects): 3 answers are decided differently, "
        "which may be chance: false accepts 2 of 10 by A and 1 by B (p = 1); false rejects 0 of "
        "14 by A and 0 by B (p = 1); fewer than 7 answers that tell the two apart on one kind "
        "prove nothing, even if all speak for one"
    )
    assert "1 answer is decided differently" in compare(([1], []), ([], [])).why


def test_the_number_that_is_said_to_prove_something_does():
    assert compare((range(6), []), ([], [])).verdict == "cannot tell"
    assert compare((range(7), []), ([], [])).verdict == "B"
    assert "fewer than 7" not in compare((range(7), range(1)), (range(7, 9), [])).why
    few = compare((range(8), []), ([], []), level=0.99)
    assert few.verdict == "cannot tell"
    assert "fewer than 9 answers" in few.why
    assert compare((range(9), []), ([], []), level=0.99).verdict == "B"


def test_alike():
    found = compare(([1], [2]), ([1], [2]))
    assert (found.verdict, found.decided_differently) == ("cannot tell", 0)
    assert found.why.endswith("every answer is decided alike")


@pytest.mark.parametrize(("rejects", "accepts"), [(9, 300), (300, 9), (300, 0)])
def test_no_verdict_on_fewer_than_ten_of_a_class(rejects, accepts):
    """However clear the other class is: what it costs there is not known."""
    found = compare((range(9), range(min(9, accepts))), ([], []), rejects, accepts)
    assert found.verdict == "cannot tell"
    assert "fewer than 10 accepts or 10 rejects" in found.why
    assert (found.false_rejects is None) == (accepts == 0)


def test_unsure_is_no_error_and_is_counted():
    """B leaves to a person what A got wrong: no error of B, and no free win."""
    found = compare((range(20), []), ([], [], range(20)))
    assert (found.false_accepts.errors_b, found.false_accepts.n) == (0, REJECTS)
    assert (found.unsure.errors_a, found.unsure.errors_b, found.unsure.n) == (0, 20, 412)
    assert found.verdict == "cannot tell"
    assert "more unsure answers, 20 of 412 against 0 by A" in found.why


def test_an_accept_left_unsure_is_no_false_reject():
    found = compare(([], range(3)), ([], [], range(REJECTS, REJECTS + 5)))
    assert (found.false_rejects.errors_a, found.false_rejects.errors_b) == (3, 0)
    assert found.false_rejects.n == ACCEPTS
    assert found.decided_differently == 5


def test_fewer_unsure_at_no_cost_is_better():
    found = compare((range(3), range(4), range(50, 80)), (range(3), range(4), range(50, 55)))
    assert found.verdict == "B"
    assert "B has fewer unsure answers, 5 of 412 against 30 by A" in found.why


def test_groups_make_it_harder():
    rows = (range(19), range(11)), (range(3), range(11))
    assert compare(*rows).verdict == "B"
    found = compare(*rows, groups=np.arange(412) // 4)
    assert found.verdict == "cannot tell"
    assert found.groups == 103
    assert "in 103 groups" in found.why
    assert "fewer than 7 groups" in found.why


@given(st.lists(st.tuples(*[st.booleans()] * 3, st.integers(0, 9)), min_size=1, max_size=60))
def test_swapping_the_two_swaps_the_verdict(rows):
    labels, a, b, groups = (list(column) for column in zip(*rows, strict=True))
    one = compare_decisions(labels, a, b, groups)
    other = compare_decisions(labels, b, a, groups)
    assert other.verdict == {"A": "B", "B": "A"}.get(one.verdict, "cannot tell")


def test_bad_input():
    with pytest.raises(ShapeError, match="2 decisions of mini do not fit 3 labels"):
        compare_decisions([True, False, True], [True] * 3, [True] * 2, names=("x", "mini"))
    with pytest.raises(ShapeError, match="at least 1"):
        compare_decisions([], [], [])
    with pytest.raises(DataError, match=r"labels\[1\] is 'maybe'"):
        compare_decisions([True, "maybe"], [True] * 2, [True] * 2)
    with pytest.raises(ShapeError, match="groups"):
        compare_decisions([True, False], [True] * 2, [True] * 2, ["q1"])
    for names in (("x", "x"), ("", "y")):
        with pytest.raises(UsageError, match="two different texts"):
            compare_decisions([True, False], [True] * 2, [True] * 2, names=names)
    with pytest.raises(UsageError, match="confidence"):
        compare_decisions([True, False], [True] * 2, [True] * 2, level=95)


def test_models_that_differ():
    a, b = two_models()
    found = compare_models(a, b, GOAL, names=("small", "large"), resamples=400)
    assert found.verdict == "B"
    kept = found.acceptance.tar_a.count, found.acceptance.tar_b.count
    assert (
        "with n = 400 (200 accepts, 200 rejects): where at most 10% of wrong answers are accepted, "
        f"small accepts {kept[0]} of 200 good answers and large {kept[1]}, B less A +"
    ) in found.why
    assert found.auc.interval.low > 0
    assert (found.false_rejects.errors_a, found.false_rejects.errors_b) == (
        200 - kept[0], 200 - kept[1],
    )  # fmt: skip
    assert (found.false_accepts.p, found.false_accepts.method) == (None, UNTESTED)
    assert found.false_accepts.errors_a == GOAL.fit(a).counts.false_accepts
    assert compare_models(b, a, GOAL, resamples=400).verdict == "A"
    assert msgspec.json.decode(msgspec.json.encode(found), type=Comparison) == found


def test_models_that_may_be_alike():
    a, b = two_models(gaps=(2.0, 2.1))
    found = compare_models(a, b, GOAL, resamples=400)
    assert found.verdict == "cannot tell"
    assert found.acceptance.interval.low < 0 < found.acceptance.interval.high
    assert "95% interval -" in found.why


def test_no_verdict_rests_on_a_handful_of_answers():
    """Five accepts that only B accepts, none that only A does: resamples are too sure of that."""
    rng = np.random.default_rng(0)
    accept = np.repeat([False, True], [400, 60])
    scores = np.concatenate((rng.normal(size=400), np.full(60, 9.0)))
    scores[400:405] = -5.0
    better = scores.copy()
    better[400:405] = 9.0
    a, b = (labelled(each, accept, decimals=6) for each in (scores, better))
    found = compare_models(a, b, GOAL, resamples=400)
    assert found.acceptance.interval.low > 0
    assert found.verdict == "cannot tell"
    assert "too few good answers tell the two cutoffs apart (p = 0.062)" in found.why


def test_labels_that_allow_no_error_say_how_many_would():
    found = compare_models(*two_models(80, 60), Goal(max_far=0.05))
    assert (found.verdict, found.acceptance.interval) == ("cannot tell", None)
    assert "a comparison needs 93 of them" in found.why
    average = compare_models(*two_models(30, 60), Goal(max_far=0.05, guarantee="average"))
    assert "a comparison needs 39 of them" in average.why
    enough = Goal(max_far=0.05, guarantee="average")
    assert compare_models(*two_models(39, 60), enough, resamples=50).acceptance.allowed == 1


def test_no_promise_no_comparison():
    found = compare_models(*two_models(20, 60), Goal(max_far=0.05), names=("small", "large"))
    assert found.verdict == "cannot tell"
    assert found.acceptance is found.false_accepts is found.decided_differently is None
    assert found.auc is not None
    assert "needs 59 rejects" in found.why
    assert "label 39 more rejects" in found.why


def test_one_class_alone_has_no_area_either():
    a, b = two_models(60, 0)
    found = compare_models(a, b, GOAL)
    assert (found.auc, found.acceptance, found.verdict) == (None, None, "cannot tell")


def test_a_model_with_scores_the_wrong_way_is_named():
    a, b = two_models(gaps=(2.0, 2.0))
    found = compare_models(a, Labelled(-b.scores, b.accept, None, 6), GOAL, names=("up", "down"))
    assert "down: scores run the wrong way" in found.why
    assert found.verdict == "cannot tell"


def test_a_model_that_accepts_nobody_can_lose():
    a, b = two_models()
    scores = a.scores.copy()
    scores[np.flatnonzero(~a.accept)[:30]] = 9.0
    found = compare_models(Labelled(scores, a.accept, None, 6), b, GOAL, resamples=100)
    assert found.verdict == "B"
    assert "in 100 of 100 resamples a model had no cutoff" in found.why
    assert found.false_rejects.errors_a == 200


def test_ranges_of_the_two_models_do_not_meet():
    """Nothing changes when the scores of one move elsewhere: they are never set side by side."""
    a, b = two_models(decimals=None, gaps=(2.0, 2.6))
    goal = Goal(max_far=0.1, decimals=None)
    moved = Labelled(np.exp(b.scores) + 1000, b.accept, None, None)
    assert compare_models(a, moved, goal, resamples=100) == compare_models(
        a, b, goal, resamples=100
    )


def test_areas_see_the_scores_that_cutoffs_see():
    a, b = two_models(decimals=None)
    rounded = (Labelled(np.round(each.scores), each.accept, None, 0) for each in (a, b))
    goal = Goal(max_far=0.3, decimals=0)
    assert compare_models(a, b, goal, resamples=50) == compare_models(*rounded, goal, resamples=50)


def test_grouped_models():
    a, b = two_models(300, 300, groups=np.arange(600) // 3, gaps=(1.5, 4.0))
    found = compare_models(a, b, GOAL, resamples=300)
    assert found.verdict == "B"
    assert found.groups == found.auc.groups == found.acceptance.groups == 200
    assert found.false_rejects.groups is not None

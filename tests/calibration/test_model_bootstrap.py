"""The paired bootstrap: each resample is calibrated as if it were the data."""

import itertools

import msgspec
import numpy as np
import pytest

from closecall.calibration import Costs, Infeasible, Reason
from closecall.calibration.binomial import most_errors
from closecall.calibration.comparing.model_bootstrap import (
    PERCENTILE,
    BootstrapDifference,
    _ends,
    bootstrap_acceptance,
)
from closecall.calibration.comparing.model_resamples import (
    resampled,
    side_of,
    units_of,
    weights_of,
)
from closecall.calibration.curve import curve_of
from closecall.calibration.cutoffs import certify
from closecall.calibration.goals import Goal
from closecall.calibration.inputs import Labelled, labelled
from closecall.calibration.samples import Sample
from closecall.errors import DataError, ShapeError, UsageError

GOAL = Goal(max_far=0.1)


def two_models(rejects=80, accepts=60, *, each=1, seed=0, gaps=(1.5, 2.5), decimals=6):
    """The same answers scored twice; ``each`` above 1 puts so many into a group, mixed."""
    rng = np.random.default_rng(seed)
    accept = rng.permutation(np.repeat([False, True], [rejects, accepts]))
    n = len(accept)
    groups = None if each == 1 else np.arange(n) // each
    common = rng.normal(size=n)
    return tuple(
        labelled(common + rng.normal(size=n) + gap * accept, accept, groups, decimals=decimals)
        for gap in gaps
    )


def reordered(data, order):
    groups = None if data.groups is None else data.groups[order]
    return Labelled(data.scores[order], data.accept[order], groups, data.decimals)


@pytest.mark.parametrize("decimals", [6, 0], ids=["untied", "tied"])
@pytest.mark.parametrize("each", [1, 3], ids=["rows", "groups"])
@pytest.mark.parametrize("allowed", [0, 2])
def test_a_resample_is_calibrated_as_the_drawn_rows_would_be(each, allowed, decimals):
    """By hand: copy the drawn rows, sweep them, certify on the drawn rejects, count."""
    a, b = two_models(30, 25, each=each, decimals=decimals)
    units = units_of(a, b)
    limit = next(at / 1000 for at in itertools.count(1)
                 if most_errors(units.backing, at / 1000, 0.05) == allowed)  # fmt: skip
    seen = set()
    for model in (a, b):
        side = side_of(model, units)
        for picks, drawn in resampled(units, 300, seed=1):
            weights = weights_of(picks, len(units.accepts))
            kept, without = side.calibrated(picks, drawn, weights, allowed)
            for at in range(len(picks)):
                rows = np.concatenate([np.flatnonzero(units.of == unit) for unit in picks[at]])
                rejects = [
                    np.sort(model.scores[(units.of == unit) & ~model.accept])
                    for unit in picks[at][: units.backing]
                ]
                chosen = [
                    pool[int(number) % len(pool)]
                    for pool, number in zip(rejects, drawn[at], strict=True)
                ]
                found = certify(
                    curve_of(reordered(model, rows)), limit, 0.05,
                    sample=Sample(np.array(chosen), "group", 0),
                )  # fmt: skip
                assert weights[at] @ units.accepts == model.accept[rows].sum()
                assert isinstance(found, Infeasible) == without[at]
                true = 0 if without[at] else found.counts.true_accepts
                assert kept[at] == true
                seen.add(bool(without[at]))
    assert seen == {True, False} if allowed == 0 and each == 1 else False in seen


def test_each_kind_of_unit_is_drawn_as_often_as_there_are_such():
    a, b = two_models(40, 40, each=3)
    units = units_of(a, b)
    kinds = {(bool(r), bool(t)) for r, t in zip(*_per_unit(a, units), strict=True)}
    assert len(kinds) == 3
    rejects, accepts = _per_unit(a, units)
    for picks, _ in resampled(units, 50, seed=0):
        for drawn in picks:
            for per in (rejects, accepts):
                assert np.count_nonzero(per[drawn]) == np.count_nonzero(per)


def _per_unit(data, units):
    return tuple(
        np.bincount(units.of[chosen], minlength=len(units.accepts))
        for chosen in (~data.accept, data.accept)
    )


@pytest.mark.parametrize("each", [1, 3], ids=["rows", "groups"])
def test_the_record(each):
    a, b = two_models(120, each=each)
    found = bootstrap_acceptance(a, b, GOAL, resamples=300, seed=4)
    for rate, model in ((found.tar_a, a), (found.tar_b, b)):
        assert rate.count == GOAL.fit(model).counts.true_accepts
    assert (found.tar_a.n, found.n, found.n_accepts, found.n_rejects) == (60, 180, 60, 120)
    assert found.difference == (found.tar_b.count - found.tar_a.count) / 60
    assert found.interval.low <= found.difference <= found.interval.high
    assert (found.interval.level, found.interval.method) == (0.95, PERCENTILE)
    assert (found.resamples, found.seed, found.max_far) == (300, 4, 0.1)
    assert found.groups == (None if each == 1 else 60)
    certificate = GOAL.fit(a).evidence
    assert (found.allowed, found.backing) == (certificate.allowed, certificate.n)
    assert msgspec.json.decode(msgspec.json.encode(found), type=BootstrapDifference) == found


def test_a_much_better_model_is_told_apart_and_the_sign_is_b_less_a():
    a, b = two_models(200, 200, gaps=(1.5, 3.5))
    found = bootstrap_acceptance(a, b, GOAL, resamples=400)
    assert found.interval.low > 0.2
    back = bootstrap_acceptance(b, a, GOAL, resamples=400)
    assert back.difference == -found.difference
    assert back.interval.high < -0.2


@pytest.mark.parametrize("each", [1, 3], ids=["rows", "groups"])
def test_order_of_rows_changes_nothing_and_the_seed_does(each):
    a, b = two_models(120, each=each)
    order = np.random.default_rng(1).permutation(len(a.accept))
    one = bootstrap_acceptance(a, b, GOAL, resamples=200)
    assert (
        bootstrap_acceptance(reordered(a, order), reordered(b, order), GOAL, resamples=200) == one
    )
    assert bootstrap_acceptance(a, b, GOAL, resamples=200, seed=1).interval != one.interval


def test_resamples_are_the_same_for_ever():
    a, b = (labelled(np.arange(6.0), [False] * 4 + [True] * 2, decimals=None) for _ in "ab")
    picks, _ = next(resampled(units_of(a, b), 2, seed=12345))
    assert picks.tolist() == [[1, 2, 1, 0, 5, 5], [3, 3, 1, 3, 5, 4]]


def test_how_many_are_made_at_a_time_changes_nothing(monkeypatch):
    a, b = two_models(120, each=3)
    at_once = bootstrap_acceptance(a, b, GOAL, resamples=200)
    monkeypatch.setattr(
        "closecall.calibration.comparing.model_resamples._CELLS", 7 * len(a.accept)
    )
    assert bootstrap_acceptance(a, b, GOAL, resamples=200) == at_once


def test_ranges_of_scores_do_not_matter():
    """No score of one model meets a score of the other."""
    a, b = two_models(decimals=None)
    goal = Goal(max_far=0.1, decimals=None)
    moved = Labelled(0.9 + b.scores / 1000, b.accept, None, None)
    assert bootstrap_acceptance(a, b, goal, resamples=100) == bootstrap_acceptance(
        a, moved, goal, resamples=100
    )


def test_no_interval_where_not_one_reject_may_pass():
    """The highest reject alone sets each cutoff: resamples cannot say how it varies."""
    a, b = two_models(45, 60)
    found = bootstrap_acceptance(a, b, GOAL)
    assert (found.allowed, found.interval, found.resamples) == (0, None, 0)
    assert found.tar_b.count > 0
    a, b = two_models(46, 60)
    assert bootstrap_acceptance(a, b, GOAL, resamples=50).allowed == 1


def test_a_model_against_itself_has_no_interval_rather_than_one_of_no_width():
    a, _ = two_models()
    found = bootstrap_acceptance(a, a, GOAL, resamples=100)
    assert (found.difference, found.interval, found.resamples) == (0, None, 100)


def test_a_model_that_accepts_nobody_counts_as_such():
    """Its highest scores belong to rejects, so only accepting nobody keeps the promise."""
    a, b = two_models(100, 60)
    scores = a.scores.copy()
    scores[np.flatnonzero(~a.accept)[:20]] = 9.0
    none = Labelled(scores, a.accept, None, 6)
    assert GOAL.fit(none).reason is Reason.ACCEPTS_NOBODY
    found = bootstrap_acceptance(none, b, GOAL, resamples=100)
    assert (found.tar_a.count, found.tar_a.n) == (0, 60)
    assert found.infeasible == 100
    assert found.interval.low > 0


def test_resamples_without_a_cutoff_are_counted():
    a, b = two_models(100, 60)
    scores = a.scores.copy()
    scores[np.flatnonzero(~a.accept)[:5]] = 9.0  # 4 may pass: with 5 level on top, nobody
    found = bootstrap_acceptance(Labelled(scores, a.accept, None, 6), b, GOAL, resamples=200)
    assert 0 < found.infeasible < 200


@pytest.mark.parametrize(
    ("rows", "goal", "reason"),
    [
        ((20, 60), GOAL, Reason.PROMISE_OUT_OF_REACH),
        ((80, 5), GOAL, Reason.TOO_FEW_LABELS),
    ],
    ids=["out of reach", "too few"],
)
def test_labels_that_back_no_promise(rows, goal, reason):
    assert bootstrap_acceptance(*two_models(*rows), goal).reason is reason


def test_a_model_whose_scores_run_the_wrong_way_is_not_compared():
    a, b = two_models()
    assert bootstrap_acceptance(
        a, Labelled(-b.scores, b.accept, None, 6), GOAL
    ).reason is Reason.INVERTED_SCORES  # fmt: skip


def test_on_average_promises_work_too():
    a, b = two_models()
    found = bootstrap_acceptance(a, b, Goal(max_far=0.1, guarantee="average"), resamples=100)
    assert (found.guarantee, found.allowed) == ("average", 7)
    looks = bootstrap_acceptance(a, b, Goal(max_far=0.1, looks=2), resamples=100)
    assert looks.allowed == most_errors(80, 0.1, 0.025)


@pytest.mark.parametrize(
    "goal",
    [
        Goal(max_frr=0.1),
        Goal(max_far=0.1, max_frr=0.1),
        Goal(costs=Costs(false_accept=1, false_reject=1)),
        Goal(objective="f1"),
        Goal(max_far=0.1, guarantee="approximate"),
    ],
    ids=["max_frr", "both", "costs", "objective", "approximate"],
)
def test_other_goals_are_refused(goal):
    with pytest.raises(UsageError, match=r"max_far alone, like max_far=0\.05"):
        bootstrap_acceptance(*two_models(), goal)


@pytest.mark.parametrize(("resamples", "level"), [(38, 0.95), (True, 0.95), (100, 0.999)])
def test_too_few_resamples(resamples, level):
    with pytest.raises(UsageError, match="resamples"):
        bootstrap_acceptance(*two_models(), GOAL, resamples=resamples, level=level)
    bootstrap_acceptance(*two_models(), GOAL, resamples=39)


def test_the_interval_leaves_as_many_resamples_on_either_side():
    for resamples, level, beyond in ((39, 0.95, 0), (2000, 0.95, 49), (199, 0.9, 9), (9, 0.8, 0)):
        assert _ends(resamples, level) == (beyond, resamples - 1 - beyond)


def test_scores_are_rounded_as_the_goal_says():
    """Then calibration and resamples see the same ties."""
    a, b = two_models(120, decimals=None)
    rounded = (Labelled(np.round(each.scores, 1), each.accept, None, 1) for each in (a, b))
    goal = Goal(max_far=0.1, decimals=1)
    assert bootstrap_acceptance(a, b, goal, resamples=100) == bootstrap_acceptance(
        *rounded, goal, resamples=100
    )


@pytest.mark.parametrize("seed", [-1, True, 0.5])
def test_a_seed_is_a_whole_number(seed):
    with pytest.raises(UsageError, match="seed"):
        bootstrap_acceptance(*two_models(), GOAL, seed=seed, resamples=50)


def test_rows_of_the_two_must_be_the_same():
    a, b = two_models(each=3)
    flipped = b.accept.copy()
    flipped[[3, 5]] = ~flipped[[3, 5]]
    with pytest.raises(DataError, match="labels of A and B differ at rows 3, 5"):
        bootstrap_acceptance(a, Labelled(b.scores, flipped, b.groups, 6), GOAL)
    with pytest.raises(DataError, match="groups of A and B differ at rows 0, 1, 2 and 137 more"):
        bootstrap_acceptance(a, Labelled(b.scores, b.accept, b.groups + 1, 6), GOAL)
    with pytest.raises(DataError, match="one of the two has groups"):
        bootstrap_acceptance(a, Labelled(b.scores, b.accept, None, 6), GOAL)
    with pytest.raises(ShapeError, match="same answers"):
        bootstrap_acceptance(a, reordered(b, np.arange(9)), GOAL)

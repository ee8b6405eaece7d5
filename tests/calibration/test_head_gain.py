"""A judge is kept where it is better, and not where it is not."""

import numpy as np
import pytest
from made_features import FEATURES, asked, normal_rows
from scipy.stats import binom
from sklearn.metrics import roc_auc_score

from closecall.calibration.goals import Goal
from closecall.calibration.head.gain import gain, gain_words
from closecall.calibration.head.judge import Judged, fit_judge
from closecall.calibration.inputs import labelled
from closecall.calibration.records import Infeasible, Reason

GOAL = Goal(max_far=0.1)


def judged(rows, singles=(0, 1), goal=GOAL, way="crossed"):
    own = {f"single {at}": rows.values[:, at] for at in singles}
    return fit_judge(rows, own, asked(way), goal, np.zeros(len(rows.accept), dtype=bool))


def labelled_by(rows, at, decimals=6, groups=None):
    values = rows.values[:, at] if isinstance(at, int) else at
    return labelled(values, rows.accept, groups, decimals=decimals)


def issued(scores, accept, limit):
    """Try every score as a cutoff: may so few errors of so many rejects be luck above the limit?"""
    best, rejects = 0.0, np.count_nonzero(~accept)
    for cutoff in np.unique(scores):
        wrong = np.count_nonzero(scores[~accept] >= cutoff)
        if binom.cdf(wrong, rejects, limit) <= 0.05:
            best = max(best, np.mean(scores[accept] >= cutoff))
    return best


@pytest.mark.parametrize("decimals", [1, 6])
def test_the_figures_are_those_of_the_cutoff_each_would_get(decimals):
    rows = normal_rows(300, np.random.default_rng(0))
    one, two = (labelled_by(rows, at, decimals) for at in (0, 1))
    for limit in (0.05, 0.1, 0.5):
        found = gain(one, {"two": two}, Goal(max_far=limit), resamples=2)
        assert found.judge == pytest.approx(issued(one.scores, rows.accept, limit))
        assert found.best == pytest.approx(issued(two.scores, rows.accept, limit))
        assert (found.measure, found.limit, found.rows) == ("true_accepts", limit, 300)
    area = gain(one, {"two": two}, Goal(objective="youden"), resamples=2)
    assert area.measure == "auc"
    assert area.judge == area.auc == pytest.approx(roc_auc_score(rows.accept, one.scores))
    assert area.best == area.best_auc == pytest.approx(roc_auc_score(rows.accept, two.scores))


def test_each_kind_of_promise_is_compared_by_what_it_costs():
    rows = normal_rows(300, np.random.default_rng(1))
    one, two = labelled_by(rows, 0), labelled_by(rows, 1)
    turned = [
        labelled(-each.scores, ~rows.accept, None, decimals=6) for each in (one, two)
    ]  # a wrong answer turned away is a good one let through, seen from the other side
    far = gain(one, {"two": two}, Goal(max_far=0.1), resamples=2)
    frr = gain(turned[0], {"two": turned[1]}, Goal(max_frr=0.1), resamples=2)
    assert frr.measure == "true_rejects"
    assert (frr.judge, frr.best) == pytest.approx((far.judge, far.best))
    goal = Goal(max_far=0.1, max_frr=0.1)
    both = gain(one, {"two": two}, goal, resamples=2)
    rule = goal.fit(one)
    left = rule.unsure.count + rule.accept.counts.false_accepts + rule.reject.counts.false_rejects
    assert both.measure == "decided_rightly"
    assert both.judge == pytest.approx(1 - left / 300)


def test_at_the_limit_itself_a_judge_may_seem_better_that_gets_a_worse_cutoff():
    """Its rejects lie just above where the certificate looks; those of the single lie below."""
    accept = np.arange(400) >= 200
    judge, single = np.zeros(400), np.zeros(400)
    judge[:200] = np.where(np.arange(200) < 18, 0.9, 0.1)
    judge[200:] = np.where(np.arange(200) < 190, 0.8, 0.05)
    judge[200:230] = 0.95
    single[:200] = np.where(np.arange(200) < 10, 0.9, np.where(np.arange(200) < 40, 0.5, 0.1))
    single[200:] = np.where(np.arange(200) < 150, 0.8, 0.05)
    for scores, at in ((judge, 0.95), (single, 0.75)):
        met = [
            np.mean(scores[accept] >= cutoff)
            for cutoff in np.unique(scores)
            if np.mean(scores[~accept] >= cutoff) <= 0.1
        ]
        assert max(met) == at
    mine, other = (labelled(each, accept, None, decimals=6) for each in (judge, single))
    found = gain(mine, {"single": other}, Goal(max_far=0.1))
    assert (found.judge, found.best) == (0.15, 0.75)
    assert not found.kept


def test_no_cutoff_accepts_nobody_in_the_rows_and_in_a_draw_of_them():
    rows = normal_rows(300, np.random.default_rng(2), rejects=0.1)
    one, two = labelled_by(rows, 0), labelled_by(rows, 1)
    # 30 rejects back a limit of 10 % with none accepted, and 29 do at no price.
    found = gain(one, {"two": two}, Goal(max_far=0.1))
    again = gain(one, {"two": one}, Goal(max_far=0.1))
    assert 0 < found.judge < 0.9
    assert found.resamples == 500
    # Half of the draws have 29 or fewer, and then both accept nobody: the same rows for both.
    assert again.error == 0
    assert gain(one, {"two": two}, Goal(max_far=0.01)).judge == 0
    assert gain(one, {"two": two}, Goal(max_far=0.01)).error == 0


def test_both_cutoffs_are_chosen_anew_in_each_draw():
    """With both held where they stand the rejects would not count, and the error be far less."""
    rows = normal_rows(300, np.random.default_rng(3))
    one, two = labelled_by(rows, 0), labelled_by(rows, 1)
    goal = Goal(max_far=0.1)
    error = gain(one, {"two": two}, goal).error
    rng = np.random.default_rng(4)
    fixed, anew = [], []
    rules = [goal.fit(each) for each in (one, two)]
    for _ in range(300):
        at = rng.integers(300, size=300)
        accept = rows.accept[at]
        own = [labelled(each.scores[at], accept, None, decimals=6) for each in (one, two)]
        held = [np.mean(e.scores[accept] >= r.value) for e, r in zip(own, rules, strict=True)]
        fixed.append(held[0] - held[1])
        refit = [goal.fit(each).counts for each in own]
        anew.append(np.subtract(*(each.true_accepts / each.accepts for each in refit)))
    assert error == pytest.approx(np.std(anew, ddof=1), rel=0.15)
    assert error > 1.3 * np.std(fixed, ddof=1)


def test_the_best_single_is_the_one_it_is_compared_with():
    rows = normal_rows(200, np.random.default_rng(1))
    singles = {"noise": labelled_by(rows, 2), "strong": labelled_by(rows, 0)}
    for goal in (Goal(objective="youden"), Goal(max_far=0.2)):
        found = gain(labelled_by(rows, 1), singles, goal, resamples=2)
        assert (found.single, found.tried) == ("strong", 2)


@pytest.mark.parametrize("goal", [Goal(objective="youden"), Goal(max_far=0.1)])
def test_the_error_counts_groups_and_not_rows(goal):
    """Ten copies of each row say no more than one."""
    rows = normal_rows(150, np.random.default_rng(2))
    own = [labelled_by(rows, at, groups=rows.groups) for at in (0, 1)]
    many = np.repeat(np.arange(150), 10)
    names = tuple(rows.groups[at] for at in many)
    copied = [
        labelled(rows.values[many, at], rows.accept[many], names, decimals=6) for at in (0, 1)
    ]
    one, ten = (gain(first, {"": second}, goal) for first, second in (own, copied))
    assert (ten.judge, ten.best) == pytest.approx((one.judge, one.best))
    assert ten.error == pytest.approx(one.error, rel=0.15)


def test_a_group_that_is_drawn_twice_is_two_groups():
    """Of 38 groups with a reject a draw has some 24 different: too few for a cutoff, were it so."""
    rows = normal_rows(200, np.random.default_rng(5), rejects=0.19)
    twice = np.repeat(np.arange(200), 2)
    names = tuple(rows.groups[at] for at in twice)
    own = [
        labelled(rows.values[twice, at], rows.accept[twice], names, decimals=6) for at in (0, 1)
    ]
    assert gain(own[0], {"": own[1]}, Goal(max_far=0.1)).error > 0.05


def test_the_words_name_both_figures_and_both_kinds_of_promise():
    rows = normal_rows(300, np.random.default_rng(0))
    one, two = labelled_by(rows, 0), labelled_by(rows, 1)
    said = gain_words(gain(one, {"two": two}, Goal(max_far=0.1), approximate=True))
    assert said.startswith(
        "at the cutoff each would get from these 300 labels for at most 10% of wrong answers "
        "accepted, it accepts "
    )
    assert said.endswith("; the promise is approximate for the judge and exact for two")
    same = gain_words(gain(one, {"two": two}, Goal(max_frr=0.1)))
    assert "of good answers rejected, it rejects" in same
    assert "promise" not in same
    both = gain_words(gain(one, {"two": two}, Goal(max_far=0.1, max_frr=0.1)))
    assert "at the two cutoffs each would get from these 300 labels it decides" in both
    area = gain(one, {"two": two}, Goal(objective="f1"), approximate=True)
    assert "an accept outscores a reject in" in gain_words(area)
    assert (area.guarantee, area.best_guarantee) == (None, None)


def test_a_judge_that_has_more_to_go_by_is_kept():
    rows = normal_rows(400, np.random.default_rng(3))
    found = judged(rows)
    assert isinstance(found, Judged)
    assert found.judge.gain.kept
    assert found.judge.gain.gained > 0.1
    assert found.judge.gain.resamples == 500
    assert len(found.judge.head.features) == 14
    assert not found.trained.any()


@pytest.mark.usefixtures("few_draws")
def test_noise_is_not_kept():
    kept = 0
    for seed in range(25):
        rows = normal_rows(300, np.random.default_rng(100 + seed), shift=np.zeros(FEATURES))
        kept += isinstance(judged(rows), Judged)
    assert kept <= 5


@pytest.mark.usefixtures("few_draws")
def test_one_good_score_among_noise_is_not_beaten():
    kept = 0
    shift = np.where(np.arange(FEATURES) == 0, 2.0, 0.0)
    for seed in range(25):
        rows = normal_rows(300, np.random.default_rng(200 + seed), shift=shift)
        found = judged(rows)
        kept += isinstance(found, Judged)
    assert kept <= 5
    assert isinstance(found, Infeasible) or kept
    refused = judged(normal_rows(300, np.random.default_rng(7), shift=shift))
    assert isinstance(refused, Infeasible)
    assert refused.reason is Reason.NO_JUDGE
    assert "single 0 alone" in refused.message
    assert refused.advice == "calibrate that score, with -m single 0; it needs no fitting"


@pytest.mark.parametrize(
    ("n", "options", "said"),
    [
        (298, {}, "298 labels of at least 300"),
        (310, {"rejects": 0.1}, "31 rejects of at least 60"),
        (310, {"rejects": 0.9}, "31 accepts of at least 60"),
        (320, {"a_group": 20}, "16 groups with an accept of at least 20"),
    ],
)
def test_with_too_few_labels_no_head_is_fitted(n, options, said):
    found = judged(normal_rows(n, np.random.default_rng(0), **options))
    assert isinstance(found, Infeasible)
    assert found.reason is Reason.NO_JUDGE
    assert said in found.message


@pytest.mark.usefixtures("few_draws")
def test_half_of_the_groups_train_and_none_of_them_chooses():
    rows = normal_rows(800, np.random.default_rng(5), a_group=2)
    found = judged(rows, way="split")
    assert isinstance(found, Judged)
    names = {name for name, own in zip(rows.groups, found.trained, strict=True) if own}
    others = {name for name, own in zip(rows.groups, found.trained, strict=True) if not own}
    assert not names & others
    assert found.judge.rows == int(found.trained.sum())
    # What chooses the cutoff has no say in the head.
    changed = rows.values.copy()
    changed[~found.trained] = 0.5
    again = judged(rows._replace(values=changed), way="split")
    assert again.judge.head == found.judge.head
    few = judged(normal_rows(500, np.random.default_rng(5)), way="split")
    assert "fitted to half of the labels" in few.message


def test_rows_set_aside_have_no_part_in_the_head():
    rows = normal_rows(500, np.random.default_rng(6))
    aside = np.arange(500) < 120
    own = {"one": rows.values[:, 0]}
    found = fit_judge(rows, own, asked(), GOAL, aside)
    labels = rows.accept.copy()
    labels[aside] = ~labels[aside]
    again = fit_judge(rows._replace(accept=labels), own, asked(), GOAL, aside)
    assert again.judge == found.judge
    assert (again.scores == found.scores).all()
    assert found.judge.rows == 380

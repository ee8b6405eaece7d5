"""Held-out numbers are honest: where scores say nothing of the labels, they say so.

CLOSECALL_LONG=1 runs ten times as many data sets.
"""

import os
from statistics import NormalDist

import numpy as np
import pytest

from closecall.calibration import Cutoff, Infeasible
from closecall.calibration.evidence.held_out import held_out
from closecall.calibration.evidence.locked import lock, measure_locked
from closecall.calibration.goals import Goal
from closecall.calibration.inputs import labelled

RUNS = 1500 if os.environ.get("CLOSECALL_LONG") == "1" else 150
NORMAL = NormalDist()
LIMIT, DELTA = 0.1, 0.05


def noise(rejects, accepts, copies, seed):
    """Scores that know nothing of the labels; each question's row comes ``copies`` times."""
    rng = np.random.default_rng(seed)
    groups = np.repeat(np.arange(rejects + accepts), copies)
    labels = np.repeat([False, True], [rejects, accepts])
    for _ in range(RUNS):
        yield rng.normal(size=rejects + accepts)[groups], labels[groups], groups


def balanced_accuracy(counts, data):
    """Rows without a decision are decided by a coin.

    Sharing by the rows of the folds with a cutoff would not do: scores that run the wrong way by
    chance are refused, so how many folds have one depends on the held-out rows of the others.
    """
    accepts = np.count_nonzero(data.accept)
    rejects = len(data.accept) - accepts
    return 0.5 + (counts.true_accepts / accepts - counts.false_accepts / rejects) / 2


def accuracies(objective, copies, *, grouped):
    """Balanced accuracies of a tuned cutoff on 25 rejects and 35 accepts, equal in every fold.

    On the rows that tuned it, and held out.
    """
    goal = Goal(objective=objective, estimator="empirical")
    inside, outside = [], []
    for scores, labels, groups in noise(25, 35, copies, seed=1):
        data = labelled(scores, labels, groups if grouped else None, decimals=6)
        rule = goal.fit(data)
        if isinstance(rule, Cutoff):
            inside.append(balanced_accuracy(rule.counts, data))
        outside.append(balanced_accuracy(held_out(data, goal.fit, repeats=1).counts[0], data))
    assert len(inside) > 0.8 * RUNS
    return np.array(inside), np.array(outside)


def standard_error(values):
    return np.std(values, ddof=1) / np.sqrt(len(values))


@pytest.mark.parametrize("objective", ["youden", "accuracy"])
@pytest.mark.parametrize("copies", [1, 4])
def test_noise_is_worth_a_coin_when_held_out(objective, copies):
    inside, outside = accuracies(objective, copies, grouped=copies > 1)
    assert abs(outside.mean() - 0.5) <= 3 * standard_error(outside)
    assert inside.mean() > 0.54


def test_copies_of_a_question_look_like_skill_unless_they_are_grouped():
    """Guards the power of the test above: leaks do show in these numbers."""
    _, leaking = accuracies("youden", 4, grouped=False)
    _, honest = accuracies("youden", 4, grouped=True)
    assert leaking.mean() - 0.5 > 6 * standard_error(leaking)
    assert honest.mean() < leaking.mean() - 3 * standard_error(leaking)


class Kept:
    """A procedure that keeps its rules, to ask for their true rates."""

    def __init__(self, goal):
        self.goal = goal
        self.rules = []

    def __call__(self, data):
        rule = self.goal.fit(data)
        if isinstance(rule, Cutoff):
            self.rules.append(rule)
        return rule

    def true_rates(self, mean):
        """How many of scores N(mean, 1) each rule accepts."""
        return np.array([1 - NORMAL.cdf(rule.value - mean) for rule in self.rules])


def test_a_promise_on_noise_is_refused_or_accepts_about_the_limit():
    goal = Goal(max_far=LIMIT)
    refused = broken = 0
    wrong, right, true = [], [], []
    for scores, labels, _ in noise(100, 100, 1, seed=2):
        data = labelled(scores, labels, decimals=6)
        fit = Kept(goal)
        refused += isinstance(fit(data), Infeasible)
        broken += (fit.true_rates(0) > LIMIT).any()
        fit = Kept(goal)
        counts = held_out(data, fit, repeats=1).counts[0]
        rates = fit.true_rates(0)
        # 20 rejects and 20 accepts are held out with each rule.
        wrong.append(counts.false_accepts - 20 * rates.sum())
        right.append(counts.true_accepts - 20 * rates.sum())
        true.extend(rates)
    assert 0 < refused < RUNS / 4
    assert broken / RUNS <= DELTA + 4 * np.sqrt(DELTA * (1 - DELTA) / RUNS)
    assert LIMIT / 3 < np.mean(true) < LIMIT
    assert abs(np.mean(wrong)) <= 3 * standard_error(wrong)
    # And accepts no more of the accepts than of the rejects, though labels chose the cutoff.
    assert abs(np.mean(right)) <= 3 * standard_error(right)


def test_rates_held_out_and_locked_away_are_those_of_fresh_rows():
    """Scores that do separate, at one and the same seed."""
    labels = np.repeat([False, True], [200, 400])
    rng = np.random.default_rng(3)
    locked = lock([f"q{at}" for at in range(600)], labels, seed=0)  # knows of no score
    wrong, missed, locked_wrong, locked_missed = [], [], [], []
    for _ in range(RUNS):
        scores = rng.normal(size=600) + 1.8 * labels
        data = labelled(scores, labels, decimals=6)
        fit = Kept(Goal(max_far=LIMIT))
        found = held_out(data, fit, repeats=1)
        assert found.infeasible == 0
        wrong.append(found.false_accept_rate.value - fit.true_rates(0).mean())
        missed.append(found.false_reject_rate.value - 1 + fit.true_rates(1.8).mean())
        fit = Kept(Goal(max_far=LIMIT))
        rule = fit(labelled(scores[~locked], labels[~locked], decimals=6))
        rows = labelled(scores[locked], labels[locked], decimals=6)
        once = measure_locked(rule, rows, digest="d", uses=1)
        locked_wrong.append(once.false_accept_rate.value - fit.true_rates(0)[0])
        locked_missed.append(once.false_reject_rate.value - 1 + fit.true_rates(1.8)[0])
    for gap in (wrong, missed, locked_wrong, locked_missed):
        assert abs(np.mean(gap)) <= 3 * standard_error(gap)

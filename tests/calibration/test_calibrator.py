"""``Calibrator``: the array functions behind scikit-learn's manners."""

import numpy as np
import pytest
from made_scores import normal_scores

from closecall.calibration import (
    Calibrator,
    Costs,
    Cutoff,
    Decision,
    Infeasible,
    TwoCutoffs,
    decide,
    fit_cutoff,
    fit_two_cutoffs,
)
from closecall.calibration.curve import curve_of
from closecall.calibration.evidence.held_out import held_out
from closecall.calibration.evidence.probability import probability
from closecall.calibration.evidence.venn_abers import venn_abers
from closecall.calibration.goals import Goal
from closecall.calibration.inputs import labelled
from closecall.calibration.separation import separation
from closecall.errors import NoCutoffError, NonFiniteError, UsageError

SCORES, LABELS = normal_scores(150, 150, gap=2.0, decimals=4)
GROUPS = [f"q{at}" for at in np.random.default_rng(1).integers(0, 120, 300)]
DATA = labelled(SCORES, LABELS, decimals=6)
NEW = np.linspace(-2, 4, 61)


@pytest.mark.parametrize(
    "goal",
    [
        {"max_far": 0.1},
        {"max_frr": 0.1, "confidence": 0.9},
        {"max_far": 0.05, "guarantee": "average"},
        {"max_far": 0.1, "looks": 3, "where": "strict"},
        {"costs": Costs(false_accept=3, false_reject=1)},
        {"objective": "youden", "estimator": "bagged", "seed": 4},
        {"objective": "accuracy", "estimator": "platt", "decimals": None},
    ],
    ids=lambda goal: "-".join(map(str, goal)),
)
@pytest.mark.parametrize("groups", [None, GROUPS], ids=["rows", "groups"])
def test_it_fits_what_fit_cutoff_fits(goal, groups):
    fitted = Calibrator(**goal).fit(SCORES, LABELS, groups)
    assert isinstance(fitted.rule_, Cutoff)
    assert fitted.rule_ == fit_cutoff(SCORES, LABELS, groups, **goal)


def test_two_promises_give_two_cutoffs():
    fitted = Calibrator(max_far=0.05, max_frr=0.05).fit(SCORES, LABELS)
    assert isinstance(fitted.rule_, TwoCutoffs)
    assert fitted.rule_ == fit_two_cutoffs(SCORES, LABELS, max_far=0.05, max_frr=0.05)
    said = fitted.decide(NEW)
    assert said == [decide(fitted.rule_, score) for score in NEW]
    assert set(said) == set(Decision)
    # What is left to a person is not accepted.
    assert fitted.predict(NEW).tolist() == [one is Decision.ACCEPT for one in said]


def test_without_a_goal_five_percent_of_wrong_answers_is_the_limit():
    assert Calibrator().fit(SCORES, LABELS).rule_ == fit_cutoff(SCORES, LABELS, max_far=0.05)


def test_decisions_are_those_of_the_cutoff():
    fitted = Calibrator(max_far=0.1).fit(SCORES, LABELS)
    said = fitted.predict(SCORES)
    assert said.dtype == np.bool_
    counts = fitted.rule_.counts
    assert np.count_nonzero(said & LABELS) == counts.true_accepts
    assert np.count_nonzero(said & ~LABELS) == counts.false_accepts
    assert fitted.decide(NEW) == [decide(fitted.rule_, score) for score in NEW]
    assert Decision.UNSURE not in fitted.decide(NEW)
    assert fitted.predict([[0.0, 9.0]]).shape == (1, 2)


def test_labels_may_be_words():
    words = ["accept" if label else "reject" for label in LABELS]
    assert Calibrator().fit(SCORES, words).rule_ == Calibrator().fit(SCORES, LABELS).rule_


def test_probabilities_are_those_of_the_maps():
    fitted = Calibrator(max_far=0.1).fit(SCORES, LABELS)
    found = fitted.predict_proba(NEW)
    assert found.shape == (61, 2)
    np.testing.assert_allclose(found.sum(axis=1), 1)
    np.testing.assert_array_equal(found[:, 1], probability(fitted.probability_, NEW))
    low, high = fitted.probability_interval(NEW)
    expected = venn_abers(DATA).interval(NEW)
    np.testing.assert_array_equal(low, expected[0])
    np.testing.assert_array_equal(high, expected[1])
    assert (low <= high).all()


def test_what_stands_beside_the_cutoff():
    fitted = Calibrator(max_far=0.1, seed=3).fit(SCORES, LABELS)
    assert fitted.separation_ == separation(curve_of(DATA))
    assert fitted.held_out_ == held_out(DATA, Goal(max_far=0.1, seed=3).fit, seed=3)


def test_groups_count_once_in_the_separation():
    plain = Calibrator(max_far=0.1).fit(SCORES, LABELS).separation_
    grouped = Calibrator(max_far=0.1).fit(SCORES, LABELS, GROUPS).separation_
    assert grouped.auc == plain.auc
    assert grouped.interval.low < plain.interval.low


@pytest.mark.parametrize(
    ("scores", "labels"),
    [(SCORES[130:180], LABELS[130:180]), (SCORES[:40], LABELS[:40]), (-SCORES, LABELS)],
    ids=["too few", "one class", "inverted"],
)
def test_where_there_is_no_cutoff_nothing_is_decided(scores, labels):
    fitted = Calibrator(max_far=0.05).fit(scores, labels)
    assert isinstance(fitted.rule_, Infeasible)
    assert (fitted.held_out_, fitted.probability_) == (None, None)
    for ask in (fitted.predict, fitted.decide, fitted.predict_proba, fitted.probability_interval):
        with pytest.raises(NoCutoffError) as caught:
            ask(NEW)
        assert caught.value.exit_code == 7
        assert str(caught.value) == f"{fitted.rule_.message}; {fitted.rule_.advice}"


@pytest.mark.parametrize(
    ("goal", "start"),
    [
        ({"max_far": 0.05, "max_frr": 0.05}, "TwoCutoffs(accept from "),
        ({"max_far": 0.001}, "Infeasible(promise_out_of_reach: max_far=0.001 at confidence "),
        ({"objective": "f1"}, "Cutoff("),
    ],
    ids=["two", "none", "optimum"],
)
def test_what_was_found_is_shown_in_two_lines(goal, start):
    fitted = Calibrator(**goal).fit(SCORES, LABELS)
    assert repr(fitted.rule_).startswith(start)
    assert len(repr(fitted.rule_).splitlines()) <= 2
    first, second = repr(fitted).splitlines()
    assert first.startswith("Calibrator(")
    assert second.startswith(f"  {start}")


def test_a_second_fit_leaves_nothing_of_the_first():
    fitted = Calibrator(max_far=0.05).fit(SCORES, LABELS)
    fitted.fit(SCORES[130:180], LABELS[130:180])
    with pytest.raises(NoCutoffError):
        fitted.probability_interval(NEW)
    assert fitted.held_out_ is None
    assert fitted.fit(SCORES, LABELS).predict(NEW).any()


def test_before_a_fit_there_is_nothing_to_ask():
    for ask in ("predict", "decide", "predict_proba", "probability_interval"):
        with pytest.raises(UsageError, match="not fitted"):
            getattr(Calibrator(), ask)(NEW)


@pytest.mark.parametrize(
    ("goal", "message"),
    [
        ({"max_far": 0.1, "objective": "f1"}, "a goal is one of .*got max_far, objective"),
        ({"max_far": 0.1, "max_frr": 0.1, "costs": Costs(false_accept=1, false_reject=1)},
         "got max_far, max_frr, costs"),
        ({"max_far": 0.1, "max_frr": 0.1, "estimator": "platt"}, "an estimator is for"),
        ({"max_far": 0.1, "max_frr": 0.1, "guarantee": "average"}, "exact or approximate"),
        ({"max_far": 1.5}, "max_far must be a number between 0 and 1"),
        ({"confidence": 95}, "confidence must be"),
    ],
    ids=["two goals", "promises and costs", "estimator", "average", "limit", "confidence"],
)  # fmt: skip
def test_a_goal_that_makes_no_sense_is_refused(goal, message):
    with pytest.raises(UsageError, match=message):
        Calibrator(**goal).fit(SCORES, LABELS)


def test_scores_to_decide_must_be_finite():
    fitted = Calibrator().fit(SCORES, LABELS)
    with pytest.raises(NonFiniteError):
        fitted.predict([0.5, np.nan])


def test_it_has_the_manners_of_scikit_learn():
    base = pytest.importorskip("sklearn.base")
    one = Calibrator(max_far=0.1, costs=None, looks=2)
    other = base.clone(one)
    assert other is not one
    assert other.get_params() == one.get_params()
    fitted = one.fit(SCORES, LABELS)
    again = base.clone(fitted)
    assert not hasattr(again, "rule_")
    assert again.fit(SCORES, LABELS).rule_ == fitted.rule_


def test_parameters_by_name():
    one = Calibrator(max_far=0.1)
    assert one.set_params(max_far=0.2, seed=5) is one
    assert (one.max_far, one.seed) == (0.2, 5)
    assert repr(one) == "Calibrator(max_far=0.2, seed=5)"
    shown = repr(one.fit(SCORES, LABELS)).splitlines()
    counts = one.rule_.counts
    assert shown == [
        "Calibrator(max_far=0.2, seed=5)",
        (
            f"  Cutoff({one.rule_.value:.10g}: false accepts at most 0.2, exact; "
            f"{counts.false_accepts} of 150 rejects accepted, {counts.false_rejects} of 150 accepts "
            "rejected)"
        ),
    ]
    assert set(one.get_params()) == set(Goal.__struct_fields__)
    with pytest.raises(UsageError, match="has no 'alpha'; it has max_far"):
        one.set_params(alpha=0.1)

"""Held-out rows: whole groups, every row once a repeat, and what the procedure says of them."""

import itertools

import msgspec
import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st
from made_scores import by_hand, normal_scores

from closecall.calibration import (
    Counts,
    Cutoff,
    Decision,
    Gap,
    Infeasible,
    Optimum,
    Reason,
    TwoCutoffs,
    decide,
)
from closecall.calibration.binomial import clopper_pearson, observed_rate
from closecall.calibration.evidence.held_out import (
    FOLDS_INDEPENDENT,
    HeldOut,
    deal,
    held_out,
    stream_of,
    units_of,
)
from closecall.calibration.goals import Goal
from closecall.calibration.groups import clustered_rate
from closecall.calibration.inputs import Labelled, labelled
from closecall.errors import UsageError

NONE = Infeasible(
    reason=Reason.TOO_FEW_LABELS, message="too few", advice="label more", accepts=0, rejects=0
)


def cutoff(value):
    return Cutoff(
        value=value,
        gap=Gap(low=None, high=value),
        where="strict",
        decimals=6,
        counts=Counts(true_accepts=1, false_rejects=0, false_accepts=0, true_rejects=1),
        false_accept_rate=None,
        false_reject_rate=None,
        evidence=Optimum(
            objective="youden", estimator="empirical", value=1.0, best=1.0, plateau=None, tied=1
        ),
    )


def band(low, high):
    return TwoCutoffs(
        accept=cutoff(high), reject=cutoff(low), unsure=observed_rate(1, 2),
        unsure_accepts=0, unsure_rejects=1, delta=0.05,
    )  # fmt: skip


def made(rejects=60, accepts=140, each=None, seed=0):
    """Labelled scores; ``each`` consecutive rows of a shuffle share a group, sizes 1 to it."""
    scores, labels = normal_scores(rejects, accepts, seed=seed, decimals=2)
    order = np.random.default_rng(seed).permutation(len(scores))
    scores, labels = scores[order], labels[order]
    groups = None
    if each is not None:
        sizes = 1 + np.arange(len(scores)) % each
        groups = [f"q{at:04d}" for at in np.repeat(np.arange(len(sizes)), sizes)[: len(scores)]]
    return labelled(scores, labels, groups, decimals=6)


class Recorder:
    """A procedure that keeps what it was given and returns the next of its rules."""

    def __init__(self, *rules):
        self.given = []
        self.rules = itertools.cycle(rules)

    def __call__(self, data):
        self.given.append(data)
        return next(self.rules)


@pytest.mark.parametrize("each", [None, 5])
def test_each_row_is_held_out_once_a_repeat_and_groups_stay_whole(each):
    """Rows are told apart by their scores, which are all different here."""
    data = made(each=each)
    distinct = np.random.default_rng(3).permutation(len(data.scores)) / 1000
    data = labelled(distinct, data.accept, data.groups, decimals=6)
    group_of = dict(zip(distinct, data.accept if each is None else data.groups, strict=True))
    fit = Recorder(cutoff(0.05))
    found = held_out(data, fit, repeats=3, folds=4)
    assert len(fit.given) == 12
    for repeat in range(3):
        held = [
            set(distinct) - set(train.scores) for train in fit.given[4 * repeat : 4 * repeat + 4]
        ]
        assert sorted(itertools.chain(*held)) == sorted(distinct)
        if each is not None:
            for fold in held:
                inside = {group_of[score] for score in fold}
                assert not inside & {group_of[score] for score in set(distinct) - fold}
    for train in fit.given:
        if each is None:
            assert train.groups is None
        else:
            # Numbered from 0 again, in the same order, as every procedure may expect.
            names = np.array([group_of[score] for score in train.scores])
            assert (train.groups == np.unique(names, return_inverse=True)[1]).all()
        assert train.decimals == data.decimals
    assert len({tuple(train.scores) for train in fit.given}) == 12
    assert found.groups == (None if each is None else len(set(data.groups)))


@given(
    st.lists(st.tuples(st.integers(0, 6), st.integers(0, 6)), min_size=1, max_size=60),
    st.integers(1, 7),
    st.integers(0, 2**30),
)
def test_parts_hold_about_the_same(amounts, parts, stream):
    first, second = np.array(amounts, dtype=np.int64).T
    part = deal(first, second, parts, stream)
    assert set(part) == set(range(min(parts, len(first))))
    sizes = np.bincount(part, minlength=parts)
    assert sizes.max() - sizes.min() <= 1
    held = np.bincount(part, weights=first, minlength=parts)
    assert held.max() - held.min() <= first.max()


def test_parts_are_fixed_for_ever_and_evenly_random():
    zero, one = np.zeros(10, dtype=np.int64), np.ones(10, dtype=np.int64)
    assert deal(one, zero, 5, 7).tolist() == [4, 0, 2, 3, 4, 1, 3, 0, 1, 2]
    counts = np.zeros((10, 5))
    for stream in range(2000):
        # Unequal amounts: the largest of each five must not always go to the same part.
        counts[np.arange(10), deal(np.arange(10), zero, 5, stream)] += 1
    assert abs(counts - 400).max() < 4.5 * np.sqrt(2000 * 0.2 * 0.8)
    pairs = sum(len(set(deal(one, zero, 5, stream)[:2])) == 1 for stream in range(2000))
    # Two of ten equal units share one of five parts of two in one ninth of the draws.
    assert abs(pairs / 2000 - 1 / 9) < 4 * np.sqrt(1 / 9 * 8 / 9 / 2000)


@pytest.mark.parametrize(("rejects", "accepts"), [(12, 140), (140, 12), (33, 67)])
def test_every_fold_has_its_share_of_the_scarcer_label(rejects, accepts):
    fit = Recorder(cutoff(0.5))
    held_out(made(rejects, accepts), fit, repeats=2)
    for train in fit.given:
        assert abs((~train.accept).sum() - 0.8 * rejects) <= 1
        assert abs(train.accept.sum() - 0.8 * accepts) <= 1
    fit = Recorder(cutoff(0.5))
    data = made(rejects, accepts, each=4)
    scarce = data.accept if accepts < rejects else ~data.accept
    held_out(data, fit, repeats=2)
    for train in fit.given:
        kept = train.accept if accepts < rejects else ~train.accept
        assert abs(kept.sum() - 0.8 * scarce.sum()) <= np.bincount(data.groups[scarce]).max()


@pytest.mark.parametrize("scarce", [False, True])
def test_the_scarcer_label_is_dealt_first(scarce):
    """Ten groups hold one each; that groups differ in the other label must not scatter them."""
    groups = np.concatenate((np.repeat(np.arange(50), np.arange(50)), np.arange(0, 50, 5)))
    labels = np.repeat([not scarce, scarce], [len(groups) - 10, 10])
    data = labelled(np.arange(len(groups)) / 2000, labels, groups, decimals=6)
    fit = Recorder(cutoff(0.5))
    held_out(data, fit)
    assert {np.count_nonzero(train.accept == scarce) for train in fit.given} == {8}


@pytest.mark.parametrize("each", [None, 4])
@pytest.mark.parametrize(
    "goal",
    [
        Goal(max_far=0.2),
        Goal(max_far=0.2, max_frr=0.2),
        Goal(objective="youden"),
        Goal(objective="accuracy", estimator="platt"),
    ],
    ids=["far", "both", "youden-bagged", "accuracy-platt"],
)
def test_order_of_rows_changes_nothing_and_the_seed_does(each, goal):
    data = made(each=each)
    order = np.random.default_rng(1).permutation(len(data.scores))
    moved = labelled(
        data.scores[order], data.accept[order],
        None if each is None else data.groups[order], decimals=6,
    )  # fmt: skip
    found = held_out(data, goal.fit, repeats=2, seed=4)
    assert held_out(moved, goal.fit, repeats=2, seed=4) == found
    again = held_out(data, goal.fit, repeats=2, seed=5)
    assert (again.counts, again.cutoff_low) != (found.counts, found.cutoff_low)


@pytest.mark.parametrize("grouped", [False, True])
def test_one_seed_does_not_hold_out_the_same_places_of_all_data(grouped):
    """Else held-out rows would not be a random choice: rows are numbered by score."""
    rng = np.random.default_rng(0)
    counts = np.zeros((30, 5))
    for _ in range(400):
        data = labelled(
            np.arange(30) / 30, rng.permutation(30) < 14, np.arange(30) if grouped else None,
            decimals=6,
        )  # fmt: skip
        units = units_of(data)
        part = deal(units.accepts, units.rejects, 5, stream_of(units, 0, "folds 0"))
        counts[np.arange(30), part] += 1
    assert abs(counts - 80).max() < 4.5 * np.sqrt(400 * 0.2 * 0.8)


def test_each_purpose_and_seed_draws_anew():
    units = units_of(made())
    streams = {stream_of(units, seed, what) for seed in range(3) for what in ("locked", "folds 0")}
    assert len(streams) == 6
    assert stream_of(units_of(labelled([0.5], [True], decimals=6)), 0, "x") == (
        93228249116428753502022465293464778314
    )


@pytest.mark.parametrize("each", [None, 4])
def test_a_rule_that_never_changes_gives_its_own_counts(each):
    data = made(each=each)
    found = held_out(data, Recorder(cutoff(0.9)))
    want = by_hand(data.scores, data.accept, 0.9)
    assert [msgspec.structs.asdict(counts) for counts in found.counts] == [want] * 5
    assert (found.cutoff_low, found.cutoff_high) == (0.9, 0.9)
    assert found.undecided == found.unsure == (0,) * 5
    assert (found.infeasible, found.shown, found.repeats, found.folds) == (0, 2, 5, 5)
    rate = found.false_accept_rate
    assert (rate.count, rate.n) == (want["false_accepts"], 60)
    assert (found.false_reject_rate.count, found.false_reject_rate.n) == (
        want["false_rejects"],
        140,
    )
    if each is None:
        plain = clopper_pearson(rate.count, 60)
        assert rate.interval.method == f"clopper-pearson, {FOLDS_INDEPENDENT}"
    else:
        wrong = (data.scores >= 0.9)[~data.accept]
        plain = clustered_rate(wrong, data.groups[~data.accept]).interval
        assert rate.interval.method == f"{plain.method}, {FOLDS_INDEPENDENT}"
        assert "design effect" in plain.method
    assert (rate.interval.low, rate.interval.high) == (plain.low, plain.high)


def test_held_out_rows_are_decided_by_the_rule_of_their_own_fold():
    """The rule of a fold rejects all but what it has not seen."""
    data = labelled(np.arange(40) / 100, np.arange(40) % 2 == 1, decimals=6)
    everything = set(data.scores)

    def fit(train):
        return cutoff(min(everything - set(train.scores)))

    found = held_out(data, fit)
    assert all(each.true_accepts == each.false_accepts == 20 for each in found.counts)


def test_unsure_rows_are_no_errors_but_count_among_all():
    data = made(each=3)
    rule = band(0.5, 1.5)
    said = [decide(rule, score) for score in data.scores]
    found = held_out(data, Recorder(rule), repeats=2)
    hand = {
        (verdict, label): sum(
            one == verdict and good == label for one, good in zip(said, data.accept, strict=True)
        )
        for verdict in Decision
        for label in (True, False)
    }
    want = Counts(
        true_accepts=hand[Decision.ACCEPT, True],
        false_rejects=hand[Decision.REJECT, True],
        false_accepts=hand[Decision.ACCEPT, False],
        true_rejects=hand[Decision.REJECT, False],
    )
    assert found.counts == (want, want)
    assert found.unsure_accepts == (hand[Decision.UNSURE, True],) * 2
    assert found.unsure_rejects == (hand[Decision.UNSURE, False],) * 2
    assert found.unsure == (said.count(Decision.UNSURE),) * 2
    assert min(found.unsure_accepts + found.unsure_rejects) > 0
    assert (found.false_accept_rate.count, found.false_accept_rate.n) == (want.false_accepts, 60)
    assert (found.false_reject_rate.count, found.false_reject_rate.n) == (want.false_rejects, 140)
    assert (found.cutoff_low, found.cutoff_high) == (1.5, 1.5)


def test_folds_without_a_cutoff_leave_their_rows_undecided():
    data = made()
    found = held_out(data, Recorder(cutoff(0.5), NONE, cutoff(0.7), cutoff(0.6), NONE), repeats=2)
    assert found.infeasible == 4
    for counts, undecided in zip(found.counts, found.undecided, strict=True):
        assert counts.accepts + counts.rejects + undecided == 200
        assert undecided == 80
    shown = found.counts[found.shown]
    assert (found.false_accept_rate.count, found.false_accept_rate.n) == (
        shown.false_accepts,
        shown.rejects,
    )
    assert (found.cutoff_low, found.cutoff_high) == (0.5, 0.7)


def test_no_cutoff_at_all_is_no_rate():
    found = held_out(made(), Recorder(NONE))
    assert found.infeasible == 25
    assert found.undecided == (200,) * 5
    assert found.shown is found.false_accept_rate is found.false_reject_rate is None
    assert found.cutoff_low is found.cutoff_high is None
    assert set(found.counts) == {
        Counts(true_accepts=0, false_rejects=0, false_accepts=0, true_rejects=0)
    }


def per_repeat(*values):
    """One cutoff for both folds of a repeat; None refuses one of them."""
    return Recorder(
        *(
            cutoff(value) if value is not None else NONE
            for pair in values
            for value in (pair if isinstance(pair, tuple) else (pair, pair))
        )
    )


@pytest.mark.parametrize(
    ("values", "shown"),
    [
        ((0.5, 1.5, 1.0), 2),
        ((1.5, 1.0, 0.5, 0.7, 0.9), 4),
        ((0.5, 1.5), 0),  # the upper of two middle ones: more false accepts
        ((2.9, 2.8, 2.95), 0),  # equal false accepts: by false rejects
        ((1.0, 1.0, 1.0), 1),  # all equal: in order
        (((None, None), 1.0, 0.5), 2),
        (((None, 0.5), 1.5, 1.2), 2),  # half the rows, yet the greatest share of false accepts
    ],
    ids=str,
)
def test_the_median_repeat_is_shown(values, shown):
    rejects, accepts = np.arange(1, 27) / 10, np.arange(5, 41) / 10
    data = labelled(
        np.concatenate((rejects, accepts)), np.repeat([False, True], [26, 36]), decimals=6
    )
    found = held_out(data, per_repeat(*values), repeats=len(values), folds=2)
    assert found.shown == shown
    assert found.false_accept_rate.count == found.counts[shown].false_accepts
    assert found.false_reject_rate.count == found.counts[shown].false_rejects


def test_a_repeat_without_a_reject_is_not_the_median_one():
    """Two of three repeats have no cutoff for the fold that holds the only reject."""
    data = labelled(np.arange(10) / 10, np.arange(10) != 9, decimals=6)
    calls = itertools.count()

    def fit(train):
        return cutoff(0.5) if next(calls) >= 4 or not train.accept.all() else NONE

    found = held_out(data, fit, repeats=3, folds=2)
    assert [each.rejects for each in found.counts] == [0, 0, 1]
    assert found.shown == 2
    assert (found.false_accept_rate.count, found.false_accept_rate.n) == (1, 1)


def test_a_label_that_nobody_gave_has_no_rate():
    data = labelled(np.arange(20) / 20, [True] * 20, decimals=6)
    found = held_out(data, Recorder(cutoff(0.5)))
    assert found.false_accept_rate is None
    assert (found.false_reject_rate.count, found.false_reject_rate.n) == (10, 20)


def test_fewer_groups_than_folds():
    data = labelled(np.arange(30) / 30, np.arange(30) % 2 == 1, np.arange(30) % 3, decimals=6)
    fit = Recorder(cutoff(0.5))
    found = held_out(data, fit, repeats=2)
    assert (found.folds, found.groups, len(fit.given)) == (3, 3, 6)
    assert found.undecided == (0, 0)
    alone = labelled(data.scores, data.accept, [7] * 30, decimals=6)
    fit = Recorder(cutoff(0.5))
    found = held_out(alone, fit, repeats=2)
    assert (found.folds, found.infeasible, fit.given) == (1, 2, [])
    assert found.undecided == (30, 30)
    assert found.false_accept_rate is None


def test_some_of_the_groups_of_a_larger_set():
    """Numbers with holes, as when rows were locked away."""
    data = made(each=4)
    kept = data.groups % 3 != 0
    part = labelled(data.scores[kept], data.accept[kept], data.groups[kept], decimals=6)
    holes = Labelled(part.scores, part.accept, data.groups[kept], part.decimals)
    goal = Goal(max_far=0.2, guarantee="average")
    assert held_out(holes, goal.fit) == held_out(part, goal.fit)


def test_the_record_is_json():
    for fit in (Goal(max_far=0.2).fit, Recorder(NONE)):
        found = held_out(made(each=3), fit)
        assert msgspec.json.decode(msgspec.json.encode(found), type=HeldOut) == found
    torn = msgspec.json.encode(found).replace(b'"repeats":5', b'"repeats":4')
    with pytest.raises(msgspec.ValidationError, match="4 repeats"):
        msgspec.json.decode(torn, type=HeldOut)


@pytest.mark.parametrize(
    ("option", "value"),
    [("repeats", 0), ("repeats", True), ("folds", 1), ("folds", 2.5), ("seed", -1), ("seed", "1")],
)
def test_options_out_of_range(option, value):
    with pytest.raises(UsageError, match=f"{option} must be a whole number of at least"):
        held_out(made(), Recorder(cutoff(0.5)), **{option: value})

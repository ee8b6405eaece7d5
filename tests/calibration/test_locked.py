"""The locked third: whole groups, a third of the rejects, and what a rule does on them."""

import msgspec
import numpy as np
import pytest
from made_scores import by_hand, normal_scores

from closecall.calibration import TwoCutoffs
from closecall.calibration.binomial import clopper_pearson
from closecall.calibration.evidence.locked import LockedTest, lock, measure_locked
from closecall.calibration.goals import Goal
from closecall.calibration.groups import clustered_rate
from closecall.calibration.inputs import labelled
from closecall.errors import UsageError


def made(rejects=200, accepts=500, groups=None, seed=0):
    """Labelled scores; rows dealt at random to ``groups`` groups of any size."""
    scores, labels = normal_scores(rejects, accepts, seed=seed, decimals=3)
    rng = np.random.default_rng(seed)
    order = rng.permutation(len(scores))
    names = (
        None if groups is None else [f"q{at:03d}" for at in rng.integers(0, groups, len(order))]
    )
    return labelled(scores[order], labels[order], names, decimals=6)


def part(data, rows):
    groups = None if data.groups is None else data.groups[rows]
    return labelled(data.scores[rows], data.accept[rows], groups, decimals=6)


def names_of(data):
    codes = np.arange(len(data.scores)) if data.groups is None else data.groups
    return [f"q{code}" for code in codes]


def locked_of(data, seed=0):
    return lock(names_of(data), data.accept, seed=seed)


@pytest.mark.parametrize(("rejects", "accepts", "enough"), [
    (180, 420, True), (179, 421, False), (180, 419, False), (599, 1, True), (0, 900, False),
])  # fmt: skip
def test_a_third_is_spared_only_of_enough(rejects, accepts, enough):
    assert (locked_of(made(rejects, accepts)) is not None) == enough


@pytest.mark.parametrize("groups", [None, 250])
@pytest.mark.parametrize("seed", range(5))
def test_whole_groups_a_third_of_them(groups, seed):
    data = made(groups=groups)
    locked = locked_of(data, seed)
    names = np.array(names_of(data))
    assert not set(names[locked]) & set(names[~locked])
    count = len(set(names))
    spread = 4 * np.sqrt(count * 2 / 9)
    assert abs(len(set(names[locked])) - count / 3) < spread


def test_what_is_locked_stays_locked_as_labels_are_added():
    data = made(groups=250)
    names = names_of(data)
    first = lock(names, data.accept, seed=2)
    more = [f"new{at}" for at in range(300)]
    accept = np.concatenate((data.accept, np.ones(300, dtype=bool)))
    again = lock(names + more, accept, seed=2)
    assert (again[: len(names)] == first).all()
    assert again[len(names) :].any()


def test_the_choice_follows_the_seed_not_the_order_of_rows():
    data = made(groups=250)
    names = names_of(data)
    order = np.random.default_rng(1).permutation(len(names))
    locked = lock(names, data.accept, seed=3)
    assert (lock([names[at] for at in order], data.accept[order], seed=3) == locked[order]).all()
    assert (locked != lock(names, data.accept, seed=4)).any()


def test_every_group_is_as_likely():
    data = made(groups=60)
    runs = 600
    first = np.unique(data.groups, return_index=True)[1]
    counts = sum(locked_of(data, seed)[first] * 1.0 for seed in range(runs))
    assert abs(counts / runs - 1 / 3).max() < 4.5 * np.sqrt(2 / 9 / runs)


def test_all_rejects_on_one_side_spares_none():
    labels = np.repeat([False, True], [200, 500])
    for seed in range(20):
        names = ["one"] * 200 + [f"q{at}" for at in range(500)]
        assert lock(names, labels, seed=seed) is None


@pytest.mark.parametrize("groups", [None, 250])
def test_what_a_cutoff_does_on_them(groups):
    data = made(groups=groups)
    locked = locked_of(data)
    rule = Goal(max_far=0.1).fit(part(data, ~locked))
    rows = part(data, locked)
    found = measure_locked(rule, rows, digest="sha256:ab", uses=1)
    assert (found.n, found.digest, found.uses) == (locked.sum(), "sha256:ab", 1)
    assert found.groups == (None if groups is None else len(set(rows.groups)))
    want = by_hand(rows.scores, rows.accept, rule.value)
    assert msgspec.structs.asdict(found.counts) == want
    rate = found.false_accept_rate
    assert (rate.count, rate.n) == (want["false_accepts"], (~rows.accept).sum())
    if groups is None:
        assert rate.interval == clopper_pearson(rate.count, rate.n)
    else:
        wrong = (rows.scores >= rule.value)[~rows.accept]
        assert rate == clustered_rate(wrong, rows.groups[~rows.accept])
    assert (found.false_reject_rate.count, found.false_reject_rate.n) == (
        want["false_rejects"],
        rows.accept.sum(),
    )
    assert found.unsure == 0
    assert msgspec.json.decode(msgspec.json.encode(found), type=LockedTest) == found


def test_two_cutoffs_leave_some_to_a_person():
    data = made()
    locked = locked_of(data)
    rule = Goal(max_far=0.1, max_frr=0.1).fit(part(data, ~locked))
    assert isinstance(rule, TwoCutoffs)
    rows = part(data, locked)
    found = measure_locked(rule, rows, digest="d", uses=2)
    between = (rows.scores >= rule.reject.value) & (rows.scores < rule.accept.value)
    assert found.unsure_accepts == (between & rows.accept).sum() > 0
    assert found.unsure_rejects == (between & ~rows.accept).sum() > 0
    assert found.unsure == between.sum()
    assert found.counts.accepts + found.counts.rejects + found.unsure == found.n
    # A share of all rejects, those left to a person included.
    assert found.false_accept_rate.n == found.counts.rejects + found.unsure_rejects
    assert found.false_accept_rate.count == found.counts.false_accepts
    assert found.false_reject_rate.n == found.counts.accepts + found.unsure_accepts


def test_a_class_that_is_not_there_has_no_rate():
    rule = Goal(max_far=0.1).fit(made())
    only = labelled([0.1, 5.0], [True, True], decimals=6)
    found = measure_locked(rule, only, digest="d", uses=1)
    assert found.false_accept_rate is None
    assert (found.false_reject_rate.count, found.false_reject_rate.n) == (1, 2)


@pytest.mark.parametrize("uses", [0, -1, True, 1.5])
def test_uses_count_from_one(uses):
    rule = Goal(max_far=0.1).fit(made())
    with pytest.raises(UsageError, match="uses must be a whole number of at least 1"):
        measure_locked(rule, made(), digest="d", uses=uses)


def test_seed_out_of_range():
    with pytest.raises(UsageError, match="seed must be a whole number of at least 0"):
        locked_of(made(), -1)

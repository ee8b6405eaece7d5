"""Errors that only one of two makes: counted by hand, tested against every way it could fall."""

import itertools
from statistics import NormalDist

import msgspec
import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

from closecall.calibration.comparing.outcomes import outcomes
from closecall.calibration.comparing.paired import (
    MCNEMAR,
    SIGN_FLIP,
    SMALLEST_P,
    Flips,
    flips,
    mcnemar,
    sign_flip,
    untested,
)
from closecall.calibration.records import Decision
from closecall.errors import DataError, ShapeError, UsageError

differences = st.lists(st.integers(-4, 4), min_size=1, max_size=9).map(np.array)


def every_way(differences):
    """Share of all ways to sign the groups whose sum lies as far out as the observed one."""
    told = differences[differences != 0]
    signs = np.array(list(itertools.product((-1, 1), repeat=len(told))))
    return float(np.mean(np.abs((signs * told).sum(axis=1)) >= abs(told.sum())))


def test_counts_by_hand():
    a = np.array([True, True, True, False, False, False, False])
    b = np.array([True, False, False, True, False, False, False])
    found = flips(a, b)
    assert (found.only_a, found.only_b, found.both, found.neither, found.n) == (2, 1, 1, 3, 7)
    assert (found.errors_a, found.errors_b, found.discordant) == (3, 2, 3)
    assert (found.p, found.method, found.groups) == (1.0, MCNEMAR, None)
    assert msgspec.json.decode(msgspec.json.encode(found), type=Flips) == found


def test_p_values_one_knows_by_heart():
    assert mcnemar(0, 5) == pytest.approx(2 / 32)
    assert mcnemar(1, 5) == pytest.approx(2 * (1 + 6) / 64)
    assert mcnemar(3, 3) == mcnemar(0, 0) == mcnemar(4, 5) == 1
    assert sign_flip(np.array([-2, -1, 0])) == pytest.approx(2 / 4)
    assert sign_flip(np.array([3])) == 1  # one group alone proves nothing


@given(differences)
def test_sign_flip_counts_every_way(found):
    assert sign_flip(found) == pytest.approx(every_way(found), rel=1e-12)
    assert sign_flip(-found) == sign_flip(found) == sign_flip(found[::-1])


@given(st.integers(0, 400), st.integers(0, 400))
def test_groups_of_one_answer_make_it_mcnemar(only_a, only_b):
    found = np.repeat([-1, 1, 0], [only_a, only_b, 5])
    assert sign_flip(found) == pytest.approx(mcnemar(only_a, only_b), rel=1e-9)


def test_many_groups_agree_with_the_normal_curve():
    rng = np.random.default_rng(0)
    found = rng.integers(-5, 6, 40_000) + (rng.random(40_000) < 0.02)
    z = abs(found.sum()) / np.sqrt(np.square(found).sum())
    normal = 2 * (1 - NormalDist().cdf(z))
    assert sign_flip(found) == pytest.approx(normal, rel=0.01)


@pytest.mark.parametrize("count", [200, 5000])
def test_no_p_value_is_zero(count):
    assert mcnemar(0, count) == sign_flip(np.ones(count, dtype=np.int64)) == SMALLEST_P


def test_answers_of_one_group_are_not_counted_as_so_many_independent_ones():
    a = np.array([True] * 12 + [False] * 12)
    b = np.zeros(24, dtype=bool)
    groups = np.repeat([7, 8, 9, 10], 6)
    assert flips(a, b).p < 0.001
    found = flips(a, b, groups)
    assert (found.p, found.groups, found.method) == (0.5, 2, SIGN_FLIP)
    assert (found.only_a, found.only_b) == (12, 0)


def test_a_group_where_gains_and_losses_cancel_tells_nothing():
    a, b = np.array([True, False, True, False]), np.array([False, True, False, True])
    found = flips(a, b, np.array([0, 0, 1, 1]))
    assert (found.p, found.groups, found.discordant) == (1.0, 0, 4)


@given(st.lists(st.tuples(st.booleans(), st.booleans(), st.integers(0, 5)), min_size=1))
def test_swapping_the_two_swaps_the_counts_alone(rows):
    a, b, groups = (np.array(column) for column in zip(*rows, strict=True))
    for names in (None, groups):
        one, other = flips(a, b, names), flips(b, a, names)
        assert other == msgspec.structs.replace(one, only_a=one.only_b, only_b=one.only_a)


def test_nothing_to_count_is_none_and_not_zero():
    none = np.zeros(0, dtype=bool)
    assert flips(none, none) is None
    assert flips(none, none, np.zeros(0, dtype=np.int64)) is None
    assert untested(none, none, "why") is None


def test_untested_counts_and_says_why():
    found = untested(np.array([True, False]), np.array([True, True]), "chosen here")
    assert (found.only_b, found.both, found.p, found.method) == (1, 1, None, "chosen here")


def test_counts_must_add_up():
    with pytest.raises(ValueError, match="add up to 5"):
        Flips(only_a=1, only_b=1, both=1, neither=1, n=5, p=1.0, method=MCNEMAR)
    with pytest.raises(UsageError, match="at least 0"):
        mcnemar(-1, 2)
    with pytest.raises(ShapeError, match="2 answers decided by A and 3 by B"):
        flips(np.zeros(2, dtype=bool), np.zeros(3, dtype=bool))


def test_decisions_in_every_form_a_caller_has():
    texts = ["accept", "reject", "unsure", "accept"]
    for given_ in (texts, [Decision(text) for text in texts], np.array(texts)):
        found = outcomes(given_, "A")
        assert found.accepted.tolist() == [True, False, False, True]
        assert found.rejected.tolist() == [False, True, False, False]
        assert found.unsure.tolist() == [False, False, True, False]
    assert outcomes(np.array([True, False]), "A").rejected.tolist() == [False, True]
    assert outcomes([True, "unsure"], "A").differ(outcomes([False, "reject"], "B")) == 2


@pytest.mark.parametrize("wrong", [1, None, "Accept", 0.5], ids=repr)
def test_a_decision_that_is_none_says_where_and_what_is_allowed(wrong):
    with pytest.raises(DataError, match=r"decision 1 of mini is .*allowed are True and False"):
        outcomes([True, wrong], "mini")

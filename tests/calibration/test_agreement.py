"""Agreement of two people, and what their disagreement leaves measurable."""

import msgspec
import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

from closecall.calibration.binomial import clopper_pearson
from closecall.calibration.labels.agreement import (
    Agreement,
    agreement,
    corrected_rates,
    noise_floor,
    noise_rates,
)
from closecall.errors import UsageError

A, R = True, False


def pairs(both_accept, first_only, second_only, both_reject):
    return (
        [(A, A)] * both_accept
        + [(A, R)] * first_only
        + [(R, A)] * second_only
        + [(R, R)] * both_reject
    )


EXPECTED = pairs(650, 90, 90, 170)
"""As two people label 1000 items, 800 of them good, who each err on a tenth, independently."""


def test_kappa_by_hand():
    found = agreement(pairs(20, 5, 10, 15))
    assert (found.pairs, found.agreed, found.accepts) == (50, 35, 55)
    # Agreement 0.7; by chance 0.5 * 0.6 + 0.5 * 0.4 = 0.5.
    assert found.kappa == pytest.approx(0.4)
    assert (found.rate.count, found.rate.n) == (35, 50)
    assert found.interval.low == pytest.approx((found.rate.interval.low - 0.5) / 0.5)
    assert found.interval.high == pytest.approx((found.rate.interval.high - 0.5) / 0.5)


def test_perfect_agreement_of_few_is_uncertain():
    found = agreement(pairs(6, 0, 0, 4))
    assert found.kappa == found.interval.high == 1
    assert 0.2 < found.interval.low < 0.5


def test_opposite_labels():
    found = agreement(pairs(0, 5, 5, 0))
    assert found.kappa == found.interval.low == -1


@pytest.mark.parametrize("cells", [(8, 0, 0, 0), (0, 0, 0, 8)])
def test_one_label_only_has_no_kappa(cells):
    found = agreement(pairs(*cells))
    assert (found.kappa, found.interval) == (None, None)
    assert found.rate.value == 1


def test_no_pairs_no_agreement():
    assert agreement([]) is None


@given(st.tuples(*[st.integers(0, 9)] * 4).filter(any))
def test_who_comes_first_and_which_label_is_which_does_not_matter(cells):
    both, first, second, none = cells
    found = agreement(pairs(*cells))
    for other in ((both, second, first, none), (none, first, second, both)):
        same = agreement(pairs(*other))
        assert (same.kappa, same.interval, same.rate) == (found.kappa, found.interval, found.rate)
    if found.kappa is not None:
        assert -1 <= found.interval.low <= found.kappa <= found.interval.high <= 1


def test_it_outlives_a_file():
    found = agreement(EXPECTED)
    assert msgspec.json.decode(msgspec.json.encode(found), type=Agreement) == found


def test_noise_rates_of_expected_counts():
    found = noise_rates(agreement(EXPECTED))
    assert (found.pairs, found.disagreed) == (1000, 180)
    assert found.error == pytest.approx(0.1)
    assert found.rejects == pytest.approx(80 / 260)
    assert found.accepts == pytest.approx(20 / 740)
    assert 0.08 < found.interval.low < found.error < found.interval.high < 0.12


def test_the_floor_is_what_a_perfect_cutoff_seems_to_accept_wrongly():
    rng = np.random.default_rng(8)
    n, error = 200_000, 0.08
    good = rng.random(n) < 0.7
    first, second = (good ^ (rng.random(n) < error) for _ in range(2))
    accepted = good & (rng.random(n) < 0.85)  # no wrong response is accepted
    agreed = agreement(list(zip(first.tolist(), second.tolist(), strict=True)))
    seen = accepted[~first].mean()
    floor = noise_floor(
        agreed, true_accepts=int((accepted & first).sum()), accepts=int(first.sum())
    )
    assert seen == pytest.approx(0.85 * 0.7 * 0.08 / (0.7 * 0.08 + 0.3 * 0.92), rel=0.03)
    # The true-accept rate is that of the labelled accepts, a few of which are wrong.
    assert floor == pytest.approx(seen, rel=0.06)


def test_no_disagreement_no_noise():
    agreed = agreement(pairs(30, 0, 0, 20))
    assert noise_floor(agreed, true_accepts=9, accepts=10) == 0
    assert noise_rates(agreed).interval.high > 0.03


@pytest.mark.parametrize(
    "cells",
    [
        pytest.param((10, 10, 10, 10), id="half-disagree"),
        pytest.param((1, 20, 20, 1), id="most-disagree"),
        pytest.param((47, 2, 1, 0), id="never-both-reject"),
        pytest.param((0, 2, 1, 47), id="never-both-accept"),
        pytest.param((50, 0, 0, 0), id="accepts-only"),
        pytest.param((0, 0, 0, 50), id="rejects-only"),
    ],
)
def test_noise_that_is_not_measured(cells):
    agreed = agreement(pairs(*cells))
    assert noise_rates(agreed) is None
    assert noise_floor(agreed, true_accepts=9, accepts=10) is None


def test_no_accepts_no_floor():
    assert noise_floor(agreement(EXPECTED), true_accepts=0, accepts=0) is None


@pytest.mark.parametrize(("rho", "apparent"), [(0.02, 464), (0.05, 710), (0.10, 1120)])
def test_noise_among_rejects_is_taken_out(rho, apparent):
    """True rates 0.03 and 0.85; the apparent false-accept rate is (1 - rho) FAR + rho TAR."""
    found = corrected_rates(apparent, 10_000, 8500, 10_000, r0=rho, r1=0)
    far = found.false_accept_rate
    assert far.value == pytest.approx(0.03)
    assert found.true_accept_rate.value == pytest.approx(0.85)
    assert far.interval.low < far.value < far.interval.high
    assert (far.n, found.true_accept_rate.n) == (10_000, 10_000)


def test_noise_on_both_sides_is_taken_out():
    r0, r1, far, tar = 0.2, 0.1, 0.05, 0.9
    a0, a1 = (1 - r0) * far + r0 * tar, (1 - r1) * tar + r1 * far
    found = corrected_rates(round(1000 * a0), 1000, round(1000 * a1), 1000, r0=r0, r1=r1)
    assert found.false_accept_rate.value == pytest.approx(far, abs=1e-9)
    assert found.true_accept_rate.value == pytest.approx(tar, abs=1e-9)


def test_without_noise_nothing_changes():
    found = corrected_rates(3, 50, 40, 60, r0=0, r1=0)
    assert found.false_accept_rate.value == 3 / 50
    assert found.true_accept_rate.value == 40 / 60


def test_intervals_take_the_worst_of_both_rates():
    found = corrected_rates(30, 100, 80, 100, r0=0.2, r1=0.1)
    wrong, right = (clopper_pearson(k, 100, 0.975) for k in (30, 80))
    far, tar = found.false_accept_rate.interval, found.true_accept_rate.interval
    assert (far.low, far.high, tar.low, tar.high) == pytest.approx(
        (
            (0.9 * wrong.low - 0.2 * right.high) / 0.7,
            (0.9 * wrong.high - 0.2 * right.low) / 0.7,
            (0.8 * right.low - 0.1 * wrong.high) / 0.7,
            min(1, (0.8 * right.high - 0.1 * wrong.low) / 0.7),
        )
    )


def test_below_the_floor_there_is_a_bound_and_no_value():
    found = corrected_rates(5, 100, 90, 100, r0=0.1, r1=0).false_accept_rate
    assert found.value is None
    assert found.interval.low == 0 < found.interval.high < 0.1


def test_exactly_on_the_floor_is_zero():
    assert corrected_rates(9, 100, 90, 100, r0=0.1, r1=0).false_accept_rate.value == 0


def test_noise_that_the_counts_contradict():
    found = corrected_rates(0, 1000, 990, 1000, r0=0.3, r1=0).false_accept_rate
    assert (found.value, found.interval) == (None, None)


def test_the_intervals_hold_both_true_rates_often_enough():
    rng = np.random.default_rng(4)
    r0, r1, far, tar = 0.05, 0.02, 0.1, 0.8
    a0, a1 = (1 - r0) * far + r0 * tar, (1 - r1) * tar + r1 * far
    held = 0
    for k0, k1 in zip(rng.binomial(80, a0, 400), rng.binomial(120, a1, 400), strict=True):
        found = corrected_rates(int(k0), 80, int(k1), 120, r0=r0, r1=r1)
        wrong, right = found.false_accept_rate.interval, found.true_accept_rate.interval
        held += wrong.low <= far <= wrong.high and right.low <= tar <= right.high
    assert held >= 380


@pytest.mark.parametrize("counts", [(0, 0, 5, 9), (1, 9, 0, 0)], ids=["no-rejects", "no-accepts"])
def test_an_empty_class_is_not_measured(counts):
    assert corrected_rates(*counts, r0=0.1, r1=0) is None


def test_labels_that_say_nothing_are_not_measured():
    assert corrected_rates(1, 9, 5, 9, r0=0.5, r1=0.5) is None


@pytest.mark.parametrize("noise", [{"r0": -0.1, "r1": 0}, {"r0": 0, "r1": 1}])
def test_noise_out_of_range(noise):
    with pytest.raises(UsageError, match="must be a share from 0 up to 1"):
        corrected_rates(1, 9, 5, 9, **noise)


def test_counts_that_are_no_rate():
    with pytest.raises(UsageError, match="no rate has 10 of 9 labels"):
        corrected_rates(10, 9, 5, 9, r0=0, r1=0)

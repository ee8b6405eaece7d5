"""The band around a cutoff in which the decision could as well have been the other one."""

import math

import msgspec
import numpy as np
import pytest
from hypothesis import given
from made_scores import split, tied_rows

from closecall.calibration import fit_two_cutoffs
from closecall.calibration.curve import curve_of
from closecall.calibration.cutoffs import cutoff_at
from closecall.calibration.evidence.close_calls import CloseCalls, close_calls
from closecall.calibration.inputs import labelled
from closecall.errors import UsageError


def made(scores, at, where="mid", decimals=6):
    data = labelled(scores, np.arange(len(scores)) % 2 == 0, decimals=decimals)
    curve = curve_of(data)
    return data, cutoff_at(curve, curve.row(at), where, None)


def test_without_noise_the_band_is_the_gap_with_both_neighbours():
    data, cutoff = made([0.1, 0.59, 0.6, 0.6, 0.9], 0.595)
    (band,) = close_calls(data, cutoff, 0)
    assert (band.low, band.high) == (0.59, 0.6)
    assert (band.half_width, band.gap_half, band.noise) == (0.005, 0.005, 0)
    assert (band.count, band.n) == (3, 5)


def test_noise_larger_than_the_gap_sets_the_width():
    data, cutoff = made([0.1, 0.58, 0.59, 0.6, 0.605, 0.61], 0.595)
    (band,) = close_calls(data, cutoff, 0.01)
    assert (band.low, band.high, band.half_width) == (0.585, 0.605, 0.01)
    assert band.gap_half == 0.005
    assert band.count == 3


def test_noise_smaller_than_the_gap_does_not():
    data, cutoff = made([0.1, 0.5, 0.7], 0.6)
    (band,) = close_calls(data, cutoff, 0.03)
    assert (band.low, band.high, band.half_width) == (0.5, 0.7, 0.1)


@pytest.mark.parametrize("step", range(1, 12))
def test_scores_on_the_edge_are_in_whatever_floating_point_makes_of_it(step):
    """0.595 - 0.001 * step hits 0.594, 0.593 and so on, which are scores."""
    data, cutoff = made([0.58 + at / 1000 for at in range(31)], 0.595, "strict")
    assert cutoff.value == 0.595
    (band,) = close_calls(data, cutoff, step / 1000)
    assert band.count == 2 * step + 1


@given(tied_rows(most=20))
def test_the_neighbours_of_a_middle_are_close_calls_and_nothing_else_is(rows):
    scores, labels = split(rows)
    scores = scores / 3  # thirds: their middles round
    for decimals in (None, 3):
        data = labelled(scores, labels, decimals=decimals)
        curve = curve_of(data)
        for row in range(1, len(curve.levels) + 1):
            cutoff = cutoff_at(curve, row, "mid", None)
            (band,) = close_calls(data, cutoff, 0)
            near = {cutoff.gap.low, cutoff.gap.high}
            held = {score for score in data.scores.tolist() if band.holds(score)}
            assert held == near - {None}
            assert band.count == sum(score in near for score in data.scores.tolist())


def test_a_cutoff_that_accepts_everybody_has_no_gap():
    data, cutoff = made([0.2, 0.4, 0.6], 0.0)
    (band,) = close_calls(data, cutoff, 0.01)
    assert band.gap_half is None
    assert (band.low, band.high, band.count) == (0.19, 0.21, 1)
    assert close_calls(data, cutoff, 0)[0].half_width == 0


def test_two_cutoffs_have_a_band_each():
    rng = np.random.default_rng(2)
    scores = np.concatenate((rng.normal(0, 1, 200), rng.normal(1.5, 1, 200)))
    accept = np.repeat([False, True], 200)
    rule = fit_two_cutoffs(scores, accept, max_far=0.1, max_frr=0.1)
    data = labelled(scores, accept, decimals=6)
    upper, lower = close_calls(data, rule, 0.05)
    assert upper.holds(rule.accept.value)
    assert lower.holds(rule.reject.value)
    assert lower.high < upper.low
    for band, cutoff in ((upper, rule.accept), (lower, rule.reject)):
        assert band.low == pytest.approx(cutoff.value - 0.05, abs=1e-9)
        near = np.abs(data.scores - cutoff.value) <= 0.05
        assert band.count == np.count_nonzero(near) > 0


def test_one_cutoff_that_keeps_both_promises():
    scores = np.arange(200) / 200
    rule = fit_two_cutoffs(scores, scores >= 0.5, max_far=0.1, max_frr=0.1)
    assert not rule.abstains
    first, second = close_calls(labelled(scores, scores >= 0.5, decimals=6), rule, 0.002)
    assert first == second
    assert first.holds(rule.accept.value)


def test_it_outlives_a_file():
    data, cutoff = made([0.1, 0.59, 0.6, 0.9], 0.595)
    found = close_calls(data, cutoff, 0.001)
    assert msgspec.json.decode(msgspec.json.encode(found), type=tuple[CloseCalls, ...]) == found


@pytest.mark.parametrize("noise", [-0.1, math.nan, math.inf, True, "0.1"])
def test_noise_that_is_none(noise):
    data, cutoff = made([0.2, 0.4, 0.6], 0.3)
    with pytest.raises(UsageError, match="noise must be a finite number of at least 0"):
        close_calls(data, cutoff, noise)

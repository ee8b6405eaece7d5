"""Probability maps: rising, never certain, the same after a file, silent where there is nothing."""

import math

import msgspec
import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st
from made_scores import normal_scores, split, tied_rows

from closecall.calibration.curve import curve_of
from closecall.calibration.estimators import platt
from closecall.calibration.evidence.probability import (
    BetaMap,
    PlattMap,
    ProbabilityMap,
    fit_probability,
    probability,
    reliability,
)
from closecall.calibration.inputs import labelled
from closecall.errors import NonFiniteError

MAPS = [
    pytest.param(PlattMap(slope=14.2, shift=-7.9, n=50), id="platt"),
    pytest.param(BetaMap(a=2.0, b=7.0, c=-0.9, low=0.1, high=1.0, n=300), id="beta"),
    pytest.param(BetaMap(a=0.0, b=3.0, c=-2.0, low=-1.0, high=1.0, n=10**7), id="beta-one-end"),
]


def made(rejects, accepts, seed=0, gap=1.8):
    return labelled(*normal_scores(rejects, accepts, seed, gap), decimals=6)


def drawn(p, scores, seed=0):
    return labelled(scores, np.random.default_rng(seed).random(len(scores)) < p, decimals=None)


def test_a_logistic_curve_is_recovered():
    scores = np.random.default_rng(1).normal(0.6, 0.2, 100_000)
    fitted = platt(curve_of(drawn(1 / (1 + np.exp(-(9 * scores - 5))), scores)))
    assert tuple(fitted) == pytest.approx((9, -5), abs=0.15)


def test_a_beta_curve_is_recovered():
    z = np.random.default_rng(2).uniform(0.01, 0.99, 100_000)
    p = 1 / (1 + np.exp(-(2 * np.log(z) - 0.5 * np.log1p(-z) + 1)))
    fitted = fit_probability(drawn(p, z))
    assert isinstance(fitted, BetaMap)
    at = np.linspace(0.05, 0.95, 19)
    want = 1 / (1 + np.exp(-(2 * np.log(at) - 0.5 * np.log1p(-at) + 1)))
    assert np.abs(probability(fitted, at) - want).max() < 0.02


def test_the_map_says_how_often_such_responses_are_accepted():
    fitted = fit_probability(made(2000, 3000, seed=1))
    fresh = made(20_000, 30_000, seed=2)
    p = probability(fitted, fresh.scores)
    for low in np.arange(0, 1, 0.1):
        inside = (p >= low) & (p < low + 0.1)
        assert fresh.accept[inside].mean() == pytest.approx(p[inside].mean(), abs=0.04)


@pytest.mark.parametrize(("n", "kind"), [(99, PlattMap), (100, BetaMap)])
def test_few_labels_get_the_simpler_curve(n, kind):
    fitted = fit_probability(made(40, n - 40))
    assert type(fitted) is kind
    assert fitted.n == n


def test_a_beta_curve_that_would_fall_at_one_end_is_held_level_there():
    # Between 0.5 and 1 rejects come back: the free fit has b below 0.
    scores = np.arange(300) / 300
    accept = (scores > 0.2) & (np.arange(300) % 3 != np.where(scores > 0.6, 1, 3))
    fitted = fit_probability(labelled(scores, accept, decimals=6))
    assert fitted.b == 0 < fitted.a
    assert (np.diff(probability(fitted, scores)) >= 0).all()


def test_two_different_scores_fall_back_to_the_simpler_curve():
    data = labelled([0.0] * 100 + [1.0] * 100, [False] * 90 + [True] * 110, decimals=6)
    fitted = fit_probability(data)
    assert isinstance(fitted, PlattMap)
    # Platt's targets pull each share slightly to the middle.
    assert probability(fitted, [0.0, 1.0]).tolist() == pytest.approx([0.1, 0.99], abs=0.015)


def test_a_rise_in_the_middle_only_falls_back_to_the_simpler_curve():
    at = np.arange(200)
    accept = np.where((at >= 40) & (at < 160), at >= 100, at % 2 == 0)
    accept[:10], accept[-10:] = True, False  # the ends, which a beta curve looks at, fall
    fitted = fit_probability(labelled(at / 200, accept, decimals=6))
    assert isinstance(fitted, PlattMap)
    assert 0 < fitted.slope < 2


@pytest.mark.parametrize("n", [40, 400])
def test_classes_that_do_not_overlap_have_a_finite_map(n):
    scores = np.arange(n) / n
    fitted = fit_probability(labelled(scores, scores >= 0.5, decimals=6))
    assert all(math.isfinite(value) for value in msgspec.structs.astuple(fitted))
    p = probability(fitted, scores)
    assert p[0] < 0.05
    assert p[-1] > 0.95


@pytest.mark.parametrize(
    ("scores", "accept"),
    [
        pytest.param(np.arange(200), np.arange(200) < 120, id="falling"),
        pytest.param(np.arange(50), np.arange(50) < 20, id="falling-few"),
        pytest.param(np.ones(200), np.arange(200) < 120, id="constant"),
        pytest.param(np.arange(200), np.ones(200, bool), id="all-accepted"),
        pytest.param(np.arange(200), np.zeros(200, bool), id="all-rejected"),
    ],
)
def test_no_map_where_scores_say_nothing(scores, accept):
    assert fit_probability(labelled(scores, accept, decimals=6)) is None


@pytest.mark.parametrize("fitted", MAPS)
@given(st.lists(st.floats(allow_nan=False, allow_infinity=False), min_size=1))
def test_rising_and_never_certain_at_any_score(fitted, scores):
    scores = np.sort(scores)
    p = probability(fitted, scores)
    assert p.dtype == np.float64
    assert ((p > 0) & (p < 1)).all()
    assert (np.diff(p) >= 0).all()


@given(tied_rows(most=30), st.integers(1, 8))
def test_every_fit_rises(rows, times):
    scores, labels = split(rows * times)
    fitted = fit_probability(labelled(scores, labels, decimals=6))
    if fitted is not None:
        p = probability(fitted, np.unique(scores))
        assert (np.diff(p) >= 0).all()
        assert ((p >= 1 / (len(scores) + 2)) & (p <= 1 - 1 / (len(scores) + 2))).all()


@pytest.mark.parametrize("fitted", MAPS)
def test_six_decimals(fitted):
    p = probability(fitted, np.linspace(0.4, 0.6, 99))
    assert (p == p.round(6)).all()


@pytest.mark.parametrize("fitted", MAPS)
def test_neighbouring_numbers_do_not_fall(fitted):
    start = np.linspace(0.2, 0.9, 50)
    scores = np.sort(np.concatenate([start + k * 2.0**-53 for k in range(40)]))
    assert (np.diff(probability(fitted, scores)) >= 0).all()


def test_few_labels_claim_no_rare_event():
    few, many = (PlattMap(slope=30.0, shift=-15.0, n=n) for n in (18, 10**9))
    assert probability(few, [-9.0, 9.0]).tolist() == [0.05, 0.95]
    assert probability(many, [-9.0, 9.0]).tolist() == [1e-6, 1 - 1e-6]


@pytest.mark.parametrize("fitted", MAPS)
def test_the_map_outlives_a_file(fitted):
    text = msgspec.json.encode(fitted)
    back = msgspec.json.decode(text, type=ProbabilityMap)
    assert msgspec.json.decode(text)["type"] == ("platt" if "slope" in str(text) else "beta")
    assert back == fitted
    scores = np.linspace(-1, 2, 101)
    assert (probability(back, scores) == probability(fitted, scores)).all()


@pytest.mark.parametrize("n", [60, 600])
def test_the_order_of_rows_does_not_matter(n):
    data = made(n // 3, n - n // 3)
    order = np.random.default_rng(5).permutation(n)
    other = labelled(data.scores[order], data.accept[order], decimals=6)
    assert fit_probability(other) == fit_probability(data)


def test_constants_have_nine_digits():
    fitted = fit_probability(made(200, 300))
    for value in (fitted.a, fitted.b, fitted.c):
        assert value == float(f"{value:.9g}")


def test_any_shape_of_finite_scores():
    fitted = fit_probability(made(50, 30))
    assert probability(fitted, 0.5).shape == ()
    assert probability(fitted, [[0.1, 0.2, 0.3]]).shape == (1, 3)
    with pytest.raises(NonFiniteError):
        probability(fitted, [0.1, math.nan])


def test_quality_by_hand():
    fitted = PlattMap(slope=1.0, shift=0.0, n=1000)
    data = labelled([0.0, 0.0, math.log(3)], [True, False, True], decimals=None)
    found = reliability(fitted, data)
    assert (found.n, found.accepts) == (3, 2)
    assert found.brier == pytest.approx((0.25 + 0.25 + 0.0625) / 3)
    assert found.log_loss == pytest.approx((2 * math.log(2) + math.log(4 / 3)) / 3)
    assert found.base_brier == pytest.approx(2 / 9)
    assert found.base_log_loss == pytest.approx(math.log(3) - 2 / 3 * math.log(2))


def test_quality_of_one_class():
    found = reliability(PlattMap(slope=1.0, shift=0.0, n=9), labelled([0.0], [True], decimals=6))
    assert (found.base_brier, found.base_log_loss) == (0, 0)
    assert found.brier == 0.25


def test_a_map_beats_the_base_rate_on_fresh_rows_and_noise_does_not():
    found = reliability(fit_probability(made(100, 200, seed=3)), made(1000, 2000, seed=4))
    assert found.brier < 0.7 * found.base_brier
    assert found.log_loss < 0.7 * found.base_log_loss
    rising = PlattMap(slope=4.0, shift=-2.0, n=300)
    noise = reliability(rising, made(1000, 2000, seed=4, gap=0))
    assert noise.brier > noise.base_brier
    assert noise.log_loss > noise.base_log_loss

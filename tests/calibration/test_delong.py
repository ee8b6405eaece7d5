"""The difference of two areas: what it is, what it is blind to, and when it has no interval."""

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

from closecall.calibration.comparing.delong import (
    CLUSTERED,
    DELONG,
    auc_covariance,
    auc_difference,
    placements,
)
from closecall.calibration.curve import error_curve
from closecall.calibration.separation import separation
from closecall.errors import DataError, ShapeError

made = st.lists(
    st.tuples(st.integers(0, 4), st.integers(0, 4), st.booleans()), min_size=4, max_size=25
)


def both_kinds(rows):
    a, b, accept = (np.array(column) for column in zip(*rows, strict=True))
    accept[:2], accept[2:4] = True, False
    return a / 4, b / 4, accept


def two_models(n=200, seed=0, gap_b=2.0):
    rng = np.random.default_rng(seed)
    accept = rng.random(n) < 0.6
    common = rng.normal(size=n)
    a, b = (common + rng.normal(size=n) + gap * accept for gap in (1.5, gap_b))
    return a, b, accept


@given(made)
def test_the_area_is_the_one_of_the_curve(rows):
    a, b, accept = both_kinds(rows)
    found = auc_difference(a, b, accept)
    for ours, scores in ((found.auc_a, a), (found.auc_b, b)):
        assert ours == separation(error_curve(scores, accept)).auc
    assert found.difference == pytest.approx(found.auc_b - found.auc_a, abs=1e-15)
    assert (found.n_accepts, found.n_rejects) == (accept.sum(), (~accept).sum())


@given(made)
def test_swapping_the_two_mirrors_everything(rows):
    a, b, accept = both_kinds(rows)
    one, other = auc_difference(a, b, accept), auc_difference(b, a, accept)
    assert one.difference == -other.difference
    assert one.p == other.p
    if one.interval is not None:
        assert (one.interval.low, one.interval.high) == pytest.approx(
            (-other.interval.high, -other.interval.low)
        )


def test_only_the_order_of_scores_counts():
    """One model's scores may run from 0.7 to 0.9 and another's from -40 to 3."""
    a, b, accept = two_models()
    assert auc_difference(a, b, accept) == auc_difference(0.8 + a / 100, np.exp(b), accept)


def test_a_better_model_is_found_and_the_sign_is_b_less_a():
    a, b, accept = two_models(n=600, gap_b=3.5)
    found = auc_difference(a, b, accept)
    assert 0 < found.interval.low < found.difference < found.interval.high < 1
    assert found.p < 0.001
    assert found.interval.method == DELONG


def test_pairing_makes_the_interval_narrow():
    """Two scores that err together differ less than two that err apart."""
    a, b, accept = two_models()
    rng = np.random.default_rng(1)
    apart = b.copy()
    for chosen in (accept, ~accept):
        apart[chosen] = rng.permutation(b[chosen])
    close, wide = (auc_difference(a, other, accept).interval for other in (b, apart))
    assert close.high - close.low < 0.8 * (wide.high - wide.low)


@pytest.mark.parametrize(
    ("a", "b"),
    [
        ([0.1, 0.4, 0.6, 0.9], [1, 2, 3, 4]),
        ([0.9, 0.6, 0.4, 0.1], [1, 2, 3, 4]),
        ([0.5, 0.5, 0.5, 0.5], [1, 2, 3, 4]),
    ],
    ids=["same order", "all against none", "constant against perfect"],
)
def test_rows_that_all_agree_give_no_interval_rather_than_one_of_no_width(a, b):
    found = auc_difference(np.array(a), np.array(b, float), np.array([False, False, True, True]))
    assert found.interval is None
    assert found.p is None
    assert found.auc_b == 1


def test_one_answer_of_a_class_gives_no_interval():
    accept = np.array([True, False, False, False])
    found = auc_difference(np.array([2.0, 1, 3, 0]), np.array([2.0, 3, 1, 4]), accept)
    assert found.interval is None
    assert (found.auc_a, found.auc_b) == (2 / 3, 1 / 3)


def test_groups_of_one_change_nothing_and_names_do_not_matter():
    a, b, accept = two_models()
    plain = auc_difference(a, b, accept)
    single = auc_difference(a, b, accept, groups=np.random.default_rng(2).permutation(200) + 7)
    assert single.p == pytest.approx(plain.p)
    assert single.interval.low == pytest.approx(plain.interval.low)
    assert (single.groups, single.interval.method) == (200, CLUSTERED)


def test_every_row_copied_four_times_is_no_more_evidence():
    a, b, accept = two_models(n=120)
    plain = auc_difference(a, b, accept)
    copied = [np.repeat(each, 4) for each in (a, b, accept)]
    blind = auc_difference(*copied)
    aware = auc_difference(*copied, groups=np.repeat(np.arange(120), 4))
    assert blind.p < plain.p / 5
    assert aware.p == pytest.approx(plain.p, rel=1e-9)
    assert aware.difference == pytest.approx(plain.difference)


def test_one_group_of_a_class_gives_no_interval():
    a, b, accept = two_models(n=40)
    groups = np.where(accept, 99, np.arange(40))
    assert auc_difference(a, b, accept, groups=groups).interval is None


def test_gains_and_losses_that_cancel_within_every_group_leave_no_variance():
    """Rounding must not make an interval of what is nothing."""
    accept, groups = np.tile([True, False, False, False], 9), np.repeat(np.arange(9), 4)
    level, per_group = 1.0 - accept, np.repeat([5.0, 3, 1, 4, 8, 6, 2, 7, 0], 4)
    assert 0 < auc_covariance([placements(per_group, accept)], accept, groups)[0, 0] < 1e-28
    assert auc_difference(level, per_group, accept, groups=groups).interval is None
    assert auc_difference(level, per_group, accept).interval is not None


def test_a_large_difference_has_a_p_value_above_zero():
    rng = np.random.default_rng(3)
    accept = np.arange(20_000) % 2 == 0
    a, b = rng.normal(size=20_000), rng.normal(size=20_000) + 3 * accept
    assert 0 < auc_difference(a, b, accept).p <= 1e-30


def test_errors():
    with pytest.raises(DataError, match="needs accepts and rejects"):
        auc_difference(np.arange(3.0), np.arange(3.0), np.ones(3, dtype=bool))
    with pytest.raises(ShapeError, match="scores of B"):
        auc_difference(np.arange(3.0), np.arange(4.0), np.ones(3, dtype=bool))

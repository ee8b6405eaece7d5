"""The sweep: attainable rules only, whole counts, and cutoffs that hold between any two floats."""

import math

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st
from made_scores import by_hand, normal_scores, split, tied_rows

from closecall.calibration.curve import error_curve
from closecall.calibration.inputs import round_scores
from closecall.errors import DataError, NonFiniteError, ShapeError, UsageError, VectorError
from closecall.records import Label

WHERE = ("mid", "strict", "loose")


def as_record(counts):
    return {name: getattr(counts, name) for name in counts.__struct_fields__}


@given(tied_rows())
def test_every_rule_once_and_its_counts(rows):
    scores, labels = split(rows)
    curve = error_curve(scores, labels)
    distinct = sorted(set(scores.tolist()), reverse=True)
    assert curve.levels.tolist() == distinct
    assert len(curve.true_accepts) == len(distinct) + 1
    assert as_record(curve.counts(0)) == by_hand(scores, labels, math.inf)
    for row in range(1, len(distinct) + 1):
        for where in WHERE:
            cutoff = curve.cutoff(row, where)
            assert as_record(curve.counts(row)) == by_hand(scores, labels, cutoff)
            assert curve.row(cutoff) == row
    assert as_record(curve.counts(len(distinct))) == by_hand(scores, labels, -math.inf)


def test_a_tie_is_never_split():
    curve = error_curve([0.5, 0.5], [True, False])
    assert curve.true_accepts.tolist() == [0, 1]
    assert curve.false_accepts.tolist() == [0, 1]


@given(tied_rows(least=2), st.randoms(use_true_random=False))
def test_the_order_of_rows_is_nothing(rows, random):
    shuffled = list(rows)
    random.shuffle(shuffled)
    one, two = error_curve(*split(rows)), error_curve(*split(shuffled))
    assert one.levels.tobytes() == two.levels.tobytes()
    assert one.true_accepts.tobytes() == two.true_accepts.tobytes()
    assert one.false_accepts.tobytes() == two.false_accepts.tobytes()


@given(
    st.floats(allow_nan=False, allow_infinity=False),
    st.integers(0, 3),
    st.sampled_from(WHERE),
    st.sampled_from([np.float32, np.float64]),
)
def test_adjacent_floats(low, steps, where, dtype):
    with np.errstate(all="ignore"):
        low = high = dtype(low)
        for _ in range(steps + 1):
            high = np.nextafter(high, dtype(math.inf))
    if not (np.isfinite(low) and np.isfinite(high)):
        return
    scores = np.array([high, low], dtype=dtype)
    curve = error_curve(scores, [True, False], decimals=None)
    cutoff = curve.cutoff(1, where)
    assert (scores.astype(float) >= cutoff).tolist() == [True, False]


@pytest.mark.parametrize("where", WHERE)
def test_the_widest_and_the_smallest_gap(where):
    for low, high in [(-1.7e308, 1.7e308), (0.0, 5e-324), (-5e-324, 0.0)]:
        curve = error_curve([high, low], [True, False], decimals=None)
        assert low < curve.cutoff(1, where) <= high


def test_where_in_the_gap():
    curve = error_curve([0.8, 0.4], ["accept", "reject"])
    assert curve.cutoff(1, "strict") == 0.8
    assert curve.cutoff(1, "mid") == pytest.approx(0.6)
    assert curve.cutoff(1, "loose") == math.nextafter(0.4, 1)
    assert (curve.gap(1).low, curve.gap(1).high) == (0.4, 0.8)
    assert curve.gap(2).low is None
    assert {curve.cutoff(2, where) for where in WHERE} == {0.4}
    with pytest.raises(UsageError, match="mid, strict, loose"):
        curve.cutoff(1, "middle")
    for row in (0, 3):
        with pytest.raises(UsageError, match="from 1 to 2"):
            curve.cutoff(row)


def test_minus_zero_is_zero():
    curve = error_curve([-0.0, 0.0, -1e-9], [True, False, True])
    assert curve.levels.tolist() == [0.0]
    assert math.copysign(1, curve.levels[0]) == 1
    assert error_curve([-0.0, 0.0], [True, False], decimals=None).levels.tolist() == [0.0]


def test_scores_are_rounded_unless_told_otherwise():
    scores, labels = [0.1234561, 0.1234564], [True, False]
    assert error_curve(scores, labels).levels.tolist() == [0.123456]
    assert error_curve(scores, labels, decimals=None).levels.tolist() == scores[::-1]
    assert round_scores([1e300, -1e300, 2.0**51]).tolist() == [1e300, -1e300, 2.0**51]
    with pytest.raises(UsageError, match="decimals"):
        error_curve(scores, labels, decimals=1.5)


@pytest.mark.parametrize(
    "labels",
    [
        [True, False, True],
        np.array([True, False, True]),
        [Label.ACCEPT, Label.REJECT, Label.ACCEPT],
        ["accept", "reject", "accept"],
        np.array(["accept", "reject", "accept"]),
        np.array(["accept", "reject", Label.ACCEPT], dtype=object),
        (np.True_, "reject", Label.ACCEPT),
    ],
    ids=str,
)
def test_labels_that_are_labels(labels):
    assert error_curve([0.9, 0.5, 0.1], labels).true_accepts.tolist() == [0, 1, 1, 2]


@pytest.mark.parametrize(
    ("labels", "named"),
    [
        ([1, 0, 1], r"labels\[0\] is 1"),
        (np.array([1, 0, 1]), r"labels\[0\] is 1"),
        ([True, None, False], r"labels\[1\] is None"),
        (["accept", "Reject", "accept"], r"labels\[1\] is 'Reject'"),
        (["accept", "yes", "no"], r"'yes'.*'no'"),
        ([True, math.nan, False], r"labels\[1\] is nan"),
        ([True, [], False], r"labels\[1\] is \[\]"),
        ([0.5, 0.5, 0.5], r"labels\[0\] is 0.5"),
    ],
)
def test_labels_that_are_not(labels, named):
    with pytest.raises(DataError, match=named) as caught:
        error_curve([0.9, 0.5, 0.1], labels)
    assert "'accept' and 'reject'" in str(caught.value)


def test_many_wrong_labels_are_counted_not_listed():
    with pytest.raises(DataError, match="and 7 more"):
        error_curve([0.5] * 10, [2] * 10)


@pytest.mark.parametrize("bad", [math.nan, math.inf, -math.inf])
def test_a_score_that_is_no_number(bad):
    with pytest.raises(NonFiniteError, match=r"scores\[1\]"):
        error_curve([0.5, bad, 0.1], [True, False, True])


def test_scores_that_are_no_row_of_numbers():
    for scores in ([], [[0.1, 0.2]], 0.5):
        with pytest.raises(ShapeError):
            error_curve(scores, [])
    for scores in (["0.1"], [True], [None], [1j]):
        with pytest.raises(VectorError, match="dtype"):
            error_curve(scores, [True])
    with pytest.raises(ShapeError, match=r"labels \(1,\) do not fit scores \(2,\)"):
        error_curve([0.1, 0.2], [True])


def test_arguments_are_left_as_they_are_and_results_cannot_be_written():
    scores, labels = normal_scores(5, 5)
    kept = scores.copy()
    curve = error_curve(scores, labels)
    assert scores.tobytes() == kept.tobytes()
    for array in (curve.levels, curve.true_accepts, curve.false_accepts):
        with pytest.raises(ValueError, match="read-only"):
            array[0] = 1

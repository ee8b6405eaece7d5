"""Scales, labels and the pass rule, at every boundary."""

import math
import subprocess
import sys
from fractions import Fraction

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

from closecall.errors import NonFiniteError, UsageError
from closecall.metrics.normalizer import BANDS, LABELS, ScoreNormalizer

METHODS = [
    ScoreNormalizer.from_similarity,
    ScoreNormalizer.to_similarity,
    ScoreNormalizer.from_five_point,
    ScoreNormalizer.to_five_point,
    ScoreNormalizer.passes,
    ScoreNormalizer.label,
]
CONVERSIONS = METHODS[:4]
names = pytest.mark.parametrize("method", METHODS, ids=lambda m: m.__name__)
finite = st.floats(-1e9, 1e9)


@pytest.mark.parametrize(
    ("method", "value", "expected"),
    [
        ("from_similarity", -0.3, 0.0),
        ("from_similarity", 0.0, 0.0),
        ("from_similarity", 0.85, 85.0),
        ("from_similarity", 1.0, 100.0),
        ("from_similarity", 1.0000001, 100.0),
        ("to_similarity", -5, 0.0),
        ("to_similarity", 70, 0.7),
        ("to_similarity", 100, 1.0),
        ("to_similarity", 140, 1.0),
        ("from_five_point", 0, 0.0),
        ("from_five_point", 1, 0.0),
        ("from_five_point", 2, 25.0),
        ("from_five_point", 3, 50.0),
        ("from_five_point", 3.5, 62.5),
        ("from_five_point", 4, 75.0),
        ("from_five_point", 5, 100.0),
        ("from_five_point", 6, 100.0),
        ("to_five_point", -1, 1.0),
        ("to_five_point", 0, 1.0),
        ("to_five_point", 25, 2.0),
        ("to_five_point", 50, 3.0),
        ("to_five_point", 75, 4.0),
        ("to_five_point", 100, 5.0),
        ("to_five_point", 101, 5.0),
    ],
)
def test_conversions(method, value, expected):
    convert = getattr(ScoreNormalizer, method)
    assert convert(value) == pytest.approx(expected, rel=1e-15, abs=0)
    assert type(convert(value)) is float
    array = convert([value, value])
    assert array.dtype == np.float64
    assert array.tolist() == [convert(value)] * 2


def test_every_band_begins_at_its_boundary():
    expected = [
        (90.0, "Excellent", "Good"),
        (75.0, "Good", "Satisfactory"),
        (60.0, "Satisfactory", "Needs Improvement"),
        (40.0, "Needs Improvement", "Poor"),
        (20.0, "Poor", "Very Poor"),
    ]
    for boundary, at, below in expected:
        assert ScoreNormalizer.label(boundary) == at
        assert ScoreNormalizer.label(math.nextafter(boundary, 0)) == below
        assert ScoreNormalizer.label(math.nextafter(boundary, 200)) == at
    assert sorted(b for b, _, _ in expected) == list(BANDS)
    assert ScoreNormalizer.label(100) == ScoreNormalizer.label(150) == "Excellent"
    assert ScoreNormalizer.label(0) == ScoreNormalizer.label(-3) == "Very Poor"


def test_the_default_cutoff_is_seventy_and_inclusive():
    assert ScoreNormalizer.passes(70) is True
    assert ScoreNormalizer.passes(math.nextafter(70, 0)) is False
    assert ScoreNormalizer.passes(50, cutoff=50) is True
    assert ScoreNormalizer.passes([69.9, 70, 71]).tolist() == [False, True, True]
    assert ScoreNormalizer.passes([49, 50], 50).dtype == np.bool_


@given(finite, finite)
@pytest.mark.parametrize("method", CONVERSIONS, ids=lambda m: m.__name__)
def test_conversions_never_reverse_an_order(method, a, b):
    low, high = sorted((a, b))
    assert method(low) <= method(high)


@given(finite, finite)
def test_labels_never_reverse_an_order(a, b):
    low, high = sorted((a, b))
    rank = LABELS.index
    assert rank(ScoreNormalizer.label(low)) <= rank(ScoreNormalizer.label(high))


@given(st.floats(0, 1))
def test_a_similarity_survives_the_round_trip(value):
    there = ScoreNormalizer.from_similarity(value)
    assert 0.0 <= there <= 100.0
    assert ScoreNormalizer.to_similarity(there) == pytest.approx(value, rel=1e-15, abs=1e-320)


@given(st.floats(1, 5))
def test_a_rating_survives_the_round_trip(value):
    there = ScoreNormalizer.from_five_point(value)
    assert ScoreNormalizer.to_five_point(there) == pytest.approx(value, rel=1e-15)


@names
@given(st.lists(finite, max_size=8))
def test_arrays_and_numbers_agree_to_the_last_bit(method, values):
    result = method(np.array(values))
    assert isinstance(result, np.ndarray)
    assert result.tolist() == [method(v) for v in values]


@names
def test_shapes_are_kept(method):
    assert method(np.zeros((2, 3, 4))).shape == (2, 3, 4)
    assert method(np.zeros((0, 3))).shape == (0, 3)
    assert method([]).shape == (0,)
    assert method([[1, 2], [3, 4]]).shape == (2, 2)


@names
@pytest.mark.parametrize("bad", [math.nan, math.inf, -math.inf])
def test_nan_and_infinity_are_refused(method, bad):
    with pytest.raises(NonFiniteError, match="must be finite, got"):
        method(bad)
    with pytest.raises(NonFiniteError, match=r"\[1\] must be finite, got"):
        method([1.0, bad])
    with pytest.raises(NonFiniteError, match=r"\[1, 0\] must be finite"):
        method(np.array([[1.0], [bad]], dtype=np.float32))
    with pytest.raises(NonFiniteError, match="must be finite"):
        method(np.array(bad))


@names
@pytest.mark.parametrize(
    "bad", ["70", b"70", None, True, [True], ["a"], 1j, [None], [[1], [2, 3]]]
)
def test_what_is_no_number_is_refused(method, bad):
    with pytest.raises(UsageError):
        method(bad)


@pytest.mark.parametrize("bad", ["70", None, [70], True])
def test_a_cutoff_is_one_number(bad):
    with pytest.raises(UsageError, match="cutoff must be one number"):
        ScoreNormalizer.passes(70, bad)


def test_a_cutoff_must_be_finite():
    with pytest.raises(NonFiniteError, match="cutoff must be finite"):
        ScoreNormalizer.passes(70, math.nan)


@pytest.mark.parametrize("value", [1, np.float32(1), np.int64(1), np.float64(1), Fraction(1)])
def test_any_real_number_is_a_number(value):
    assert ScoreNormalizer.from_similarity(value) == 100.0
    assert type(ScoreNormalizer.from_similarity(value)) is float


def test_a_number_too_large_for_a_float_is_refused():
    with pytest.raises(NonFiniteError, match="beyond the range"):
        ScoreNormalizer.label(10**400)


def test_numbers_do_not_load_numpy():
    program = (
        "import sys\n"
        "from closecall.metrics.normalizer import ScoreNormalizer as s\n"
        "s.label(s.from_similarity(0.5)), s.passes(70), s.to_five_point(3), s.from_five_point(3)\n"
        "sys.exit('numpy' in sys.modules)\n"
    )
    assert subprocess.run([sys.executable, "-c", program], check=False).returncode == 0

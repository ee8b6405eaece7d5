"""How numbers are put into words: no more digits than the rows carry, and never prettier."""

import math
import re
from fractions import Fraction

import pytest
from hypothesis import example, given
from hypothesis import strategies as st

from closecall.calibration.binomial import observed_rate
from closecall.calibration.figures import (
    about,
    at_most,
    count_of,
    limit,
    one_in,
    percent,
    plain,
    span,
    sure,
)
from closecall.calibration.records import Interval

SHARES = st.floats(1e-6, 1.0, allow_subnormal=False)


def number(text):
    assert text.endswith("%")
    return Fraction(text.removesuffix("%")) / 100


def digits(text):
    return re.sub(r"[^0-9]", "", text).lstrip("0")


@pytest.mark.parametrize(
    ("share", "n", "text"),
    [
        (7 / 118, 118, "5.9%"),
        (41 / 294, 294, "14%"),
        (0.1234, 999, "12%"),
        (0.1234, 1000, "12.3%"),
        (0.0, 30, "0%"),
        (1.0, 30, "100%"),
        (0.0996, 100, "10%"),
        (0.00034, 100, "0.034%"),
        (0.05, 100, "5.0%"),
        (0.996, 100, ">99%"),
        (0.99996, 5000, ">99%"),
        (0.5, 2000, "50.0%"),
    ],
)
def test_percent(share, n, text):
    assert percent(share, n) == text


@given(SHARES, st.sampled_from([5, 118, 999, 1000, 10**6]))
@example(0.0995, 100)
@example(0.00995, 100)
@example(0.9999999999999999, 5)
def test_a_percentage_has_the_digits_its_rows_carry(share, n):
    text = percent(share, n)
    if text == ">99%":
        assert share > 0.99
        return
    most = 3 if n >= 1000 else 2
    kept = "100" if text == "100%" else digits(text)
    assert len(kept) <= most or text == "100%"
    # Rounded to the nearest in its last digit, and never to nothing or to all.
    assert (
        abs(number(text) - Fraction(share)) <= Fraction(share) / (10 ** (most - 1) * 2) * 11 / 10
    )
    assert (text == "0%") == (share == 0)
    assert (text == "100%") == (share > 1 - 1e-12)


@given(SHARES)
@example(0.05)
@example(0.0500001)
@example(0.1 + 0.2)
def test_at_most_is_never_less(share):
    text = at_most(share)
    if text == ">99%":
        assert share > 0.99
        return
    assert number(text) >= Fraction(share) * (1 - Fraction(1, 10**11))
    assert number(text) <= Fraction(share) * Fraction(12, 10)
    assert len(digits(text)) <= 3


@pytest.mark.parametrize(
    ("share", "text"),
    [
        (0.05, "5%"),
        (0.0481, "4.9%"),
        (0.1 + 0.2, "30%"),
        (0.0, "0%"),
        (0.05 / 3, "1.7%"),
        (1.0, "100%"),
    ],
)
def test_at_most_of_round_numbers(share, text):
    assert at_most(share) == text


@given(st.floats(1e-9, 1.0, exclude_max=True))
@example(1 / 59)
@example(1 / 58.9999)
@example(1 / 3)
@example(8 / 23)
@example(0.5)
def test_one_in_n_never_sounds_rarer_than_it_is(share):
    text = one_in(share)
    if text.startswith("1 in "):
        told = Fraction(1, int(text.removeprefix("1 in ").replace(",", "")))
        assert told >= Fraction(share) * (1 - Fraction(1, 10**12))
        # Nor much more often: the next number would be too rare.
        assert Fraction(1, told.denominator + 1) <= Fraction(share) * (1 + Fraction(1, 10**12))
    elif text != ">99%":
        assert Fraction(share) > Fraction(1, 3)
        assert number(text) >= Fraction(share) * (1 - Fraction(1, 10**11))


def test_one_in_n_of_nothing():
    assert one_in(None) == "none"
    assert one_in(0.0) == "0"
    assert one_in(1e-5) == "1 in 100,000"
    assert one_in(1.0) == "100%"


def test_more_than_a_third_is_told_as_a_percentage():
    assert (one_in(1 / 3), one_in(0.334), one_in(8 / 23)) == ("1 in 3", "34%", "35%")
    assert (one_in(0.5), one_in(0.501)) == ("50%", "51%")


def test_a_rate_gives_its_count_its_n_and_its_interval():
    assert count_of(observed_rate(7, 118)) == "7 of 118 = 5.9% (95% interval 2.4-12%)"
    assert count_of(observed_rate(0, 30)) == "0 of 30 = 0% (95% interval 0-12%)"
    assert count_of(observed_rate(30, 30)) == "30 of 30 = 100% (95% interval 88-100%)"
    assert count_of(observed_rate(1234, 5678, level=0.9)) == (
        "1,234 of 5,678 = 21.7% (90% interval 20.8-22.7%)"
    )


def test_the_ends_of_an_interval_stay_apart():
    ends = Interval(low=0.97, high=0.9999, level=0.95, method="x")
    assert span(ends, 100) == "97% to >99%"


def test_what_somebody_chose_keeps_all_its_digits():
    assert [limit(share) for share in (0.05, 0.125, 0.07, 0.29, 0.0005)] == [
        "5%", "12.5%", "7%", "29%", "0.05%",
    ]  # fmt: skip


@given(st.integers(-(10**8), 10**8))
def test_a_cutoff_is_shown_as_it_is_compared(millionths):
    value = millionths / 10**6
    assert math.isclose(float(plain(value)), value, rel_tol=0, abs_tol=1e-9)
    assert float(plain(round(value, 6))) == round(value, 6)


@pytest.mark.parametrize(
    ("count", "n", "said"),
    [(0, 9, "none"), (9, 9, "all"), (1, 10, "about 1 in 10"), (1, 11, "about 1 in 11"),
     (99, 100, "about 9 in 10"), (1, 2, "about 5 in 10")],
)  # fmt: skip
def test_a_share_without_reckoning(count, n, said):
    assert about(count, n) == said


@pytest.mark.parametrize(
    ("delta", "said"),
    [(0.05, "95%"), (0.123, "87.7%"), (0.0001, "99.99%"), (0.05 / 3, "98.3%"), (0.05 / 7, "99.28%")],
)  # fmt: skip
def test_a_confidence_of_many_digits_never_sounds_surer_than_it_is(delta, said):
    assert sure(delta) == said
    assert float(said.removesuffix("%")) <= 100 * (1 - delta) + 1e-9

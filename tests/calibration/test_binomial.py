"""Exact binomial numbers: the planning table, duality, coverage, and counts that stay counts."""

import math
import subprocess
import sys
from fractions import Fraction
from math import comb

import pytest
from hypothesis import example, given
from hypothesis import strategies as st

from closecall.calibration.binomial import (
    best_limit,
    binomial_cdf,
    clopper_pearson,
    complement,
    fewest_labels,
    lower_bound,
    most_errors,
    observed_rate,
    upper_bound,
)
from closecall.errors import UsageError

# Fewest labels at 95% confidence, by limit and number of errors.
PLAN = {
    0.01: [299, 473, 628, 773, 913, 1049, 1441, 1693, 2306, 2902],
    0.02: [149, 236, 313, 386, 456, 523, 719, 845, 1151, 1449],
    0.05: [59, 93, 124, 153, 181, 208, 286, 336, 458, 577],
    0.10: [29, 46, 61, 76, 89, 103, 142, 167, 227, 286],
}
ERRORS = [0, 1, 2, 3, 4, 5, 8, 10, 15, 20]

# How many errors are allowed at n labels, for limits 5% and 10%.
ALLOWED = {
    29: (None, 0), 50: (None, 1), 59: (0, 1), 75: (0, 2), 100: (1, 4), 150: (2, 8),
    200: (4, 12), 300: (8, 21), 500: (16, 38), 1000: (38, 84), 2000: (83, 177),
}  # fmt: skip

shares = st.floats(0.001, 0.999)


def exact_cdf(k, n, p):
    p = Fraction(p)
    return float(sum(comb(n, i) * p**i * (1 - p) ** (n - i) for i in range(k + 1)))


@pytest.mark.parametrize("limit", PLAN)
def test_planning_table(limit):
    assert [fewest_labels(limit, 0.05, k) for k in ERRORS] == PLAN[limit]


@pytest.mark.parametrize("limit", [0.05, 0.10])
def test_planning_table_by_linear_scan_and_by_bound(limit):
    def summed(k, n):
        return sum(comb(n, i) * limit**i * (1 - limit) ** (n - i) for i in range(k + 1))

    for k, n in zip(ERRORS, PLAN[limit], strict=True):
        scan = next(m for m in range(k + 1, 700) if summed(k, m) <= 0.05)
        bound = next(m for m in range(k + 1, 700) if upper_bound(k, m, 0.05) <= limit)
        assert scan == bound == n


@pytest.mark.parametrize(
    ("delta", "row"), [(0.10, [230, 114, 45, 22]), (0.01, [459, 228, 90, 44])]
)
def test_planning_at_other_confidence(delta, row):
    assert [fewest_labels(limit, delta) for limit in PLAN] == row


@pytest.mark.parametrize("n", ALLOWED)
def test_allowed_errors(n):
    assert (most_errors(n, 0.05, 0.05), most_errors(n, 0.10, 0.05)) == ALLOWED[n]


@pytest.mark.parametrize(("n", "percent"), [(10, 25.9), (20, 13.9), (30, 9.5), (50, 5.8)])
def test_best_limit_of_few_labels(n, percent):
    assert round(100 * best_limit(n, 0.05), 1) == percent


@given(st.integers(1, 400), shares, st.data())
def test_best_limit_is_granted_and_a_smaller_one_is_not(n, delta, data):
    errors = data.draw(st.integers(0, min(n - 1, 20)))
    limit = best_limit(n, delta, errors)
    if limit is not None and 1e-9 < limit < 1 - 1e-9:
        assert most_errors(n, limit, delta) >= errors
        allowed = most_errors(n, limit * (1 - 1e-6), delta)
        assert allowed is None or allowed < errors


def test_labels_that_are_all_wrong_back_nothing():
    assert best_limit(0, 0.05) is None
    assert best_limit(3, 0.05, 3) is None


@given(st.integers(0, 60), st.integers(0, 60), shares)
def test_cdf_against_exact_fractions(k, n, p):
    want = 1.0 if k >= n else exact_cdf(k, n, p)
    assert binomial_cdf(k, n, p) == pytest.approx(want, rel=1e-9, abs=1e-300)


def test_cdf_at_the_ends():
    assert binomial_cdf(-1, 5, 0.2) == 0.0
    assert binomial_cdf(5, 5, 0.2) == 1.0
    assert binomial_cdf(2, 5, 0.0) == 1.0
    assert binomial_cdf(2, 5, 1.0) == 0.0


@given(st.integers(1, 2000), st.data(), shares, shares)
@example(25, None, 0.28, 0.6)
def test_duality(n, data, limit, delta):
    k = 7 if data is None else data.draw(st.integers(0, n - 1))
    inside, bound = binomial_cdf(k, n, limit), upper_bound(k, n, delta)
    if abs(inside - delta) > 1e-9 and abs(bound - limit) > 1e-12:
        assert (inside <= delta) == (bound <= limit)


@given(st.integers(1, 3000), shares, shares)
def test_allowed_errors_are_the_most(n, limit, delta):
    allowed = most_errors(n, limit, delta)
    assert allowed is None or binomial_cdf(allowed, n, limit) <= delta
    assert binomial_cdf(0 if allowed is None else allowed + 1, n, limit) > delta


@pytest.mark.parametrize("n", [1, 7, 25, 60])
@pytest.mark.parametrize("delta", [0.05, 0.2])
def test_bounds_cover_by_enumeration(n, delta):
    for step in range(1, 100):
        p = step / 100
        mass = [comb(n, k) * p**k * (1 - p) ** (n - k) for k in range(n + 1)]
        upper = sum(m for k, m in enumerate(mass) if upper_bound(k, n, delta) >= p)
        lower = sum(m for k, m in enumerate(mass) if lower_bound(k, n, delta) <= p)
        both = sum(
            m for k, m in enumerate(mass)
            if (i := clopper_pearson(k, n, 1 - delta)).low <= p <= i.high
        )  # fmt: skip
        assert min(upper, lower, both) >= 1 - delta - 1e-12


def test_published_intervals():
    """Observed 5% of 100, 200, 500 and 1000, two-sided at 95%."""
    for n, want in [(100, (1.6, 11.3)), (200, (2.4, 9.0)), (500, (3.3, 7.3)), (1000, (3.7, 6.5))]:
        interval = clopper_pearson(n // 20, n)
        assert (round(100 * interval.low, 1), round(100 * interval.high, 1)) == pytest.approx(
            want, abs=0.051
        )
        assert (interval.level, interval.method) == (0.95, "clopper-pearson")


def test_ends_of_an_interval():
    assert (clopper_pearson(0, 9).low, clopper_pearson(9, 9).high) == (0.0, 1.0)
    assert lower_bound(4, 9, 0.05) == pytest.approx(1 - upper_bound(5, 9, 0.05), rel=1e-12)


def test_real_valued_counts_lie_between_whole_ones():
    bounds = [upper_bound(k, 60, 0.05) for k in (2, 2.5, 3)]
    assert bounds == sorted(set(bounds))
    assert upper_bound(3 / 1.5, 60 / 1.5, 0.05) > upper_bound(3, 60, 0.05)


def test_counts_are_never_recomputed_from_a_rate():
    """7 / 25 * 25 rounds up to 7.000000000000001: a ceiling would make it 8."""
    assert math.ceil(25 * (7 / 25)) == 8
    rate = observed_rate(7, 25)
    assert (rate.count, rate.n, rate.value) == (7, 25, 0.28)
    limit = best_limit(25, 0.05, 7)
    assert most_errors(25, limit, 0.05) == 7
    assert rate.interval == clopper_pearson(7, 25)


def test_no_rate_over_nothing():
    assert observed_rate(0, 0) is None
    with pytest.raises(UsageError, match="no interval"):
        clopper_pearson(0, 0)


def test_complement_is_decimal():
    assert 1 - 0.95 != 0.05
    assert [complement(level) for level in (0.95, 0.9, 0.99)] == [0.05, 0.1, 0.01]


@pytest.mark.parametrize("value", [0, 1, -0.1, 1.5, math.nan, math.inf, "0.05", True, None])
def test_shares_out_of_range(value):
    with pytest.raises(UsageError, match="between 0 and 1"):
        most_errors(10, value, 0.05)
    with pytest.raises(UsageError, match="between 0 and 1"):
        upper_bound(1, 10, value)


@pytest.mark.parametrize(("k", "n"), [(-1, 5), (6, 5), (math.nan, 5), (1, math.inf)])
def test_impossible_counts(k, n):
    with pytest.raises(UsageError, match="no rate"):
        upper_bound(k, n, 0.05)


def test_importing_loads_nothing_heavy():
    code = (
        "import sys, closecall.calibration as c\n"
        "assert not {'numpy', 'scipy', 'msgspec'} & set(sys.modules)\n"
        "c.fit_cutoff\n"
        "assert 'numpy' in sys.modules and 'scipy' not in sys.modules\n"
        "assert set(c.__all__) <= set(dir(c)) and c.__all__ == sorted(c.__all__)\n"
        "assert all(getattr(c, name) for name in c.__all__)\n"
    )
    subprocess.run([sys.executable, "-c", code], check=True, timeout=60)

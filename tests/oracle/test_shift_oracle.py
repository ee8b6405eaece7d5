"""Two-sample distances and their permutation p-values against scipy and full enumeration."""

from itertools import combinations

import numpy as np
import pytest
from scipy import stats

from closecall.calibration.drift.two_samples import hits, holm, kinds, numbers


@pytest.mark.parametrize("seed", range(20))
@pytest.mark.parametrize("ties", [False, True], ids=["distinct", "ties"])
def test_kolmogorov_smirnov_distance(seed, ties):
    rng = np.random.default_rng(seed)
    one, two = rng.normal(0, 1, rng.integers(1, 60)), rng.normal(0.5, 1, rng.integers(1, 60))
    if ties:
        one, two = one.round(), two.round()
    assert numbers(one, two).statistic == pytest.approx(stats.ks_2samp(one, two).statistic)


@pytest.mark.parametrize("seed", range(20))
def test_total_variation_distance(seed):
    rng = np.random.default_rng(seed)
    one, two = (rng.choice(list("abcde"), rng.integers(1, 60)).tolist() for _ in range(2))
    want = sum(abs(one.count(v) / len(one) - two.count(v) / len(two)) for v in "abcde") / 2
    assert kinds(one, two).statistic == pytest.approx(want)


@pytest.mark.parametrize("kind", ["ks", "tv"])
@pytest.mark.parametrize("seed", range(4))
def test_permutation_p_value_is_that_of_all_splits(kind, seed):
    rng = np.random.default_rng(seed)
    both = rng.integers(0, 4, 11) if kind == "tv" else rng.integers(0, 8, 11)
    make = (lambda a, b: kinds(list(map(str, a)), list(map(str, b)))) if kind == "tv" else numbers
    found = make(both[:5], both[5:])
    splits = [
        make(both[list(chosen)], np.delete(both, list(chosen))).statistic
        for chosen in combinations(range(11), 5)
    ]
    want = np.mean(np.array(splits) >= found.statistic - 1e-12)
    drawn = 20_000
    (count,) = hits([found], drawn, seed)
    assert abs(count / drawn - want) <= 4 * np.sqrt(max(want * (1 - want), 1e-4) / drawn)


@pytest.mark.parametrize("seed", range(30))
def test_holm(seed):
    """Against the adjusted p-values: the largest so far of (number of tests left) * p."""
    rng = np.random.default_rng(seed)
    counts = rng.integers(0, 40, rng.integers(1, 9)).tolist()
    p = (np.array(counts) + 1) / 1000
    order = np.argsort(p, kind="stable")
    adjusted = np.empty(len(p))
    adjusted[order] = np.maximum.accumulate(p[order] * np.arange(len(p), 0, -1))
    assert holm(counts, 999, 0.05) == (adjusted <= 0.05).tolist()

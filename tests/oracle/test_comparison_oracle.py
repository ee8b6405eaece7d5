"""Paired comparisons, the same numbers as scipy and scikit-learn, or as the sums by definition."""

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

from closecall.calibration.comparing.delong import auc_covariance, auc_difference, placements
from closecall.calibration.comparing.paired import SMALLEST_P, flips, mcnemar, sign_flip

stats = pytest.importorskip("scipy.stats")
metrics = pytest.importorskip("sklearn.metrics")


@given(st.integers(0, 3000), st.integers(0, 3000))
def test_mcnemar_is_the_binomial_test(only_a, only_b):
    total = only_a + only_b
    want = stats.binomtest(only_a, total, 0.5).pvalue if total else 1.0
    assert mcnemar(only_a, only_b) == pytest.approx(max(want, SMALLEST_P), rel=1e-7)


def test_mcnemar_on_all_small_tables():
    for only_a in range(25):
        for only_b in range(25):
            a = np.repeat([True, False, True, False], [only_a, only_b, 2, 3])
            b = np.repeat([False, True, True, False], [only_a, only_b, 2, 3])
            want = (
                stats.binomtest(only_b, max(1, only_a + only_b)).pvalue if only_a + only_b else 1
            )
            assert flips(a, b).p == pytest.approx(want, rel=1e-9)


@pytest.mark.parametrize("seed", range(6))
def test_sign_flip_is_the_permutation_test(seed):
    found = np.random.default_rng(seed).integers(-3, 4, 11)
    want = stats.permutation_test(
        (found,), lambda x, axis: np.abs(x.sum(axis=axis)), permutation_type="samples",
        n_resamples=np.inf, alternative="greater", vectorized=True,
    )  # fmt: skip
    assert sign_flip(found) == pytest.approx(want.pvalue, rel=1e-9)


@pytest.mark.parametrize("seed", range(4))
def test_sign_flip_of_many_groups_is_the_sum_over_binomials(seed):
    """Groups that differ by 1, and by 2: every pair of how many of each are negative."""
    rng = np.random.default_rng(seed)
    ones, twos = rng.integers(20, 300, 2)
    found = np.concatenate((rng.choice([-1, 1], ones, p=[0.4, 0.6]), rng.choice([-2, 2], twos)))
    below = np.arange(ones + 1)[:, None] + 2 * np.arange(twos + 1)
    odds = np.outer(*(stats.binom.pmf(np.arange(n + 1), n, 0.5) for n in (ones, twos)))
    far = np.abs(ones + 2 * twos - 2 * below) >= abs(found.sum())
    assert sign_flip(found) == pytest.approx(odds[far].sum(), rel=1e-9)


@pytest.fixture(params=range(8))
def rows(request):
    """Three scores of the same answers, more and more of them tied, in groups of uneven size."""
    rng = np.random.default_rng(request.param)
    n = int(rng.integers(12, 70))
    accept = rng.random(n) < rng.uniform(0.3, 0.7)
    accept[:3], accept[3:6] = True, False
    groups = rng.integers(0, max(4, n // 3), n)
    shared = rng.normal(size=n)[groups]
    scores = [np.round(shared + rng.normal(size=n) + accept, request.param % 4) for _ in range(3)]
    return scores, accept, groups


def psi(accept, reject):
    return 1.0 if accept > reject else 0.5 if accept == reject else 0.0


def by_definition(scores, accept):
    """Mean of psi over rejects for each accept, and over accepts for each reject: O(n0 n1)."""
    accepts, rejects = scores[accept], scores[~accept]
    table = np.array([[psi(x, y) for y in rejects] for x in accepts])
    return table.mean(axis=1), table.mean(axis=0)


def test_areas_are_those_of_scikit_learn(rows):
    scores, accept, groups = rows
    found = auc_difference(scores[0], scores[1], accept, groups=groups)
    want = [metrics.roc_auc_score(accept, each) for each in scores[:2]]
    assert (found.auc_a, found.auc_b) == pytest.approx(tuple(want), abs=1e-12)


def test_covariance_by_definition(rows):
    scores, accept, _ = rows
    parts = [by_definition(each, accept) for each in scores]
    want = sum(np.cov(np.array([part[of] for part in parts])) / len(parts[0][of]) for of in (0, 1))
    found = auc_covariance([placements(each, accept) for each in scores], accept)
    assert found == pytest.approx(want, rel=1e-9, abs=1e-15)


def test_interval_and_p_value_by_definition(rows):
    scores, accept, _ = rows
    found = auc_difference(scores[0], scores[1], accept)
    covariance = auc_covariance([placements(each, accept) for each in scores[:2]], accept)
    error = np.sqrt(covariance[0, 0] + covariance[1, 1] - 2 * covariance[0, 1])
    difference = found.auc_b - found.auc_a
    assert found.p == pytest.approx(2 * stats.norm.sf(abs(difference) / error), rel=1e-6)
    want = stats.norm.interval(0.95, difference, error)
    assert (found.interval.low, found.interval.high) == pytest.approx(want, abs=1e-9)


def test_clustered_covariance_by_definition(rows):
    """The sums of Obuchowski (1997), one group after the other."""
    scores, accept, groups = rows
    names = sorted(set(groups.tolist()))
    n1, n0 = accept.sum(), (~accept).sum()

    def sums(each):
        up, down = by_definition(each, accept)
        area = up.mean()
        in_group = [(groups[accept] == name, groups[~accept] == name) for name in names]
        return [
            ((up[ours] - area).sum(), (down[theirs] - area).sum()) for ours, theirs in in_group
        ]

    with_accepts = len(set(groups[accept].tolist()))
    with_rejects = len(set(groups[~accept].tolist()))
    found = auc_covariance([placements(each, accept) for each in scores], accept, groups)
    per = [sums(each) for each in scores]
    for i, one in enumerate(per):
        for j, other in enumerate(per):
            s10 = sum(x[0] * y[0] for x, y in zip(one, other, strict=True))
            s01 = sum(x[1] * y[1] for x, y in zip(one, other, strict=True))
            s11 = sum(x[0] * y[1] + x[1] * y[0] for x, y in zip(one, other, strict=True))
            want = (
                with_accepts / (with_accepts - 1) * s10 / n1**2
                + with_rejects / (with_rejects - 1) * s01 / n0**2
                + len(names) / (len(names) - 1) * s11 / (n1 * n0)
            )
            assert found[i, j] == pytest.approx(want, rel=1e-9, abs=1e-15)

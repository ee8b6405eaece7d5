"""Figures of a comparison of runs against scipy and against counts made by hand."""

import random

import numpy as np
import pytest
import scipy.stats

from closecall.calibration.comparing.mean_difference import mean_difference
from closecall.calibration.comparing.paired import MCNEMAR
from closecall.metrics.pooled import AnswerSimilarity
from closecall.records import Case, Label, State
from closecall.runs.comparing.figures import figures
from closecall.runs.comparing.pairs import MetricPairs, Seen
from closecall.runs.comparing.rule import decided, fewest
from closecall.runs.header import MetricPlan
from closecall.testing import HashEmbedder

PLAN = MetricPlan.of(AnswerSimilarity(), HashEmbedder().instrument)
STATES = (State.PASSED, State.FAILED, State.INCONCLUSIVE, State.ERROR, State.NOT_APPLICABLE)


def made(seed, n=80, groups=False):
    draw = random.Random(seed)
    rows = []
    for at in range(n):
        one, other = draw.choices(STATES, (5, 3, 1, 1, 1), k=2)
        group = draw.randrange(n // 3) if groups else at
        labels = draw.choice([None, Label.ACCEPT, Label.REJECT]), draw.choice([None, *Label])
        rows.append((at, group, one, draw.uniform(0, 100), other, draw.uniform(0, 100), *labels))
    pairs = MetricPairs("m", 100.0, n, 5)
    for at, _, one, value, *_ in rows:
        pairs.first(at, Seen(one, value if one.measured else None, "why"))
    for at, group, _, _, other, value, before, label in rows:
        seen = Seen(other, value if other.measured else None, "why")
        pairs.second(at, group, seen, Case(id=f"c{at:03}", label=label), before)
    return rows, figures(pairs, PLAN, PLAN, 0.95, values=True)


@pytest.mark.parametrize("seed", range(25))
def test_the_test_is_scipys_exact_binomial(seed):
    rows, found = made(seed)
    both = [row for row in rows if row[2].measured and row[4].measured]
    lost = sum(row[2] is State.PASSED and row[4] is not State.PASSED for row in both)
    gained = sum(row[2] is not State.PASSED and row[4] is State.PASSED for row in both)
    assert (found.flips.only_b, found.flips.only_a) == (lost, gained)
    assert found.flips.method == MCNEMAR
    two = scipy.stats.binomtest(lost, lost + gained).pvalue if lost + gained else 1.0
    assert found.flips.p == pytest.approx(two)
    one = scipy.stats.binomtest(lost, lost + gained, alternative="greater").pvalue
    if lost > gained:
        assert found.p_worse == pytest.approx(one)
    else:
        assert found.p_worse is None


@pytest.mark.parametrize("lost", range(13))
@pytest.mark.parametrize("gained", range(4))
def test_worse_is_what_scipy_finds_at_the_level(lost, gained):
    states = [(State.PASSED, State.FAILED)] * lost + [(State.FAILED, State.PASSED)] * gained
    states += [(State.PASSED, State.PASSED)] * 3
    pairs = MetricPairs("m", 100.0, len(states), 0)
    for at, (one, other) in enumerate(states):
        pairs.first(at, Seen(one, 1.0, ""))
        pairs.second(at, at, Seen(other, 1.0, ""), Case(id=str(at)), None)
    (found,) = decided([figures(pairs, PLAN, PLAN, 0.95, values=True)], 0.05, {})
    total = lost + gained
    beyond = total and scipy.stats.binomtest(lost, total, alternative="greater").pvalue <= 0.05
    assert (found.outcome == "worse") == bool(beyond)


@pytest.mark.parametrize("alpha", [0.5, 0.1, 0.05, 0.01, 0.001])
def test_the_fewest_cases_that_prove_something(alpha):
    least = fewest(alpha)
    assert scipy.stats.binomtest(least, least, alternative="greater").pvalue <= alpha
    if least > 1:
        assert scipy.stats.binomtest(least - 1, least - 1, alternative="greater").pvalue > alpha


@pytest.mark.parametrize("seed", range(10))
def test_every_case_is_counted_once(seed):
    rows, found = made(seed, groups=seed % 2 == 1)
    known = [(row[2], row[4]) for row in rows]
    asked = [pair for pair in known if pair != (State.NOT_APPLICABLE,) * 2]
    absent = {State.ERROR, State.NOT_APPLICABLE}
    assert found.measured == sum(a not in absent and b not in absent for a, b in asked)
    assert found.only_a == sum(a not in absent and b in absent for a, b in asked)
    assert found.only_b == sum(a in absent and b not in absent for a, b in asked)
    assert found.only_b_failed == sum(a in absent and b is State.FAILED for a, b in asked)
    assert found.neither == sum((a, b) == (State.ERROR, State.ERROR) for a, b in asked)
    assert sum(sum(row.values()) for row in found.verdicts.values()) == found.measured
    for a, row in found.verdicts.items():
        for b, count in row.items():
            assert count == known.count((State(a), State(b)))


@pytest.mark.parametrize("seed", range(5))
def test_error_rates_are_of_the_pairs_by_each_runs_own_labels(seed):
    rows, found = made(seed)
    both = [row for row in rows if row[2].measured and row[4].measured]
    for side, state, label in ((found.labelled_a, 2, 6), (found.labelled_b, 4, 7)):
        rejects = [row for row in both if row[label] is Label.REJECT]
        accepts = [row for row in both if row[label] is Label.ACCEPT]
        assert side.false_accepts.n == len(rejects)
        assert side.false_accepts.count == sum(row[state] is State.PASSED for row in rejects)
        assert side.false_rejects.n == len(accepts)
        assert side.false_rejects.count == sum(row[state] is State.FAILED for row in accepts)


@pytest.mark.parametrize("seed", range(5))
def test_means_and_movers_are_those_of_a_plain_loop(seed):
    rows, found = made(seed)
    both = [row for row in rows if row[2].measured and row[4].measured]
    by = {f"c{row[0]:03}": row[5] - row[3] for row in both}
    assert found.difference == pytest.approx(sum(by.values()) / len(by))
    up = sorted((one for one in by.items() if one[1] > 0), key=lambda kv: (-kv[1], kv[0]))
    down = sorted((one for one in by.items() if one[1] < 0), key=lambda kv: (kv[1], kv[0]))
    assert [case.id for case in found.rose] == [name for name, _ in up[:5]]
    assert [case.id for case in found.fell] == [name for name, _ in down[:5]]
    interval = scipy.stats.ttest_1samp(list(by.values()), 0).confidence_interval(0.95)
    assert (found.interval.low, found.interval.high) == pytest.approx(tuple(interval))


def test_the_interval_over_groups_is_that_of_whole_groups_of_one_size():
    draw = np.random.default_rng(3)
    sums = draw.normal(1, 2, 30)
    found = mean_difference(np.full(30, 4), sums, 0.9)
    plain = scipy.stats.ttest_1samp(sums / 4, 0).confidence_interval(0.9)
    assert (found.low, found.high) == pytest.approx(tuple(plain))


def test_there_is_no_interval_of_too_few_or_of_one_and_the_same_difference():
    assert mean_difference(np.ones(500, dtype=int), np.r_[np.ones(9), np.zeros(491)]) is None
    assert mean_difference(np.ones(500, dtype=int), np.r_[np.ones(10), np.zeros(490)]) is not None
    assert mean_difference(np.ones(50, dtype=int), np.full(50, 3.0)) is None

"""False alarms of everything that watches for shift: as rare as stated, and real shifts are seen.

CLOSECALL_LONG=1 runs ten times as many.
"""

import math
import os

import numpy as np
import pytest

from closecall.calibration.drift.far_monitor import FarMonitor
from closecall.calibration.drift.martingale import ExchangeabilityTest
from closecall.calibration.drift.profile import ProfileBuilder
from closecall.calibration.drift.shift import find_shift
from closecall.calibration.drift.two_samples import hits, kinds, numbers

TIMES = 10 if os.environ.get("CLOSECALL_LONG") == "1" else 1


def slack(p, runs):
    return 4 * np.sqrt(p * (1 - p) / runs)


# Permutation tests


@pytest.mark.parametrize("kind", ["distinct", "ties", "names"])
def test_p_values_of_samples_of_one_kind_are_uniform_or_larger(kind):
    runs, rng, found = 600 * TIMES, np.random.default_rng(0), []
    for run in range(runs):
        one, two = rng.normal(size=40), rng.normal(size=60)
        if kind == "names":
            pair = kinds([f"{x:.0f}" for x in one], [f"{x:.0f}" for x in two])
        else:
            pair = numbers(one, two) if kind == "distinct" else numbers(one.round(), two.round())
        found.append((hits([pair], 99, run)[0] + 1) / 100)
    found = np.array(found)
    for level in (0.01, 0.05, 0.1, 0.2, 0.5):
        assert np.mean(found <= level) <= level + slack(level, runs)
    # Not so careful as to see nothing: with few ties they are nearly uniform.
    if kind == "distinct":
        assert np.mean(found <= 0.2) >= 0.15 - slack(0.2, runs)


def made(rng, n, *, longer=0.0, questions=None, groups=True):
    """n cases whose score, length and mix of topics hang together, within a question as well."""
    builder = ProfileBuilder(seed=int(rng.integers(2**31)))
    of = np.arange(n) if questions is None else np.arange(n) % questions
    base = rng.normal(size=of.max() + 1)[of] + 0.3 * rng.normal(size=n)
    for at in range(n):
        builder.add(
            str(at),
            float(np.tanh(base[at])),
            int(np.exp(4 + longer + 0.5 * base[at])),
            1 + int(base[at] > 1),
            {"topic": "abc"[int(min(max(base[at] + 1, 0), 2))], "system": str(rng.integers(2))},
            group=f"q{of[at]}" if questions is not None and groups else None,
        )
    return builder.profile()


def rate_of_findings(runs, level, **more):
    rng = np.random.default_rng(7)
    found = 0
    for run in range(runs):
        one, two = made(rng, 120, **more), made(rng, 80, **more)
        found += bool(find_shift(one, two, seed=run, level=level, permutations=199).findings)
    return found / runs


def test_any_false_finding_is_as_rare_as_the_level():
    runs = 150 * TIMES
    assert rate_of_findings(runs, 0.1) <= 0.1 + slack(0.1, runs)


def test_cases_of_one_question_do_not_make_false_findings():
    runs = 100 * TIMES
    kept = rate_of_findings(runs, 0.1, questions=25)
    assert kept <= 0.1 + slack(0.1, runs)
    # The same cases, taken for independent: the promise would be broken.
    assert rate_of_findings(runs, 0.1, questions=25, groups=False) > 0.1 + slack(0.1, runs)


def test_longer_answers_are_seen():
    rng = np.random.default_rng(8)
    for run in range(20):
        report = find_shift(made(rng, 200), made(rng, 150, longer=1.0), seed=run)
        length = next(finding for finding in report.findings if finding.what == "length")
        assert length.words.startswith("answers are longer: median ")


# The martingale

STEPS = 1500
LEVEL = 0.05


def false_alarms(runs, references, tied):
    rng = np.random.default_rng(references)
    alarms = 0
    for run in range(runs):
        reference, stream = (rng.normal(size=n).round(tied) for n in (references, STEPS))
        test = ExchangeabilityTest(reference, level=LEVEL, seed=run)
        for score in stream.tolist():
            if test.update(score):
                alarms += 1
                break
    return alarms / runs


@pytest.mark.parametrize(
    ("references", "tied", "runs"), [(100, 6, 45), (300, 0, 20)], ids=["distinct", "ties"]
)
def test_exchangeable_scores_rarely_raise_an_alarm(references, tied, runs):
    runs *= TIMES
    assert false_alarms(runs, references, tied) <= LEVEL + slack(LEVEL, runs)


def test_a_reference_that_does_not_grow_would_raise_too_many():
    """All streams side by side; only the reference of the p-values differs from the tool's."""
    rates = {}
    for grows in (False, True):
        runs, rng = 1000 * TIMES, np.random.default_rng(9)
        p = rng.random((runs, STEPS))  # what growing gives: independent and uniform
        if not grows:
            reference = np.sort(rng.normal(size=(runs, 100)), axis=1)
            stream = rng.normal(size=(runs, STEPS))
            for row in range(runs):
                above = 100 - np.searchsorted(reference[row], stream[row])
                p[row] = (above + p[row]) / 101
        fortune, best = np.full((runs, 3), 1 / 3), np.zeros(runs)
        for step in range(STEPS):
            fortune = 0.99 * fortune + 0.01 / 3 * fortune.sum(axis=1, keepdims=True)
            fortune *= 1 + np.array([-1, 0, 1]) * (p[:, [step]] - 0.5)
            best = np.maximum(best, fortune.sum(axis=1))
        rates[grows] = np.mean(best >= 1 / LEVEL)
        bound = LEVEL + slack(LEVEL, runs)
    assert rates[True] <= bound
    assert rates[False] > 2 * bound


def test_scores_that_moved_are_seen_soon():
    delays = []
    for run in range(20):
        rng = np.random.default_rng(run)
        test = ExchangeabilityTest(rng.normal(size=300), level=LEVEL, seed=run)
        for score in rng.normal(0.8, 1, 300).tolist():
            if test.update(score):
                break
        delays.append(test.alarm_at or math.inf)
    assert np.median(delays) <= 60
    assert max(delays) <= 300


# The monitor of the false-accept rate


def alarm_probability(limit, level, rate, labels):
    """Exactly: the evidence depends on the two counts only, so all paths are summed on a lattice.

    Also checks that more false accepts are never less evidence.
    """
    state = FarMonitor(limit, level).state()
    paths, alarmed, edge = np.ones(1), 0.0, 0
    for n in range(1, labels + 1):
        paths = np.append(paths * (1 - rate), 0) + np.append(0, paths * rate)
        edge = max(edge - 1, 0)
        while edge < len(paths):
            state.update(rejects=n, false_accepts=edge)
            if FarMonitor.from_state(state).log_value >= -math.log(level):
                break
            edge += 1
        alarmed += paths[edge:].sum()
        paths = paths[:edge]
    return alarmed


@pytest.mark.parametrize(
    ("limit", "level"), [(0.05, 0.01), (0.05, 0.05), (0.1, 0.05), (0.3, 0.1)], ids=str
)
def test_a_kept_promise_rarely_raises_an_alarm(limit, level):
    labels = 1000 * TIMES
    at_limit = alarm_probability(limit, level, limit, labels)
    assert level / 10 <= at_limit <= level
    assert alarm_probability(limit, level, 0.8 * limit, labels) < at_limit


def test_a_broken_promise_is_seen():
    assert alarm_probability(0.05, 0.05, 0.15, 131) >= 0.9
    assert alarm_probability(0.10, 0.05, 0.30, 58) >= 0.9
    assert alarm_probability(0.05, 0.01, 0.15, 200) >= 0.9


def test_the_lattice_tells_of_real_streams():
    runs, rng = 400 * TIMES, np.random.default_rng(10)
    alarms = 0
    for _ in range(runs):
        monitor = FarMonitor(0.1, 0.05)
        alarms += any(monitor.update(one) for one in (rng.random(40) < 0.25).tolist())
    want = alarm_probability(0.1, 0.05, 0.25, 40)
    assert abs(alarms / runs - want) <= slack(want, runs)

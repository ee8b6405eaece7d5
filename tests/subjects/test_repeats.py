"""Several runs of one case: its share of passes, agreement, whether it is flaky, what it comes to."""

from itertools import combinations

import pytest
from scipy.stats import binomtest

from closecall.errors import UsageError
from closecall.records import State
from closecall.subjects.repeats import (
    checked_runs,
    checked_threshold,
    passes_needed,
    repeated,
)

P, F, I, S = State.PASSED, State.FAILED, State.INCONCLUSIVE, State.SCORED  # noqa: E741
N, E = State.NOT_MEASURED, State.ERROR


@pytest.mark.parametrize(
    ("states", "threshold", "state"),
    [
        ([P, P, P], 0.8, P),
        ([F, F, F], 0.8, F),
        ([P, P, P, P, F], 0.8, P),
        ([P, P, P, F, F], 0.8, F),
        # 0.56 * 25 is 14.000000000000002 in floating point.
        ([P] * 14 + [F] * 11, 0.56, P),
        ([P] * 13 + [F] * 12, 0.56, F),
        ([P, P, P], 1, P),
        ([P, P, F], 1.0, F),
        # Undecided runs count for neither side; where they decide, nothing is said.
        ([P, P, P, P, I], 0.8, P),
        ([P, P, P, I, I], 0.8, I),
        ([F, F, P, I, I], 0.8, F),
        ([P, P, P, P, N], 0.8, P),
        ([P, P, P, P, N, N], 0.8, N),
        ([F, F, N, N, P], 0.8, F),
        ([P, P, P, I, N], 0.8, N),
        ([I, I, I], 0.8, I),
        ([S, S, S], 0.8, S),
        ([S, S, N], 0.8, N),
        ([N, N, N], 0.8, N),
        ([E, E, E], 0.8, E),
        ([E, N, E], 0.8, N),
        ([State.NOT_APPLICABLE] * 3, 0.8, State.NOT_APPLICABLE),
    ],
)
def test_what_a_case_comes_to(states, threshold, state):
    found = repeated("1", states, threshold=threshold)
    assert found.state is state
    assert bool(found.reason) is (not state.measured)
    assert found.passed + found.failed + found.unsure + found.absent == found.runs


def test_a_pass_share_has_its_counts_and_an_exact_interval():
    found = repeated("1", [P, P, F, P, I, N])
    assert (found.share.count, found.share.n) == (3, 4)
    exact = binomtest(3, 4).proportion_ci(0.95, "exact")
    assert found.share.interval.low == pytest.approx(exact.low)
    assert found.share.interval.high == pytest.approx(exact.high)
    assert repeated("1", [I, N, N]).share is None


@pytest.mark.parametrize(
    "states", [[P, P, P], [P, F, P], [P, F, I, N], [F, F, P, P, P], [P, N, N], [N, E, N]]
)
def test_agreement_is_the_share_of_pairs_that_say_the_same(states):
    found = repeated("1", states)
    pairs = [(a, b) for a, b in combinations(states, 2) if a.measured and b.measured]
    assert found.pairs == len(pairs)
    assert found.agreeing == sum(a is b for a, b in pairs)
    assert found.agreement == (found.agreeing / len(pairs) if pairs else None)


def test_flaky_is_passed_here_and_failed_there():
    flaky = [repeated("1", states).flaky for states in ([P, F, P], [P, I, P], [P, P], [N, F, P])]
    assert flaky == [True, False, False, True]


def test_values_are_one_a_run():
    with pytest.raises(UsageError, match="1: 2 states and 1 values"):
        repeated("1", [P, P], [0.5])


def test_two_runs_say_nothing():
    assert checked_runs(1) == 1
    assert checked_runs(3) == 3
    for wrong in (0, 2, -1, 3.0, True, 1001):
        with pytest.raises(UsageError, match="at least 3"):
            checked_runs(wrong)
    for wrong in (0, -0.1, 1.1, True, float("nan")):
        with pytest.raises(UsageError, match="success threshold"):
            checked_threshold(wrong)
    assert checked_threshold(1) == 1


def test_a_share_of_runs_is_rounded_up_and_read_as_it_is_typed():
    assert [passes_needed(5, share) for share in (0.8, 0.81, 1, 0.01)] == [4, 5, 5, 1]
    assert passes_needed(25, 0.56) == 14
    assert passes_needed(10, 0.7) == 7

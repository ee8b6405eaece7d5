"""Windows cover every token with the overlap asked for; batches hold one length each."""

import itertools

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from closecall.embedders.windows import (
    Span,
    average,
    checked_policy,
    exact_batches,
    read_spans,
    spans,
)
from closecall.errors import UsageError

CAPACITIES = st.integers(1, 60).flatmap(
    lambda capacity: st.tuples(st.just(capacity), st.integers(0, capacity - 1))
)


@settings(deadline=None)
@given(st.integers(0, 2000), CAPACITIES)
def test_every_token_is_read_and_the_overlap_is_exact(count, sizes):
    capacity, overlap = sizes
    found = spans(count, capacity, overlap)
    assert found[0].start == 0
    assert found[-1].stop == count
    for left, right in itertools.pairwise(found):
        assert left.length == capacity
        assert left.stop - right.start == overlap
        assert right.stop > left.stop
    assert found[-1].length <= capacity
    covered = {token for span in found for token in range(*span)}
    assert covered == set(range(count))


def test_windows_by_hand():
    assert spans(0, 4, 1) == [Span(0, 0)]
    assert spans(4, 4, 1) == [Span(0, 4)]
    assert spans(5, 4, 1) == [Span(0, 4), Span(3, 5)]
    assert spans(7, 4, 1) == [Span(0, 4), Span(3, 7)]
    assert spans(8, 4, 1) == [Span(0, 4), Span(3, 7), Span(6, 8)]
    assert spans(8, 4, 0) == [Span(0, 4), Span(4, 8)]


def test_policies_by_hand():
    assert read_spans(4, 4, 1, "error") == [Span(0, 4)]
    assert read_spans(5, 4, 1, "error") == []
    assert read_spans(5, 4, 0, "truncate") == [Span(0, 4)]
    assert read_spans(3, 4, 0, "truncate") == [Span(0, 3)]
    assert read_spans(5, 4, 1, "chunk") == [Span(0, 4), Span(3, 5)]


@pytest.mark.parametrize("sizes", [(5, 0, 0), (5, 4, 4), (5, 4, -1), (-1, 4, 0)])
def test_impossible_windows(sizes):
    with pytest.raises(ValueError, match="no windows"):
        spans(*sizes)


@settings(deadline=None)
@given(st.lists(st.integers(1, 40), max_size=200), st.integers(1, 120))
def test_batches_hold_one_length_within_the_budget(lengths, budget):
    batches = exact_batches(lengths, budget)
    assert sorted(at for batch in batches for at in batch) == list(range(len(lengths)))
    costs = []
    for batch in batches:
        assert len({lengths[at] for at in batch}) == 1
        cost = sum(lengths[at] for at in batch)
        assert len(batch) == 1 or cost <= budget
        assert list(batch) == sorted(batch)
        costs.append(cost)
    assert costs == sorted(costs, reverse=True)


def test_average_weighs_by_tokens():
    rows = np.array([[1, 0], [0, 1]], dtype=np.float32)
    np.testing.assert_allclose(average(rows, [3, 1], normalize=False), [0.75, 0.25])
    unit = average(rows, [3, 1], normalize=True)
    np.testing.assert_allclose(unit, np.array([3, 1]) / np.sqrt(10), rtol=1e-6)
    assert unit.dtype == np.float32
    assert average(np.array([[1.0], [-1.0]], np.float32), [1, 1], normalize=True) == [0.0]


def test_overlap_and_policy_are_checked():
    assert checked_policy("chunk", None, 254) == ("chunk", 32)
    assert checked_policy("chunk", None, 18) == ("chunk", 4)
    assert checked_policy("chunk", 0, 18) == ("chunk", 0)
    assert checked_policy("truncate", None, 254) == ("truncate", 0)
    for window, overlap in (("cut", None), ("chunk", 18), ("chunk", -1), ("chunk", True)):
        with pytest.raises(UsageError):
            checked_policy(window, overlap, 18)
    with pytest.raises(UsageError, match="chunk"):
        checked_policy("error", 4, 18)

"""The measures on rankings made by hand, and against a second way to compute each."""

import math

import pytest

from closecall.errors import UsageError
from closecall.retrieval.measures import (
    Judged,
    check_gains,
    checked_name,
    measure_names,
    values,
)


def one(ranks, grades, ideal, relevant_from=1):
    relevant = sum(grade >= relevant_from for grade in ideal)
    return Judged(tuple(ranks), tuple(grades), tuple(ideal), relevant, relevant_from)


def test_a_ranking_made_by_hand():
    # Relevant at ranks 1 and 4; a third relevant document was not found.
    found = values(one([1, 4], [1, 1], [1, 1, 1]), measure_names([1, 3, 5]))
    assert found["recall@1"] == found["recall@3"] == 1 / 3
    assert found["recall@5"] == 2 / 3
    assert found["precision@1"] == 1
    assert found["precision@3"] == 1 / 3
    assert found["precision@5"] == 2 / 5
    assert found["hit@1"] == found["hit@5"] == 1
    assert found["mrr@1"] == found["mrr@5"] == 1
    assert found["map"] == pytest.approx((1 + 2 / 4) / 3)
    assert found["rprec"] == 1 / 3
    best = 1 + 1 / math.log2(3) + 1 / math.log2(4)
    assert found["ndcg@5"] == pytest.approx((1 + 1 / math.log2(5)) / best)


def test_nothing_found_is_zero_everywhere():
    assert set(values(one([], [], [2, 1]), measure_names([1, 10])).values()) == {0.0}


def test_a_perfect_ranking_is_one_where_it_can_be():
    found = values(one([1, 2], [2, 1], [2, 1]), measure_names([2]))
    assert set(found.values()) == {1.0}


def test_a_first_hit_below_the_cutoff_gives_no_reciprocal_rank():
    found = values(one([4], [1], [1]), ["mrr@3", "mrr@4", "hit@3"])
    assert found == {"mrr@3": 0.0, "mrr@4": 0.25, "hit@3": 0.0}


def test_low_grades_gain_but_are_not_relevant():
    found = values(one([1, 2], [1, 3], [3, 1], relevant_from=2), ["hit@1", "recall@2", "ndcg@2"])
    assert found["hit@1"] == 0
    assert found["recall@2"] == 1
    assert found["ndcg@2"] == pytest.approx((1 + 3 / math.log2(3)) / (3 + 1 / math.log2(3)))


def test_exponential_gains_are_two_to_the_grade_less_one():
    found = values(one([1, 2], [1, 3], [3, 1]), ["ndcg@2"], "exponential")
    assert found["ndcg@2"] == pytest.approx((1 + 7 / math.log2(3)) / (7 + 1 / math.log2(3)))


def test_names_are_listed_in_order_and_checked():
    assert measure_names([5, 1])[:2] == ("recall@1", "recall@5")
    assert measure_names([5, 1])[-2:] == ("map", "rprec")
    assert checked_name("NDCG@010") == "ndcg@10"
    for bad in ("ndcg", "recall@0", "recall@x", "f1@3", "map@3", ""):
        with pytest.raises(UsageError, match="measures: recall@K"):
            checked_name(bad)
    for ks in ([], [0], [1, 1], [True], [2.0]):
        with pytest.raises(UsageError, match="rank"):
            measure_names(ks)


def test_gains_are_checked():
    check_gains("linear", 10**6)
    with pytest.raises(UsageError, match="linear, exponential"):
        check_gains("steep", 1)
    with pytest.raises(UsageError, match="grades up to 60"):
        check_gains("exponential", 61)

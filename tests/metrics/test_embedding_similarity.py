"""Cosine, euclidean, manhattan and dot; unit vectors or not; best reference or the mean."""

import itertools
import math

import numpy as np
import pytest
from hand_made import at, measure, measured, reason
from hypothesis import given
from hypothesis import strategies as st

from closecall.errors import UsageError
from closecall.metrics.embedding_similarity import EmbeddingSimilarity
from closecall.records import Case, State, Unmeasured
from closecall.runs.results import decide

PAIR = Case(id="1", references=("right",), response="said")


def value(metric, right, said):
    return measured(metric, PAIR, {"right": right, "said": said}).value


@pytest.mark.parametrize(("cosine", "expected"), [(0.8, 0.613), (0.5, 0.5), (0.0, 0.414), (1, 1)])
def test_euclidean_of_unit_vectors(cosine, expected):
    found = value(EmbeddingSimilarity("euclidean"), at(1), at(cosine))
    assert found == pytest.approx(expected, abs=5e-4)


def test_euclidean_of_opposite_vectors_is_a_third():
    assert value(EmbeddingSimilarity("euclidean"), [1, 0], [-1, 0]) == pytest.approx(
        1 / 3, abs=1e-6
    )


def test_manhattan_adds_up_the_differences():
    assert value(EmbeddingSimilarity("manhattan"), [1, 0], [0, 1]) == pytest.approx(
        1 / 3, abs=1e-6
    )
    apart = value(EmbeddingSimilarity("manhattan", normalize=False), [3, 4], [1, 1])
    assert apart == pytest.approx(1 / 6, abs=1e-6)


def test_dot_of_unit_vectors_is_the_cosine_and_of_others_the_inner_product():
    assert value(EmbeddingSimilarity("dot"), [3, 4], [4, 3]) == 0.96
    assert value(EmbeddingSimilarity("dot", normalize=False), [3, 4], [4, 3]) == 24.0


def test_without_normalising_lengths_count_except_for_the_cosine():
    raw = {"normalize": False}
    assert value(EmbeddingSimilarity("cosine", **raw), [3, 4], [30, 40]) == 1.0
    assert value(EmbeddingSimilarity("euclidean"), [3, 4], [30, 40]) == 1.0
    assert value(EmbeddingSimilarity("euclidean", **raw), [3, 4], [30, 40]) == pytest.approx(
        1 / 46, abs=1e-6
    )


def test_cosine_is_not_clamped_but_its_score_is():
    found = measured(EmbeddingSimilarity(), PAIR, {"right": at(1), "said": at(-0.3)})
    assert (found.value, found.similarity, found.score) == (-0.3, -0.3, 0.0)


def test_an_unbounded_product_has_no_score_of_0_to_100():
    metric = EmbeddingSimilarity("dot", normalize=False)
    found = measured(metric, PAIR, {"right": [3, 4], "said": [4, 3]})
    assert found.score is None
    assert (metric.spec.low, metric.spec.high) == (None, None)


@pytest.mark.parametrize("method", ["cosine", "euclidean", "manhattan", "dot"])
@given(st.lists(st.floats(-50, 50, width=32), min_size=2, max_size=6))
def test_equal_texts_are_exactly_1_for_every_method_on_unit_vectors(method, numbers):
    vector = np.array([2.5, *numbers], dtype=np.float32)
    assert value(EmbeddingSimilarity(method), vector, vector) == 1.0


@pytest.mark.parametrize("method", ["cosine", "euclidean", "manhattan", "dot"])
def test_closer_is_higher_for_every_method(method):
    metric = EmbeddingSimilarity(method)
    values = [value(metric, at(1), at(cosine)) for cosine in (-0.5, 0.1, 0.6, 0.9)]
    assert values == sorted(values)
    assert len(set(values)) == 4


def test_best_of_references_and_mean_of_references():
    case = Case(id="1", references=("", "far", "near"), response="said")
    by_text = {"said": at(1), "far": at(0.2), "near": at(0.9)}
    best = measured(EmbeddingSimilarity(), case, by_text)
    mean = measured(EmbeddingSimilarity(references="mean"), case, by_text)
    assert (best.value, mean.value) == (0.9, 0.55)
    for found in (best, mean):
        assert found.details["references"] == 2
        assert found.details["bestReference"] == 2


def test_details_say_how_it_was_computed():
    metric = EmbeddingSimilarity("euclidean", normalize=False)
    found = measured(metric, PAIR, {"right": at(1), "said": at(0.5)})
    assert found.details == {"method": "euclidean", "normalize": False}


@pytest.mark.parametrize(
    ("case", "said"),
    [
        (Case(id="1", response="x"), "the case's reference is missing"),
        (Case(id="1", references=(" ",), response="x"), "the case's reference is blank"),
        (Case(id="1", references=("x",)), "the case's response is missing"),
        (Case(id="1", references=("x",), response="\n"), "the case's response is blank"),
    ],
)
def test_missing_or_blank_input_is_not_measured(case, said):
    metric = EmbeddingSimilarity()
    asked = metric.texts(case)
    assert isinstance(asked, Unmeasured)
    assert asked.reason == reason(metric.measure(case, {})) == said


def test_a_failed_embedding_is_not_measured():
    found = measure(EmbeddingSimilarity(), PAIR, {"right": at(1), "said": "gone"})
    assert reason(found) == "embedding the response failed: gone"


def test_without_a_cutoff_it_is_a_number_and_no_verdict():
    metric = EmbeddingSimilarity()
    assert metric.cutoff is None
    found = decide(metric, measure(metric, PAIR, {"right": at(1), "said": at(0.5)}))
    assert found.state is State.SCORED
    assert found.reason == "embedding_similarity 0.5000; no cutoff, scored only"


def test_the_id_names_every_option_that_is_not_the_default():
    assert EmbeddingSimilarity().spec.id == "embedding_similarity"
    named = EmbeddingSimilarity("dot", normalize=False, references="mean").spec
    assert named.id == "embedding_similarity:method=dot:normalize=false:references=mean"
    assert named.options == {"method": "dot", "normalize": False, "references": "mean"}


def test_every_setting_has_an_id_of_its_own():
    settings = itertools.product(
        ("cosine", "euclidean", "manhattan", "dot"), (True, False), ("best", "mean")
    )
    ids = [EmbeddingSimilarity(m, normalize=n, references=r).spec.id for m, n, r in settings]
    assert len(set(ids)) == 16


@pytest.mark.parametrize(
    ("options", "said"),
    [
        ({"method": "euclid"}, "method must be one of cosine, dot, euclidean, manhattan"),
        ({"references": "worst"}, "references must be one of best, mean"),
        ({"normalize": "yes"}, "normalize must be true or false"),
        ({"cutoff": 1.2}, "within -1 to 1"),
        ({"method": "euclidean", "cutoff": -0.1}, "within 0 to 1"),
        ({"method": "dot", "normalize": False, "cutoff": math.inf}, "finite"),
    ],
)
def test_options_that_cannot_be_are_refused(options, said):
    with pytest.raises(UsageError, match=said):
        EmbeddingSimilarity(**options)


def test_a_product_of_any_size_may_have_a_cutoff_of_any_size():
    assert EmbeddingSimilarity("dot", normalize=False, cutoff=250).cutoff == 250.0

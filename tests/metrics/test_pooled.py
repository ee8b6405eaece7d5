"""The answer metrics: one pooled vector a text, response against references."""

import numpy as np
import pytest
from hand_made import at, lookup, measure, measured, reason
from hypothesis import given
from hypothesis import strategies as st

from closecall.embedders.base import Embedded, TextKey
from closecall.metrics.pooled import AnswerSimilarity, SemanticSimilarity
from closecall.records import Case, Role, State, Tokens, Unmeasured
from closecall.runs.results import decide

METRICS = (AnswerSimilarity, SemanticSimilarity)
both = pytest.mark.parametrize("cls", METRICS)


def pair(reference="right", response="said", **more):
    return Case(id="1", references=(reference,), response=response, **more)


def test_score_is_the_cosine_times_100_and_the_raw_cosine_stands_beside_it():
    found = measured(AnswerSimilarity(), pair(), {"right": at(1), "said": at(0.8)})
    assert found.value == found.score == 80.0
    assert found.similarity == found.details["cosineSimilarity"] == 0.8


def test_semantic_similarity_is_the_same_on_a_scale_of_0_to_1():
    found = measured(SemanticSimilarity(), pair(), {"right": at(1), "said": at(0.8)})
    assert (found.value, found.score, found.similarity) == (0.8, 80.0, 0.8)


@both
def test_details_hold_cosine_label_and_both_lengths(cls):
    case = pair("the right one", "what was said")
    found = measured(cls(), case, {"the right one": at(1), "what was said": at(0.8)})
    assert found.details == {
        "cosineSimilarity": 0.8,
        "interpretation": "Good",
        "groundTruthLength": 13,
        "outputLength": 13,
    }


@pytest.mark.parametrize(
    ("cosine", "label"),
    [
        (0.9, "Excellent"),
        (0.75, "Good"),
        (0.6, "Satisfactory"),
        (0.4, "Needs Improvement"),
        (0.2, "Poor"),
        (0.19, "Very Poor"),
        (-0.5, "Very Poor"),
    ],
)
def test_label_belongs_to_the_score(cosine, label):
    found = measured(AnswerSimilarity(), pair(), {"right": at(1), "said": at(cosine)})
    assert found.details["interpretation"] == label


@both
def test_negative_cosine_scores_zero_and_stays_visible(cls):
    found = measured(cls(), pair(), {"right": at(1), "said": at(-0.4)})
    assert found.value == found.score == 0.0
    assert found.similarity == found.details["cosineSimilarity"] == -0.4


@both
@given(st.lists(st.floats(-100, 100, width=32), min_size=3, max_size=8))
def test_equal_texts_score_exactly_the_top_of_the_scale(cls, numbers):
    vector = np.array(numbers, dtype=np.float32)
    vector[0] = 1.5
    case = pair("same words", "same words")
    found = measured(cls(), case, {"same words": vector})
    assert found.similarity == 1.0
    assert found.value == cls().spec.high


def test_a_cosine_is_never_printed_as_minus_zero():
    found = measured(AnswerSimilarity(), pair(), {"right": [1, 0], "said": [-1e-9, 1]})
    assert str(found.similarity) == "0.0"


@both
def test_several_references_the_best_counts_and_is_named_as_written(cls):
    case = Case(id="1", references=("  ", "far", "", "near", "mid"), response="said")
    by_text = {"said": at(1), "far": at(0.1), "near": at(0.9), "mid": at(0.5)}
    found = measured(cls(), case, by_text)
    assert found.similarity == 0.9
    assert found.details["references"] == 3
    assert found.details["bestReference"] == 3
    assert case.references[found.details["bestReference"]] == "near"
    assert found.details["groundTruthLength"] == len("near")


def test_the_first_of_equally_good_references_is_named():
    case = Case(id="1", references=("far", "near", "also near"), response="said")
    by_text = {"said": at(1), "far": at(0.1), "near": at(0.9), "also near": at(0.9)}
    assert measured(AnswerSimilarity(), case, by_text).details["bestReference"] == 1


def test_a_single_reference_is_not_numbered():
    found = measured(AnswerSimilarity(), pair(), {"right": at(1), "said": at(0.8)})
    assert "bestReference" not in found.details


@both
@pytest.mark.parametrize(
    ("case", "said"),
    [
        (Case(id="1", response="said"), "the case's reference is missing"),
        (Case(id="1", references=("",), response="said"), "the case's reference is blank"),
        (Case(id="1", references=(" \n\t", ""), response="said"), "the case's reference is blank"),
        (Case(id="1", references=("right",)), "the case's response is missing"),
        (Case(id="1", references=("right",), response=""), "the case's response is blank"),
        (
            Case(id="1", references=("right",), response=" \u00a0\n"),
            "the case's response is blank",
        ),
    ],
)
def test_missing_or_blank_input_is_not_measured_and_asks_for_no_vector(cls, case, said):
    metric = cls()
    asked = metric.texts(case)
    assert isinstance(asked, Unmeasured)
    found = metric.measure(case, {})
    assert (asked.reason, reason(found)) == (said, said)
    assert found.state is State.NOT_MEASURED
    assert decide(metric, found).state is State.NOT_MEASURED


@both
@pytest.mark.parametrize("broken", ["right", "said"])
def test_a_failed_embedding_is_not_measured_and_says_whose(cls, broken):
    by_text = {"right": at(1), "said": at(0.8), broken: "the server said no"}
    name = {"right": "reference", "said": "response"}[broken]
    found = measure(cls(), pair(), by_text)
    assert reason(found) == f"embedding the {name} failed: the server said no"


def test_one_failed_reference_of_several_leaves_no_score_since_it_may_have_been_the_best():
    case = Case(id="1", references=("a", "b"), response="said")
    found = measure(AnswerSimilarity(), case, {"said": at(1), "a": at(0.2), "b": "too long"})
    assert "too long" in reason(found)


def test_a_vector_nobody_fetched_is_not_measured():
    assert "was not embedded" in reason(AnswerSimilarity().measure(pair(), {}))


@both
def test_answers_and_references_are_both_plain_texts_to_the_model(cls):
    asked = cls().texts(Case(id="1", references=("a", "b"), response="c"))
    assert asked == (TextKey("a", Role.TEXT), TextKey("b", Role.TEXT), TextKey("c", Role.TEXT))


def test_tokens_seen_are_those_of_the_two_texts_compared():
    metric = AnswerSimilarity()
    case = Case(id="1", references=("far", "near"), response="said")
    found = lookup(metric, case, {"said": at(1), "far": at(0.1), "near": at(0.9)})
    near = TextKey("near", Role.TEXT)
    found[near] = Embedded(found[near].vector, Tokens(seen=256, total=900))
    said = TextKey("said", Role.TEXT)
    found[said] = Embedded(found[said].vector, None)
    tokens = metric.measure(case, found).tokens
    assert tokens == {"reference": Tokens(256, 900)}
    assert tokens["reference"].truncated


@both
@given(st.floats(-1, 1))
def test_score_stays_on_its_scale_and_moves_with_the_cosine(cls, cosine):
    metric = cls()
    found = measured(metric, pair(), {"right": at(1), "said": at(cosine)})
    assert metric.spec.low <= found.value <= metric.spec.high
    assert found.similarity == pytest.approx(cosine, abs=1e-6)
    assert found.score == pytest.approx(100 * max(found.similarity, 0), abs=1e-9)


@pytest.mark.parametrize(
    ("cls", "name", "cutoff", "high"),
    [
        (AnswerSimilarity, "embed_answer_similarity", 70.0, 100.0),
        (SemanticSimilarity, "semantic_similarity", 0.7, 1.0),
    ],
)
def test_what_a_metric_says_of_itself(cls, name, cutoff, high):
    metric = cls()
    assert metric.spec.id == metric.spec.name == name
    assert metric.spec.needs == ("references", "response")
    assert metric.cutoff == metric.spec.default_cutoff == cutoff
    assert (metric.spec.low, metric.spec.high) == (0.0, high)
    assert repr(metric) == f"{cls.__name__}(cutoff={cutoff:g})"

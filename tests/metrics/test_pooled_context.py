"""The context metrics: the context as a whole, its passages beside it."""

import pytest
from hand_made import at, measure, measured, reason

from closecall.embedders.base import TextKey
from closecall.metrics.pooled import QueryContextSimilarity, ResponseContextSimilarity
from closecall.records import Case, Role, State, Unmeasured
from closecall.runs.results import decide

RESPONSE, QUERY = ResponseContextSimilarity, QueryContextSimilarity
WHOLE = "one\ntwo"
both = pytest.mark.parametrize("cls", [RESPONSE, QUERY])


def case(*context, **more):
    return Case(id="1", input="asked", response="said", context=context, **more)


def test_response_against_context_uses_plain_texts():
    assert RESPONSE().texts(case("one")) == (
        TextKey("one", Role.TEXT),
        TextKey("said", Role.TEXT),
    )


def test_question_is_a_query_and_context_is_a_document():
    assert QUERY().texts(case("one", "two")) == (
        TextKey("asked", Role.QUERY),
        TextKey(WHOLE, Role.DOCUMENT),
        TextKey("one", Role.DOCUMENT),
        TextKey("two", Role.DOCUMENT),
    )


def test_blank_passages_are_neither_joined_nor_embedded_apart():
    asked = QUERY().texts(case("one", " ", "two", ""))
    assert [key.text for key in asked] == ["asked", WHOLE, "one", "two"]


@both
def test_the_whole_context_counts_and_the_nearest_passage_stands_beside_it(cls):
    by_text = {
        "asked": at(1), "said": at(1), WHOLE: at(0.6), "one": at(0.3), "two": at(0.95),
    }  # fmt: skip
    found = measured(cls(), case(" ", "one", "two"), {**by_text})
    assert found.score == found.value == 60.0
    assert found.details == {
        "cosineSimilarity": 0.6,
        "interpretation": "Satisfactory",
        "passages": 2,
        "bestPassage": 2,
        "bestPassageSimilarity": 0.95,
    }


@both
def test_a_single_passage_is_the_whole_and_not_embedded_twice(cls):
    by_text = {"asked": at(1), "said": at(1), "one": at(0.6)}
    assert len(cls().texts(case("one"))) == 2
    assert measured(cls(), case("one"), by_text).details == {
        "cosineSimilarity": 0.6,
        "interpretation": "Satisfactory",
    }


@both
def test_tokens_are_named_after_the_two_sides(cls):
    by_text = {"asked": at(1), "said": at(1), WHOLE: at(0.6), "one": at(0.3), "two": at(0.9)}
    other = "response" if cls is RESPONSE else "input"
    assert set(measured(cls(), case("one", "two"), by_text).tokens) == {"context", other}


@pytest.mark.parametrize(
    ("cls", "given", "said"),
    [
        (RESPONSE, Case(id="1", response="said"), "the case's context is missing"),
        (RESPONSE, Case(id="1", response="said", context=(" ",)), "the case's context is blank"),
        (RESPONSE, Case(id="1", context=("one",)), "the case's response is missing"),
        (RESPONSE, Case(id="1", context=("one",), response="\t"), "the case's response is blank"),
        (QUERY, Case(id="1", input="asked"), "the case's context is missing"),
        (QUERY, Case(id="1", context=("one",)), "the case's input is missing"),
        (QUERY, Case(id="1", context=("one",), input=" "), "the case's input is blank"),
    ],
)
def test_missing_or_blank_input_is_not_measured(cls, given, said):
    metric = cls()
    asked = metric.texts(given)
    assert isinstance(asked, Unmeasured)
    assert asked.reason == reason(metric.measure(given, {})) == said
    assert decide(metric, asked).state is State.NOT_MEASURED


@both
@pytest.mark.parametrize(("broken", "name"), [(WHOLE, "context"), ("two", "passage")])
def test_a_failed_embedding_is_not_measured(cls, broken, name):
    by_text = {"asked": at(1), "said": at(1), WHOLE: at(0.6), "one": at(0.3), "two": at(0.9)}
    found = measure(cls(), case("one", "two"), {**by_text, broken: "no answer"})
    assert reason(found) == f"embedding the {name} failed: no answer"


@pytest.mark.parametrize(
    ("cls", "name", "needs"),
    [
        (RESPONSE, "embed_response_context", ("context", "response")),
        (QUERY, "embed_query_context", ("input", "context")),
    ],
)
def test_what_a_metric_says_of_itself(cls, name, needs):
    metric = cls()
    assert (metric.spec.id, metric.spec.needs) == (name, needs)
    assert metric.cutoff == metric.spec.default_cutoff == 50.0


@both
def test_the_reference_has_no_part_in_it(cls):
    by_text = {"asked": at(1), "said": at(1), "one": at(0.6)}
    with_one = measured(cls(), case("one", references=("never sent",)), by_text)
    assert with_one == measured(cls(), case("one"), by_text)

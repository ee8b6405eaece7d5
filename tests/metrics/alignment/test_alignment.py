"""Alignment: is the reference in the answer, is the answer in the context, word by word."""

import numpy as np
import pytest

from closecall import Case, evaluate
from closecall.embedders.base import Embedded, Failure, Pieces, TextKey
from closecall.metrics.alignment.answer import AlignmentF1, AlignmentMinimum, AnswerAlignment
from closecall.metrics.alignment.context import ContextAlignment
from closecall.metrics.alignment.matching import best_matches, weakest, weighted_mean
from closecall.records import Measured, Unmeasured
from closecall.testing import HashEmbedder

REFERENCE = "five working days"
LONG = "Thanks for asking. A refund takes five working days and we write to you when it is sent."


def value(metric, response, *references, embedder=None, **fields):
    case = Case(id="1", response=response, references=references, **fields)
    (row,) = evaluate([case], [metric], embedder or HashEmbedder())
    return row.results[0].measurement


def unit(rows):
    array = np.array(rows, dtype=np.float32)
    return array / np.linalg.norm(array, axis=1, keepdims=True)


def test_matches_against_every_pair():
    rng = np.random.default_rng(0)
    tokens, others = unit(rng.normal(size=(7, 5))), [unit(rng.normal(size=(n, 5))) for n in (3, 4)]
    best, whose = best_matches(tokens, others)
    for at, token in enumerate(tokens):
        each = [max(float(token @ row) for row in other) for other in others]
        assert best[at] == pytest.approx(max(each), abs=1e-6)
        assert whose[at] == int(np.argmax(each))
    same, _ = best_matches(tokens, [tokens])
    assert same.max() <= 1
    assert same == pytest.approx(np.ones(7), abs=1e-6)


def test_a_mean_by_hand():
    values = np.array([1.0, 0.0], dtype=np.float32)
    assert weighted_mean(values, None) == 0.5
    assert weighted_mean(values, np.array([3.0, 1.0])) == 0.75


def test_the_weakest_words_are_whole_and_named_once():
    text = "It's unbelievable, isn't it"
    spans = ((0, 4), (5, 7), (7, 17), (19, 24), (25, 27))
    pieces = Pieces(unit(np.eye(5)), spans)
    best = np.array([0.9, 0.2, 0.3, 0.1, 0.8], dtype=np.float32)
    assert weakest(text, pieces, best, 3) == [
        {"word": "isn't", "match": 0.1},
        {"word": "unbelievable", "match": 0.2},
        {"word": "it", "match": 0.8},
    ]


def test_a_long_answer_that_holds_the_reference_is_not_punished():
    found = value(AnswerAlignment(), LONG, REFERENCE)
    assert found.value == 1
    assert found.details["alignmentRecall"] == found.details["wordRecall"] == 1
    assert value("embed_answer_similarity", LONG, REFERENCE).similarity < 0.6
    assert value(AlignmentF1(), LONG, REFERENCE).value < 0.9


def test_what_is_missing_is_named():
    found = value(AnswerAlignment(), "It takes five calendar days", REFERENCE)
    assert found.value < 1
    assert found.details["weakest"][0]["word"] == "working"
    assert found.details["wordRecall"] == pytest.approx(2 / 3, abs=1e-6)
    both = found.details["alignmentRecall"], found.details["wordRecall"]
    assert both[0] != pytest.approx(both[1], abs=1e-3)
    assert found.value == pytest.approx(sum(both) / 2, abs=2e-6)
    least = value(AlignmentMinimum(), "It takes five calendar days", REFERENCE)
    assert least.value == pytest.approx(found.details["weakest"][0]["match"], abs=1e-4)


def test_the_best_reference_counts_and_is_named():
    found = value(AnswerAlignment(), LONG, "ten weeks", "", REFERENCE)
    assert (found.value, found.details["bestReference"], found.details["references"]) == (1, 2, 2)


def test_words_left_out_and_words_of_the_question():
    plain = value(AnswerAlignment(lexical=False), "five calendar days", REFERENCE)
    assert "wordRecall" not in plain.details
    assert plain.value == pytest.approx(plain.details["alignmentRecall"], abs=1e-6)
    asked = "How many working days does it take?"
    weighed = value(
        AnswerAlignment(question=True), "five of them", "five working days", input=asked
    )
    assert weighed.value > value(AnswerAlignment(), "five of them", "five working days").value


def test_f1_is_symmetric():
    one = value(AlignmentF1(), "five working days", "six days")
    two = value(AlignmentF1(), "six days", "five working days")
    assert one.value == pytest.approx(two.value, abs=1e-6)


def test_a_supported_answer_and_the_weakest_sentence():
    context = ("Refunds take five working days.", "The shop opens at nine.")
    fine = value(ContextAlignment(), "Refunds take five days.", context=context)
    assert fine.value == 1
    assert fine.details["bestPassage"] == 0
    mixed = value(
        ContextAlignment(), "Refunds take five days. Parrots dislike thunder.", context=context
    )
    assert mixed.value < fine.value
    assert mixed.details["weakestSentence"] == "Parrots dislike thunder."
    assert mixed.details["sentences"] == 2
    whole = value(
        ContextAlignment(weakest=True), "Refunds take five days. Parrots dislike thunder.",
        context=context,
    )  # fmt: skip
    assert whole.value < mixed.value
    both = mixed.details["alignmentPrecision"], mixed.details["wordPrecision"]
    assert both[0] != pytest.approx(both[1], abs=1e-3)
    assert mixed.value == pytest.approx(sum(both) / 2, abs=2e-6)
    least = whole.details["weakestSentenceAlignment"], whole.details["wordPrecision"]
    assert whole.value == pytest.approx(sum(least) / 2, abs=2e-6)
    assert least[0] == mixed.details["weakestSentenceAlignment"] < both[0]


@pytest.mark.parametrize("metric", [AnswerAlignment(), AlignmentF1(), AlignmentMinimum()],
                         ids=lambda metric: metric.spec.id)  # fmt: skip
def test_what_is_missing_is_not_measured(metric):
    for response, references in (("", ["a"]), (None, ["a"]), ("a", []), ("a", [" "])):
        assert isinstance(value(metric, response, *references), Unmeasured)


def test_an_embedder_without_token_vectors_says_what_to_use():
    class Pooled:
        instrument = HashEmbedder().instrument

        def embed(self, texts, role="text"):
            return HashEmbedder().embed(texts, role)

    found = value(AnswerAlignment(), LONG, REFERENCE, embedder=Pooled())
    assert isinstance(found, Unmeasured)
    assert "answer_window_similarity" in found.reason


def test_an_unreadable_reference_is_left_out_and_a_failed_one_is_not():
    metric = AnswerAlignment()
    case = Case(id="1", response="a", references=("b", "c"))
    key = {text: TextKey(text, pieces=True) for text in "abc"}
    sound = Embedded(unit([[1, 0]])[0], None, Pieces(unit([[1, 0]]), ((0, 1),)))
    unread = Failure("no word of it is known", unreadable=True)
    found = metric.measure(case, {key["a"]: sound, key["b"]: unread, key["c"]: sound})
    assert isinstance(found, Measured)
    assert found.details["unreadReferences"] == [0]
    for bad in (
        {key["b"]: Failure("broke"), key["c"]: sound},
        {key["b"]: unread, key["c"]: unread},
    ):
        assert isinstance(metric.measure(case, {key["a"]: sound, **bad}), Unmeasured)


def test_with_the_bundled_model_a_paraphrase_is_nearer_than_another_fact():
    cases = [
        Case(id="same", response="It was founded in the spring of 1921.", references=("in 1921",)),
        Case(id="other", response="It was founded by two sisters.", references=("in 1921",)),
    ]
    same, other = (
        row.results[0].measurement.value
        for row in evaluate(cases, "answer_alignment", cache=False)
    )
    assert same > other + 0.2

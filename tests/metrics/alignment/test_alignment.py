"""Alignment: is the reference in the answer, is the answer in the context, word by word."""

import random

import numpy as np
import pytest

from closecall import Case, evaluate
from closecall.embedders.base import Embedded, Failure, Pieces, TextKey
from closecall.errors import UsageError
from closecall.metrics.alignment.answer import AlignmentF1, AlignmentMinimum, AnswerAlignment
from closecall.metrics.alignment.context import ContextAlignment
from closecall.metrics.alignment.matching import (
    best_matches,
    surface,
    surfaces,
    weakest,
    weighted_mean,
)
from closecall.metrics.alignment.weights import IN_QUESTION
from closecall.metrics.registry import load_metric
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


def test_the_words_of_all_tokens_at_once_are_those_of_each():
    for seed in range(200):
        draw = random.Random(seed)
        text = "".join(draw.choices("aé7'東 .-_", k=12))
        spans = [
            (start, draw.randint(start + 1, len(text)))
            for start in sorted(draw.sample(range(len(text)), 4))
        ]
        for span, (begins, word) in zip(spans, surfaces(text, spans), strict=True):
            assert word == surface(text, span)
            assert text[begins : begins + len(word)] == word
            assert begins <= span[0]


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


def test_words_left_out():
    plain = value(AnswerAlignment(lexical=False), "five calendar days", REFERENCE)
    assert "wordRecall" not in plain.details
    assert plain.value == pytest.approx(plain.details["alignmentRecall"], abs=1e-6)


ASKED = "How many working days does it take?"


def test_to_repeat_the_question_is_no_answer():
    echo, answer = "It takes many working days.", "It takes five."
    weighed = AnswerAlignment()
    alike = AnswerAlignment(question=False)
    assert (
        value(weighed, answer, REFERENCE, input=ASKED).value
        > value(weighed, echo, REFERENCE, input=ASKED).value
    )
    assert (
        value(alike, answer, REFERENCE, input=ASKED).value
        < value(alike, echo, REFERENCE, input=ASKED).value
    )
    assert value(weighed, echo, REFERENCE, input=ASKED).details["wordsInQuestion"] == 2


@pytest.mark.parametrize("asked", [None, "", "What?", f"{ASKED} {'Keep it short. ' * 40}"],
                         ids=["none", "empty", "other", "long"])  # fmt: skip
def test_without_words_of_the_question_all_weigh_alike(asked):
    response = "It takes five calendar days"
    found = value(AnswerAlignment(), response, REFERENCE, input=asked)
    assert found.value == value(AnswerAlignment(question=False), response, REFERENCE).value


def test_weights_by_hand():
    """Vectors of the tokens at right angles, so that each match is 1 or 0."""
    eye = unit(np.eye(4))
    spans = ((0, 4), (5, 12), (13, 17))
    reference = Embedded(eye[0], None, Pieces(eye[[0, 1, 2]], spans))
    answer = Embedded(eye[0], None, Pieces(eye[[0]], ((0, 4),)))
    case = Case(id="1", input="Which working week?", references=("five working days",),
                response="five")  # fmt: skip
    found = {TextKey("five working days", pieces=True): reference,
             TextKey("five", pieces=True): answer}  # fmt: skip
    want = 1 / (1 + IN_QUESTION + 1)
    assert AnswerAlignment().measure(case, found).value == pytest.approx(want, abs=1e-6)
    alike = AnswerAlignment(question=False).measure(case, found)
    assert alike.value == pytest.approx(1 / 3, abs=1e-6)


def test_another_spelling_counts_for_a_part():
    strict = AnswerAlignment(spelling=False)
    for response, reference in (("in Bogota", "Bogotá"), ("Okonkwos", "Okonkwo")):
        near, equal = (
            value(AnswerAlignment(), response, reference),
            value(strict, response, reference),
        )
        assert equal.details["wordRecall"] == 0
        assert 0.5 <= near.details["wordRecall"] < 1
    assert value(AnswerAlignment(), "in 1922", "1921").details["wordRecall"] == 0


def test_names_list_what_is_not_the_default():
    assert AnswerAlignment().spec.id == "answer_alignment"
    assert ContextAlignment().spec.id == "context_alignment"
    first = AnswerAlignment(question=False, spelling=False)
    assert first.spec.id == "answer_alignment:question=false:spelling=false"
    assert AnswerAlignment(weights="content").spec.id == "answer_alignment:weights=content"
    assert ContextAlignment(weights="plain").spec.id == "context_alignment:weights=plain"
    assert load_metric(first.spec.id).spec == first.spec
    assert (AnswerAlignment().spec.version, ContextAlignment().spec.version) == ("2", "2")
    for made in (AnswerAlignment, ContextAlignment):
        with pytest.raises(UsageError, match="plain, content"):
            made(weights="idf")


def test_function_words_say_little_about_a_context():
    context = ("The parcel is at the depot.",)
    invented = "The tiger is at the circus."
    plain = value(ContextAlignment(weights="plain"), invented, context=context)
    weighed = value(ContextAlignment(), invented, context=context)
    assert weighed.details["alignmentPrecision"] < plain.details["alignmentPrecision"]
    # Of tiger, is, at, circus the context has the two that weigh half.
    assert plain.details["wordPrecision"] == pytest.approx(2 / 4)
    assert weighed.details["wordPrecision"] == pytest.approx(1 / 3, abs=1e-6)
    assert weighed.value < plain.value
    for weakest_only in (False, True):  # one sentence: the weakest is the whole
        tokens = [
            value(ContextAlignment(weights=weights, lexical=False, weakest=weakest_only), invented,
                  context=context).value
            for weights in ("content", "plain")
        ]  # fmt: skip
        assert tokens[0] == weighed.details["alignmentPrecision"] < tokens[1]


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


RANKED = [
    # question, reference, accepted, rejected
    ("When was the mill founded?", "in 1921", "It was founded in the spring of 1921.",
     "It was founded by two sisters."),
    ("Who keeps the lighthouse?", "Ingrid Halvorsen", "That is Halvorsen, Ingrid.",
     "The lighthouse has a keeper, Ingmar Solberg."),
    ("Which city hosts the fair?", "Bogotá", "The fair takes place in Bogota every May.",
     "The city that hosts the fair is Quito."),
    ("What happens if you swallow a cherry stone?", "Nothing happens; the stone passes through you",
     "It passes through harmlessly, so nothing at all.",
     "If you swallow a cherry stone, a tree happens to grow in you."),
]  # fmt: skip


@pytest.mark.parametrize(("asked", "reference", "accepted", "rejected"), RANKED,
                         ids=lambda text: text[:12])  # fmt: skip
def test_with_the_bundled_model_a_right_answer_outscores_a_wrong_one(
    asked, reference, accepted, rejected
):
    cases = [
        Case(id=text, input=asked, response=text, references=(reference,))
        for text in (accepted, rejected)
    ]
    right, wrong = (
        row.results[0].measurement.value
        for row in evaluate(cases, "answer_alignment", cache=False)
    )
    assert right > wrong + 0.1

"""Numbers published for BLEU, GLEU and F1, and small cases worked out by hand."""

import math

import pytest

from closecall.metrics.lexical.bleu import Bleu, sentence_bleu
from closecall.metrics.lexical.chrf import Chrf
from closecall.metrics.lexical.gleu import Gleu, gleu_counts
from closecall.metrics.lexical.rouge_l import RougeL
from closecall.metrics.lexical.token_overlap import TokenF1, TokenPrecision, TokenRecall
from closecall.records import Case

REFERENCE = "You can return an unused item within 30 days of delivery for a full refund."


def found(metric, response, *references):
    return metric.measure(Case(id="1", references=references, response=response), {})


def value(metric, response, *references):
    return found(metric, response, *references).value


@pytest.mark.parametrize("tokenizer", ["meai", "words"])
@pytest.mark.parametrize(
    ("response", "bleu", "gleu", "f1"),
    [
        (REFERENCE, 1, 1, 1),
        (REFERENCE.replace("30", "60"), 0.815, 0.828, 0.938),
        (
            "You have 60 days to return a jacket, and return shipping is always free.",
            0.023, 0.086, 0.312,
        ),
    ],
    ids=["same", "one number", "other"],
)  # fmt: skip
def test_published_numbers(tokenizer, response, bleu, gleu, f1):
    for metric, published in ((Bleu, bleu), (Gleu, gleu), (TokenF1, f1)):
        ours = value(metric(tokenizer=tokenizer), response, REFERENCE)
        assert ours == pytest.approx(published, abs=0.00051)


def test_the_numbers_of_a_changed_figure_are_those_counted_by_hand():
    response = REFERENCE.replace("30", "60")
    bleu, gleu = found(Bleu(), response, REFERENCE), found(Gleu(), response, REFERENCE)
    assert (bleu.details["matches"], bleu.details["totals"]) == ([15, 13, 11, 9], [16, 15, 14, 13])
    assert bleu.value == round((15 / 16 * 13 / 15 * 11 / 14 * 9 / 13) ** 0.25, 6)
    assert (gleu.details["matches"], gleu.details["total"]) == (48, 58)
    assert value(TokenF1(), response, REFERENCE) == round(12 / 13, 6)
    assert bleu.details["missing"] == gleu.details["missing"] == ["30"]


def test_one_right_word_of_four_is_the_brevity_penalty():
    assert value(Bleu(), "red", "red green blue grey") == round(math.exp(-3), 6)
    assert value(Bleu(), "red", "red") == 1.0


def test_bleu_smooths_each_empty_length_with_half_of_the_one_before():
    # 2 tokens of 3: one pair of words is right, then no run of 3 or 4.
    expected = math.exp(-0.5) * (1 * 1 * math.log(2) / 10 * math.log(2) / 20) ** 0.25
    assert value(Bleu(), "new york", "new york city") == round(expected, 6)


@pytest.mark.parametrize("words", [1, 2, 3, 4])
def test_a_short_answer_that_is_the_reference_is_1(words):
    text = ["new", "york", "city", "hall"][:words]
    assert value(Bleu(), " ".join(text), " ".join(text)) == 1.0
    assert value(Bleu(), " ".join(text), "elsewhere", " ".join(text)) == 1.0


def test_bleu_counts_a_word_no_more_often_than_one_reference_has_it():
    assert sentence_bleu([["a", "b"], ["a", "c"]], ["a", "a", "a"]).matches[0] == 1
    assert sentence_bleu([["a", "b", "a"], ["a"]], ["a", "a", "a"]).matches[0] == 2


def test_bleu_takes_the_closest_length_and_of_two_the_shorter():
    parts = sentence_bleu([["a"] * 6, ["a"] * 2, ["a"] * 9], ["a"] * 4)
    assert (parts.closest, parts.brevity_penalty) == (1, 1.0)
    assert sentence_bleu([["a"] * 4], ["a"] * 5).brevity_penalty == 1.0
    assert sentence_bleu([["a"] * 6, ["a"] * 9], ["a"] * 4).brevity_penalty == math.exp(1 - 6 / 4)


def test_bleu_without_a_shared_word_is_0():
    assert value(Bleu(), "alpha beta gamma delta", "one two three four") == 0.0


def test_gleu_best_of_and_pooled_over_references():
    same, other = "a cold wind blows", "nothing alike whatsoever here"
    assert value(Gleu(), same, other, same) == 1.0
    assert value(Gleu(references="pooled"), same, other, same) == 0.5
    assert value(Gleu(references="pooled"), same, same) == 1.0


def test_gleu_is_the_smaller_of_precision_and_recall():
    assert gleu_counts(["a", "b", "c", "d"], ["a", "b"]) == (3, 10)
    assert gleu_counts([], []).score == 0.0


def test_overlap_by_hand():
    # "sky" once of two, "blue" once: 2 shared of 3 and of 4.
    response, reference = "The blue, blue sky!", "A sky, the sky, so blue"
    assert value(TokenPrecision(), response, reference) == round(2 / 3, 6)
    assert value(TokenRecall(), response, reference) == 0.5
    assert value(TokenF1(), response, reference) == round(4 / 7, 6)


def test_rouge_l_by_hand():
    response, reference = "is the sky blue", "the sky is very blue"
    assert value(RougeL(), response, reference) == round(2 * 3 / 9, 6)
    assert value(RougeL(measure="recall"), response, reference) == 0.6
    assert value(RougeL(measure="precision"), response, reference) == 0.75


def test_chrf_by_hand():
    # "ab" against "abc": 2 of 2 and 1 of 1 runs right, of 3 and 2.
    recall = (2 / 3 + 1 / 2) / 2
    assert value(Chrf(order=2, beta=1), "a b", "abc") == round(2 * recall / (1 + recall), 6)
    assert value(Chrf(order=2), "ab", "abc") == round(5 * recall / (4 + recall), 6)
    assert value(Chrf(), "AB", "ab") == 0.0
    assert value(Chrf(lowercase=True), "AB", "ab") == 1.0

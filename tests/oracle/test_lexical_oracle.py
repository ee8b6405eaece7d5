"""The same numbers as NLTK, rouge-score and sacreBLEU, and as the definitions taken literally."""

import re
import string
import unicodedata
from collections import Counter
from fractions import Fraction

import pytest
from hypothesis import assume, example, given, settings
from hypothesis import strategies as st

from closecall.metrics.facts.patterns import search
from closecall.metrics.lexical import rouge_l
from closecall.metrics.lexical.bleu import sentence_bleu
from closecall.metrics.lexical.chrf import chrf_parts
from closecall.metrics.lexical.gleu import Gleu, gleu_counts
from closecall.metrics.lexical.rouge_l import RougeL, lcs_length
from closecall.metrics.lexical.token_overlap import ExactMatch, TokenF1
from closecall.metrics.lexical.tokenizers import (
    alnum_tokens,
    meai_tokens,
    squad_tokens,
    words_tokens,
)
from closecall.records import Case

few = settings(max_examples=60, deadline=None)

tokens = st.lists(st.sampled_from("abcde"), min_size=1, max_size=14)
answers = st.lists(st.sampled_from("abcdx"), min_size=1, max_size=14)
ascii_text = st.text(st.sampled_from("aAbB the.,'-_3$ \n"), min_size=1, max_size=60)
any_text = st.text(max_size=40)


def value(metric, response, *references):
    return metric.measure(Case(id="1", references=references, response=response), {}).value


# ---- against other packages


@pytest.fixture(scope="module")
def nltk_bleu():
    return pytest.importorskip("nltk.translate.bleu_score")


@pytest.fixture(scope="module")
def nltk_gleu():
    return pytest.importorskip("nltk.translate.gleu_score")


@pytest.fixture(scope="module")
def rouge():
    return pytest.importorskip("rouge_score.rouge_scorer").RougeScorer(["rougeL"])


@pytest.fixture(scope="module")
def sacrebleu():
    return pytest.importorskip("sacrebleu.metrics.chrf")


@few
@given(st.lists(tokens, min_size=1, max_size=3), answers)
def test_bleu_agrees_with_nltk(nltk_bleu, references, response):
    # Where a short response is a whole reference ours is 1 on purpose.
    assume(response not in references or len(response) not in {2, 3})
    smoothing = nltk_bleu.SmoothingFunction().method4
    expected = nltk_bleu.sentence_bleu(references, response, smoothing_function=smoothing)
    assert sentence_bleu(references, response).score == pytest.approx(float(expected), abs=1e-12)


@few
@given(tokens, answers)
def test_gleu_agrees_with_nltk(nltk_gleu, reference, response):
    expected = nltk_gleu.sentence_gleu([reference], response)
    assert gleu_counts(reference, response).score == pytest.approx(expected, abs=1e-12)


@few
@given(st.lists(tokens, min_size=2, max_size=3), answers)
def test_gleu_of_several_references_agrees_with_nltk(nltk_gleu, references, response):
    ours = value(Gleu(tokenizer="space"), " ".join(response), *map(" ".join, references))
    assert ours == pytest.approx(nltk_gleu.sentence_gleu(references, response), abs=1e-6)


@few
@given(ascii_text, ascii_text)
def test_rouge_l_agrees_with_rouge_score(rouge, reference, response):
    assume(reference.strip() and response.strip() and alnum_tokens(reference))
    expected = rouge.score(reference, response)["rougeL"]
    for measure, share in zip(("precision", "recall", "f1"), expected, strict=True):
        assert value(RougeL(measure=measure), response, reference) == pytest.approx(
            share, abs=1e-6
        )


@few
@given(any_text, any_text)
def test_chrf_agrees_with_sacrebleu(sacrebleu, reference, response):
    expected = (
        sacrebleu.CHRF(char_order=6, beta=2).sentence_score(response, [reference]).score / 100
    )
    assert chrf_parts(reference, response).score == pytest.approx(expected, abs=1e-12)


@few
@given(any_text, any_text, st.integers(1, 8), st.integers(1, 3))
def test_chrf_of_other_orders_and_weights_agrees_with_sacrebleu(
    sacrebleu, one, other, order, beta
):
    expected = sacrebleu.CHRF(char_order=order, beta=beta).sentence_score(other, [one]).score / 100
    ours = chrf_parts(one, other, order=order, beta=beta).score
    assert ours == pytest.approx(expected, abs=1e-12)


# ---- against the definitions


ENTITIES = {"quot": '"', "amp": "&", "lt": "<", "gt": ">", "apos": "'"}


def literal_tokens(text):
    """The rules of the first tokenizer, one test a rule, in the order they are written down."""
    text = unicodedata.normalize("NFC", text.replace("\r\n", "\n").replace("\r", "\n"))
    found, word = [], ""

    def finish():
        nonlocal word
        if word:
            found.append(word)
        word = ""

    while text:
        char, kind = text[0], unicodedata.category(text[0])[0]
        entity = re.match("&(quot|amp|lt|gt|apos);", text)
        if char.isspace():
            finish()
            text = text[1:]
        elif text.startswith("-\n"):
            text = text[2:]
        elif entity:
            finish()
            found.append(ENTITIES[entity[1]])
            text = text[entity.end() :]
        elif kind in "SP":
            finish()
            found.append(char)
            text = text[1:]
        elif kind == "N" and not word:
            number = ""
            while text and unicodedata.category(text[0])[0] in "NP":
                number, text = number + text[0], text[1:]
            found.append(number)
        else:
            upper = char.upper()
            word += upper if len(upper) == 1 and kind != "N" else char
            text = text[1:]
    finish()
    return found


@few
@given(st.text(st.sampled_from("aß3.٣²,-$&€ \nq;'ǆ½") | st.characters(exclude_categories=["Cs"])))
@example("30. 3.50, 30-\n5 CO2-\nx a-\n3 &quot;a&amp;&lt;3&quot; --\nx don't x-\n-\ny")
def test_words_are_cut_as_the_rules_say(text):
    assert meai_tokens(text) == literal_tokens(text)


@few
@given(st.text(st.characters(max_codepoint=0x2FF)))
def test_scripts_with_spaces_are_cut_alike_by_both(text):
    assert words_tokens(text) == meai_tokens(text)


def published_squad(text):
    """The normalisation as the SQuAD evaluation states it, for English."""
    text = "".join(char for char in text.lower() if char not in set(string.punctuation))
    return " ".join(re.sub(r"\b(a|an|the)\b", " ", text).split())


@few
@given(ascii_text, ascii_text)
def test_squad_tokens_f1_and_exact_match_are_the_published_ones(reference, response):
    assert squad_tokens(reference) == published_squad(reference).split()
    assume(squad_tokens(reference) and response.strip())
    right, said = published_squad(reference).split(), published_squad(response).split()
    common = sum((Counter(right) & Counter(said)).values())
    expected = Fraction(0)
    if common:
        precision, recall = Fraction(common, len(said)), Fraction(common, len(right))
        expected = 2 * precision * recall / (precision + recall)
    assert value(TokenF1(), response, reference) == round(float(expected), 6)
    assert value(ExactMatch(), response, reference) == float(right == said)


def published_mlqa(text):
    """Segmentation of Chinese as in the MLQA evaluation: every Han character is a token."""
    text = "".join(c for c in text.lower() if unicodedata.category(c)[0] != "P")
    return re.sub("([\u4e00-\u9fa5])", r" \1 ", text).split()


@few
@given(st.text(st.sampled_from("天气很好今abc12，。？ 「」")))
def test_squad_tokens_of_chinese_are_those_of_mlqa(text):
    assert squad_tokens(text) == [t for t in published_mlqa(text) if t != "a"]


def slow_lcs(first, second):
    row = [0] * (len(second) + 1)
    for one in first:
        above = 0
        for at, other in enumerate(second, 1):
            above, row[at] = row[at], above + 1 if one == other else max(row[at], row[at - 1])
    return row[-1]


@pytest.mark.parametrize("bits", [1, 2, 3, 7, 1 << 14])
@few
@given(
    st.lists(st.sampled_from("abc"), max_size=30), st.lists(st.sampled_from("abcd"), max_size=30)
)
def test_the_subsequence_found_bit_by_bit_is_the_longest(bits, first, second):
    kept, rouge_l.BLOCK_BITS = rouge_l.BLOCK_BITS, bits
    try:
        assert lcs_length(first, second) == slow_lcs(first, second)
    finally:
        rouge_l.BLOCK_BITS = kept


@few
@given(
    st.sampled_from([r"\b30\b", "(?:a|b)+c?", r"[^a]\d", "x.*y", "(?m)^b$", "É|ss", r"(\w)\1"]),
    st.text(st.sampled_from("abcxy30 \nÉé\u0000\U0001f600")),
    st.booleans(),
)
def test_patterns_find_what_re_finds(pattern, text, ignore_case):
    expected = re.search(pattern, text, re.IGNORECASE if ignore_case else 0)
    (found,) = search([pattern], text, ignore_case=ignore_case)
    assert (found and tuple(found)) == (expected and expected.span())

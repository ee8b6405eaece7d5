"""What must hold for any two texts: bounds, identity, symmetry, canonical forms, size."""

import random
import unicodedata

import pytest
from hypothesis import assume, given, settings
from hypothesis import strategies as st

from closecall.metrics.lexical.bleu import Bleu
from closecall.metrics.lexical.chrf import Chrf
from closecall.metrics.lexical.gleu import Gleu
from closecall.metrics.lexical.rouge_l import RougeL
from closecall.metrics.lexical.token_overlap import (
    ContainsReference,
    ExactMatch,
    TokenF1,
    TokenPrecision,
    TokenRecall,
)
from closecall.records import Case

few = settings(max_examples=40, deadline=None)

METRICS = [
    Bleu(), Bleu(tokenizer="meai"), Gleu(), Gleu(references="pooled"), TokenF1(),
    TokenF1(tokenizer="words"), TokenRecall(), TokenPrecision(), ExactMatch(),
    ExactMatch(normalize=False), ContainsReference(), RougeL(), RougeL(measure="recall"), Chrf(),
]  # fmt: skip
SYMMETRIC = [
    Gleu(tokenizer="words"), TokenF1(tokenizer="words"), ExactMatch(normalize=False),
    RougeL(), Chrf(beta=1),
]  # fmt: skip
texts = st.one_of(
    st.text(max_size=30),
    st.text(st.sampled_from("aAbthe .,'-\n3天ดี&é"), max_size=30),
).filter(str.strip)  # fmt: skip


def named(metrics):
    return pytest.mark.parametrize("metric", metrics, ids=[m.spec.id for m in metrics])


def value(metric, response, *references):
    return metric.measure(Case(id="1", references=references, response=response), {}).value


@named(METRICS)
@few
@given(texts, st.lists(texts, min_size=1, max_size=3))
def test_between_0_and_1_and_the_same_every_time(metric, response, references):
    case = Case(id="1", references=tuple(references), response=response)
    found = metric.measure(case, {})
    assert 0.0 <= found.value <= 1.0
    assert found.score == pytest.approx(100 * found.value, abs=1e-4)
    assert metric.measure(case, {}) == found


@named(METRICS)
@few
@given(texts)
def test_a_text_is_1_to_itself(metric, text):
    assert value(metric, text, text) == 1.0


@named([m for m in METRICS if m.spec.id != "gleu:references=pooled"])
@few
@given(texts, texts)
def test_a_text_is_1_to_itself_whatever_the_other_reference(metric, text, other):
    assume("-" not in text)  # a hyphen at a line's end alone is no word beside another reference
    assert value(metric, text, other, text) == 1.0


@named(SYMMETRIC)
@few
@given(texts, texts)
def test_symmetric(metric, one, other):
    # Where one side has no token under the first cut, the reference says how both are cut.
    assume(any(c.isalnum() for c in one) and any(c.isalnum() for c in other))
    assert value(metric, one, other) == value(metric, other, one)


@few
@given(st.text(st.sampled_from("abc "), min_size=1), st.text(st.sampled_from("abc "), min_size=1))
def test_recall_is_precision_the_other_way_round(one, other):
    one, other = f"x {one}", f"y {other}"
    assert value(TokenRecall(), one, other) == value(TokenPrecision(), other, one)


@named([m for m in METRICS if m.NAME not in ("bleu", "gleu")])
@few
@given(texts, texts, texts)
def test_one_more_reference_never_makes_it_worse(metric, response, one, other):
    assert value(metric, response, one, other) == max(
        value(metric, response, one), value(metric, response, other)
    )


@named(METRICS)
@few
@given(texts, texts)
def test_the_spelling_of_accents_and_line_ends_does_not_count(metric, response, reference):
    def respelled(text):
        return unicodedata.normalize("NFD", text).replace("\n", "\r\n")

    assume(respelled(response).strip() and respelled(reference).strip())
    assert value(metric, respelled(response), reference) == value(metric, response, reference)


@named(METRICS)
def test_texts_of_many_sizes_and_kinds_are_measured(metric):
    rng = random.Random(4)
    words = [f"w{n}" for n in range(5000)]
    long = " ".join(rng.choices(words, k=20_000))
    other = " ".join(rng.choices(words, k=20_000))
    assert 0 <= value(metric, long, other) <= 1
    assert value(metric, "x" * 200_000, "x" * 200_000) == 1.0
    assert value(metric, "天" * 2_000, "天" * 1_999) <= 1.0
    assert 0 <= value(metric, "a " * 20_000 + "b", "a " * 20_000) <= 1

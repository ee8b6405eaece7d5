"""What holds for every metric that compares wording: absences, references, options, details."""

import json

import pytest

from closecall.errors import UsageError
from closecall.metrics.lexical import rouge_l
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
from closecall.records import Case, State, Unmeasured
from closecall.runs.results import decide

CLASSES = [
    Bleu, Gleu, TokenF1, TokenRecall, TokenPrecision, ExactMatch, ContainsReference, RougeL, Chrf,
]  # fmt: skip
every = pytest.mark.parametrize("cls", CLASSES, ids=[cls.NAME for cls in CLASSES])


def measure(metric, response, *references):
    return metric.measure(Case(id="1", references=references, response=response), {})


@every
def test_no_vectors_are_asked_for(cls):
    assert cls().texts(Case(id="1", references=("x",), response="x")) == ()


@every
@pytest.mark.parametrize(
    ("case", "said"),
    [
        (Case(id="1", response="x"), "the case's reference is missing"),
        (Case(id="1", references=(" ",), response="x"), "the case's reference is blank"),
        (Case(id="1", references=("x",)), "the case's response is missing"),
        (Case(id="1", references=("x",), response="\n"), "the case's response is blank"),
    ],
    ids=["no reference", "blank reference", "no response", "blank response"],
)
def test_missing_or_blank_input_is_not_measured(cls, case, said):
    asked = cls().texts(case)
    assert isinstance(asked, Unmeasured)
    assert asked == cls().measure(case, {})
    assert asked.reason == said


@every
def test_the_best_reference_counts_and_is_named_as_the_case_has_it(cls):
    right = "the tower stands in the old harbour"
    found = measure(cls(), right, "quite unlike it", " ", right, right)
    assert found.value == 1.0
    assert found.details["references"] == 3
    assert found.details["bestReference"] == 2
    assert "references" not in measure(cls(), right, right).details


@every
def test_nothing_in_common_is_0_and_that_is_measured(cls):
    found = measure(cls(), "xyz", "abc")
    assert (found.value, found.similarity, found.score) == (0.0, 0.0, 0.0)


@every
def test_the_default_cutoff_is_said_to_be_one(cls):
    metric = cls()
    assert metric.cutoff == metric.spec.default_cutoff
    expected = 1.0 if cls in (ExactMatch, ContainsReference) else 0.5
    assert metric.cutoff == expected
    result = decide(metric, measure(metric, "same words", "same words"))
    assert result.state is State.PASSED
    assert "default cutoff, not calibrated" in result.reason


@every
def test_a_cutoff_is_on_0_to_1(cls):
    assert cls(0.25).cutoff == cls(cutoff=0.25).cutoff == 0.25
    with pytest.raises(UsageError, match=rf"{cls.NAME}: .* did you mean 0\.5"):
        cls(50)


@every
def test_the_spec_says_what_the_metric_is(cls):
    spec = cls().spec
    assert (spec.id, spec.name) == (cls.NAME, cls.NAME)
    assert (spec.needs, spec.low, spec.high) == (("references", "response"), 0.0, 1.0)
    assert spec.options == cls.DEFAULTS
    assert cls.NAME in repr(cls())


@every
def test_details_of_huge_tokens_are_small(cls):
    found = measure(cls(), " ".join("x" * 9000 + str(n) for n in range(50)), "y" * 200_000)
    assert len(json.dumps(found.details)) < 4000


@pytest.mark.parametrize(
    ("metric", "name"),
    [
        (Bleu(tokenizer="meai"), "bleu:tokenizer=meai"),
        (Gleu(references="pooled"), "gleu:references=pooled"),
        (TokenF1(tokenizer="words"), "token_f1:tokenizer=words"),
        (ExactMatch(normalize=False), "exact_match:normalize=false"),
        (RougeL(measure="recall"), "rouge_l:measure=recall"),
        (Chrf(order="4", beta="1"), "chrf:order=4:beta=1"),
        (Chrf(beta=0.5, lowercase=True), "chrf:beta=0.5:lowercase=true"),
        (Chrf(order="6", beta="2"), "chrf"),
    ],
    ids=lambda value: value if isinstance(value, str) else "",
)
def test_the_id_names_options_that_are_not_the_defaults(metric, name):
    assert metric.spec.id == name


@pytest.mark.parametrize(
    ("cls", "options", "said"),
    [
        (Bleu, {"tokenizer": "punkt"}, "bleu: tokenizer must be one of words, meai, squad, space; got punkt"),
        (Bleu, {"tokenizer": True}, "got True"),
        (Gleu, {"references": "mean"}, "gleu: references must be one of best, pooled; got mean"),
        (ExactMatch, {"normalize": "no"}, "exact_match: normalize must be true or false, got 'no'"),
        (RougeL, {"measure": "f2"}, "rouge_l: measure must be one of f1, recall, precision; got f2"),
        (Chrf, {"order": "0"}, "chrf: order must be a whole number from 1 to 12, got 0"),
        (Chrf, {"order": 2.5}, "got 2.5"),
        (Chrf, {"order": "99999999999999999999"}, "from 1 to 12"),
        (Chrf, {"beta": "-1"}, "chrf: beta must be a number above 0, at most 100; got -1"),
        (Chrf, {"beta": "nan"}, "got nan"),
        (Chrf, {"beta": "much"}, "got much"),
        (Chrf, {"beta": True}, "got True"),
        (Chrf, {"lowercase": 1}, "lowercase must be true or false, got 1"),
    ],
    ids=lambda value: getattr(value, "NAME", None) or ascii(value)[:30],
)  # fmt: skip
def test_options_that_cannot_be_are_refused(cls, options, said):
    with pytest.raises(UsageError) as caught:
        cls(**options)
    assert said in str(caught.value)


def test_missing_words_are_counted_as_often_as_they_lack_and_the_first_ten_named():
    reference = " ".join(f"w{n}" for n in range(15)) + " w0 w0"
    details = measure(TokenF1(), "w0 extra w3", reference).details
    assert details["missing"] == [f"w{n}" for n in range(15) if n not in (0, 3)][:10]
    assert details["added"] == ["extra"]
    assert (details["sharedTokens"], details["referenceTokens"], details["responseTokens"]) == (
        2,
        17,
        3,
    )
    assert measure(RougeL(), "w0 extra w3", reference).details["missingTokens"] == 15


def test_bleu_names_the_closest_length_beside_the_best_reference():
    found = measure(Bleu(), "one two three", "four five six", "one two three four five")
    assert found.details["closestReference"] == 0
    assert found.details["bestReference"] == 1
    assert found.details["missing"] == ["FOUR", "FIVE"]


@pytest.mark.parametrize(
    ("response", "exact", "contains"),
    [
        ("The Blue  Whale.", 1, 1),
        ("It is the blue whale, of course", 0, 1),
        ("blue humpback whale", 0, 0),
        ("whale blue", 0, 0),
        ("blue whales", 0, 0),
        ("Not the blue whale", 0, 1),
    ],
)
def test_a_reference_as_a_whole_or_within(response, exact, contains):
    assert measure(ExactMatch(), response, "blue whale").value == exact
    assert measure(ContainsReference(), response, "blue whale").value == contains


def test_a_reference_within_a_script_without_spaces():
    assert measure(ContainsReference(), "答案是蓝鲸。", "蓝鲸").value == 1
    assert measure(ContainsReference(), "答案是鲸蓝。", "蓝鲸").value == 0


def test_the_letter_a_is_an_answer_and_no_article():
    assert measure(ExactMatch(), "A", "A").value == 1
    assert measure(ExactMatch(), "the", "A").value == 0
    assert measure(ExactMatch(), "B", "A").value == 0
    assert measure(TokenRecall(), "Answer: a", "A").value == 1


def test_without_normalising_every_character_counts():
    assert measure(ExactMatch(normalize=False), " -3.5\n", "-3.5").value == 1
    assert measure(ExactMatch(normalize=False), "3.5", "-3.5").value == 0
    assert measure(ExactMatch(), "3.5", "-3.5").value == 1
    assert measure(ContainsReference(normalize=False), "concatenate", "cat").value == 1
    assert measure(ContainsReference(), "concatenate", "cat").value == 0


def test_texts_too_long_to_be_compared_are_not_measured(monkeypatch):
    monkeypatch.setattr(rouge_l, "MOST_PAIRS", 24)
    assert measure(RougeL(), "a b c d", "a b c d e f").value == 0.8
    found = measure(RougeL(), "a b c d", "a b c", "d e f g")
    assert isinstance(found, Unmeasured)
    assert "response and references are so long that there are 28" in found.reason

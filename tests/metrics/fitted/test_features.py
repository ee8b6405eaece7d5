"""The scalars of a case: what they are on small texts, and what they are where nothing is there."""

import math

import pytest

from closecall.embedders.base import Failure, TextKey
from closecall.embedders.cached import CachedEmbedder
from closecall.metrics.fitted import facts
from closecall.metrics.fitted.features import (
    CONTEXT,
    OF,
    PER_FEATURE,
    REFERENCES,
    SUPPORT,
    VERSION,
    affordable,
    features_of,
    joined_version,
    parted_version,
    sizes,
)
from closecall.metrics.fitted.measure import FEATURES, JudgeFeatures
from closecall.metrics.fitted.reading import read, texts_of
from closecall.metrics.guards import GUARDS
from closecall.metrics.guards.base import against_any
from closecall.records import Case, Measured, Unmeasured
from closecall.testing import HashEmbedder

LANTERNS = "Twelve copper lanterns hang in Marlow"


def case(response, references=(LANTERNS,), question=None, context=()):
    return Case(
        id="1", response=response, references=tuple(references), input=question, context=context
    )


def features(one, sides="references"):
    keys = texts_of(one, sides)
    assert not isinstance(keys, Unmeasured), keys
    found = read(one, sides, CachedEmbedder(HashEmbedder()).fetch(keys))
    assert not isinstance(found, Unmeasured), found
    return found.features


def test_each_feature_is_listed_once_and_has_words():
    for listed in (REFERENCES, CONTEXT):
        assert (
            len({one.name for one in listed}) == len({one.words for one in listed}) == len(listed)
        )
        assert {one.sign for one in listed} == {-1, 0, 1}


@pytest.mark.parametrize("sides", ["references", "context"])
def test_labels_pay_for_so_many_features(sides):
    few, some, every = sizes(sides)
    assert every == len(OF[sides])
    for scarce, count in (
        (0, few),
        (few * PER_FEATURE, few),
        (some * PER_FEATURE - 1, few),
        (some * PER_FEATURE, some),
        (every * PER_FEATURE - 1, some),
        (every * PER_FEATURE, every),
        (100_000, every),
    ):
        assert affordable(sides, scarce) == OF[sides][:count]


@pytest.mark.parametrize("sides", ["references", "context"])
def test_what_the_pair_model_says_is_among_those_that_few_labels_pay_for(sides):
    plain, both = features_of(sides), features_of(sides, support=True)
    assert both[1] == SUPPORT[sides]
    assert (both[0], *both[2:]) == plain == OF[sides]
    # It asks for no label more than a judge without it, and the largest head has it besides.
    assert sizes(sides, support=True) == (*sizes(sides)[:2], len(plain) + 1)
    few = affordable(sides, 60, support=True)
    assert len(few) == len(affordable(sides, 60)) == 6
    assert SUPPORT[sides] in few


@pytest.mark.parametrize("support", [None, "1+abcdef", "2+a+support:b"])
def test_a_version_is_put_together_and_taken_apart(support):
    assert parted_version(joined_version(support)) == (VERSION, support)


def test_a_response_that_is_the_reference():
    found = features(case(LANTERNS))
    assert list(found) == [one.name for one in REFERENCES]
    for name in (
        "align_recall", "align_content", "align_min", "align_precision", "align_first",
        "align_sentence", "token_recall", "word_recall", "token_precision", "token_f1", "contains",
        "characters_recall", "cosine", "cosine_beyond", "numbers_agree", "names_agree",
    ):  # fmt: skip
        assert found[name] == pytest.approx(1.0, abs=1e-6), name
    for name in (
        "numbers_differ", "numbers_missing", "numbers_extra", "names_differ", "names_missing",
        "names_extra", "negation_differ", "negation_added", "negation_dropped", "refusal",
        "has_question", "question_cosine", "reference_question_cosine",
    ):  # fmt: skip
        assert found[name] == 0.0, name
    assert found["response_length"] == pytest.approx(math.log1p(6), abs=1e-6)


def test_what_else_a_response_says_costs_precision_and_no_recall():
    short, long = features(case(LANTERNS)), features(case(f"{LANTERNS}, near the old mill pond."))
    assert long["token_recall"] == short["token_recall"] == 1
    assert long["token_precision"] < 0.7
    assert long["align_precision"] < short["align_precision"]


def test_another_number_another_name_and_a_not():
    assert features(case("Thirty copper lanterns hang in Marlow"))["numbers_differ"] == 1
    assert features(case("Thirty copper lanterns hang in Marlow"))["numbers_missing"] > 0
    assert features(case("Twelve copper lanterns hang in Verona"))["names_differ"] == 1
    negated = features(case("Twelve copper lanterns do not hang in Marlow"))
    assert (negated["negation_differ"], negated["negation_added"]) == (1, 1)
    dropped = features(case(LANTERNS, ["Twelve copper lanterns do not hang in Marlow"]))
    assert dropped["negation_dropped"] == 1
    assert features(case("I'm sorry, I don't know."))["refusal"] == 1


def test_a_question_makes_its_own_words_light():
    question = "Where do twelve copper lanterns hang?"
    parrot = "Twelve copper lanterns hang in Verona"
    without, asked = features(case(parrot)), features(case(parrot, question=question))
    assert (without["has_question"], asked["has_question"]) == (0, 1)
    assert asked["question_cosine"] > 0
    for name in ("align_content", "word_recall", "cosine_beyond"):
        assert asked[name] < without[name] - 0.03, name
    for name in ("align_recall", "token_recall", "cosine"):
        assert asked[name] == without[name], name


def test_of_several_references_the_best_counts_whatever_their_order():
    others = ["A plain answer", LANTERNS, "Another one"]
    forth, back = features(case(LANTERNS, others)), features(case(LANTERNS, others[::-1]))
    assert forth == back
    assert forth["align_recall"] == forth["contains"] == forth["cosine"] == 1
    assert forth["references"] == pytest.approx(math.log1p(3), abs=1e-6)
    assert forth["numbers_differ"] == 0


def test_where_in_the_response_the_reference_stands():
    first = features(case(f"{LANTERNS}. Nothing more is known of them."))
    last = features(case(f"Nothing more is known of them. {LANTERNS}."))
    assert first["align_sentence"] == pytest.approx(last["align_sentence"], abs=0.2)
    assert first["align_first"] > last["align_first"] + 0.3


def test_a_response_beside_its_context():
    passages = (f"{LANTERNS}.", "Seven geese swim by.")
    found = features(case(LANTERNS, (), context=passages), "context")
    assert list(found) == [one.name for one in CONTEXT]
    for name in ("token_precision", "token_content", "pairs_precision", "threes_precision"):
        assert found[name] == 1, name
    assert found["numbers_extra"] == found["names_extra"] == 0
    other = "Ninety geese swim by Verona"
    strayed = features(case(other, (), context=passages), "context")
    assert strayed["numbers_extra"] > 0
    assert strayed["names_extra"] > 0
    assert strayed["token_precision"] == pytest.approx(3 / 5, abs=1e-6)
    assert strayed["align_weakest"] < found["align_weakest"]


@pytest.mark.parametrize(
    ("one", "sides", "said"),
    [
        (case("x", ()), "references", "the case's reference is missing"),
        (case("x", (" ",)), "references", "the case's reference is blank"),
        (case("x"), "context", "the case's context is missing"),
        (case(" "), "references", "the case's response is blank"),
    ],
)
def test_what_is_missing_is_named_and_nothing_is_measured(one, sides, said):
    assert texts_of(one, sides) == Unmeasured(said)
    assert JudgeFeatures(sides).measure(one, {}) == Unmeasured(said)


def test_texts_without_vectors_are_not_measured():
    one = case(LANTERNS, question="Which?")
    keys = texts_of(one, "references")
    vectors = dict(CachedEmbedder(HashEmbedder()).fetch(keys))
    assert keys[-1] == TextKey("Which?")
    missing = {key: value for key, value in vectors.items() if key != keys[-1]}
    assert "question was not embedded" in read(one, "references", missing).reason
    failed = {**vectors, keys[-1]: Failure("out of memory")}
    assert "out of memory" in read(one, "references", failed).reason
    # A question the model cannot read at all is none.
    unread = {**vectors, keys[-1]: Failure("no known token", unreadable=True)}
    assert read(one, "references", unread).features["has_question"] == 0
    lost = {**vectors, keys[1]: Failure("out of memory")}
    assert "embedding the response failed" in read(one, "references", lost).reason


def test_guards_read_a_bounded_part_of_many_and_long_texts(monkeypatch):
    read_of = []
    real = facts.numbering.compare

    def noted(reference, response, question=None):
        read_of.append((reference, response))
        return real(reference, response, question)

    monkeypatch.setattr(facts.numbering, "compare", noted)
    long = "word " * 10_000
    facts.against_references([long, *("some text",) * 50], long, long)
    assert max(len(text) for pair in read_of for text in pair) <= 2 * facts.READ + 1


@pytest.mark.parametrize(
    ("references", "response"),
    [
        (["in 30 days", "in 40 days"], "in 40 days"),
        (["in 30 days", "in 40 days"], "in 50 days"),
        (["soon", "in 40 days"], "in 50 days"),
        (["in 30 days", "soon"], "in 50 days"),
        (["in 30 days", "soon"], "tomorrow"),
        (["soon"], "in 5 days"),
    ],
)
def test_numbers_are_told_as_the_guard_tells_them(references, response):
    state = against_any(GUARDS["numbers"], references, response).finding.state
    found = facts.against_references(references, response, None)
    assert found["numbers_differ"] == (state == "differ")
    assert found["numbers_agree"] == (state == "agree")


def test_the_measure_holds_the_features_in_its_details():
    one = case(LANTERNS)
    found = JudgeFeatures().measure(
        one, CachedEmbedder(HashEmbedder()).fetch(JudgeFeatures().texts(one))
    )
    assert isinstance(found, Measured)
    assert found.details[FEATURES] == features(one)
    assert found.value == found.details[FEATURES]["align_recall"]
    assert set(found.tokens) == {"reference", "response"}

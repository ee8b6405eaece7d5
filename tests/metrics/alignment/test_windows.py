"""Sentences, clauses and windows, and the metrics that compare them one by one."""

import pytest

from closecall import Case, evaluate
from closecall.metrics.alignment.sentences import clauses, sentences, windows
from closecall.metrics.alignment.windows import (
    MOST,
    AnswerWindowSimilarity,
    ContextWindowSimilarity,
    spread,
)
from closecall.records import Unmeasured
from closecall.testing import HashEmbedder

LONG = "Thanks for asking. A refund takes five working days and we write to you when it is sent."


def parts(cut, text, *args):
    return [text[start:end] for start, end in cut(text, *args)]


@pytest.mark.parametrize(("text", "want"), [
    ("One. Two! Three? Four", ["One.", "Two!", "Three?", "Four"]),
    ("It costs 3.5 euros. Really.", ["It costs 3.5 euros.", "Really."]),
    ('He said "no." Then he left.', ['He said "no."', "Then he left."]),
    ("first\n\nsecond", ["first", "second"]),
    ("\u4eca\u65e5\u306f\u3002\u660e\u65e5\u3002", ["\u4eca\u65e5\u306f\u3002", "\u660e\u65e5\u3002"]),
    ("", []), ("   ", []), ("no end", ["no end"]),
])  # fmt: skip
def test_sentences(text, want):
    assert [part.rstrip('"') for part in parts(sentences, text)] == [w.rstrip('"') for w in want]


def test_clauses_and_windows():
    assert parts(clauses, "We pay on Monday, and you wait because banks are slow.") == [
        "We pay on Monday", "and you wait", "because banks are slow.",
    ]  # fmt: skip
    assert parts(windows, "a b c d", 2) == ["a b", "b c", "c d"]
    assert parts(windows, "a b", 5) == ["a b"]
    assert parts(windows, "", 5) == []


def test_nothing_of_a_text_is_lost_but_white_space():
    kept = "".join("".join(part.split()) for part in parts(sentences, LONG))
    assert kept == "".join(LONG.split())


def test_parts_are_bounded_and_the_whole_comes_first():
    text = " ".join(f"w{n}" for n in range(10_000))
    found = spread(text, windows(text, 2))
    assert found[0] == text
    assert len(found) <= MOST + 1


def value(metric, response, *references, **fields):
    case = Case(id="1", response=response, references=references, **fields)
    (row,) = evaluate([case], [metric], HashEmbedder())
    return row.results[0].measurement


def test_the_best_window_finds_a_short_reference_in_a_long_answer():
    found = value(AnswerWindowSimilarity(), LONG, "five working days")
    assert found.value == pytest.approx(1)
    assert "five working days" in found.details["bestPart"]
    assert found.details["wholeSimilarity"] < found.value
    assert value("embed_answer_similarity", LONG, "five working days").similarity < found.value


def test_the_whole_answer_is_one_of_the_parts():
    assert value(AnswerWindowSimilarity(), "the same text", "the same text").value == 1
    for how in ("clauses", "sentences"):
        assert value(AnswerWindowSimilarity(parts=how), "one two", "one two").value == 1


def test_each_sentence_against_its_nearest():
    context = ("Refunds take five working days. The shop opens at nine.",)
    fine = value(ContextWindowSimilarity(), "The shop opens at nine.", context=context)
    assert fine.value == pytest.approx(1)
    mixed = value(
        ContextWindowSimilarity(), "The shop opens at nine. Parrots dislike thunder.",
        context=context,
    )  # fmt: skip
    assert mixed.value < fine.value
    assert mixed.details["weakestSentence"] == "Parrots dislike thunder."


@pytest.mark.parametrize("metric", [AnswerWindowSimilarity(), ContextWindowSimilarity()],
                         ids=lambda metric: metric.spec.id)  # fmt: skip
def test_missing_texts_are_not_measured(metric):
    for fields in ({"response": ""}, {"response": None}, {"response": "a"}):
        assert isinstance(value(metric, fields["response"]), Unmeasured)


@pytest.mark.parametrize("space", [" ", "\t", "\u3000"])
def test_a_page_of_white_space_is_cut_in_a_moment(space, no_hang):
    text = f"one{space * 100_000}two{space * 100_000}and three{space * 100_000}- four"
    assert [text[start:end] for start, end in clauses(text)][-2:] == ["and three", "four"]

"""The match of every word, as a result keeps it."""

import json

import numpy as np
import pytest

from closecall import Case, evaluate
from closecall.embedders.base import Pieces
from closecall.metrics.alignment.words import (
    MOST_WORDS,
    WORD_MATCHES,
    WordMatch,
    read_word_matches,
    word_matches,
)
from closecall.testing import HashEmbedder

RESPONSE = "Thanks. A refund takes five working days."
REFERENCE = "five working days"


def details(metric, **fields):
    (row,) = evaluate([Case(id="1", **fields)], [metric], HashEmbedder())
    return row.results[0].measurement.details


def kept(text, spans, best):
    pieces = Pieces(np.zeros((len(spans), 2), dtype=np.float32), tuple(spans))
    told = word_matches(text, pieces, np.array(best, dtype=np.float32))
    return told, read_word_matches({WORD_MATCHES: {"response": told}}, "response")


def test_a_word_of_several_tokens_has_the_match_of_its_worst():
    text = "So unbelievable, isn't it"
    spans = [(0, 2), (3, 5), (5, 15), (15, 16), (17, 20), (20, 22), (23, 25)]
    told, words = kept(text, spans, [1, 0.9, 0.254, -0.1, 0.7, 0.4, 0.5])
    assert told == {
        "spans": [0, 2, 1, 12, 0, 1, 1, 5, 1, 2],
        "matches": [100, 25, -10, 40, 50],
    }
    assert [(text[one.start : one.end], one.match) for one in words] == [
        ("So", 1.0),
        ("unbelievable", 0.25),
        (",", -0.1),
        ("isn't", 0.4),
        ("it", 0.5),
    ]


def test_in_scripts_without_spaces_each_token_stands_for_itself():
    text = "水泵每年 pump"
    _, words = kept(
        text, [(0, 1), (1, 2), (2, 3), (3, 4), (5, 7), (7, 9)], [1, 0.5, 0.2, 0.3, 0.9, 0.8]
    )
    assert [text[one.start : one.end] for one in words] == ["水", "泵", "每", "年", "pump"]
    assert [one.match for one in words] == [1.0, 0.5, 0.2, 0.3, 0.8]


def test_tokens_of_one_character_are_one_word():
    assert kept("𝄞a", [(0, 1), (0, 1), (1, 2)], [0.5, 0.1, 0.9])[1] == [
        WordMatch(0, 1, 0.1),
        WordMatch(1, 2, 0.9),
    ]


def test_of_a_very_long_text_the_first_words_are_kept_and_the_others_counted():
    text = "a " * (MOST_WORDS + 7)
    spans = [(2 * at, 2 * at + 1) for at in range(MOST_WORDS + 7)]
    told, words = kept(text, spans, [0.5] * len(spans))
    assert (len(words), told["leftOut"]) == (MOST_WORDS, 7)
    assert "leftOut" not in kept("a b", [(0, 1), (2, 3)], [1, 1])[0]


def test_each_metric_keeps_the_words_it_looks_at():
    found = {
        metric: details(metric, response=RESPONSE, references=(REFERENCE,), context=("Refunds.",))
        for metric in ("answer_alignment", "alignment_min", "alignment_f1", "context_alignment")
    }
    sides = {metric: sorted(one[WORD_MATCHES]) for metric, one in found.items()}
    assert sides == {
        "answer_alignment": ["reference"],
        "alignment_min": ["reference"],
        "alignment_f1": ["reference", "response"],
        "context_alignment": ["response"],
    }
    words = read_word_matches(found["answer_alignment"], "reference")
    assert [REFERENCE[one.start : one.end] for one in words] == ["five", "working", "days"]
    same = details("answer_alignment", response=REFERENCE, references=(REFERENCE,))
    assert all(one.match == 1 for one in read_word_matches(same, "reference"))
    back = read_word_matches(found["alignment_f1"], "response")
    shown = {RESPONSE[one.start : one.end]: one.match for one in back}
    assert list(shown) == ["Thanks.", "A", "refund", "takes", "five", "working", "days."]
    assert shown["working"] > shown["refund"]
    # The weakest are the lowest of them.
    for metric, of in (("alignment_f1", "weakestOfResponse"), ("context_alignment", "weakest")):
        every = sorted(one.match for one in read_word_matches(found[metric], "response"))
        five = [round(one["match"], 2) for one in found[metric][of]]
        assert five == pytest.approx(every[: len(five)], abs=0.011)


def test_of_several_references_those_of_the_best_are_kept():
    found = details(
        "answer_alignment", response=RESPONSE, references=("a week of rain and snow", REFERENCE)
    )
    assert found["bestReference"] == 1
    assert [one.end for one in read_word_matches(found, "reference")] == [4, 12, 17]


def test_places_are_those_of_the_text_with_its_marks_put_together():
    found = details(
        "answer_alignment", response="cafe\u0301 five", references=("cafe\u0301\r\nfive",)
    )
    assert [(one.start, one.end) for one in read_word_matches(found, "reference")] == [
        (0, 4),
        (5, 9),
    ]


def test_it_takes_less_than_twice_the_text():
    text = " ".join(["The refund of a returned saddle takes five working days."] * 30)
    found = details("alignment_f1", response=text, references=(text,))
    assert len(json.dumps(found[WORD_MATCHES], separators=(",", ":"))) < 2 * 2 * len(text)


@pytest.mark.parametrize(
    "written",
    [
        None,
        "no",
        {"response": None},
        {"response": {"spans": [0, 1]}},
        {"response": {"spans": [0, 1, 2], "matches": [1]}},
        {"response": {"spans": [0, -1], "matches": [1]}},
        {"response": {"spans": [0, 1.5], "matches": [1]}},
        {"response": {"spans": [0, True], "matches": [1]}},
        {"response": {"spans": "01", "matches": [1]}},
    ],
)
def test_what_someone_wrote_by_hand_is_no_words(written):
    assert read_word_matches({WORD_MATCHES: written}, "response") == []


def test_a_folder_without_texts_says_nothing_of_their_words(tmp_path):
    rows = [Case(id="1", response=RESPONSE, references=(REFERENCE,))]
    for content in (True, False):
        folder = tmp_path / str(content)
        evaluate(rows, ["alignment_f1"], HashEmbedder(), aef=folder, content=content, cache=False)
        written = (folder / "results.ndjson").read_text(encoding="utf-8")
        assert (WORD_MATCHES in written) is content

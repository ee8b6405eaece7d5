"""Numbers and hostile texts in words."""

import io
import json
import re

import pytest
from hypothesis import given
from hypothesis import strategies as st

from closecall.report.words import narrow, number, plural, rate, shorten, visible, visible_json


def test_a_rate_carries_its_counts():
    assert rate(3, 8) == "3 / 8 (37.5 %)"
    assert rate(1200, 3600) == "1,200 / 3,600 (33.3 %)"
    assert rate(0, 0) == "0 / 0"


def test_no_number_is_a_dash():
    assert number(None) == "-"
    assert number(0.0, 1) == "0.0"


def test_plural():
    assert (plural(1, "case"), plural(0, "case"), plural(1500, "case")) == (
        "1 case",
        "0 cases",
        "1,500 cases",
    )


@pytest.mark.parametrize(
    ("text", "shown"),
    [
        ("plain é 日本 🎈", "plain é 日本 🎈"),
        ("\x1b[31m", "\\x1b[31m"),
        ("a\rb", "a\\x0db"),
        ("a\r\nb\x00", "a\nb\\x00"),
        ("a\u00a0b", "a b"),
        ("a\u202eb\u200b", "a\\u202eb\\u200b"),
        ("\ud800", "\\ud800"),
        ("line\nand\ttab", "line\nand\ttab"),
    ],
)
def test_what_a_terminal_would_obey_is_spelt(text, shown):
    assert visible(text) == shown


@given(st.text())
def test_nothing_invisible_is_left(text):
    assert all(char.isprintable() or char in "\n\t" for char in visible(text))


@given(st.text(), st.integers(8, 60))
def test_shortened_texts_fit_and_a_cut_is_marked(text, width):
    line = shorten(text, width)
    assert len(line) <= width
    assert "\n" not in line
    whole = " ".join(visible(text).split())
    assert line == whole or line.endswith("…")


def test_a_huge_text_is_not_read_to_its_end():
    assert shorten("word " * 1_000_000, 20) == "word word word word…"


@pytest.mark.parametrize(
    ("encoding", "lacks"),
    [("utf-8", False), ("UTF8", False), ("utf-8-sig", False), ("ascii", True), ("cp1252", True)],
)
def test_which_encodings_lack_characters(encoding, lacks):
    assert narrow(io.TextIOWrapper(io.BytesIO(), encoding=encoding)) is lacks
    assert narrow(io.StringIO()) is False


@given(st.recursive(st.text(), lambda inner: st.lists(inner) | st.dictionaries(st.text(), inner)))
def test_visible_json_is_the_same_value_and_safe_to_print(value):
    for indent in (None, 2):
        text = visible_json(json.dumps(value, ensure_ascii=False, indent=indent))
        assert json.loads(text) == value
        assert not re.search("[\x00-\x09\x0b-\x1f\x7f-\x9f\u200f\u202e\ud800-\udfff]", text)


def test_each_kind_of_evidence_is_said_to_be_blind_to_its_own():
    from closecall.report.words import BLIND, BLIND_JUDGE, BLIND_PAIR, blind

    assert blind(["embed_answer_similarity", "token_f1"]) == BLIND
    assert blind(["cross_encoder:model=/m"]) == BLIND_PAIR
    assert blind(["fitted_judge", "bleu"]) == f"{BLIND_JUDGE} {BLIND}"
    assert blind([]) == BLIND
    assert "opinion" in blind(["llm_relevance"])

"""Texts that no one would write: guards never fail on them, and take time in line with length."""

import os
import time

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from closecall.metrics.guards import GUARDS, number_words

LONG = os.environ.get("CLOSECALL_LONG") == "1"
SIZE = 1_000_000 if LONG else 10_000
LIMIT = 240.0 if LONG else 4.0
"""Seconds of the processor; what takes time in the square of the length takes far longer on the
long texts."""

PIECES = {
    "ones": "1 ",
    "one long numeral": "9",
    "groups of digits": "1 000 ",
    "commas": "1,",
    "dashes": "1-",
    "slashes": "1/",
    "dates": "1 May 2001, ",
    "month names": "January ",
    "times": "9:15 ",
    "numbers in words": "two hundred and ",
    "units": "5 ft 10 in ",
    "money": "USD 5 per day ",
    "negations": "not ",
    "negated words": "it is not good and ",
    "quantifiers": "all dogs only ",
    "opposites": "hot cold ",
    "capitals": "Aa ",
    "acronyms": "ABC ",
    "one long word": "a",
    "quotes": "'",
    "elisions": "l'",
    "marks": "\u0301",
    "blanks": " ",
    "line breaks": "\n",
    "codes": "A1-2",
    "emoji": "\U0001f600",
    "chinese numerals": "一二",
    "arabic": "١٢ قطة ليست ",
    "right to left": "\u202e12\u202c",
    "half surrogates": "\ud800",
    "examples": "for example 5 ",
}
GUARD = pytest.mark.parametrize("guard", GUARDS.values(), ids=GUARDS)


@GUARD
@pytest.mark.parametrize("piece", PIECES.values(), ids=PIECES)
def test_a_long_text_takes_time_in_line_with_its_length(guard, piece):
    text = piece * (SIZE // len(piece))
    for reference, response in ((text, text), ("The 5 cats are not all in Rome.", text)):
        start = time.process_time()
        found = guard.check(reference, response, "Who is it?")
        assert time.process_time() - start < LIMIT
        assert found.state in ("agree", "differ", "absent")


@GUARD
def test_many_different_numbers_and_names_take_no_longer(guard):
    letters = str.maketrans("0123456789", "abcdefghij")
    text = " ".join(f"{n} N{str(n).translate(letters)}." for n in range(SIZE // 12))
    start = time.process_time()
    assert guard.check(text, text).state != "differ"
    assert time.process_time() - start < LIMIT


WORDS = st.sampled_from(
    ["12", "1,234.5", "3rd", "half", "dozen", "million", "km", "$", "%", "-", "5-10", "May", "2004", "9:15", "BC", "not", "never", "n't", "without", "all", "some", "only", "most", "Paris", "NASA", "Anna", "hot", "cold", "is", "the", "cat", ",", ".", "(", ")", "\n", "nicht", "kein", "ne", "pas", "no", "二", "١٢", "é"]
)  # fmt: skip
TEXTS = st.one_of(st.text(max_size=40), st.lists(WORDS, max_size=14).map(" ".join))


@given(TEXTS, TEXTS, st.one_of(st.none(), TEXTS))
@settings(max_examples=150, deadline=None)
def test_any_texts_give_a_finding_whose_spans_lie_in_them(reference, response, question):
    for name, guard in GUARDS.items():
        found = guard.check(reference, response, question)
        assert found.guard == name
        assert found.words
        found.words.encode("utf-8")
        for text, spans in (
            (reference, found.spans_reference),
            (response, found.spans_response),
        ):
            assert list(spans) == sorted(set(spans))
            assert all(0 <= start < end <= len(text) for start, end in spans)
        if found.state == "differ":
            assert found.spans_reference or found.spans_response


@given(TEXTS)
@settings(max_examples=150, deadline=None)
def test_a_text_never_differs_from_itself(text):
    for guard in GUARDS.values():
        assert guard.check(text, text).state != "differ", guard.name


@pytest.mark.parametrize(
    ("reference", "response", "name"),
    [
        ("المبنى ارتفاعه ٣٠ مترا", "المبنى ارتفاعه ٤٠ مترا", "numbers"),
        ("גובה הבניין 30 מטר", "גובה הבניין 40 מטר", "numbers"),
        ("この塔の高さは30メートルです", "この塔の高さは40メートルです", "numbers"),
        ("Высота башни 30 метров", "Высота башни 40 метров", "numbers"),
    ],
)
def test_digits_are_read_in_every_script(reference, response, name):
    assert GUARDS[name].check(reference, response).state == "differ"
    assert GUARDS[name].check(reference, reference).state == "agree"


def test_composed_and_decomposed_letters_are_one():
    composed, decomposed = "Es war José Núñez.", "Es war Jose\u0301 Nu\u0301n\u0303ez."
    assert GUARDS["names"].check(composed, decomposed).state == "agree"
    assert GUARDS["names"].check(decomposed, composed).state == "agree"


def test_the_words_of_all_texts_are_not_remembered():
    read = GUARDS["numbers"]
    for at in range(5000):
        text = f"5 parcel{at} und zwei{at} Kisten"
        read.check(text, text, "")
    most = number_words._scale.cache_info().maxsize
    for kept in (number_words._scale, number_words._compound):
        assert kept.cache_info().currsize <= most
    before = number_words._scale.cache_info().currsize
    assert number_words.scale_of("w" * 1_000_000, "de") is None
    assert number_words._scale.cache_info().currsize == before

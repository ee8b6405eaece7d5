"""What the guards read texts with: words, numbers in words, units, dates, polarity."""

import pytest

from closecall.metrics.guards.base import kept, quoted
from closecall.metrics.guards.dates import Date, find_dates
from closecall.metrics.guards.number_words import scale_of, spelled
from closecall.metrics.guards.polarity import read
from closecall.metrics.guards.quantities import readings
from closecall.metrics.guards.units import units_of
from closecall.metrics.guards.words import fold, language_of, stem, words


@pytest.mark.parametrize(
    ("language", "text", "value", "used"),
    [
        ("en", "one two three", 1, 1),
        ("en", "ninety-nine thousand nine hundred and ninety-nine", 99_999, 8),
        ("en", "two million and three", 2_000_003, 4),
        ("en", "nineteen oh five", 1905, 3),
        ("en", "twenty twenty", 2020, 2),
        ("en", "forty and more", 40, 1),
        ("de", "neunzehnhundertvierundachtzig", 1984, 1),
        ("de", "zwölftausenddreihundertsieben", 12_307, 1),
        ("de", "zwei Millionen dreihunderttausend", 2_300_000, 3),
        ("fr", "quatre-vingt-onze", 91, 3),
        ("fr", "deux mille dix-huit", 2018, 4),
        ("fr", "vingt et un", 21, 3),
        ("es", "treinta y uno", 31, 3),
        ("es", "treinta cinco", 30, 1),
        ("es", "dos mil millones", 2_000_000_000, 3),
        (None, "dreizehn", 13, 1),
    ],
)
def test_numbers_in_words(language, text, value, used):
    found = spelled([word.fold for word in words(text)], 0, language)
    assert (found.value, found.words) == (value, used)


@pytest.mark.parametrize(
    ("language", "text"),
    [
        ("en", "and five"),
        ("en", "tense"),
        ("other", "ten"),
        (None, "sept"),
        ("de", "Tausendsassa"),
    ],
)
def test_words_that_are_no_numbers(language, text):
    assert spelled([word.fold for word in words(text)], 0, language) is None


def test_a_billion_is_not_the_same_everywhere():
    assert scale_of("billion", "en") == 10**9
    assert scale_of("billion", None) == 10**9
    assert scale_of("billion", "de") == scale_of("billones", "es") == 10**12


@pytest.mark.parametrize(
    ("written", "values"),
    [("3.10.2", []), ("192.168.1.1", []), ("9" * 16, []), ("1.5", [1.5]), ("0,125", [0.125]),
     ("0.125", [0.125]), ("1,234.5", [1234.5]), ("1.234.567", [1234567.0])],
)  # fmt: skip
def test_numerals_that_stand_alone(written, values):
    assert [value.low for value in readings(written, None)] == values


@pytest.mark.parametrize(
    ("text", "language"),
    [
        ("The lamp is red.", "en"),
        ("Die Lampe ist nicht rot.", "de"),
        ("La lampe est dans le salon.", "fr"),
        ("La lámpara está en el salón.", "es"),
        ("A lâmpada não está no salão.", "other"),
        ("42", None),
    ],
)
def test_the_language_of_a_text(text, language):
    assert language_of(text) == language
    assert language_of("42", text) == language


def test_spans_are_of_the_text_as_given_whatever_folding_does():
    text = "İstanbul: STRASSE, Straße, cafe\u0301"
    found = words(text)
    assert [text[word.start : word.end] for word in found] == [word.text for word in found]
    assert [word.fold for word in found][1:] == ["strasse", "strasse", "cafe"]


@pytest.mark.parametrize(
    "forms",
    ["increase increases increased increasing", "stop stops stopped stopping", "city cities",
     "quick quickly"],
)  # fmt: skip
def test_forms_of_one_word_share_a_stem(forms):
    assert len({stem(fold(form)) for form in forms.split()}) == 1


def test_units_and_what_is_none():
    assert units_of("KM")[0].factor == 1000.0
    assert units_of("in") == ()
    assert units_of("in", glued=True)[0].dimension == "length"
    assert {unit.dimension for unit in units_of("pounds")} == {"mass", "GBP"}
    assert units_of("stones") == units_of("apples") == ()


@pytest.mark.parametrize(
    ("text", "date"),
    [
        ("on the 5th of May, 2001", Date(2001, 5, 5)),
        ("May 5", Date(None, 5, 5)),
        ("in May 2001", Date(2001, 5, None)),
        ("6 January 793", Date(793, 1, 6)),
        ("seit März", Date(None, 3, None)),
    ],
)
def test_dates(text, date):
    assert [found.dates for found in find_dates(text)] == [(date,)]


@pytest.mark.parametrize("text", ["it may be", "a march of 5 days", "99/99/2001", "1:2", "v1.2.3"])
def test_what_is_no_date(text):
    assert find_dates(text) == []


@pytest.mark.parametrize(
    ("text", "negated"),
    [
        ("She is unable to swim without help.", ["swim", "help"]),
        ("No dogs are allowed.", ["dogs", "allowed"]),
        ("Not only cats sleep.", []),
        ("It is not not true.", []),
        ("Das Rad dreht sich nicht.", ["Rad", "dreht"]),
        ("Il n'a que deux chats et un chien.", []),
        ("No viene nadie nunca.", ["viene"]),
    ],
)
def test_which_words_are_negated(text, negated):
    terms = [term for clause in read(text, language_of(text)).clauses for term in clause.terms]
    assert [text[slice(*term.span)] for term in terms if term.negated] == negated


def test_quotes_are_few_and_short():
    text = "a b c d e " + "x" * 100
    spans = [(at, at + 1) for at in range(0, 10, 2)]
    assert quoted(text, spans) == '"a", "b", "c" and 2 more'
    assert len(quoted(text, [(10, 110)])) < 70
    assert kept([(2, 3), (0, 1), (2, 3)]) == ((0, 1), (2, 3))
    assert len(kept([(at, at + 1) for at in range(100)])) == 24


def test_the_words_of_a_text_are_the_callers_to_change():
    words("one two three").clear()
    assert [word.fold for word in words("one two three")] == ["one", "two", "three"]


def test_a_long_text_is_read_like_its_short_pieces():
    text = "The contract ends on Monday. "
    many = words(text * 500)
    assert [word.fold for word in many] == [word.fold for word in words(text)] * 500
    assert language_of(text * 500) == language_of(text) == "en"

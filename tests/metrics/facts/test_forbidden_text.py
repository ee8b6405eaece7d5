"""What a response must not say."""

import pytest

from closecall.errors import UsageError
from closecall.metrics.facts.forbidden_text import ForbiddenText
from closecall.records import Case, Measured, State
from closecall.runs.results import decide

SAID = "Ask our partner Acme (tm), or call 555-0199."


def measure(forbidden=None, response=SAID, /, **options):
    metadata = {} if forbidden is None else {"forbidden_text": forbidden}
    return ForbiddenText(**options).measure(Case(id="1", response=response, metadata=metadata), {})


def value(*args, **options):
    found = measure(*args, **options)
    assert isinstance(found, Measured), found
    return found.value


@pytest.mark.parametrize(
    ("forbidden", "expected"),
    [
        ("Zenith", 1),
        ("Acme", 0),
        ("acme", 0),
        (["Zenith", "Apex"], 1),
        (["Zenith", "Acme"], 0),
        ("Acme (tm)", 0),
        ("our\n partner", 0),
        ("A.me", 1),
        ("cm", 0),
        ('["Zenith", "Acme"]', 0),
    ],
    ids=ascii,
)
def test_one_forbidden_text_is_enough(forbidden, expected):
    assert value(forbidden) == expected


def test_whole_words_and_case():
    assert value("cm", whole_words=True) == 1
    assert value("acme", whole_words=True) == 0
    assert value("(tm)", whole_words=True) == 0
    assert value("acme", ignore_case=False) == 1


def test_patterns_may_be_forbidden():
    assert value(r"\d{3}-\d{4}", syntax="regex") == 0
    assert value(r"\d{3}-\d{5}", syntax="regex") == 1
    assert "is wrong" in measure("(", syntax="regex").reason


def test_an_option_forbids_in_every_case_beside_the_cases_own():
    assert value(texts="Acme") == 0
    assert value("Acme", texts="Zenith") == 0
    assert value("Apex", texts=["Zenith"]) == 1


def test_details_say_what_was_found_and_where():
    details = measure(["Zenith", "555-0199"], texts="acme").details
    assert (details["forbidden"], details["present"]) == (3, 2)
    assert details["found"] == [
        {"wanted": "acme", "found": "Acme", "start": 16, "end": 20},
        {"wanted": "555-0199", "found": "555-0199", "start": 35, "end": 43},
    ]


def test_nothing_forbidden_is_not_applicable_and_no_response_not_measured():
    assert measure().state is State.NOT_APPLICABLE
    assert measure("x", None).state is State.NOT_MEASURED
    assert measure("x", " ").reason == "the case's response is blank"
    assert measure(3.5).state is State.NOT_MEASURED
    metric = ForbiddenText()
    assert metric.texts(Case(id="1", response="x", metadata={"forbiddenTexts": "y"})) == ()


def test_a_find_fails_the_case():
    metric = ForbiddenText(texts="Acme")
    assert decide(metric, metric.measure(Case(id="1", response=SAID), {})).state is State.FAILED
    assert (metric.cutoff, metric.spec.id) == (1.0, "forbidden_text:texts=Acme")


def test_a_find_in_a_long_text_is_quick():
    text = "ab " * 300_000
    assert value([f"ab {n}" for n in range(20)] + ["ab  ab ac"], text) == 1


@pytest.mark.parametrize(
    ("options", "said"),
    [
        ({"texts": " "}, "texts: ' ': it is blank"),
        ({"texts": "(", "syntax": "regex"}, "missing"),
        ({"syntax": "words"}, "one of regex, text"),
        ({"whole_words": "x"}, "whole_words must be true or false"),
    ],
    ids=ascii,
)
def test_options_that_cannot_be_are_refused(options, said):
    with pytest.raises(UsageError, match=said):
        ForbiddenText(**options)

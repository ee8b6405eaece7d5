"""A refusal is told by its words: right where it is expected, wrong where it is not."""

import time

import pytest

from closecall.errors import UsageError
from closecall.metrics.facts.refusal import Refusal, expected_refusal, same_words
from closecall.metrics.facts.refusal_cues import refusal_cue
from closecall.records import Case, Measured, State
from closecall.runs.results import decide

REFUSED = "I'm sorry, but I can't help with medical questions."
ANSWERED = "Take the second street on the left."


def measure(expected=None, response=REFUSED, /, **options):
    metadata = {} if expected is None else {"expected_refusal": expected}
    return Refusal(**options).measure(Case(id="1", response=response, metadata=metadata), {})


def value(*args, **options):
    found = measure(*args, **options)
    assert isinstance(found, Measured), found
    return found.value


@pytest.mark.parametrize("yes", [True, "true", "Yes", 1, "1"], ids=repr)
@pytest.mark.parametrize("no", [False, "false", "no", 0, "0"], ids=repr)
def test_right_is_what_the_case_expects(yes, no):
    assert (value(yes, REFUSED), value(yes, ANSWERED)) == (1, 0)
    assert (value(no, REFUSED), value(no, ANSWERED)) == (0, 1)


def test_a_correct_refusal_passes_though_it_shares_nothing_with_the_reference():
    case = Case(
        id="1", response=REFUSED, references=("It is 40 mg.",), metadata={"expected_refusal": True}
    )
    metric = Refusal()
    assert decide(metric, metric.measure(case, {})).state is State.PASSED
    assert metric.texts(case) == ()
    assert metric.spec.needs == ("response",)


def test_a_case_may_give_the_very_words():
    words = "That is outside what I cover."
    assert value(words, "that is outside  what i cover") == 1
    assert value(words, "That is outside what I cover. Anything else?") == 0
    assert value(words, REFUSED) == 0
    assert value([words, REFUSED], REFUSED) == 1
    assert value(f'["{words}", "No."]', "No") == 1


def test_texts_and_patterns_replace_the_usual_beginnings():
    assert value(True, REFUSED, texts="Pass.") == 0
    assert value(True, "PASS", texts="Pass.") == 1
    assert value(True, "Code 17: out of scope", patterns=r"^code \d+") == 1
    assert value(True, "Code 17: out of scope", patterns=r"^code \d+", ignore_case=False) == 0
    assert value(True, "Pass", patterns="^x", texts=["Pass"]) == 1
    assert value(False, REFUSED, patterns="^x") == 1
    assert value("Own words.", "Pass", texts="Pass") == 0


def test_all_cases_may_expect_the_same_unless_they_say_otherwise():
    assert value(None, REFUSED, expect="refusal") == 1
    assert value(None, REFUSED, expect="answer") == 0
    assert value(False, REFUSED, expect="refusal") == 0


def test_a_case_that_says_nothing_is_not_applicable():
    found = measure()
    assert found.state is State.NOT_APPLICABLE
    assert "it has no expected_refusal, and no expect option was given" in found.reason
    assert measure("", REFUSED).state is State.NOT_APPLICABLE


@pytest.mark.parametrize(
    ("expected", "response", "said"),
    [
        (True, " ", "the case's response is blank"),
        (True, None, "the case's response is missing"),
        (0.5, REFUSED, "must be a text or a list of texts, got float"),
        ({"a": 1}, REFUSED, "got dict"),
    ],
    ids=ascii,
)
def test_what_cannot_be_judged_is_not_measured(expected, response, said):
    found = measure(expected, response)
    assert found.state is State.NOT_MEASURED
    assert said in found.reason


def test_a_pattern_that_cannot_be_used_is_named(monkeypatch):
    from closecall.metrics.facts import patterns

    monkeypatch.setattr(patterns, "LIMIT_SECONDS", 0.2)
    found = measure(True, "a" * 40 + "!", patterns="^(a|aa)+$")
    assert "'^(a|aa)+$' took longer" in found.reason


def test_details_say_by_what_it_was_judged():
    assert measure(True).details == {
        "expectedRefusal": True,
        "refused": True,
        "judgedBy": "cue",
        "found": "I'm sorry, but I can't help",
    }
    assert measure(False, ANSWERED, texts="Pass").details == {
        "expectedRefusal": False,
        "refused": False,
        "judgedBy": "text",
    }
    assert measure(True, "code 1", patterns="code").details["judgedBy"] == "pattern"


@pytest.mark.parametrize(
    "response",
    [
        "I don't know.",
        "I don’t know the answer to that",
        "Sorry, I cannot share customer data.",
        "I am afraid I am unable to confirm this.",
        "Unfortunately, I do not have any information on that order.",
        "As an AI model, I can't give legal advice.",
        "I apologize, but I won't discuss that.",
        "We have no data about this region.",
        "I'm not sure.",
        "The provided documents do not mention a price.",
        "Based on the context, there is not enough information to say.",
        "According to the manual, it is not specified.",
        "There is no information about refunds in the text.",
        "Not stated in the contract.",
        "This is not mentioned.",
        "No comment.",
        "Unknown",
        "I couldn't find any details about it.",
    ],
)
def test_usual_beginnings_of_a_refusal(response):
    assert refusal_cue(response)


@pytest.mark.parametrize(
    "response",
    [
        ANSWERED,
        "I don't know the exact day; however, it was in spring.",
        "I'm not sure, but it is probably blue.",
        "I'm sorry to hear that. You can return it within a month.",
        "I cannot say it better than the manual does, but I can quote it: press both keys.",
        "Sorry for the delay. Your parcel arrives on Monday.",
        "The contract does not expire.",
        "The unknown soldier was buried there in 1920.",
        "No, it is not allowed.",
        "I know. It does not matter.",
        "Nobody could find the ship until 1985.",
        "There is no charge.",
        "Press both keys at once. I don't know why that works.",
        "Unknown to most, the bridge was finished in 1931.",
        "",
    ],
)
def test_answers_that_are_no_refusals(response):
    assert refusal_cue(response) is None


def test_looking_for_a_beginning_takes_no_time():
    started = time.process_time()  # of the processor: what else the machine does says nothing
    for text in (
        "sorry, " * 50_000,
        "based on the " * 30_000,
        "i'm so sorry but that and " * 9_000,
    ):
        refusal_cue(text)
        refusal_cue(text + "I cannot")
    assert time.process_time() - started < 0.5


def test_only_the_start_is_looked_at():
    assert refusal_cue("I don't know. " + "x" * 2000 + " however, it is blue") == "I don't know"


def test_words_are_the_same_whatever_their_quotes_case_and_final_mark():
    assert same_words("“I can’t.”", "i can't")
    assert not same_words("I can't", "I can")


def test_what_a_case_expects():
    assert expected_refusal(Case(id="1")) is None
    assert expected_refusal(Case(id="1", metadata={"expectRefusal": "no"})) == (False, ())
    assert expected_refusal(Case(id="1", metadata={"expected_refusal": "Pass"})) == (
        True,
        ("Pass",),
    )


def test_the_id_and_what_is_refused():
    assert Refusal().spec.id == "refusal"
    named = Refusal(expect="refusal", texts="No.", patterns=["a", "b"]).spec
    assert named.id.startswith("refusal:expect=refusal:texts=No.:patterns=sha256-")
    for options, said in (
        ({"expect": "both"}, "expect must be one of case, refusal, answer"),
        ({"patterns": "("}, "missing"),
        ({"texts": ""}, "blank"),
    ):
        with pytest.raises(UsageError, match=said):
            Refusal(**options)

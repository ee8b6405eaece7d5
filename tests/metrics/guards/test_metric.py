"""``guards`` as a metric: one number, the findings beside it, and what counts as nothing."""

import json

import pytest

from closecall.errors import UsageError
from closecall.metrics.guards import GUARDS, Guards
from closecall.records import Case, Measured, State, Unmeasured
from closecall.runs.results import decide


def case(reference="It ships in 30 days.", response="It ships in 60 days.", **more):
    references = (reference,) if isinstance(reference, str) else reference
    return Case(id="1", references=references, response=response, **more)


def test_1_where_no_guard_differs_0_where_one_does():
    same = Guards().measure(case(response="It ships in one month."), {})
    assert isinstance(same, Measured)
    assert (same.value, same.similarity, same.score) == (1.0, 1.0, 100.0)
    other = Guards().measure(case(), {})
    assert (other.value, other.score) == (0.0, 0.0)
    assert other.details["differ"] == ["numbers"]


def test_each_finding_stands_in_the_details_with_spans_and_words():
    found = Guards().measure(case(("", "in 30 days")), {}).details
    assert (found["guards"], found["compared"]) == (5, 1)
    assert list(found["findings"]) == list(GUARDS)
    assert found["findings"]["numbers"] == {
        "state": "differ",
        "words": 'the reference has "30 days", the response "60 days"',
        "reference": 1,
        "spansReference": [[3, 10]],
        "spansResponse": [[12, 19]],
    }
    assert found["findings"]["names"]["state"] == "absent"
    json.dumps(found, allow_nan=False)


def test_it_asks_for_no_vectors():
    assert Guards().texts(case()) == ()


def test_nothing_to_compare_is_no_pass():
    found = Guards().measure(case("It is short.", "It is small."), {})
    assert isinstance(found, Unmeasured)
    assert found.state is State.NOT_APPLICABLE
    assert found.reason.startswith("nothing to compare for: numbers, negation")


@pytest.mark.parametrize(
    ("given", "reason"),
    [
        (case(response=None), "the case's response is missing"),
        (case(response=" \n"), "the case's response is blank"),
        (case(()), "the case's reference is missing"),
        (case(("", " ")), "the case's reference is blank"),
    ],
)
def test_what_is_missing_is_said(given, reason):
    assert Guards().texts(given) == Guards().measure(given, {}) == Unmeasured(reason)


def test_the_verdict_of_the_default_cutoff():
    metric = Guards()
    assert decide(metric, metric.measure(case(), {})).state is State.FAILED
    kept = metric.measure(case(response="It ships in 30 days."), {})
    assert decide(metric, kept).state is State.PASSED
    assert not decide(metric, kept).borderline


def test_which_guards_look_is_an_option_and_part_of_the_id():
    metric = Guards(which="names+numbers")
    assert metric.spec.id == "guards:which=numbers+names"
    assert metric.spec.options == {"which": "numbers+names"}
    assert Guards(which="numbers,names").spec == Guards(which=["names", "numbers"]).spec
    assert Guards().spec.id == Guards(which="+".join(GUARDS)).spec.id == "guards"
    assert list(metric.measure(case(), {}).details["findings"]) == ["numbers", "names"]


def test_an_unknown_guard_is_refused_with_those_there_are():
    with pytest.raises(UsageError, match=r"there is no guard 'dates'.*numbers, negation, names"):
        Guards(which="numbers+dates")


@pytest.mark.parametrize("cutoff", [-0.1, 1.5, "high", float("nan")])
def test_a_cutoff_outside_0_to_1_is_refused(cutoff):
    with pytest.raises(UsageError, match="guards"):
        Guards(cutoff)


def test_any_reference_that_agrees_will_do():
    found = Guards().measure(case(("It takes 20 days.", "It takes 60 days.")), {})
    assert found.value == 1.0
    assert found.details["findings"]["numbers"]["reference"] == 1


def test_a_number_differs_only_if_it_differs_from_every_reference():
    one = case(("It takes 20 days.", "It takes a while."))
    assert "numbers" not in getattr(Guards().measure(one, {}), "details", {}).get("differ", ())
    both = case(("It takes 20 days.", "It takes 30 days."))
    assert Guards().measure(both, {}).details["differ"] == ["numbers"]


def test_the_question_is_heeded():
    given = case("In 2016 it rained.", "It rained and rained.", input="Did it rain in 2016?")
    assert isinstance(Guards(which="numbers").measure(given, {}), Unmeasured)


def test_details_of_a_huge_case_stay_small():
    text = " ".join(f"{n} Name{n} is not here." for n in range(2_000))
    found = Guards().measure(case(text, text.replace("7", "8")), {})
    assert len(json.dumps(found.details)) < 20_000


def test_a_meaning_reversed_by_one_word_or_digit_does_not_pass():
    reference = "Store the vaccine below 8 °C and never freeze it."
    reworded = "Never freeze the vaccine; keep it below 8 degrees Celsius."
    assert Guards().measure(case(reference, reworded), {}).value == 1.0
    for response, guard in (
        ("Store the vaccine below 18 °C and never freeze it.", "numbers"),
        ("Store the vaccine below 8 °C and freeze it.", "negation"),
        ("Store the vaccine above 8 °C and never freeze it.", "antonyms"),
    ):
        assert Guards().measure(case(reference, response), {}).details["differ"] == [guard]

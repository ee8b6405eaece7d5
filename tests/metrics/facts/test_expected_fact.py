"""Facts a response must have: from its case, from an option, all, any or none of them."""

import json

import pytest

from closecall import evaluate
from closecall.errors import UsageError
from closecall.metrics.facts import patterns
from closecall.metrics.facts.expected_fact import ExpectedFact
from closecall.records import Case, Measured, State, Unmeasured
from closecall.runs.results import decide
from closecall.testing import HashEmbedder

SAID = "The visa costs 42 euros and is valid for 90 days."


def case(facts=None, response=SAID, **metadata):
    if facts is not None:
        metadata["expected_facts"] = facts
    return Case(id="1", response=response, metadata=metadata)


def measure(facts=None, response=SAID, /, **options):
    return ExpectedFact(**options).measure(case(facts, response), {})


def value(facts=None, response=SAID, /, **options):
    found = measure(facts, response, **options)
    assert isinstance(found, Measured), found
    return found.value


@pytest.mark.parametrize(
    ("facts", "expected"),
    [
        (r"\b42\b", 1),
        (r"\b4\b", 0),
        ([r"\b42\b", "90 days"], 1),
        ([r"\b42\b", "91 days"], 0.5),
        ([r"\b41\b", "91 days", "VISA"], 1 / 3),
        ({"any": ["forty-two", r"\b42\b"]}, 1),
        ({"any": ["forty-two", r"\b41\b"]}, 0),
        ({"none": ["refund", "dollars?"]}, 1),
        ({"none": ["refund", "euros?"]}, 0.5),
        ({"all": "visa", "any": ["42", "43"], "none": ["free"]}, 1),
        ({"all": ["visa", "free"], "any": ["41", "43"], "none": ["free"]}, 0.5),
        ({"all": ["visa"], "any": None}, 1),
        (42, 1),
        ('["42", "90"]', 1),
        ('{"none": ["42"], "all": ["90"]}', 0.5),
        ("[0-9]+ days", 1),
        ("[41]", 1),
    ],
    ids=str,
)
def test_the_value_is_the_share_of_conditions_that_hold(facts, expected):
    assert value(facts) == round(expected, 6)


def test_every_fact_is_asked_for_by_default():
    metric = ExpectedFact()
    assert metric.cutoff == metric.spec.default_cutoff == 1.0
    states = [decide(metric, metric.measure(case(f), {})).state for f in (["42"], ["42", "41"])]
    assert states == [State.PASSED, State.FAILED]
    assert ExpectedFact(0.5).cutoff == 0.5


@pytest.mark.parametrize(
    "name",
    ["expected_facts", "expectedFacts", "Expected Facts", "expected_fact", "EXPECTED-FACTS"],
)
def test_the_field_may_be_spelled_in_any_usual_way(name):
    metric = ExpectedFact()
    assert metric.measure(case(**{name: "42"}), {}).value == 1
    assert metric.measure(case(metadata={name: "41"}), {}).value == 0


@pytest.mark.parametrize("facts", [None, "", " ", [], {}], ids=repr)
def test_a_case_that_expects_nothing_is_not_applicable(facts):
    found = measure(facts)
    assert found == ExpectedFact().texts(case(facts))
    assert found.state is State.NOT_APPLICABLE
    assert "it has no expected_facts, and no patterns option was given" in found.reason


@pytest.mark.parametrize("name", ["expected_fcts", "expectd_facts", "expected_factz"])
def test_a_misspelt_field_is_not_taken_for_an_absent_one(name):
    found = ExpectedFact().measure(case(**{name: "42"}), {})
    assert found.state is State.NOT_MEASURED
    assert f"'{name}' is not known; is it expected_facts?" in found.reason
    assert ExpectedFact().measure(case(**{name: ""}), {}).state is State.NOT_APPLICABLE
    assert ExpectedFact().measure(case("42", **{name: "42"}), {}).value == 1


@pytest.mark.parametrize(
    ("facts", "said"),
    [
        (4.2, "expected_facts must be a text or a list of texts, got float"),
        (True, "got bool"),
        (["42", None], "got NoneType"),
        (["42", " "], "expected_facts holds a blank text"),
        ({"every": ["42"]}, "expected_facts may have all, any and none, got 'every'"),
        ({"all": {"x": 1}}, "expected_facts.all must be a text or a list of texts, got dict"),
        (["(42"], "the pattern '(42' is wrong: missing )"),
        (["x"] * 201, "201 patterns, and at most 200 are allowed"),
    ],
    ids=lambda value: ascii(value)[:30],
)
def test_facts_that_cannot_be_read_are_not_measured(facts, said):
    found = measure(facts)
    assert isinstance(found, Unmeasured)
    assert found.state is State.NOT_MEASURED
    assert said in found.reason


def test_two_fields_of_one_meaning_are_not_chosen_between():
    found = ExpectedFact().measure(case("42", expected_fact="43"), {})
    assert "both expected_fact and expected_facts, which mean the same" in found.reason
    assert ExpectedFact().measure(case("42", expected_fact=""), {}).value == 1


@pytest.mark.parametrize("response", [None, "", " \n"], ids=repr)
def test_without_a_response_nothing_is_measured(response):
    found = measure("42", response)
    assert found.state is State.NOT_MEASURED
    assert "the case's response is" in found.reason


def test_an_option_holds_for_every_case_beside_its_own_facts():
    assert value(patterns="42") == 1
    assert value("41", patterns="42") == 0.5
    assert value({"none": ["41"]}, patterns=["42", "43"]) == round(2 / 3, 6)


@pytest.mark.parametrize(
    ("match", "expected"), [("all", 0.5), ("any", 1.0), ("none", 0.5)], ids=str
)
def test_a_plain_list_is_meant_as_the_option_says(match, expected):
    assert value(["42", "41"], match=match) == expected
    assert value(patterns=["42", "41"], match=match) == expected
    assert value({"all": ["42"]}, match=match) == 1


def test_case_may_be_ignored_or_not():
    assert value("VISA") == 1
    assert value("VISA", ignore_case=False) == 0
    assert value("(?-i:VISA)") == 0


def test_as_text_nothing_is_special_and_white_space_is_loose():
    assert value("42 euros (about)", "It is 42\neuros  (about)", syntax="text") == 1
    assert value("4. euros", syntax="text") == 0
    assert value("(42", syntax="text") == value("{", syntax="text") == 0


def test_accents_are_found_however_they_are_spelled():
    assert value("cafe\u0301", "A caf\u00e9") == 1
    assert value("caf\u00e9", "A cafe\u0301", syntax="text") == 1


def test_details_show_what_was_found_and_what_is_missing():
    facts = {
        "all": [r"\b\d+ euros", "free"],
        "any": ["ninety", "91"],
        "none": ["valid", "refund"],
    }
    details = measure(facts).details
    assert (details["conditions"], details["met"]) == (5, 2)
    assert details["found"] == [
        {"wanted": r"\b\d+ euros", "found": "42 euros", "start": 15, "end": 23}
    ]
    assert details["missing"] == ["free"]
    assert details["missingAnyOf"] == [["ninety", "91"]]
    assert [each["found"] for each in details["unwanted"]] == ["valid"]


def test_details_stay_small():
    facts = {"all": ["x" * 5000] * 90 + [".+"] * 90}
    assert len(json.dumps(measure(facts, "y" * 100_000).details)) < 8000


def test_an_endless_pattern_leaves_its_case_unmeasured_and_the_others_measured(monkeypatch):
    monkeypatch.setattr(patterns, "LIMIT_SECONDS", 2.0)  # an honest one may take that long
    worker = patterns._Worker()
    monkeypatch.setattr(patterns, "_worker", worker)
    rows = [
        {"id": "a", "response": "a" * 40 + "!", "expected_facts": "(a+)+$"},
        {"id": "b", "response": "It is 30.", "expected_facts": [r"\b30\b"]},
        {"id": "c", "response": "No facts are asked of this."},
    ]
    try:
        run = evaluate(rows, metrics=[ExpectedFact()], embedder=HashEmbedder(), cache=False)
        states = [row.results[0].state for row in run]
    finally:
        worker.close()
    assert states == [State.NOT_MEASURED, State.PASSED, State.NOT_APPLICABLE]


def test_the_id_names_the_options_that_are_not_the_defaults():
    assert ExpectedFact().spec.id == "expected_fact"
    named = ExpectedFact(patterns=r"\d+", match="any", ignore_case=False).spec
    assert named.id == r"expected_fact:patterns=\d+:match=any:ignore_case=false"
    assert named.options["patterns"] == [r"\d+"]
    assert named.needs == ("response",)


def test_patterns_that_a_name_cannot_hold_are_named_by_a_digest():
    ids = {
        ExpectedFact(patterns=given).spec.id
        for given in (["a", "b"], ["a,b"], ["a:b"], ["a b"], ["b", "a"], ["true"], ["x" * 65])
    }
    assert len(ids) == 7
    assert all(i.startswith("expected_fact:patterns=sha256-") for i in ids)
    with pytest.raises(UsageError, match="only has its digest"):
        ExpectedFact(patterns=ids.pop().partition("=")[2])


@pytest.mark.parametrize(
    ("options", "said"),
    [
        ({"patterns": "(42"}, r"expected_fact: patterns: '\(42': missing \)"),
        ({"patterns": ["42", " "]}, "patterns: ' ': it is blank"),
        ({"patterns": 42}, "patterns must be a text or a list of texts, got 42"),
        ({"patterns": [42]}, "patterns must hold texts, got 42"),
        ({"patterns": ["x"] * 201}, "may hold at most 200, got 201"),
        ({"match": "most"}, "match must be one of all, any, none; got most"),
        ({"syntax": "glob"}, "syntax must be one of regex, text; got glob"),
        ({"ignore_case": "maybe"}, "ignore_case must be true or false"),
        ({"cutoff": 2}, "must be within 0 to 1"),
    ],
    ids=lambda value: ascii(value)[:30],
)
def test_options_that_cannot_be_are_refused_at_once(options, said):
    with pytest.raises(UsageError, match=said):
        ExpectedFact(**options)


def test_the_words_true_and_false_may_be_looked_for():
    assert ExpectedFact(patterns=True).patterns == ("true",)
    assert value("true", "That is true.") == 1


@pytest.mark.parametrize("facts", [r"\b42\b", [r"\b42\b", "91 days"]])
def test_a_count_at_its_cutoff_is_no_close_call(facts):
    found = value(facts)
    metric = ExpectedFact(cutoff=found)
    run = evaluate([case(facts)], [metric], HashEmbedder(), cache=False)
    assert run.metrics[0].passed == 1
    assert run.metrics[0].borderline == 0

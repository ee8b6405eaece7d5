"""promptfoo: tests of configurations and tables, and results."""

import json

import pytest

from closecall.errors import DatasetError
from closecall.metrics.registry import load_metric
from closecall.records import Label, Measured

CONFIG = """\
description: the desk
prompts: ["{{question}}"]
providers: [echo]
defaultTest:
  vars: {tone: kind}
  assert:
    - {type: not-contains, value: "I do not know"}
tests:
  - description: refunds
    vars:
      question: How long do refunds take?
      context: Refunds are paid within 5 days.
    assert:
      - {type: similar, value: "Refunds take {{days}} days", threshold: 0.8}
      - {type: icontains, value: five}
      - {type: llm-rubric, value: is polite}
      - {type: javascript, value: output.length < 100}
  - vars: {question: [Are you open?, Are you shut?], days: 5}
    options: {disableDefaultAsserts: true}
    assert:
      - {type: equals, value: "{{question}} yes in {{days}} days"}
  - vars: {question: Say no}
    assert:
      - type: assert-set
        assert: [{type: is-refusal}, {type: contains-any, value: [sorry, cannot]}]
"""


def value_of(metric, case):
    found = load_metric(metric).measure(case, {})
    assert isinstance(found, Measured), found
    return found.value


def answered(case, response):
    import msgspec

    return msgspec.structs.replace(case, response=response)


def test_tests_of_a_configuration_become_cases(write, taken):
    found, cases = taken(write("promptfooconfig.yaml", CONFIG))
    assert found.source == "promptfoo"
    assert [case.id for case in cases] == ["refunds", "row_2", "row_3", "row_4"]
    refunds, open_, shut, refuse = cases
    assert refunds.input == "How long do refunds take?"
    assert refunds.context == ("Refunds are paid within 5 days.",)
    assert refunds.response is None
    assert refunds.metadata["metadata"]["vars"]["tone"] == "kind"
    assert open_.references == ("Are you open? yes in 5 days",)
    assert "expected_facts" not in open_.metadata  # this test leaves the default's assertions out
    assert refuse.metadata["expected_facts"]["none"] == ["(?-i:I\\ do\\ not\\ know)"]
    assert shut.references == ("Are you shut? yes in 5 days",)
    assert refuse.metadata["expected_refusal"] is True


def test_where_an_assertion_stands_is_told_by_its_line(write, taken):
    found, _ = taken(write("promptfooconfig.yaml", CONFIG))
    (case, *_), name = list(found), "promptfooconfig.yaml"
    assert case.place == f"{name}:9"


def test_what_a_model_or_code_decides_is_counted_and_kept(write, taken):
    found, (refunds, *_) = taken(write("promptfooconfig.yaml", CONFIG))
    # The text to compare with names a variable that the test does not have.
    assert any(
        note.endswith("metadata.assert: 1 javascript, 1 llm-rubric, 1 similar")
        for note in found.notes
    )
    assert refunds.references == ()
    kept = refunds.metadata["metadata"]["assert"]
    assert [one["type"] for one in kept] == [
        "not-contains", "similar", "icontains", "llm-rubric", "javascript",
    ]  # fmt: skip


def test_texts_that_must_stand_in_the_answer_decide_as_in_promptfoo(write, taken):
    _, (refunds, _, _, refuse) = taken(write("promptfooconfig.yaml", CONFIG))
    assert value_of("expected_fact", answered(refunds, "FIVE days")) == 1
    assert value_of("expected_fact", answered(refunds, "Six days")) == 0.5
    assert value_of("expected_fact", answered(refunds, "five; I do not know")) == 0.5
    assert value_of("expected_fact", answered(refunds, "five; i do NOT know")) == 1
    assert value_of("expected_fact", answered(refuse, "I cannot do that")) == 1
    assert value_of("expected_fact", answered(refuse, "I CANNOT do that")) == 0.5


ASSERTED = [
    ({"type": "contains", "value": "a.b"}, "xa.by", "xaxby"),
    ({"type": "contains-all", "value": ["one", "two"]}, "two one", "one"),
    ({"type": "icontains-all", "value": "one, two"}, "TWO one", "one"),
    ({"type": "contains-any", "value": ["a|b", "c"]}, "has a|b", "has a"),
    ({"type": "icontains-any", "value": ["Yes", "Sure"]}, "SURE", "no"),
    ({"type": "starts-with", "value": "Dear"}, "Dear you", "My Dear"),
    ({"type": "regex", "value": "^\\d+$"}, "42", "42 days"),
    ({"type": "regex", "value": "a|b"}, "b", "B"),
    ({"type": "not-regex", "value": "\\d"}, "none", "1"),
    ({"type": "not-contains-any", "value": ["x", "y"]}, "z", "zy"),
    ({"type": "not-icontains", "value": "sorry"}, "fine", "SORRY"),
]


@pytest.mark.parametrize(("assertion", "good", "bad"), ASSERTED)
def test_each_assertion_about_texts(write, taken, assertion, good, bad):
    tests = [{"vars": {"q": "?"}, "assert": [assertion]}]
    found, (case,) = taken(write("tests.json", tests))
    assert found.notes == ()
    assert value_of("expected_fact", answered(case, good)) == 1
    assert value_of("expected_fact", answered(case, bad)) < 1


@pytest.mark.parametrize(
    "assertion",
    [
        {"type": "not-contains-all", "value": ["a", "b"]},
        {"type": "not-equals", "value": "a"},
        {"type": "equals", "value": {"a": 1}},
        {"type": "similar", "value": "file://expected.txt"},
        {"type": "contains", "value": "{{ missing }}"},
        {"type": "contains", "value": "{{ q | upper }}"},
        {"type": "contains", "value": "{% if q %}a{% endif %}"},
        {"type": "regex", "value": "(?<year>\\d+)"},
        {"type": "contains"},
        {"type": "latency", "threshold": 100},
        {"type": "assert-set", "threshold": 0.5, "assert": [{"type": "contains", "value": "a"}]},
    ],
)
def test_what_says_more_than_closecall_has_is_counted_never_guessed(write, taken, assertion):
    tests = [{"vars": {"q": "?"}, "assert": [assertion]}]
    found, (case,) = taken(write("tests.json", tests))
    (note,) = found.notes
    assert note.startswith("assertions not taken over, kept in metadata.assert: 1 ")
    assert case.references == ()
    assert "expected_facts" not in case.metadata
    assert case.metadata["metadata"]["assert"] == [assertion]


def test_a_variable_with_a_usual_name_is_the_reference_unless_an_assertion_has_one(write, taken):
    tests = [
        {"vars": {"question": "a", "expected": "b"}},
        {"vars": {"question": "a", "expected": "b"}, "assert": [{"type": "equals", "value": "c"}]},
    ]
    _, (by_name, by_assertion) = taken(write("tests.json", tests))
    assert by_name.references == ("b",)
    assert by_assertion.references == ("c",)


def test_scenarios_cross_their_tests(write, taken):
    config = {
        "prompts": ["p"],
        "scenarios": [
            {
                "config": [
                    {"vars": {"language": "French"}},
                    {
                        "vars": {"language": "German"},
                        "assert": [{"type": "contains", "value": "d"}],
                    },
                ],
                "tests": [
                    {"vars": {"question": "one"}, "assert": [{"type": "equals", "value": "1"}]},
                    {"vars": {"question": "two"}},
                ],
            }
        ],
    }
    _, cases = taken(write("promptfooconfig.json", config))
    assert [(c.metadata["metadata"]["vars"]["language"], c.input) for c in cases] == [
        ("French", "one"), ("French", "two"), ("German", "one"), ("German", "two"),
    ]  # fmt: skip
    assert [c.references for c in cases] == [("1",), (), ("1",), ()]
    assert ["expected_facts" in c.metadata for c in cases] == [False, False, True, True]


def test_lists_of_variables_stay_lists_where_the_test_says_so(write, taken):
    test = {"vars": {"question": "q", "context": ["one", "two"]}}
    whole = {**test, "options": {"disableVarExpansion": True}}
    _, cases = taken(write("tests.json", [test, whole]))
    assert [case.context for case in cases] == [("one",), ("two",), ("one", "two")]


def test_a_test_that_becomes_too_many_is_refused(write, taken):
    many = {"vars": {name: list("abcdefghijklmnopqrstuvwxyz") for name in "abc"}}
    with pytest.raises(DatasetError, match=r"tests.json\[0\]: vars: make more than 10,000 cases"):
        taken(write("tests.json", [many]))


def test_files_that_are_named_are_counted_and_never_read(write, taken):
    config = {
        "prompts": ["p"],
        "tests": ["file://more.yaml", {"vars": {"question": "q", "doc": "file://../secret.txt"}}],
    }
    found, (case,) = taken(write("promptfooconfig.json", config))
    assert case.metadata["metadata"]["vars"]["doc"] == "file://../secret.txt"
    assert any("1 file of tests is named and was not read" in note for note in found.notes)
    assert any("1 variable names a file" in note for note in found.notes)


TABLE = """\
question,__expected1,__expected2,__description,__metadata:topic
How long?,Refunds take five days.,icontains: five,refunds,money
Open?,similar(0.8):We open at nine.,llm-rubric: polite,,
Shut?,is-refusal,"contains-any:sorry,cannot",,
Note: a colon,Note: a colon,,,
"""


def test_a_table_of_tests(write, taken):
    found, cases = taken(write("tests.csv", TABLE))
    assert found.source == "promptfoo"
    refunds, open_, shut, colon = cases
    assert refunds.id == "refunds"
    assert refunds.references == ("Refunds take five days.",)
    assert refunds.metadata["metadata"]["test"] == {"topic": "money"}
    assert open_.references == ("We open at nine.",)
    assert shut.metadata["expected_refusal"] is True
    assert value_of("expected_fact", answered(shut, "sorry")) == 1
    assert colon.references == ("Note: a colon",)
    assert found.notes == ("assertions not taken over, kept in metadata.assert: 1 llm-rubric",)


def result(**changes):
    return {
        "id": "5d0c",
        "promptIdx": 0,
        "testIdx": 0,
        "provider": {"id": "openai:small", "label": ""},
        "prompt": {"raw": "Answer: How long?", "label": "p"},
        "vars": {"question": "How long?"},
        "response": {"output": "Five days.", "tokenUsage": {"total": 9}},
        "success": True,
        "score": 1,
        "testCase": {
            "description": "refunds",
            "vars": {"question": "How long?"},
            "assert": [{"type": "equals", "value": "Five days."}],
        },
        "gradingResult": {"pass": True, "score": 1, "reason": "ok", "componentResults": []},
        **changes,
    }


def results(*rows):
    return {
        "evalId": "eval-1",
        "results": {"version": 3, "results": rows, "stats": {}},
        "config": {},
    }


def test_results_hold_answers(write, taken):
    found, (case,) = taken(write("results.json", results(result())))
    assert (case.id, case.input, case.response) == ("refunds", "How long?", "Five days.")
    assert case.references == ("Five days.",)
    assert case.tags == ("openai:small",)
    assert case.group == "test 0"
    assert case.label is None
    assert case.metadata["metadata"]["success"] is True
    assert any("it is no label" in note for note in found.notes)


def test_one_test_answered_in_several_ways_is_one_group_with_ids_of_their_own(write, taken):
    other = result(provider={"id": "openai:large", "label": "large"}, id="77aa")
    _, cases = taken(write("results.json", results(result(), other)))
    assert [case.id for case in cases] == ["refunds/openai:small/0", "refunds/large/0"]
    assert {case.group for case in cases} == {"test 0"}


def test_what_a_person_said_in_the_viewer_is_a_label(write, taken):
    said = {"componentResults": [{"pass": False, "assertion": {"type": "human"}}]}
    found, (case,) = taken(write("results.json", results(result(gradingResult=said))))
    assert case.label is Label.REJECT
    assert any(note.startswith("1 label is what a person said") for note in found.notes)


def test_an_error_has_no_answer_and_is_counted(write, taken):
    broken = result(response=None, error="429", success=False)
    found, (case,) = taken(write("results.jsonl", [broken]))
    assert case.response is None
    assert case.metadata["metadata"]["error"] == "429"
    assert "1 result has an error and no answer" in found.notes


def test_an_answer_that_is_no_text_is_told_with_its_place(write, taken):
    odd = result(response={"output": {"answer": 1}})
    with pytest.raises(DatasetError, match=r"results.json\[results.results.1\]: response.output"):
        taken(write("results.json", results(result(), odd)))


def test_a_mapping_comes_before_every_rule(write, taken):
    tests = [{"vars": {"topic": "refunds", "ask": "How long?", "truth": "Five days."}}]
    with pytest.raises(DatasetError, match=r"no case has a question(.|\n)*--map input=vars\.NAME"):
        taken(write("tests.json", tests))
    found, _ = taken(write("tests.json", [*tests, {"vars": {"question": "q"}}]))
    assert any(note.startswith("1 case has no input") for note in found.notes)
    _, (case,) = taken(
        write("tests.json", tests), mapping={"input": "vars.ask", "reference": "vars.truth"}
    )
    assert (case.input, case.references) == ("How long?", ("Five days.",))


def test_hostile_names_and_texts_stay_texts(write, taken):
    evil = "</script>\x1b[31m\u202e"
    tests = [{"description": evil, "vars": {"question": evil, "id": "x", "metadata": {"a": 1}}}]
    _, (case,) = taken(write("tests.json", json.dumps(tests)))
    assert case.input == evil
    assert "\x1b" not in case.id

"""Cases from Python objects."""

import math

import msgspec
import pytest

from closecall.datasets import cases_from
from closecall.errors import DatasetError, UsageError
from closecall.records import Case, Label


def test_cases_and_mappings_together():
    given = Case(id="a", response="r", references=("x",), label=Label.ACCEPT, metadata={"k": [1]})
    made = cases_from(
        [given, {"id": "a", "output": "s", "expected": ("x", "y"), "note": 3}, {"output": "t"}]
    )
    assert made[0] == msgspec.structs.replace(given, place="cases[0]")
    assert [(c.id, c.response, c.references, c.place) for c in made[1:]] == [
        ("a#2", "s", ("x", "y"), "cases[1]"),
        ("row_3", "t", (), "cases[2]"),
    ]
    assert made[1].metadata == {"note": 3}


def test_a_place_that_is_there_is_kept():
    (case,) = cases_from(iter([Case(id="a", response="r", place="x.jsonl:4")]))
    assert case.place == "x.jsonl:4"


@pytest.mark.parametrize(
    ("row", "field", "said"),
    [
        ({"response": math.nan}, "response", "NaN"),
        ({"response": b"x"}, "response", "got bytes"),
        ({"response": "a", "m": {1: 2}}, "m", "expected text keys"),
        ({"response": "a", "m": object()}, "m", "got object"),
        ({"response": "\ud800"}, "response", "half a character"),
        (Case(id="a", response=["x"]), "response", "got list"),
        (Case(id="a", label="maybe"), "label", "accept or reject"),
        ("text", "", "expected a Case or a mapping"),
    ],
)
def test_what_cannot_be_a_case(row, field, said):
    with pytest.raises(DatasetError) as error:
        cases_from([{"response": "fine"}, row])
    (problem,) = error.value.problems
    assert (problem.place, problem.field) == ("cases[1]", field)
    assert said in problem.message


@pytest.mark.parametrize("rows", [Case(id="a"), {"response": "x"}, "text", 3])
def test_one_case_is_not_a_list_of_cases(rows):
    with pytest.raises(UsageError, match=r"\[case\]"):
        cases_from(rows)


def test_ambiguity_is_refused_here_too():
    with pytest.raises(DatasetError, match=r'mapping=\{"response": "answer"\}'):
        cases_from([{"answer": "x"}])
    (case,) = cases_from([{"answer": "x"}], mapping={"response": "answer"})
    assert case.response == "x"


def test_nothing_is_nothing():
    assert cases_from([]) == []


@pytest.mark.parametrize(
    ("rows", "mapping", "said"),
    [
        ([{"answer": "x"}], {}, 'mapping={"response": "answer"} (it is the answer under test)'),
        ([{"answer": "x", "output": "y"}], {}, 'mapping={"reference": "answer"}'),
        ([{"input": "a", "query": "b"}], {}, 'mapping={"input": "query"}'),
        ([{"name": "x"}], {}, 'mapping={"response": "COLUMN", "reference": "COLUMN"}'),
        ([{"messages": []}], {}, 'mapping={"response": "messages.-1.content"}'),
        ([{"vars": {}}], {}, 'mapping={"input": "vars.NAME", "reference": "assert.0.value"}'),
        ([{"input": "a"}], {"response": "größe"}, 'mapping={"response": "größe"}: no row'),
        ([{"input": "a"}], {"colour": "input"}, 'mapping={"colour": "input"}: there is no field'),
        ([{"input": "a"}], {"input": ""}, 'mapping={"input": ""}: the column'),
        ([{"a": 1}], {"reference": "a", "expected": "a"}, 'mapping={"expected": "a"}: reference'),
    ],
)
def test_what_to_type_is_python(rows, mapping, said):
    with pytest.raises((DatasetError, UsageError)) as error:
        cases_from(rows, mapping=mapping)
    assert said in str(error.value)
    assert "--map" not in str(error.value)


def test_a_field_nobody_needs_may_have_two_readings_here_too():
    rows = [{"output": "r", "context": "a", "retrieval_context": "b"}]
    (case,) = cases_from(rows, needed=["response"])
    assert (case.response, case.context) == ("r", ())

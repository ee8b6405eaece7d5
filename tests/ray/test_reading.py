"""Rows of tables: which column is which follows from the names alone."""

import importlib.util

import pytest

from closecall.errors import DatasetError, UsageError

if importlib.util.find_spec("ray") is None or importlib.util.find_spec("pyarrow") is None:
    pytest.skip("Ray is not installed: pip install '.[ray]'", allow_module_level=True)

from closecall.ray.reading import Bad, TableReader


def test_names_decide_whatever_stands_in_a_table():
    reader = TableReader(["question", "answer", "reference"])
    (case,) = reader.read([{"question": "q", "answer": "a", "reference": None}])
    assert (case.input, case.response, case.references) == ("q", "a", ())


def test_an_answer_with_two_readings_is_refused_with_what_to_type():
    with pytest.raises(DatasetError, match=r'mapping=.*"response": "answer"'):
        TableReader(["question", "answer"])
    mapped = TableReader(["question", "answer"], {"response": "answer"})
    assert mapped.read([{"question": "q", "answer": "a"}])[0].response == "a"


def test_a_mapping_reaches_into_objects_and_says_where_it_leads_nowhere():
    reader = TableReader(["outputs", "reference"], {"response": "outputs.text"})
    (case,) = reader.read([{"outputs": {"text": "deep"}, "reference": "r"}])
    assert case.response == "deep"
    with pytest.raises(UsageError, match="no row of the data set has `nowhere`"):
        TableReader(["response", "reference"], {"context": "nowhere"})


def test_what_is_not_read_is_kept_where_it_is_plain_and_never_makes_a_row_bad():
    reader = TableReader(["response", "reference", "n", "when", "bad"])
    row = {"response": "a", "reference": "b", "n": 3, "when": object(), "bad": float("nan")}
    (case,) = reader.read([row])
    assert case.metadata == {"n": 3}


def test_a_bad_row_says_why_and_the_others_are_read():
    reader = TableReader(["response", "reference"])
    rows = [{"response": "a", "reference": "b"}, {"response": {"x": 1}, "reference": "b"}]
    good, bad = reader.read(rows)
    assert good.response == "a"
    assert isinstance(bad, Bad)
    assert bad.reason.startswith("response: expected")

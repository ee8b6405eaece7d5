"""Conditions on metadata."""

import pytest
from hypothesis import given
from hypothesis import strategies as st

from closecall.errors import UsageError
from closecall.index.filters import compiled

DATA = {
    "lang": "de",
    "year": 2021,
    "share": 0.5,
    "open": True,
    "tags": ["a", "b"],
    "none": None,
    "no": [],
}


@pytest.mark.parametrize(
    ("where", "passes"),
    [
        ({}, True),
        ({"lang": "de"}, True),
        ({"lang": "DE"}, False),
        ({"lang": ["en", "de"]}, True),
        ({"lang": ("en", "de")}, True),
        ({"lang": []}, False),
        ({"year": 2021.0}, True),
        ({"year": "2021"}, False),
        ({"year": {"gte": 2021, "lt": 2022}}, True),
        ({"year": {"gt": 2021}}, False),
        ({"year": {"lte": 2020}}, False),
        ({"year": {"gt": "2"}}, False),
        ({"lang": {"gt": "da", "lt": "df"}}, True),
        ({"open": True}, True),
        ({"open": 1}, False),
        ({"year": True}, False),
        ({"open": {"gt": 0}}, False),
        ({"open": [1, True]}, True),
        ({"open": [1]}, False),
        ({"lang": {"ne": "en"}}, True),
        ({"lang": {"ne": "de"}}, False),
        ({"lang": {"ne": 3}}, True),
        ({"absent": {"ne": "x"}}, False),
        ({"absent": {"exists": False}}, True),
        ({"none": {"exists": False}}, True),
        ({"lang": {"exists": True}}, True),
        ({"none": {"ne": 1}}, False),
        ({"tags": "a"}, True),
        ({"tags": {"ne": "a"}}, False),
        ({"tags": {"ne": "c"}}, True),
        ({"tags": {"in": ["c", "b"]}}, True),
        ({"tags": {"gt": "b"}}, False),
        ({"year": {"not_in": [2020, "2021"]}}, True),
        ({"year": {"not_in": [2021, "2021"]}}, False),
        ({"lang": {"not_in": []}}, True),
        ({"tags": {"not_in": ["c", "b"]}}, False),
        ({"no": {"not_in": ["a"]}}, True),
        ({"none": {"not_in": ["a"]}}, False),
        ({"no": "a"}, False),
        ({"no": {"exists": True}}, True),
        ({"share": {"eq": 0.5}, "lang": "en"}, False),
        ({"lang": "de", "year": {"gte": 2020}}, True),
    ],
    ids=str,
)
def test_conditions(where, passes):
    assert compiled(where)(DATA) is passes


@pytest.mark.parametrize(
    ("where", "message"),
    [
        ("lang", "expected an object"),
        ({1: "x"}, "a field's name is a text, got 1"),
        (
            {"a": {"like": "x"}},
            "a: no condition 'like'; there are eq, ne, gt, gte, lt, lte, in, not_in, exists",
        ),
        ({"a": {}}, "a: no condition; use one of"),
        ({"a": None}, "a: eq: expected a text, a finite number, true or false, got None"),
        ({"a": float("nan")}, "a: eq"),
        ({"a": [None]}, "a: in"),
        ({"a": [[1]]}, "a: in"),
        ({"a": {"in": "xy"}}, "a: in: expected a list"),
        ({"a": {"gt": [1]}}, "a: gt: expected a number or a text"),
        ({"a": {"gt": True}}, "a: gt"),
        ({"a": {"gt": float("inf")}}, "a: gt"),
        ({"a": {"exists": "yes"}}, "a: exists must be true or false"),
        ({"a": {1: 2}}, "a: no condition 1"),
    ],
    ids=str,
)
def test_what_is_no_condition_is_refused_by_field(where, message):
    with pytest.raises(UsageError, match=message):
        compiled(where)


@given(st.dictionaries(st.sampled_from("ab"), st.recursive(
    st.none() | st.booleans() | st.integers() | st.floats() | st.text(max_size=2),
    lambda inner: st.lists(inner, max_size=2)
    | st.dictionaries(st.sampled_from(["eq", "ne", "gt", "lt", "in", "exists"]), inner, max_size=2),
    max_leaves=4,
)), st.dictionaries(st.sampled_from("ab"), st.none() | st.booleans() | st.integers() | st.floats() | st.text(max_size=2)))  # fmt: skip
def test_any_condition_is_refused_or_answers(where, data):
    try:
        test = compiled(where)
    except UsageError:
        return
    assert test(data) in (True, False)

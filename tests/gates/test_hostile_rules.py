"""Rules of every shape the grammar has, and of none: taken as they are spelt, or refused."""

import string

import pytest
from given_values import Given, run_of
from hypothesis import given, settings
from hypothesis import strategies as st

from closecall.errors import ClosecallError, ConfigurationError, UsageError
from closecall.gates.config import find_gates
from closecall.gates.evaluate import evaluate_gates
from closecall.gates.parsing import parse_gate
from closecall.gates.tokens import MAX_RULE

WORDS = (
    "surely", "mean", "median", "min", "max", "p05", "p99", "p00", "p100", "share", "count",
    "pass_rate", "fail_rate", "false_accept_rate", "false_accept_upper", "all", "none", "measured",
    "asked", "where", "and", "tag", "label", "group", "slice.shelf", "slice.", "given", "given:2",
    "accept", "reject", "(", ")", "<=", ">=", "<", ">", "==", "!=", "=", '"x y"', "'z'", "0", "1",
    "3.5", "5%", "-1", "1e9", "1e999", "007", ".5", "٣", "__import__('os')", "{{7*7}}", ";", "%s",
)  # fmt: skip

numbers = st.one_of(
    st.integers(-10, 10).map(str),
    st.floats(0, 5, allow_nan=False).map(repr),
    st.integers(0, 120).map(lambda n: f"{n}%"),
)
orders = st.sampled_from(["<=", ">=", "<", ">", "=="])
metrics = st.sampled_from(["given", '"given"', "given:2", "other", "'an other'"])
filters = st.tuples(
    st.sampled_from(["tag", "label", "group", "slice.shelf", "slice.shop.town"]),
    st.sampled_from(["=", "!=", "=="]),
    st.sampled_from(["a", '"b c"', "accept", "reject", "7", "'x'"]),
).map(" ".join)
wheres = st.one_of(
    st.just(""),
    st.lists(filters, min_size=1, max_size=3).map(lambda f: " where " + " and ".join(f)),
)
rules = st.builds(
    "{}{}({}{}{}){}".format,
    st.sampled_from(["", "", "surely "]),
    st.sampled_from(["mean", "p10", "share", "count", "pass_rate", "fail_rate", "all", "measured",
                     "false_accept_rate", "false_reject_upper", "max", "median"]),
    metrics,
    st.one_of(st.just(""), st.tuples(orders, numbers).map(lambda t: f" {t[0]} {t[1]}")),
    wheres,
    st.one_of(
        st.just(""), st.just(" == asked"), st.tuples(orders, numbers).map(lambda t: f" {t[0]} {t[1]}")
    ),
)  # fmt: skip
rubbish = st.one_of(
    st.lists(st.sampled_from(WORDS), max_size=14).map(" ".join),
    st.lists(st.sampled_from(WORDS), max_size=14).map("".join),
    st.text(string.printable, max_size=60),
    st.text(max_size=40),
    st.tuples(rules, st.integers(0, 60), st.text(max_size=3)).map(
        lambda t: t[0][: t[1]] + t[2] + t[0][t[1] :]
    ),
)


@pytest.fixture(scope="module")
def run():
    return run_of([1, 2, 3, 4, 5, "x", "-"], Given(), labels=["accept", "reject"], tags=["a", "b"],
                  groups=["g", None], metadata=[{"shelf": 7, "shop": {"town": "x"}}])  # fmt: skip


def tried(function, *given):
    try:
        return function(*given), ""
    except UsageError as error:
        return None, str(error)


@settings(max_examples=300)
@given(st.one_of(rules, rubbish))
def test_a_rule_is_refused_or_spelt_again_as_itself_and_decided(run, rule):
    gate, refusal = tried(parse_gate, rule)
    if gate is None:
        assert refusal.startswith("gate: ")
        return
    again = parse_gate(gate.rule)
    assert again.rule == gate.rule
    assert (again.aggregate, again.op, again.limit, again.where) == (
        gate.aggregate, gate.op, gate.limit, gate.where,
    )  # fmt: skip
    found, refusal = tried(evaluate_gates, run, [gate])
    assert gate.rule in refusal if found is None else found[0].gate is gate


@pytest.mark.parametrize(
    "rule",
    [
        "(" * MAX_RULE, "mean(given) >= " + "9" * (MAX_RULE - 20), "mean(given) >= 1e99999",
        "x" * (MAX_RULE + 1), "mean(given) >= 1" + " " * 2_000,
        'count(given < 1 where tag = "' + "\x1b[2J" + '") <= 1', "mean(given) >= 1\n\nmean(x) > 2",
        "mean(given) >= __import__('os').system('true')", "mean(given) >= (1)", "\0", "\ud800",
    ],
)  # fmt: skip
def test_nothing_in_a_rule_is_run_and_no_message_is_long(rule):
    with pytest.raises(UsageError) as caught:
        parse_gate(rule)
    assert len(str(caught.value)) < 600
    assert "\x1b" not in str(caught.value)


@pytest.mark.parametrize(
    "content",
    [
        "gates = " + "9" * 5_000, "gates = [0x" + "f" * 5_000 + "]", "a." * 40_000 + "b = 1",
        "gates = [{rule = 'mean(m) > 1', mode = [1]}]", "gates = [[['mean(m) > 1']]]",
        "gates = [{rule = 'mean(m) > 1', name = \"\\u001b[2J\"}]", "gates = 2026-01-02",
        'gates = ["mean(m) > 1", nan]', "[gates]\na = {}\n", "[[gates]]\nrule = 1\n",
        "gates = ['" + "x" * 5_000 + "']", "gates = ['mean(m) > 1'] # \ud800".encode("utf-8", "surrogatepass"),
        "gates = [" + "'mean(m) > 1'," * 101 + "]",
    ],
)  # fmt: skip
def test_a_project_file_that_is_wrong_is_refused_by_its_name(tmp_path, content):
    path = tmp_path / "closecall.toml"
    path.write_bytes(content if isinstance(content, bytes) else content.encode())
    with pytest.raises(ConfigurationError) as caught:
        find_gates(tmp_path)
    assert str(path) in str(caught.value)
    assert len(str(caught.value)) < 700


@pytest.mark.parametrize("kind", ["pipe", "folder", "loop", "link to nowhere", "device"])
def test_a_project_file_that_is_no_file_does_not_pass_for_none(tmp_path, kind):
    import os

    path = tmp_path / "closecall.toml"
    if kind == "pipe":
        os.mkfifo(path)
    elif kind == "folder":
        path.mkdir()
    else:
        to = {"loop": path, "link to nowhere": tmp_path / "missing", "device": "/dev/zero"}[kind]
        path.symlink_to(to)
    with pytest.raises(ClosecallError, match=r"closecall\.toml"):
        find_gates(tmp_path)

"""Gates in words, cells, JSON and tests: every figure is there, and hostile text stays text."""

import io
import json

import pytest

from closecall import Case, evaluate
from closecall.gates.bad_answers import check_gates
from closecall.gates.evaluate import evaluate_gates
from closecall.gates.parsing import parse_gate
from closecall.report.check_gates import check_json, write
from closecall.report.gates import (
    HEADINGS,
    gate_lines,
    gate_rows,
    gate_tests,
    gate_words,
    gates_json,
    gates_verdict,
)
from closecall.testing import HashEmbedder

RULES = [
    "measured(token_f1) == asked",
    "surely pass_rate(token_f1) >= 0.6",
    "mean(token_f1) >= 0.9",
    "share(token_f1 >= 0.2) >= 0.5",
    "p30(token_f1 where tag = none) > 0.1",
]


def words(n):
    return " ".join(f"w{i}" for i in range(n))


@pytest.fixture(scope="module")
def gated():
    cases = [
        Case(id=str(n), input=f"q{n}", references=(words(10),), response=words(n + 1))
        for n in range(10)
    ]
    cases.append(Case(id="blank", references=("a",), response=" "))
    run = evaluate(cases, "token_f1", HashEmbedder(), cache=False)
    return run, evaluate_gates(run, RULES)


def test_each_line_has_value_interval_margin_and_counts(gated):
    lines = gate_lines(gated[1])
    assert [line.split(":")[0] for line in lines] == [
        "FAILED", "FAILED", "cannot tell", "not measured", "passed",
    ]  # fmt: skip
    assert lines[0] == (
        "FAILED: measured(token_f1) == asked: 10 is not 11, margin -1; 10 measured of 11 asked"
    )
    assert "mean(token_f1) >= 0.9: 0.6625 < 0.9, margin -0.2375; 95% interval 0." in lines[1]
    assert "(betting)" in lines[1]
    assert "7 of 10 = 0.7 >= 0.6, margin 0.1; 95% interval 0.3475 to 0.9333" in lines[2]
    assert "cannot tell with n = 10: the interval lies on both sides of 0.6" in lines[2]
    assert "0.6364 to 0.7273, however the case not measured comes out" in lines[2]
    assert 'no case where tag = "none"' in lines[3]
    assert all(" measured of " in line and " asked" in line for line in lines)


def test_the_verdict_says_that_failed_cases_do_not_count_by_themselves(gated):
    run, results = gated
    assert gates_verdict(results, run) == (
        "5 gates: 1 passed, 2 FAILED, 1 cannot tell, 1 not measured; with gates, 3 cases that "
        "failed or stayed unsure do not fail the run"
    )
    assert gates_verdict((), run) == ""


def test_a_value_never_looks_like_the_limit_it_misses():
    cases = [Case(id=str(n), references=("a",), response="a" if n else "b") for n in range(4000)]
    run = evaluate(cases, "exact_match", HashEmbedder(), cache=False)
    (found,) = evaluate_gates(run, ["mean(exact_match) >= 0.99976"])
    assert "0.99975 < 0.99976, margin -0.00001" in gate_words(found)


def test_cells_fit_their_headings(gated):
    rows = gate_rows(gated[1])
    assert {len(row) for row in rows} == {len(HEADINGS)}
    assert rows[2][:4] == ("mean(token_f1) >= 0.9", "FAILED", "0.6625", "0.9")
    assert rows[0][6] == "10 / 11"
    assert rows[4][2] == "-"


def test_json_has_null_where_nothing_is_known(gated):
    found = json.loads(json.dumps(gates_json(gated[1]), allow_nan=False))
    measured, rate, mean, _, none = found
    assert (measured["state"], measured["interval"], measured["limit"]) == ("failed", None, 11.0)
    assert (rate["mode"], rate["count"], rate["state"]) == ("surely", 7, "inconclusive")
    assert rate["moreCases"] > 0
    assert set(mean["interval"]) == {"low", "high", "level", "method"}
    assert (none["value"], none["margin"], none["asked"]) == (None, None, 0)
    assert none["reason"]


def test_only_a_pass_is_a_green_test(gated):
    assert [one.outcome for one in gate_tests(gated[1])] == [
        "failure", "skipped", "failure", None, "error",
    ]  # fmt: skip


def test_a_name_stands_before_its_rule(gated):
    run, _ = gated
    results = evaluate_gates(run, [parse_gate("mean(token_f1) >= 0.3", name="overlap")])
    assert gate_lines(results)[0].startswith("passed: overlap: mean(token_f1) >= 0.3: ")


def test_what_gets_through_is_shown_and_never_obeyed(hostile_text):
    bad = [Case(id="\x1b]0;x", response=hostile_text, references=(hostile_text,))]
    found = check_gates(
        ["all(token_f1)"], None, "token_f1", HashEmbedder(), bad=bad, cache=False, guards="off"
    )
    out = io.StringIO()
    write(found, out, 100)
    text = out.getvalue()
    assert "\x1b" not in text
    assert "hand-written: LET THROUGH; 1 / 1" in text
    assert "The gates would let 1 family of bad answers through: hand-written." in " ".join(
        text.split()
    )
    assert json.loads(json.dumps(check_json(found)))["families"][0]["outcome"] == "let_through"

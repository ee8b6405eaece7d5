"""``closecall check-gates``: exit codes, what stops what, where the gates come from."""

import json
from pathlib import Path

import pytest

THINGS = ["delivery", "repair", "refund", "exchange", "upgrade", "check", "setup"]
ROWS = [
    {
        "id": f"r{n}",
        "input": f"How long does the {thing} take?",
        "reference": f"The {thing} takes {n + 20} days and is free of charge.",
    }
    for n, thing in enumerate(THINGS)
]
RULE = "pass_rate(token_f1) >= 0.9"
ASKED = ("-m", "token_f1", "--guards", "off", "-q", "--families", "number,other_answer")


@pytest.fixture
def cases(write):
    return write(*ROWS)


def test_gates_that_let_a_family_through_fail(cli, cases):
    said = cli("check-gates", cases, "--gate", RULE, *ASKED, "--cutoff", "0.85")
    assert said.code == 1
    assert "number: LET THROUGH; 7 / 7" in said.out
    assert "for example r" in said.out
    assert "other_answer: stopped; 0 / 7" in said.out
    assert f"  stopped by: {RULE}: 0 of 7 = 0 < 0.9" in said.out
    assert "would let 1 family of bad answers through: number." in " ".join(said.out.split())
    assert said.err == ""


def test_gates_that_stop_every_family_pass(cli, cases):
    said = cli("check-gates", cases, "--gate", RULE, "--gate", "max(token_f1) <= 0.6", *ASKED)
    assert said.code == 0
    assert "Every family of bad answers is stopped by at least one gate." in said.out


def test_gates_come_from_the_project(cli, cases, tmp_path):
    place = tmp_path / "closecall.toml"
    place.write_text(f'[gates]\nright = "{RULE}"\n', encoding="utf-8")
    found = cli("check-gates", cases, *ASKED, "--format", "json")
    assert found.code == 1
    assert found.json["gates"] == [RULE]
    numbers = found.json["families"][0]
    assert (numbers["family"], numbers["outcome"]) == ("number", "let_through")
    assert numbers["gates"][0]["place"] == f"{place}:2"
    assert numbers["examples"][0]["before"] != numbers["examples"][0]["after"]
    assert found.json["exitCode"] == 1
    typed = cli("check-gates", cases, *ASKED, "--gate", "max(token_f1) <= 0.6")
    assert typed.code == 0


def test_answers_of_ones_own(cli, write):
    bad = write(
        {
            "id": "a",
            "response": "It is free.",
            "reference": "It costs 3 euros.",
            "family": "price",
        },
        {"id": "b", "response": "Yes.", "reference": "Yes.", "family": "rude"},
        name="bad.jsonl",
    )
    said = cli(
        "check-gates", "--bad", bad, "-m", "exact_match", "--gate", "all(exact_match)", "-q"
    )
    assert said.code == 1
    assert "price: stopped" in said.out
    assert "rude: LET THROUGH" in said.out


def test_what_was_not_measured_is_no_test(cli, write):
    bad = write({"id": "a", "response": " ", "reference": "Yes."}, name="bad.jsonl")
    said = cli("check-gates", "--bad", bad, "-m", "token_f1", "--gate", "all(token_f1)", "-q")
    assert said.code == 11
    assert "could not be measured, which is no test of the gates" in " ".join(said.out.split())


@pytest.mark.parametrize(
    ("args", "code", "words"),
    [
        ([], 2, "give a FILE of cases with references, or --bad FILE"),
        (["cases.jsonl"], 2, "there are no gates to check"),
        (["cases.jsonl", "--gate", "mean(token_f1) = 1"], 2, "^"),
        (["cases.jsonl", "--gate", "all(rouge_l)", "-m", "token_f1"], 2, "no metric 'rouge_l'"),
        (["cases.jsonl", "--gate", "all(embed_answer_similarity)", "--families", "case"], 2,
         "no family of wrong answers"),
        (["cases.jsonl", "--gate", RULE, "--no-cache", "--cache-dir", "x"], 2, "exclude each other"),
        (["cases.jsonl", "--gate", RULE, "-m", "nonsense"], 3, "nonsense"),
        (["--bad", "good.jsonl", "--gate", RULE, "-m", "token_f1"], 4, "labelled accept"),
    ],
)  # fmt: skip
def test_what_is_refused(cli, write, args, code, words):
    write(*ROWS)
    Path(".git").mkdir()
    write({"response": "a", "reference": "a", "label": "accept"}, name="good.jsonl")
    said = cli("check-gates", *args)
    assert said.code == code
    assert words in said.err
    assert said.out == ""


def test_a_wrong_file_of_gates_is_told_with_its_line(cli, cases, tmp_path):
    place = tmp_path / "closecall.toml"
    place.write_text('gates = [\n  "mean(token_f1) == 1",\n]\n', encoding="utf-8")
    said = cli("check-gates", cases)
    assert said.code == 3
    assert f"{place}:2: gate: expected one of" in said.err


def test_everything_goes_into_the_json(cli, cases):
    said = cli("check-gates", cases, "--gate", RULE, *ASKED, "--format", "json")
    found = json.loads(said.out)
    assert found["metrics"] == ["token_f1"]
    assert found["together"]["cases"] == 14
    assert found["seed"] == 0

"""``closecall eval --gate``: rules on the set decide, and every report says how."""

import json
import xml.etree.ElementTree as ET

import pytest

from closecall import load_run
from closecall.cli import run as command_line

ROWS = [
    {"id": f"c{n}", "references": ["a blue lamp"], "response": said, "tags": [tag]}
    for n, (said, tag) in enumerate(
        [("a blue lamp", "colour")] * 7 + [("bananas", "fruit")] * 2 + [("a blue lamp", "fruit")]
    )
]


@pytest.fixture
def place(tmp_path, monkeypatch):
    monkeypatch.chdir(tmp_path)
    (tmp_path / "c.jsonl").write_text("".join(json.dumps(row) + "\n" for row in ROWS))
    return tmp_path


def evaluated(*more):
    return command_line(["eval", "c.jsonl", "-q", "-m", "token_f1", "--no-aef", *more])


@pytest.mark.parametrize(
    ("rule", "code"),
    [
        ("pass_rate(token_f1) >= 0.8", 0),
        ("pass_rate(token_f1) >= 0.81", 1),
        ("count(token_f1 < 0.5) <= 2", 0),
        ("count(token_f1 < 0.5) <= 1", 1),
        ("all(token_f1)", 1),
        ("all(token_f1 where tag = 'colour')", 0),
        ("measured(token_f1) == asked", 0),
    ],
)
def test_a_gate_decides_and_not_each_case(place, capsys, rule, code):
    assert evaluated() == 1
    assert evaluated("--gate", rule) == code
    out = " ".join(capsys.readouterr().out.split())
    assert "Gates" in out
    assert "1 gate: 1 passed" in out or "1 gate: 1 FAILED" in out


def test_so_few_cases_cannot_tell(place, capsys):
    rule = ("--gate", "pass_rate(token_f1) >= 0.8", "--gate-mode", "interval")
    assert evaluated(*rule) == 11
    out = " ".join(capsys.readouterr().out.split())
    assert "cannot tell" in out
    assert "n = 10" in out
    assert evaluated("--gate", "count(token_f1 < 0.5) <= 2", "--gate-mode", "interval") == 0


def test_gates_of_a_file_are_found_and_can_be_left_out(place, capsys):
    (place / "closecall.toml").write_text('gates = ["pass_rate(token_f1) >= 0.8"]\n')
    assert evaluated() == 0
    assert evaluated("--no-gates") == 1
    assert evaluated("--gate", "all(token_f1)") == 1


def test_a_gate_that_does_not_fit_the_run_is_refused_before_it(place, capsys):
    asked = ["eval", "c.jsonl", "-q", "-m", "token_f1", "--aef", "run"]
    assert command_line([*asked, "--gate", "mean(bleu) >= 0.5"]) == 2
    assert "bleu" in capsys.readouterr().err
    assert not (place / "run").exists()
    assert command_line([*asked, "--gate", "mean(token_f1) == 0.5"]) in {2, 3}
    assert "^" in capsys.readouterr().err


def test_every_report_carries_the_gates(place, capsys):
    rules = ("--gate", "pass_rate(token_f1) >= 0.8", "--gate", "all(token_f1)")
    for name in ("r.json", "r.md", "r.xml"):
        assert evaluated(*rules, "-o", name) == 1
    told = json.loads((place / "r.json").read_text())
    assert [one["state"] for one in told["gates"]] == ["passed", "failed"]
    assert told["exitCode"] == 1
    assert "**Gates**" in (place / "r.md").read_text()
    root = ET.fromstring((place / "r.xml").read_text())  # noqa: S314 - written just now
    (suite,) = [one for one in root if one.get("name") == "gates"]
    assert (suite.get("tests"), suite.get("failures")) == ("2", "1")
    counted = sum(len(one.findall("testcase")) for one in root)
    assert int(root.get("tests")) == counted
    for kind, name in (("failures", "failure"), ("errors", "error")):
        assert int(root.get(kind)) == len(root.findall(f".//{name}"))
    assert sum(int(one.get("skipped")) for one in root) == len(root.findall(".//skipped"))
    # A case that failed is told, and fails nothing that the gates let pass.
    assert len(root.findall(".//failure")) == 1
    assert any("gates allow" in one.get("message") for one in root.iter("skipped"))


def test_a_resumed_run_is_held_against_its_gates_whole(place, capsys):
    asked = ["eval", "c.jsonl", "-q", "-m", "token_f1", "--aef", "run"]
    assert command_line([*asked, "--gate", "pass_rate(token_f1) >= 0.8"]) == 0
    again = ["eval", "-q", "--resume", "run"]
    assert command_line([*again, "--gate", "pass_rate(token_f1) >= 0.8"]) == 0
    assert command_line([*again, "--gate", "pass_rate(token_f1) >= 0.9"]) == 1
    assert len(load_run("run")) == 10

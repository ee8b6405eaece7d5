"""``closecall eval --fast``: what it goes with is seen to before anything is scored."""

import json

import pytest

from closecall.cli import run


@pytest.fixture
def cases(tmp_path):
    path = tmp_path / "cases.jsonl"
    row = {"id": "a", "response": "Five working days.", "reference": "It takes five days."}
    path.write_text(json.dumps(row) + "\n", encoding="utf-8")
    return path


@pytest.mark.parametrize(
    "gate",
    ["mean(embed_answer_similarity) >= 60", "share(embed_answer_similarity > 60) >= 0.5"],
)
def test_a_gate_on_scores_is_refused(cases, gate, capsys):
    code = run(["eval", str(cases), "--fast", "--no-aef", "--gate", gate])
    assert code == 2
    assert "not with" in capsys.readouterr().err


def test_it_begins_with_the_run_and_is_no_option_of_going_on(tmp_path, capsys):
    code = run(["eval", "--resume", str(tmp_path / "run"), "--fast"])
    assert code == 2
    assert "--fast" in capsys.readouterr().err

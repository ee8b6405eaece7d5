"""What the programs around the pair model say to arguments that are missing or lead nowhere."""

import json
import subprocess
import sys
from pathlib import Path

import pytest
import tiny_pair  # noqa: F401 - lets ``pair`` be found
from pair import facts

ROOT = Path(__file__).resolve().parents[2]


def test_the_facts_say_which_file_they_take(monkeypatch, capsys):
    monkeypatch.setattr(sys, "argv", ["facts.py"])
    with pytest.raises(SystemExit) as caught:
        facts.main()
    assert caught.value.code == 2
    assert "arguments are required: ACCOUNT" in capsys.readouterr().err
    monkeypatch.setattr(sys, "argv", ["facts.py", "/nowhere/account.json"])
    with pytest.raises(SystemExit):
        facts.main()
    assert "/nowhere/account.json cannot be read" in capsys.readouterr().err


def test_the_figures_of_a_card_read_well_in_any_order(monkeypatch, capsys, tmp_path):
    account = {
        "plan": {"seed": 0, "epochs": 2, "again": 1},
        "train": {"rows": 9, "accept": 4, "sha256": "a", "kinds": {}},
        "dev": {"rows": 5, "sha256": "b"},
        "calibration": {"n": 3},
        "figures": {"all": {"n": 5, "right": 4, "auc": 0.9}},
    }
    path = tmp_path / "account.json"
    path.write_text(json.dumps(account), encoding="utf-8")
    monkeypatch.setattr(sys, "argv", ["facts.py", str(path)])
    assert facts.main() == 0
    figures = json.loads(capsys.readouterr().out)["figures"]
    assert list(figures.values()) == [5, 4, 0.9]
    assert all("pairs kept apart" in name for name in figures)


@pytest.mark.parametrize(
    ("program", "args"),
    [
        ("benchmarks/pair_model.py", ["nq301"]),
        ("models/train_pair.py", ["--output", "never-made"]),
    ],
)
def test_labelled_sets_that_are_not_there_are_one_line(program, args, tmp_path):
    said = subprocess.run(
        [sys.executable, ROOT / program, *args, "--data", "/nowhere"],
        cwd=tmp_path, capture_output=True, text=True, timeout=120, check=False,
    )  # fmt: skip
    assert said.returncode == 2
    assert said.stderr.splitlines()[-1].endswith(
        "error: --data /nowhere: the folder of labelled sets is not there"
    )
    assert not list(tmp_path.iterdir())

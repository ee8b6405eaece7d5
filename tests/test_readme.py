"""The README's commands and its Python are run as they stand."""

import contextlib
import io
import re
import shlex
from pathlib import Path

import pytest

from closecall.cli import run

README = Path(__file__).resolve().parent.parent / "README.md"


def blocks(language: str) -> list[str]:
    return re.findall(
        rf"^```{language}\n(.*?)^```", README.read_text(encoding="utf-8"), re.MULTILINE | re.DOTALL
    )


def test_the_example_of_a_calibration_is_what_calibrate_prints(tmp_path, monkeypatch, capsys):
    monkeypatch.chdir(tmp_path)
    assert run(["demo", "--save", "answers.jsonl"]) == 0
    capsys.readouterr()
    assert run(["calibrate", "answers.jsonl", "--max-far", "0.1", "-q"]) == 0
    (shown,) = [block for block in blocks("text") if block.startswith("Cutoff ")]
    assert capsys.readouterr().out.startswith(shown)


def test_the_table_of_cautions_is_the_one_in_use():
    from closecall.calibration.cautions import CAUTIONS

    text = README.read_text(encoding="utf-8")
    for code, meaning in CAUTIONS.items():
        assert f"| {code} | {meaning.what} | {meaning.do} |" in text


def test_the_two_set_up_commands_are_there():
    first, second = blocks("sh")[:2]
    assert first.strip() == "pip install . && closecall demo"
    assert second.strip() == "pip install '.[test]' && pytest"


def test_every_closecall_command_of_the_readme_runs(tmp_path, monkeypatch, capsys):
    monkeypatch.chdir(tmp_path)
    commands = [line for block in blocks("sh") for line in block.splitlines()]
    ours = [line.split("&& ")[-1] for line in commands if "closecall " in line]
    assert len(ours) >= 8
    for line in ours:
        code = run(shlex.split(line)[1:])
        said = capsys.readouterr()
        # The demo's cases are labelled, and a cutoff of 70 fails some of them.
        assert code == (1 if " eval " in line else 0), f"{line}\n{said.out}\n{said.err}"


def test_the_python_examples_run_and_print_verdicts(monkeypatch, tmp_path):
    monkeypatch.chdir(tmp_path)
    assert run(["demo", "--save", "answers.jsonl"]) == 0
    said = []
    for example in blocks("python"):
        out = io.StringIO()
        with contextlib.redirect_stdout(out):
            exec(compile(example, "README.md", "exec"), {})
        said.append(out.getvalue())
    fitted, in_tests, first, own = said
    assert in_tests == ""  # assertions that hold say nothing
    assert fitted.startswith("0.595 0 of 60\n[False  True] [")
    assert re.search(r"^refund-1 (passed|failed) .*cutoff chosen by you", first, re.MULTILINE)
    assert "of 1" in first
    assert own == "False\n1 of 1\n"


def test_the_example_line_is_what_score_prints(capsys):
    command = next(
        line for block in blocks("sh") for line in block.splitlines() if " score " in line
    )
    (line,) = [block.strip() for block in blocks("text") if "passed:" in block]
    assert run(shlex.split(command)[1:]) == 0
    assert capsys.readouterr().out.strip() == line


@pytest.mark.parametrize(
    "row", re.findall(r"^\| (\d+)(?:, \d+)? \| ", README.read_text(encoding="utf-8"), re.MULTILINE)
)
def test_each_exit_code_of_the_readme_is_one_the_code_can_return(row):
    from closecall import cli, errors
    from closecall.runs import summary
    from closecall.signing import records

    codes = {
        0,
        records.EXIT_UNSIGNED,
        records.EXIT_UNKNOWN_KEY,
        cli.EXIT_INTERNAL,
        cli.EXIT_INTERRUPTED,
        summary.EXIT_FAILED,
        summary.EXIT_UNMEASURED,
    }
    codes |= {
        c.exit_code
        for c in vars(errors).values()
        if isinstance(c, type) and hasattr(c, "exit_code")
    }
    assert int(row) in codes

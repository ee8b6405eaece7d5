"""The example workflow: YAML as GitHub reads it, and command lines that closecall takes."""

import re
import shlex
from pathlib import Path

import click
import pytest
import yaml

from closecall.cli import COMMANDS, cli, run

EXAMPLE = Path(__file__).resolve().parent.parent / "examples" / "github-action.yml"


@pytest.fixture(scope="module")
def text():
    return EXAMPLE.read_text(encoding="utf-8")


@pytest.fixture(scope="module")
def steps(text):
    # All texts, as GitHub reads them: a safe load would make `on` a boolean.
    (job,) = yaml.load(text, Loader=yaml.BaseLoader)["jobs"].values()  # noqa: S506
    return job["steps"]


def lines_of(text):
    """Return the command lines of closecall in a text, as lists of words."""
    joined = re.sub(r"\\\n\s*", " ", text)
    found = re.findall(r"(?:^\s*|made with: )(closecall [a-z].*)$", joined, re.MULTILINE)
    return [shlex.split(line) for line in found]


def test_the_workflow_has_what_github_asks_for(text, steps):
    workflow = yaml.load(text, Loader=yaml.BaseLoader)  # noqa: S506 - texts, as above
    assert set(workflow) == {"name", "on", "permissions", "jobs"}
    assert set(workflow["on"]) == {"pull_request", "push"}
    assert all(("uses" in step) != ("run" in step) for step in steps)
    assert all(re.fullmatch(r"[\w-]+/[\w-]+@v\d+", s["uses"]) for s in steps if "uses" in s)


def test_what_a_pull_request_says_never_becomes_a_command(steps):
    assert not any("${{" in step.get("run", "") for step in steps)


def test_every_command_line_is_one_that_closecall_takes(text, steps):
    lines = lines_of(text)
    assert len(lines) == 6
    in_steps = [line for step in steps for line in lines_of(step.get("run", ""))]
    assert [line[1] for line in in_steps] == ["eval", "report", "report", "report"]
    for _, name, *words in lines:
        assert name in COMMANDS
        context = click.Context(cli, **cli.context_settings)
        command = cli.get_command(context, name)
        with command.make_context(name, list(words), parent=context) as made:
            assert made.params, words


def test_reports_come_of_a_replayed_run_as_the_steps_say(steps, tmp_path, monkeypatch, capsys):
    """The report steps run as they stand, on a run folder of the packaged answers."""
    monkeypatch.chdir(tmp_path)
    assert run(["demo", "--save", "answers.jsonl"]) == 0
    assert run(["eval", "answers.jsonl", "--aef", "run", "-q"]) in {0, 1, 11}
    (step,) = [s for s in steps if s.get("name") == "Write the reports"]
    for words in lines_of(step["run"]):
        assert run(words[1:]) == 0
    capsys.readouterr()
    assert (tmp_path / "run" / "summary.json").is_file()
    assert "|" in (tmp_path / "report.md").read_text(encoding="utf-8")
    assert "<testsuite" in (tmp_path / "junit.xml").read_text(encoding="utf-8")
    assert "<html" in (tmp_path / "report.html").read_text(encoding="utf-8")[:200]

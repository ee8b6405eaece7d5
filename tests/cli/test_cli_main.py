"""The program as a whole: help, errors, exit codes, streams."""

import json
import os
import subprocess
import sys
from pathlib import Path

import click
import pytest

from closecall import __version__
from closecall.cli import COMMANDS, cli, run

HEAVY = ("numpy", "onnxruntime", "tokenizers", "rich", "yaml", "torch", "closecall.runs")


def every_command():
    found = []

    def walk(command, path):
        found.append(path)
        if isinstance(command, click.Group):
            context = click.Context(command)
            for name in command.list_commands(context):
                walk(command.get_command(context, name), (*path, name))

    walk(cli, ())
    return found


@pytest.mark.parametrize("path", every_command(), ids=" ".join)
def test_every_command_has_help_with_an_example(path, cli):
    said = cli(*path, "--help")
    assert said.code == 0
    assert said.err == ""
    assert "Usage: closecall" in said.out
    assert f"closecall {' '.join(path)}".strip() in said.out.split("Usage:")[1].split("\n", 1)[1]
    assert cli(*path, "-h").out == said.out


def test_no_help_loads_a_model_runtime_or_numpy(process):
    code = f"""
import sys
from closecall.cli import run
for path in {every_command()!r}:
    assert run([*path, "--help"]) == 0
print([m for m in {HEAVY!r} if m in sys.modules], file=sys.stderr)
"""
    said = process(code=code)
    assert said.stderr.decode().strip() == "[]"


def test_the_list_of_commands_is_the_table(cli):
    out = cli("--help").out
    for name, words in COMMANDS.items():
        assert name in out
        assert words in out
    assert "closecall demo" in out


def test_each_command_says_of_itself_what_the_list_says_it_is(cli):
    for name in COMMANDS:
        assert cli(name, "--help").code == 0


def test_version(cli):
    for flag in ("--version", "-V"):
        said = cli(flag)
        assert (said.code, said.out) == (0, f"closecall, version {__version__}\n")


@pytest.mark.parametrize(
    ("args", "said"),
    [
        (("scroe",), "Did you mean 'score'?"),
        (
            ("nonsense",),
            f"Commands: {', '.join(COMMANDS)}.",
        ),
        (("runs", "remove"), "'remove'. Commands: list, merge, prune, show."),
        (("index", "serach"), "Commands: build, add, rebuild, remove, show, verify."),
        (("cache", "cleer"), "Did you mean 'clear'?"),
        (("cassette", "nonsense"), "Commands: diff, explain, prune, stats, verify."),
        (("models", "verfy"), "Did you mean 'verify'?"),
        (("score", "one"), "Missing argument 'TEXT_B'"),
        (("score", "a", "b", "--cutof", "3"), "Did you mean '--cutoff'?"),
        (("eval",), "give a FILE of cases, or --resume DIR"),
        (("score", "a", "b", "--window", "half"), "'chunk', 'truncate', 'error'"),
        (("completion", "tcsh"), "bash"),
    ],
)
def test_a_wrong_command_line_exits_with_2_and_says_what_is_right(args, said, cli):
    found = cli(*args)
    assert found.code == 2
    assert found.out == ""
    assert said in found.err


def test_without_a_command_it_shows_the_commands(cli):
    said = cli()
    assert said.code == 2
    assert "score" in said.out + said.err


def test_an_unexpected_error_exits_with_70_and_says_how_to_see_more(cli, monkeypatch):
    def broken(*_, **__):
        raise ZeroDivisionError("a bug \x1b[31m")

    monkeypatch.setattr("closecall.metrics.registry.load_metric", broken)
    said = cli("score", "a", "b")
    assert said.code == 70
    assert "internal error: ZeroDivisionError: a bug \\x1b[31m" in said.err
    assert "CLOSECALL_DEBUG=1" in said.err
    assert "Traceback" not in said.err
    monkeypatch.setenv("CLOSECALL_DEBUG", "1")
    with pytest.raises(ZeroDivisionError):
        run(["score", "a", "b"])


def test_an_interrupt_exits_with_130(cli, monkeypatch):
    def interrupted(*_, **__):
        raise KeyboardInterrupt

    monkeypatch.setattr("closecall.metrics.registry.load_metric", interrupted)
    said = cli("score", "a", "b")
    assert said.code == 130
    assert "interrupted" in said.err


def test_control_characters_in_an_error_are_shown_not_obeyed(cli, write):
    said = cli("eval", write({"response": "a", "reference": "b", "label": "\x1b[31mmaybe"}))
    assert said.code == 4
    assert "\x1b" not in said.err


def test_python_dash_m_is_the_command_line(process):
    said = process("--version")
    assert (said.returncode, said.stdout.decode().strip()) == (
        0,
        f"closecall, version {__version__}",
    )
    assert process("nonsense").returncode == 2


@pytest.mark.skipif(os.name != "posix", reason="a closed pipe is another error elsewhere")
@pytest.mark.parametrize(
    ("args", "code"),
    [(("score", "yes", "Bring an umbrella."), 1), (("models", "list"), 0), (("doctor",), 0)],
)
def test_a_reader_that_leaves_early_changes_no_exit_code(args, code, process):
    reader, writer = os.pipe()
    os.close(reader)
    program = "import sys; from closecall.cli import main; main(sys.argv[1:])"
    said = process(*args, code=program, stdout=writer, stderr=subprocess.PIPE)
    os.close(writer)
    assert (said.returncode, b"Traceback" in said.stderr, b"Broken" in said.stderr) == (
        code,
        False,
        False,
    )


def test_output_in_a_narrow_encoding_is_escaped_and_never_a_crash(process, write):
    case = {"id": "köln", "response": "Grüße 日本 🎈", "reference": "Grüße 日本 🎈"}
    path = write(case)
    env = {**os.environ, "PYTHONIOENCODING": "ascii"}
    for form in ("table", "csv", "markdown", "junit", "html", "jsonl", "json"):
        said = process("eval", path, "--no-aef", "--format", form, env=env)
        assert said.returncode == 0, said.stderr
        assert said.stdout.isascii()
    assert json.loads(said.stdout)["results"][0]["name"] == "köln"
    said = process("score", "Grüße", "Grüße", "--json", env=env)
    assert json.loads(said.stdout)["state"] == "passed"


@pytest.mark.skipif(sys.platform != "linux", reason="arguments are bytes on Linux")
def test_arguments_that_are_no_text_do_not_crash(process):
    said = process("score", "caf\udce9", "caf\udce9")
    assert said.returncode in (0, 11)
    assert b"internal error" not in said.stderr


@pytest.mark.skipif(not Path("/dev/full").exists(), reason="needs a device that is always full")
@pytest.mark.parametrize("args", [("score", "a dog", "a dog"), ("models", "list")])
def test_a_full_output_is_no_bug(args):
    with Path("/dev/full").open("w") as full:
        done = subprocess.run(
            [sys.executable, "-m", "closecall", *args],
            stdout=full,
            stderr=subprocess.PIPE,
            check=False,
        )
    assert done.returncode == 2
    assert b"the output cannot be written: No space left on device" in done.stderr


@pytest.mark.skipif(os.name != "posix", reason="closes a descriptor of a child")
def test_a_closed_output_changes_no_exit_code():
    shell = f'exec "{sys.executable}" -m closecall score "a dog" "two cats and a mouse" >&- 2>&-'
    assert subprocess.run(["sh", "-c", shell], check=False).returncode == 1

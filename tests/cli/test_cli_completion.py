"""Shell completion: the script for each shell, and what it completes."""

import os

import pytest

from closecall.cli import COMMANDS


@pytest.mark.parametrize("shell", ["bash", "zsh", "fish"])
def test_the_script_of_each_shell(cli, shell):
    said = cli("completion", shell)
    assert said.code == 0
    assert said.err == ""
    assert f"_CLOSECALL_COMPLETE={shell}_complete" in said.out


def test_no_shell_need_be_installed_to_print_its_script(process):
    said = process("completion", "bash", env={**os.environ, "PATH": ""})
    assert said.returncode == 0


@pytest.mark.parametrize(
    ("words", "wanted"),
    [
        ("closecall ", {*COMMANDS}),
        ("closecall ev", {"eval"}),
        (
            "closecall models ",
            {
                "list",
                "info",
                "add",
                "verify",
                "known",
                "pull",
                "remove",
                "bundle",
                "unbundle",
                "distil",
                "isotropy",
                "parity",
            },
        ),
        (
            "closecall eval --format ",
            {"table", "json", "jsonl", "csv", "markdown", "junit", "html"},
        ),
        ("closecall eval --res", {"--resume"}),
    ],
)
def test_commands_options_and_choices_are_completed(process, words, wanted):
    env = {
        **os.environ,
        "_CLOSECALL_COMPLETE": "bash_complete",
        "COMP_WORDS": words,
        "COMP_CWORD": str(len(words.split(" ")) - 1),
    }
    said = process(env=env)
    assert said.returncode == 0
    found = {line.split(",")[1] for line in said.stdout.decode().splitlines()}
    assert found == wanted

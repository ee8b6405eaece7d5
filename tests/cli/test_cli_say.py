"""What the command line quotes of files is shown, never obeyed: as on a terminal, nothing stripped."""

import json
import re

import click
import pytest
import tiny_bert

from closecall.cli.options import ROLES, WINDOWS
from closecall.instrument import WINDOW_POLICIES
from closecall.models import store
from closecall.records import Role

EVIL = "\x1b[31mred\x07\x9b2J\u202e"
SHOWN = "\\x1b[31mred\\x07\\x9b2J\\u202e"


@pytest.fixture(autouse=True)
def _terminal(monkeypatch):
    """Output is captured by what is no terminal, and click would take escapes out of it."""
    monkeypatch.setattr("click.utils.should_strip_ansi", lambda *_, **__: False)


def harmless(said):
    return not re.search("[\x00-\x08\x0b-\x1f\x7f-\x9f\u202e]", said.out + said.err)


def test_these_tests_see_what_a_terminal_would_get(capsys):
    click.echo(EVIL)
    assert capsys.readouterr().out == EVIL + "\n"


def test_a_broken_card(cli):
    broken = store.store_folder() / "odd"
    broken.mkdir(parents=True)
    card = (store.bundled_folder() / store.DEFAULT_MODEL / "card.toml").read_text("utf-8")
    field = json.dumps(EVIL).replace("\\u001b", "\\u001B")
    (broken / "card.toml").write_text(f"{field} = 1\n{card}", encoding="utf-8")
    listed, verified = cli("models", "list"), cli("models", "verify")
    assert SHOWN in listed.err
    assert SHOWN in verified.out
    assert harmless(listed)
    assert harmless(verified)


def test_what_a_card_says_of_itself(cli, tmp_path):
    tiny_bert.write_folder(tmp_path / "tiny")
    cli("models", "add", tmp_path / "tiny", "--source", EVIL)
    said = cli("models", "info", "tiny")
    assert f"source: {SHOWN}" in said.out
    assert harmless(said)
    for command in (("info", "tiny"), ("list",)):
        said = cli("models", *command, "--json")
        assert harmless(said)
        found = said.json
        assert (found["card"] if command[0] == "info" else found[-1])["source"] == EVIL


def test_a_check_of_the_doctor(cli, monkeypatch):
    def broken(*_):
        raise RuntimeError(EVIL)

    monkeypatch.setattr(store, "find_model", broken)
    for options in ((), ("--json",)):
        said = cli("doctor", *options)
        assert said.code == 3
        assert harmless(said)
    assert EVIL in said.json[1]["found"]


def test_a_wrong_command_line(cli):
    for args in (("eval", "cases.jsonl", f"other{EVIL}"), (f"score{EVIL}",)):
        said = cli(*args)
        assert said.code == 2
        assert "x07" in said.err
        assert harmless(said)


def test_an_error(cli):
    said = cli("eval", f"nowhere{EVIL}.jsonl")
    assert said.code == 4
    assert SHOWN in said.err
    assert harmless(said)


def test_the_choices_that_help_spells_out_are_those_there_are():
    assert WINDOWS == WINDOW_POLICIES
    assert sorted(ROLES) == sorted(role.value for role in Role)

"""``closecall cassette``: what it says of recordings, and its exit codes."""

import sys
from pathlib import Path

import pytest

sys.path.insert(0, str(Path(__file__).parent.parent / "cassettes"))

from recorded_things import CHAT, record, request

FOLDER = Path("recordings")


@pytest.fixture(autouse=True)
def _recorded(_here):
    record(FOLDER, ["Your parcel left on Monday.", "two"], [request("Where is it?")])


def test_stats(cli):
    said = cli("cassette", "stats", FOLDER)
    assert said.code == 0
    first, chat, vectors = said.out.splitlines()
    assert first.startswith("recordings: 3 recordings in 1 file, ")
    assert "gpt-x@openai: 1 recording, " in chat
    assert "10 tokens, 0.0 s, 2031-01-31 to 2031-01-31" in chat
    assert "text-embedding-3-small@api.openai.com: 2 recordings" in vectors
    assert cli("cassette", "stats", FOLDER, "--json").json["entries"] == 3


def test_diff_exits_with_1_where_anything_differs(cli):
    record(Path("now"), ["two", "three"], [request("Where is it?")], reply=lambda _: "Here.")
    said = cli("cassette", "diff", FOLDER, "now")
    assert said.code == 1
    assert '- default.jsonl  embedding of text-embedding-3-small@api.openai.com: "Your parcel' in (
        said.out
    )
    assert (
        '+ default.jsonl  embedding of text-embedding-3-small@api.openai.com: "three"' in said.out
    )
    assert '~ default.jsonl  chat of gpt-x@openai: "Where is it?"' in said.out
    assert 'content: character 1: "You said: Where is it?" recorded, "Here." now' in said.out
    found = cli("cassette", "diff", FOLDER, "now", "--json").json
    assert sorted(one["what"] for one in found["changes"]) == ["added", "changed", "removed"]
    said = cli("cassette", "diff", FOLDER, FOLDER)
    assert (said.code, said.out) == (0, "the same requests, and the same replies\n")


def test_prune_says_first_what_it_would_drop(cli):
    said = cli("cassette", "prune", FOLDER, "--model", CHAT, "--dry-run")
    assert said.out.startswith("would drop 1 recording, 2 left; ")
    said = cli("cassette", "prune", FOLDER, "--model", CHAT)
    assert said.out.startswith("dropped 1 recording, 2 left; ")
    assert cli("cassette", "prune", FOLDER, "--kind", "embedding", "--json").json["entries"] == 2
    assert cli("cassette", "verify", FOLDER).code == 0


def test_prune_by_age_takes_days_and_weeks(cli):
    assert "dropped 0" in cli("cassette", "prune", FOLDER, "--older-than", "500w").out


def test_verify_exits_with_4_and_says_where(cli):
    said = cli("cassette", "verify", FOLDER)
    assert said.code == 0
    assert said.out.startswith("3 recordings in 1 file: all of it sound")
    path = FOLDER / "default.jsonl"
    path.write_bytes(path.read_bytes().replace(b"You said", b"You sang"))
    said = cli("cassette", "verify", FOLDER)
    assert said.code == 4
    assert "default.jsonl:2: its check is not that of its content" in said.out
    assert cli("cassette", "verify", FOLDER, "--json").json["problems"]
    said = cli("cassette", "stats", FOLDER)
    assert said.code == 4
    assert "default.jsonl:2: its check" in said.err


def test_verify_names_the_variable_whose_key_is_in_it(cli, monkeypatch):
    monkeypatch.setenv("SOME_API_KEY", "Your parcel left")
    said = cli("cassette", "verify", FOLDER)
    assert said.code == 4
    assert "holds the value of the variable SOME_API_KEY" in said.out


def test_explain_a_text(cli):
    said = cli("cassette", "explain", FOLDER, "Where is it?")
    assert said.out.startswith("text: recorded\n")
    assert "messages[1].content" in said.out
    said = cli("cassette", "explain", FOLDER, "Your parcel left on Tuesday.", "-n", 1)
    assert said.out.startswith("text: not recorded; the nearest are\n")
    assert 'text: character 21: "Your parcel left on Monday." recorded' in said.out
    found = cli("cassette", "explain", FOLDER, "two", "--json").json
    assert found["texts"][0]["nearest"][0]["likeness"] == 1.0


def test_explain_a_case(cli, write):
    path = write({"id": "a", "input": "Where is it?", "response": "Your parcel left on Sunday."})
    said = cli("cassette", "explain", FOLDER, "--case", f"{path}:a")
    assert "input: recorded" in said.out
    assert "response: not recorded" in said.out
    assert cli("cassette", "explain", FOLDER, "--case", f"{path}:b").code == 2


@pytest.mark.parametrize(
    ("args", "said"),
    [
        (("prune", FOLDER), "say what to drop"),
        (("prune", FOLDER, "--older-than", "soon"), "is not an age"),
        (("prune", FOLDER, "--kind", "picture"), "'embedding', 'chat', 'subject'"),
        (("stats", "elsewhere"), "elsewhere: no cassette"),
        (("explain", FOLDER), "give either a TEXT or --case"),
        (("explain", FOLDER, "--case", "nothing"), "--case takes FILE:ID"),
    ],
)
def test_a_wrong_command_line_exits_with_2(args, said, cli):
    found = cli("cassette", *args)
    assert found.code == 2
    assert said in found.err


def test_what_a_terminal_would_obey_is_spelt_out(cli):
    record(Path("hostile"), ["\x1b[31mred"], [request("\x1b]0;title")], reply=lambda _: "\x1b[2J")
    for args in (
        ("stats", "hostile"),
        ("diff", FOLDER, "hostile"),
        ("explain", "hostile", "\x1b[31mrod"),
        ("diff", FOLDER, "hostile", "--json"),
    ):
        said = cli("cassette", *args)
        assert said.code in {0, 1}
        assert "\x1b" not in said.out + said.err

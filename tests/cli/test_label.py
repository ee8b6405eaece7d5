"""``closecall label`` as it is typed: keys at a prompt, status, export, and calibrate on it."""

import io
import json
import os
import subprocess
import sys

import pytest

from closecall.labelling.journal import Journal

HOURS = ("one", "two", "three", "four", "five", "six", "seven", "eight", "nine", "ten")


def row(at, **more):
    wrong = at % 2
    said = "the bakery sells bread and cake" if wrong else f"line {at} departs at {HOURS[at % 10]}"
    return {
        "id": f"case-{at:03}",
        "question": f"When does the tram of line {at} leave?",
        "response": said,
        "reference": f"line {at} departs at {HOURS[at % 10]} in the morning",
        **more,
    }


@pytest.fixture
def keys(cli, monkeypatch):
    """Type lines at the prompt of ``closecall label``."""

    def call(typed, *args):
        monkeypatch.setattr(sys, "stdin", io.StringIO("".join(f"{line}\n" for line in typed)))
        return cli("label", *args)

    return call


def lines(path):
    return [json.loads(line) for line in path.read_text(encoding="utf-8").splitlines()]


def test_forty_cases_are_labelled_exported_and_calibrated_on(keys, cli, write, tmp_path):
    file = write(*(row(at) for at in range(40)))
    before = file.read_bytes()

    def answers(name):
        at = int(name[-3:])
        return "r" if at % 2 else "a"

    # What comes up depends on the file and the seed, so the order can be read beforehand.
    from closecall.datasets import open_dataset
    from closecall.labelling.deck import deck_of
    from closecall.labelling.order import Order, asked

    deck = deck_of(open_dataset(file))
    order = [deck.items[key].case.id for key in asked(deck, Order("plan"))]
    assert order != sorted(order)
    said = keys([answers(name) for name in order[:25]], file)
    assert said.code == 0
    assert "25 of 40 done" in said.out
    said = keys([answers(name) for name in order[25:]], file)
    assert "40 of 40 done: 20 accepts, 20 rejects. Nothing is left to ask." in said.out
    assert file.read_bytes() == before

    out = tmp_path / "labelled.jsonl"
    said = cli("label", file, "--export", out)
    assert (said.code, said.err) == (
        0,
        f"closecall: 40 rows written to {out}, 40 labels among them\n",
    )
    assert said.out == f"Next: closecall calibrate {out} -o cutoff.json\n"
    rows = lines(out)
    assert [one["id"] for one in rows] == [f"case-{at:03}" for at in range(40)]
    assert {one["sampling"] for one in rows} == {"random"}
    assert all(one["label"] == ("reject" if at % 2 else "accept") for at, one in enumerate(rows))

    made = cli("calibrate", out, "--max-far", "0.2", "--no-lock", "-o", "cutoff.json", "-q")
    assert made.code == 0, made.out + made.err
    assert "chosen from 40 labels (20 rejects, 20 accepts)" in made.out


def test_a_table_stays_a_table(keys, cli, tmp_path):
    file = tmp_path / "cases.csv"
    file.write_text(
        'id,question,response,reference,label\n1,"a, b","x\ny",z,\n2,c,"[""p"", ""q""]",r,accept\n',
        encoding="utf-8",
    )
    said = keys(["r"], file, "--order", "file", "--annotator", "Ana K")
    assert said.code == 0
    assert "--export labelled.csv" in said.out
    said = cli("label", file, "--export", "labelled.csv")
    assert said.code == 0
    out = (tmp_path / "labelled.csv").read_text(encoding="utf-8")
    assert out.startswith("id,question,response,reference,label,annotator,labelled_at\n")
    assert '1,"a, b","x\ny",z,reject,Ana K,2' in out
    assert '2,c,"[""p"", ""q""]",r,accept,,\n' in out
    assert cli("label", file, "--export", "labelled.jsonl").code == 0
    assert lines(tmp_path / "labelled.jsonl")[1]["response"] == '["p", "q"]'


def test_a_file_that_is_there_is_replaced_only_when_told(keys, cli, write, tmp_path):
    file = write(row(0))
    keys(["a"], file)
    out = tmp_path / "out.jsonl"
    out.write_text("precious", encoding="utf-8")
    said = cli("label", file, "--export", out)
    assert said.code == 2
    assert "--replace" in said.err
    assert out.read_text(encoding="utf-8") == "precious"
    assert cli("label", file, "--export", out, "--replace").code == 0
    for lost in (file, f"{file}.labels.jsonl"):
        said = cli("label", file, "--export", lost, "--replace")
        assert said.code == 2
        assert "it would be lost" in said.err
    assert len(lines(file)) == 1


def test_what_was_left_open_is_told_where_it_would_be_missed(keys, cli, write):
    file = write(row(0), row(1))
    keys(["s", "a"], file, "--order", "file")
    assert "Left open as unsure: 1." in cli("label", file, "--status").out
    said = cli("label", file, "--export", "out.jsonl")
    assert (
        "1 case left open as unsure: to leave out the hard ones would void a promise" in said.err
    )


def test_two_people_and_a_third_who_settles(keys, cli, write):
    file = write(*(row(at) for at in range(10)))
    keys(["a"] * 5 + ["r"] * 5, file, "--order", "file")
    said = keys(["a"] * 10, file, "--second", "--annotator", "ana", "--share", "1")
    assert "ana and first agree on 5 / 10 (50.0 %) that both labelled" in said.out
    assert "Labelled differently: 5, 5 of them not settled." in said.out
    found = cli("label", file, "--status", "--format", "json").json
    assert found["agreements"][0]["agreement"]["agreed"] == 5
    assert len(found["disagreements"]) == 5
    said = keys(["r", "r", "r", "a", "a"], file, "--resolve")
    assert "ana: accept" in said.out
    found = cli("label", file, "--status", "--format", "json").json
    assert [one["settled"] for one in found["disagreements"]] == ["reject"] * 3 + ["accept"] * 2
    assert found["counts"]["disagreed"] == 0
    cli("label", file, "--export", "out.jsonl")
    planned = cli("plan", "out.jsonl", "--format", "json").json
    assert planned["labels"]["have"]["accepts"] == 7
    assert planned["labels"]["conflicts"] == 0


def test_a_second_with_nobody_before_is_told_so(keys, write):
    file = write(row(0))
    assert "nobody but 'second' has labelled anything yet" in keys([], file, "--second").err
    assert "nothing is labelled differently" in keys([], file, "--resolve").err
    said = keys([], write(row(0, label="accept"), name="done.jsonl"))
    assert said.code == 2
    assert "every case has a label" in said.err


def test_hostile_texts_are_spelt_out_and_long_ones_cut_with_a_word(keys, write):
    file = write(row(0, response="\x1b[2J\u202e" + "x" * 3000 + "END"))
    said = keys(["m", "q"], file)
    assert "\x1b" not in said.out
    assert "\\x1b[2J\\u202e" in said.out
    assert "characters more: m shows all" in said.out
    assert "END" in said.out


def test_a_file_that_cannot_be_one_is_refused(cli, keys, write, tmp_path):
    file = write(row(0))
    assert cli("label", tmp_path / "none.jsonl").code == 4
    said = keys([], file, "-o", file)
    assert (said.code, "not a journal of labels" in said.err) == (2, True)
    assert lines(file) == [row(0)]
    other = write(row(1), name="other.jsonl")
    said = keys([], file, "-o", other)
    assert (said.code, "no journal of labels" in said.err) == (4, True)
    assert lines(other) == [row(1)]
    assert cli("label", file, "--export", "out.txt").code == 2
    assert cli("label", file, "--export", "out.jsonl").code == 2
    assert cli("label", file, "--status", "-o", "missing.jsonl").code == 2


@pytest.mark.parametrize(
    "args",
    [
        ["--second", "--resolve"],
        ["--status", "--export", "x.jsonl"],
        ["--web", "--plain"],
        ["--port", "80"],
        ["--open"],
        ["--share", "0.5"],
        ["--replace"],
        ["--again", "--second"],
        ["--status", "--web"],
        ["--order", "best"],
        ["--annotator", "a\nb"],
        ["--annotator", " "],
        ["--format", "json"],
    ],
)
def test_options_that_do_not_go_together_are_refused(keys, write, args):
    said = keys(["a"], write(row(0)), *args)
    assert said.code == 2
    assert said.err


def test_a_journal_in_use_is_refused(keys, write, tmp_path):
    file = write(row(0))
    with Journal(tmp_path / "cases.jsonl.labels.jsonl", "cases.jsonl"):
        said = keys(["a"], file)
    assert (said.code, "another process is labelling" in said.err) == (2, True)


def test_a_line_cut_short_is_told(keys, write, tmp_path):
    file = write(row(0), row(1))
    keys(["a"], file)
    path = tmp_path / "cases.jsonl.labels.jsonl"
    path.write_bytes(path.read_bytes()[:-5])
    said = keys(["a"], file)
    assert "a line that was cut short was taken off" in said.err
    assert "1 of 2 done" in said.out


def test_without_textual_there_is_a_plain_prompt_and_a_word(keys, write, monkeypatch):
    file = write(row(0))
    monkeypatch.setitem(sys.modules, "textual", None)
    monkeypatch.delitem(sys.modules, "closecall.labelling.terminal", raising=False)
    typed = io.StringIO("a\n")
    typed.isatty = lambda: True
    monkeypatch.setattr(sys.stdout, "isatty", lambda: True, raising=False)
    monkeypatch.setattr("sys.stdin", typed)
    from closecall.cli import run

    assert run(["label", str(file)]) == 0
    assert len(lines(file.with_name("cases.jsonl.labels.jsonl"))) == 2


def test_help_shows_keys_and_exit_codes_and_loads_nothing_heavy(cli):
    said = cli("label", "--help")
    assert "Keys: a accept, r reject" in " ".join(said.out.split())
    assert "Exit codes:" in said.out
    code = (
        "from closecall.cli import run; run(['label', '--help']); import sys; "
        "print([m for m in ('numpy', 'textual', 'rich', 'msgspec', 'http.server') if m in sys.modules])"
    )
    done = subprocess.run(
        [sys.executable, "-c", code],
        capture_output=True,
        text=True,
        check=True,
        env=dict(os.environ),
    )
    assert done.stdout.splitlines()[-1] == "[]"


def test_n_alone_takes_no_note_and_says_how(keys, write):
    file = write(row(0), row(1))
    said = keys(["n", "n too short", "n", "n", "q"], file)
    assert said.out.count("A note stands after n") == 2
    kept = [one for one in lines(file.with_name("cases.jsonl.labels.jsonl")) if "event" in one]
    assert [one.get("note", "") for one in kept] == ["too short", ""]

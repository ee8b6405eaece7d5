"""Runs in parts and shards at the command line."""

import contextlib
import json
from pathlib import Path

import pytest

from closecall import load_run
from closecall.errors import StorageError
from closecall.storage.local import LocalStore

ARGS = ("-m", "token_f1", "--guards", "off")
GATE = ("--gate", "pass_rate(token_f1) >= 0.5")


@pytest.fixture
def cases(tmp_path):
    path = tmp_path / "cases.jsonl"
    rows = [
        {"id": f"c{at}", "response": f"item {at} {at % 2}", "reference": f"item {at} 0"}
        for at in range(50)
    ]
    path.write_text("".join(json.dumps(row) + "\n" for row in rows))
    return path


def test_a_run_in_parts_is_shown_like_any_other(cli, cases):
    done = cli("eval", cases, *ARGS, *GATE, "--parts", "run", "--part-cases", "16")
    folder = cli("eval", cases, *ARGS, *GATE, "--aef", "folder")
    assert (done.code, done.out) == (folder.code, folder.out)
    assert "run folder run" in done.err
    assert cli("verify", "run").out == "50 cases, 50 results, sealed\n"
    shown = cli("runs", "show", "./run")
    assert shown.out == cli("runs", "show", "./folder").out
    assert cli("report", "run", "-o", "page.html").code == 0
    assert "No regression" in cli("compare", "run", "folder").out
    assert "50 cases" in cli("runs", "list", ".").out
    again = cli("eval", "--resume", "run")
    assert again.code == done.code
    assert "nothing was left to do" in again.err


def test_shards_keep_their_gates_for_the_merge(cli, cases):
    whole = cli("eval", cases, *ARGS, *GATE, "--aef", "whole")
    for index in (1, 2):
        done = cli("eval", cases, *ARGS, *GATE, "--parts", f"s{index}", "--shard", f"{index}/2")
        assert done.code == 0
        said = " ".join(done.out.split())
        assert f"exit code 0 of shard {index} of 2; its gates are decided when all are" in said
    assert "shard 1 of 2" in cli("runs", "list", ".").out
    merged = cli("runs", "merge", "s2", "s1", "-o", "merged")
    assert merged.code == whole.code
    assert merged.out == whole.out
    assert "2 shards merged into merged" in merged.err
    in_parts = cli("runs", "merge", "s2", "s1", "-o", "parts", "--parts", "-q")
    assert (in_parts.code, in_parts.err) == (whole.code, "")
    assert cli("verify", "parts").code == 0


def test_a_shard_without_gates_exits_by_its_own_cases(cli, cases):
    done = cli("eval", cases, *ARGS, "--cutoff", "token_f1=0.99", "--aef", "s", "--shard", "2/2")
    assert done.code == 1
    said = " ".join(done.out.split())
    assert "exit code 1 of shard 2 of 2; the run is decided when all are merged" in said


@pytest.mark.parametrize(
    ("args", "code", "said"),
    [
        (("--parts", "p", "--aef", "a"), 2, "leave out --aef and --no-aef"),
        (("--parts", "p", "--no-aef"), 2, "leave out --aef and --no-aef"),
        (("--shard", "3/2"), 2, "there is no shard 3 of 2"),
        (("--shard", "two"), 2, "such as 2/8"),
        (("--part-cases", "0"), 2, "--part-cases"),
        (("--part-cases", "9"), 2, "--part-cases is of a run in parts: give --parts too"),
        (("--part-cases", "9", "--aef", "a"), 2, "give --parts too"),
    ],
)
def test_what_does_not_go_together_is_refused(cli, cases, args, code, said):
    done = cli("eval", cases, *ARGS, *args)
    assert done.code == code
    assert said in done.err


def test_a_merge_says_what_is_wrong(cli, cases):
    for index in (1, 2):
        cli("eval", cases, *ARGS, "--aef", f"s{index}", "--shard", f"{index}/3")
    done = cli("runs", "merge", "s1", "s2", "-o", "m")
    assert (done.code, "1 is missing: 3" in done.err) == (2, True)
    cli("eval", cases, "-m", "exact_match", "--aef", "s3", "--shard", "3/3")
    done = cli("runs", "merge", "s1", "s2", "s3", "-o", "m")
    assert (done.code, "the metrics" in done.err) == (13, True)
    assert cli("runs", "merge", "nowhere", "-o", "m").code == 4


def test_options_of_a_shard_do_not_stand_beside_resume(cli, cases):
    cli("eval", cases, *ARGS, "--parts", "run")
    for option in (("--shard", "1/2"), ("--parts", "other"), ("--part-cases", "7")):
        done = cli("eval", "--resume", "run", *option)
        assert (done.code, option[0] in done.err) == (2, True)


def test_json_lines_are_imported_as_parquet(cli, cases):
    assert cli("import", cases, "--from", "huggingface", "-o", "c.parquet").code == 0
    lines = cli("eval", cases, *ARGS, "--format", "csv", "--no-aef")
    table = cli("eval", "c.parquet", *ARGS, "--format", "csv", "--no-aef")
    assert table.code == lines.code
    assert table.out.count("\n") == lines.out.count("\n") > 50


def test_shards_whose_gates_were_written_elsewhere_are_of_one_run(cli, cases):
    """Each machine has the file of gates in a folder of its own."""
    for index in (1, 2):
        home = Path(f"machine{index}")
        home.mkdir()
        (home / "closecall.toml").write_text("\n" * index + f"gates = ['{GATE[1]}']\n")
        with contextlib.chdir(home):
            cli("eval", cases, *ARGS, "--aef", f"../s{index}", "--shard", f"{index}/2")
    merged = cli("runs", "merge", "s1", "s2", "-o", "merged")
    assert merged.code == 0, merged.err
    assert "1 gate" in merged.out
    (kept,) = load_run("merged").header.asked["gates"]
    assert kept["place"] == f"{Path('machine1/closecall.toml').resolve()}:2"


@pytest.mark.parametrize("where", ["--parts", "--aef", "-o"])
def test_nothing_is_written_to_memory_that_ends_with_the_command(process, cases, where):
    more = ["--no-aef"] if where == "-o" else []
    done = process("eval", cases, *ARGS, *more, where, "memory://bucket/run.json")
    assert (done.returncode, done.stdout) == (2, b"")
    assert b"memory://bucket/run.json: memory:// is in the memory of this process" in done.stderr
    assert b"give a folder of this machine, or a URL such as s3://BUCKET/NAME" in done.stderr


@pytest.mark.parametrize(
    ("way", "at"),
    [("create", "parts"), ("write", "summary"), ("write", "run.json"), ("write", "seal")],
)
def test_a_run_in_parts_without_room_says_how_to_go_on(cli, cases, monkeypatch, way, at):
    made = getattr(LocalStore, way)

    def full(self, name, *args, **more):
        if name.startswith(at):
            raise StorageError(f"{name}: cannot be written: No space left on device")
        return made(self, name, *args, **more)

    with monkeypatch.context() as broken:
        broken.setattr(LocalStore, way, full)
        done = cli("eval", cases, *ARGS, "--parts", "run")
    assert done.code == 4
    assert "No space left on device" in done.err
    assert "Go on with: closecall eval --resume run" in done.err
    assert cli("eval", "--resume", "run").code == 0

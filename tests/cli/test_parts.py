"""Runs in parts and shards at the command line."""

import json

import pytest

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

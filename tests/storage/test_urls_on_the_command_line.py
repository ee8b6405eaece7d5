"""URLs where the command line takes files and folders."""

import json
import os
import socket

import pytest

from closecall.cli import run
from closecall.datasets import open_dataset
from closecall.errors import DatasetError, StorageError
from closecall.storage import open_store

BUCKET = "memory://bucket"
ROWS = [
    {"id": "late", "input": "When?", "response": "In five days.", "references": ["In 5 days."]},
    {"id": "open", "input": "Open?", "response": "At nine.", "references": ["At nine."]},
    {"id": "cost", "input": "Cost?", "response": "Nothing.", "references": ["Ten euros."]},
]
LINES = "".join(json.dumps(row) + "\n" for row in ROWS).encode()
EVAL = ("-m", "token_f1", "--cutoff", "0.5", "--no-cache")


@pytest.fixture
def bucket(memory, here):
    store = open_store(BUCKET)
    store.write("answers.jsonl", LINES)
    return store


@pytest.fixture
def told(capsys):
    """Run a command; return its exit code and both outputs."""

    def call(*args):
        capsys.readouterr()
        code = run(list(map(str, args)))
        out, err = capsys.readouterr()
        return code, out, err

    return call


@pytest.mark.parametrize(("name", "content"), [
    ("a.jsonl", LINES),
    ("a.json", json.dumps(ROWS).encode()),
    ("a.csv", b"id,input,response,reference\nlate,When?,In five days.,In 5 days.\n"),
    ("a.yaml", b"- {id: late, input: When?, response: In five days., references: [In 5 days.]}\n"),
])  # fmt: skip
def test_a_data_set_is_read_from_a_url(bucket, name, content):
    bucket.write(name, content)
    dataset = open_dataset(f"{BUCKET}/{name}")
    assert dataset.place == f"{BUCKET}/{name}"
    assert next(case.id for case in dataset) == "late"
    assert [case.id for case in dataset] == [case.id for case in dataset]
    copy = dataset.path
    del dataset
    assert not copy.exists()


def test_what_is_wrong_with_a_data_set_is_told_as_about_its_url(bucket):
    bucket.write("bad.jsonl", b'{"response": "a", "reference": "b"}\n{"response": \n')
    with pytest.raises(
        DatasetError, match=rf"^{BUCKET}/bad\.jsonl: 1 row of 2 cannot be read"
    ) as caught:
        open_dataset(f"{BUCKET}/bad.jsonl").scan()
    assert caught.value.problems[0].place == "bad.jsonl:2"
    bucket.write("bad.json", b"7")
    with pytest.raises(DatasetError, match=rf"^{BUCKET}/bad\.json: "):
        open_dataset(f"{BUCKET}/bad.json")
    with pytest.raises(StorageError, match=rf"^{BUCKET}/none\.jsonl: there is no such object"):
        open_dataset(f"{BUCKET}/none.jsonl")


def test_an_evaluation_from_a_url_to_a_url_and_what_reads_it_again(bucket, told, here):
    code, _, err = told("eval", f"{BUCKET}/answers.jsonl", *EVAL, "--aef", f"{BUCKET}/runs/a",
                        "-o", f"{BUCKET}/out/report.json")  # fmt: skip
    assert code == 1
    assert f"run folder {BUCKET}/runs/a" in err
    facts = json.loads(bucket.read("out/report.json"))["metadata"]
    assert (facts["Dataset"], facts["RunFolder"]) == (
        f"{BUCKET}/answers.jsonl",
        f"{BUCKET}/runs/a",
    )
    assert told("verify", f"{BUCKET}/runs/a") == (0, "3 cases, 3 results, sealed\n", "")
    assert (
        json.loads(told("runs", "list", f"{BUCKET}/runs", "--json")[1])[0]["folder"]
        == f"{BUCKET}/runs/a"
    )
    assert "2 passed, 1 failed" in told("runs", "show", f"{BUCKET}/runs/a")[1]
    assert told("report", f"{BUCKET}/runs/a", "-o", f"{BUCKET}/out/report.html")[0] == 0
    assert bucket.read("out/report.html").lstrip().lower().startswith(b"<!doctype html")
    assert told("eval", f"{BUCKET}/answers.jsonl", *EVAL, "--aef", f"{BUCKET}/runs/b")[0] == 1
    code, out, _ = told("compare", f"{BUCKET}/runs/a", f"{BUCKET}/runs/b", "--format", "json")
    assert code == 0
    assert f"{BUCKET}/runs/a" in out
    assert "closecall-" not in out
    assert list((here / ".closecall" / "spool").iterdir()) == []


def test_a_run_at_a_url_is_gone_on_with_by_its_url(bucket, told):
    argument = (f"{BUCKET}/answers.jsonl", *EVAL, "--aef", f"{BUCKET}/runs/a")
    assert told("eval", *argument)[0] == 1
    code, _, err = told("eval", *argument)
    assert code == 4
    assert f"{BUCKET}/runs/a: already holds a run" in err
    code, _, err = told("eval", "--resume", f"{BUCKET}/runs/a")
    assert code == 1
    assert f"{BUCKET}/runs/a: this run had ended" in err


def test_a_run_that_fails_says_how_to_go_on_with_its_url(bucket, told):
    def stop(*_args, **_more):
        raise KeyboardInterrupt

    with pytest.MonkeyPatch.context() as broken:
        broken.setattr("closecall.runs.folder.RunFolder.append", stop)
        code, _, err = told("eval", f"{BUCKET}/answers.jsonl", *EVAL, "--aef", f"{BUCKET}/runs/a")
    assert code == 130
    assert f"closecall eval --resume {BUCKET}/runs/a" in err
    assert json.loads(bucket.read("runs/a/run.json"))["status"] == "running"
    assert told("eval", "--resume", f"{BUCKET}/runs/a")[0] == 1
    assert told("verify", f"{BUCKET}/runs/a")[0] == 0


def test_recordings_are_kept_at_a_url(bucket, told):
    code, _, err = told(
        "eval", f"{BUCKET}/answers.jsonl", *EVAL, "--no-aef", "--record", f"{BUCKET}/tape"
    )
    assert code == 1
    assert f"{BUCKET}/tape/answers.jsonl: nothing to record" in err
    code, _, err = told(
        "eval", f"{BUCKET}/answers.jsonl", *EVAL, "--no-aef", "--replay", f"{BUCKET}/none"
    )
    assert code == 2
    assert f"{BUCKET}/none: there is no answers.jsonl to replay" in err


@pytest.mark.parametrize("command", ["calibrate", "audit", "stress"])
def test_other_commands_read_a_data_set_from_a_url(bucket, told, command):
    code, out, err = told(command, f"{BUCKET}/none.jsonl")
    assert (code, out) == (4, "")
    assert f"{BUCKET}/none.jsonl: there is no such object" in err


def test_an_audit_of_a_url(bucket, told):
    code, out, _ = told("audit", f"{BUCKET}/answers.jsonl", "--texts-only", "--format", "json")
    assert code == 0
    assert json.loads(out)


@pytest.mark.parametrize("command", ["label", "plan"])
def test_commands_that_write_beside_the_file_refuse_a_url(command, told):
    code, _, err = told(command, "s3://bucket/answers.jsonl")
    assert code == 2
    assert "is a URL" in err
    assert "fetch it" in err


def test_an_output_that_would_replace_the_cases_is_refused(bucket, told):
    code, _, err = told("eval", f"{BUCKET}/answers.jsonl", *EVAL, "--no-aef", "-o", f"{BUCKET}/answers.jsonl",
                        "--format", "json")  # fmt: skip
    assert code == 2
    assert "it would be lost" in err
    assert bucket.read("answers.jsonl") == LINES


@pytest.mark.parametrize("args", [
    ("eval", "s3://bucket/a.jsonl"),
    ("eval", "a.jsonl", "--aef", "s3://bucket/runs/a"),
    ("eval", "a.jsonl", "--record", "az://bucket/tape"),
    ("eval", "a.jsonl", "-o", "gs://bucket/report.json"),
    ("audit", "s3://bucket/a.jsonl"),
])  # fmt: skip
def test_offline_refuses_urls_and_is_over_with_the_command(args, told, here, monkeypatch):
    (here / "a.jsonl").write_bytes(LINES)
    opened = []
    monkeypatch.setattr(socket, "socket", lambda *_: opened.append(1))
    code, _, err = told(*args, "--offline")
    assert (code, opened) == (3, [])
    assert "forbids it" in err
    assert "CLOSECALL_OFFLINE" not in os.environ


@pytest.mark.parametrize(("url", "why"), [
    ("https://host/a.jsonl", "is none of s3://"),
    ("s3://KEYKEY:SECRET@bucket/a.jsonl", "no user or key"),
    ("s3://bucket/a.jsonl?X-Amz-Signature=SECRET", "no query or a signature"),
])  # fmt: skip
def test_urls_that_are_refused(url, why, told):
    for args in (("eval", url), ("verify", url), ("eval", "a.jsonl", "-o", url)):
        code, _, err = told(*args)
        assert code == 2
        assert why.replace("no query", "a query") in err or why in err
        assert "SECRET" not in err


def test_a_picture_is_drawn_of_a_run_at_a_url_to_a_url(bucket, told):
    for name in ("a", "b"):
        told("eval", f"{BUCKET}/answers.jsonl", *EVAL, "--aef", f"{BUCKET}/runs/{name}")
    runs = [f"{BUCKET}/runs/a", f"{BUCKET}/runs/b"]
    code, _, err = told("plot", runs[0], "-o", f"{BUCKET}/out/scores.svg")
    assert (code, err) == (0, f"closecall: written to {BUCKET}/out/scores.svg\n")
    assert b"<svg" in bucket.read("out/scores.svg")
    assert told("plot", *runs, "--kind", "history", "-o", "history.svg")[0] == 0
    code, _, err = told("plot", f"{BUCKET}/out/report.csv", "-o", "x.svg")
    assert code == 2
    assert f"{BUCKET}/out/report.csv: of object storage a run folder is drawn; copy" in err


def test_memory_that_nobody_has_filled_is_refused(memory, here, told):
    (here / "a.jsonl").write_bytes(LINES)
    code, _, err = told("eval", "a.jsonl", *EVAL, "--parts", f"{BUCKET}/runs/a")
    assert code == 2
    assert "lost when the command ends" in err

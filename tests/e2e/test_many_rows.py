"""Files far larger than a batch: one bad row among them, and memory that stays bounded.

``CLOSECALL_TEST_ROWS=1000000`` makes the first tests as large as the promise.
"""

import os
import subprocess
import sys

import pytest
from e2e_helpers import SLOW_RUN, environment, write_cases

from closecall import evaluate
from closecall.cli import run
from closecall.errors import DatasetError
from closecall.testing import HashEmbedder

ROWS = int(os.environ.get("CLOSECALL_TEST_ROWS", "10000"))
BAD = ROWS * 2 // 3

BYTES_A_ROW = 700
"""Memory may grow by this for each row: fingerprints of ids, and 8 bytes a metric. Texts, vectors
and results of a row take several thousand."""


@pytest.fixture(scope="module")
def cases(tmp_path_factory):
    return write_cases(tmp_path_factory.mktemp("many") / "many.jsonl", ROWS, bad={BAD})


def test_one_bad_row_is_named_before_anything_is_scored(cases, tmp_path):
    asked = []
    embedder = HashEmbedder(on_embed=asked.append)
    with pytest.raises(DatasetError) as caught:
        evaluate(cases, embedder=embedder, aef=tmp_path / "run")
    (problem,) = caught.value.problems
    assert (problem.place, problem.field) == (f"many.jsonl:{BAD}", "references[1]")
    assert caught.value.count == 1
    assert asked == []
    assert not (tmp_path / "run").exists()


def test_one_bad_row_on_the_command_line(cases, tmp_path, monkeypatch, capsys):
    monkeypatch.chdir(tmp_path)
    assert run(["eval", str(cases)]) == 4
    out, err = capsys.readouterr()
    assert out == ""
    assert f"many.jsonl:{BAD}: references[1]: " in err
    assert "--on-bad-row skip" in err
    assert f"1 row of {ROWS}" in err
    assert not any((tmp_path / ".closecall").rglob("run.json"))


def test_one_bad_row_left_out_is_counted_and_colours_the_exit_code(tmp_path):
    path = tmp_path / "cases.jsonl"
    with path.open("w", encoding="utf-8") as out:
        for index in range(ROWS):
            reference = '["same words"]' if index + 1 != BAD else "[null, {}]"
            out.write(f'{{"response": "same words", "references": {reference}}}\n')
    asked = []
    done = evaluate(path, embedder=HashEmbedder(on_embed=asked.extend), on_bad_row="skip")
    assert (done.cases.total, done.cases.passed, done.cases.bad_rows) == (ROWS - 1, ROWS - 1, 1)
    assert done.exit_code == 11
    assert not done.passed
    assert asked == ["same words"]


def peak(cases, folder):
    done = subprocess.run(
        [sys.executable, SLOW_RUN, str(cases), str(folder), "0", "512", "memory"],
        env=environment(),
        capture_output=True,
        encoding="utf-8",
        check=False,
    )
    assert done.returncode == 0, done.stderr
    return int(done.stdout.splitlines()[-1])


def test_memory_grows_by_ids_and_not_by_texts(tmp_path):
    few, many = 2_000, 12_000
    first = peak(write_cases(tmp_path / "few.jsonl", few), tmp_path / "few")
    second = peak(write_cases(tmp_path / "many.jsonl", many), tmp_path / "many")
    assert second - first < (many - few) * BYTES_A_ROW

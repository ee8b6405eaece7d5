"""``closecall verify``: a run folder checked from end to end."""

import subprocess
import sys
from pathlib import Path

import pytest


@pytest.fixture
def folder(cli, write, passing, failing):
    """A finished run of two cases and two metrics."""
    said = cli(
        "eval", write(passing, failing), "--aef", "run",
        "-m", "embed_answer_similarity,semantic_similarity",
    )  # fmt: skip
    assert said.code == 1
    return Path("run")


def test_a_sound_run(cli, folder):
    said = cli("verify", folder)
    assert (said.code, said.out, said.err) == (0, "2 cases, 4 results, sealed\n", "")


def test_as_json(cli, folder):
    said = cli("verify", folder, "--json")
    assert said.code == 0
    assert said.json == {
        "folder": "run",
        "sound": True,
        "state": "sealed",
        "cases": 2,
        "results": 4,
        "problems": [],
        "signature": {"state": "unsigned", "keyIds": [], "signers": {}, "keys": 0},
    }


def test_every_problem_is_said_and_the_exit_code_is_4(cli, folder):
    results = folder / "results.ndjson"
    results.write_bytes(results.read_bytes().replace(b'"failed"', b'"passed"'))
    (folder / "notes.txt").write_text("mine", encoding="utf-8")
    said = cli("verify", folder)
    assert said.code == 4
    assert "results.ndjson: was changed after sealing" in said.out
    assert "notes.txt: does not belong in a closed run" in said.out
    found = cli("verify", folder, "--json")
    assert found.code == 4
    assert (found.json["sound"], found.json["cases"]) == (False, None)
    assert "".join(f"{problem}\n" for problem in found.json["problems"]) == said.out


def test_the_file_that_was_changed_is_said_before_what_follows_from_it(cli, write, passing):
    many = [dict(passing, id=f"case-{number}") for number in range(130)]
    assert cli("eval", write(*many), "--aef", "run", "-m", "token_f1").code == 0
    header = Path("run", "run.json")
    header.write_bytes(header.read_bytes().replace(b'"run-2', b'"run-3', 1))
    said = cli("verify", "run")
    assert said.code == 4
    # Every line has an id made of the run's, and only the first problems are listed.
    assert said.out.splitlines()[-1].startswith("... and ")
    assert said.out.splitlines()[0].endswith("run.json: was changed after sealing")


def test_a_run_without_its_seal_is_not_called_sealed(cli, folder):
    (folder / "seal.json").unlink()
    said = cli("verify", folder)
    assert (said.code, said.out) == (0, "2 cases, 4 results, not sealed\n")


def test_what_is_no_run_folder(cli, tmp_path):
    for place in ("nowhere", "."):
        said = cli("verify", place)
        assert said.code == 4
        assert place in said.out
        found = cli("verify", place, "--json")
        assert (found.code, found.json["state"]) == (4, None)


def test_a_problem_that_quotes_the_folder_is_shown_not_obeyed(cli, folder, monkeypatch):
    monkeypatch.setattr("click.utils.should_strip_ansi", lambda *_, **__: False)
    results = folder / "results.ndjson"
    results.write_bytes(results.read_bytes().replace(b'"failed"', b'"\\u001b[31mfailed"'))
    said = cli("verify", folder)
    assert said.code == 4
    assert "\x1b" not in said.out


def test_a_reader_that_leaves_early_does_not_make_a_folder_sound(tmp_path):
    program = "from closecall.cli import main; main()"
    with subprocess.Popen(
        [sys.executable, "-c", program, "verify", str(tmp_path / "nothing")],
        stdout=subprocess.PIPE,
    ) as child:
        child.stdout.close()
    assert child.returncode == 4

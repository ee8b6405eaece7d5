"""A writer killed at any moment, as a power switch or an impatient person does it."""

import random
import time
from pathlib import Path

import pytest
from folder_helpers import content, finished, header, metrics
from forked import Forks

from closecall.errors import RunFolderError
from closecall.runs import files
from closecall.runs.folder import RunFolder
from closecall.runs.reader import open_run

ROUNDS = 24
CASES = 400
WRITER = Path(__file__).parent / "folder_writer.py"


@pytest.fixture
def start():
    with Forks(WRITER) as forks:
        yield lambda place, seed: forks.start(place, CASES, seed)


def test_killed_again_and_again_it_ends_as_if_it_never_was(start, tmp_path):
    expected = content(finished(tmp_path / "whole", CASES, batch=50))
    chance, place, killed = random.Random(20), tmp_path / "0", 0
    most = 0.02
    for round_number in range(20 * ROUNDS):
        if round_number >= ROUNDS and killed >= 3:
            break
        writer = start(place, round_number)
        with writer:
            line = writer.stdout.readline()
            done = int(line) if line.strip() else None
            time.sleep(chance.random() * most)
            writer.kill()
            errors = writer.stderr.read()
        if open_run(place).header["status"] == "completed":  # even if it was killed after that
            assert content(place) == expected
            place = tmp_path / str(round_number + 1)
            most *= 0.8  # a busy machine may sleep on for longer than the writer needs
            continue
        killed += 1
        assert writer.returncode != 0
        assert not errors, errors.decode()
        assert done is not None
        kept = (place / "results.ndjson").read_bytes()
        assert expected["results.ndjson"].startswith(kept)
        # Nothing that was there when the process started is ever lost.
        assert kept.count(b"\n") >= 2 * done
    with start(place, ROUNDS) as last:
        errors = last.stderr.read()
    assert last.returncode == 0, errors.decode()
    assert killed >= 3
    assert content(place) == expected
    assert open_run(place).verify() == []


@pytest.mark.parametrize("interrupted", [KeyboardInterrupt, OSError("no space left")])
def test_a_run_whose_header_is_there_can_be_gone_on_with_however_its_start_ended(
    tmp_path, monkeypatch, interrupted
):
    def ended(_):
        raise interrupted

    monkeypatch.setattr(files, "sync_folder", ended)
    with pytest.raises((KeyboardInterrupt, RunFolderError)):
        RunFolder.create(tmp_path / "run", header(), metrics())
    monkeypatch.undo()
    with RunFolder.resume(tmp_path / "run") as folder:
        assert folder.done == 0

"""Reads in a process of their own: one that dies of its input is counted and ends nothing."""

import sys

import pytest

from trials import inputs, worker

pytestmark = pytest.mark.skipif(sys.platform != "linux", reason="bounds memory as Linux does")


@pytest.fixture(autouse=True)
def _ended():
    worker.end()
    yield
    worker.end()


def tried(read, folder):
    (folder / "some.txt").write_text("words", encoding="utf-8")
    return inputs.attempt(inputs.Target("some", lambda _: None, worker.apart(read)), folder)


def test_a_reader_that_dies_is_counted_and_the_next_is_read(tmp_path):
    found = tried(worker.dies, tmp_path)
    assert (found.end, found.said) == ("crash", "DiedError: the process died of signal 6")
    assert tried(worker.lives, tmp_path).end == "read"


def test_a_reader_that_takes_all_memory_is_counted(tmp_path):
    found = tried(worker.swells, tmp_path)
    assert (found.end, found.said) == ("crash", "DiedError: MemoryError: ")
    assert tried(worker.lives, tmp_path).end == "read"


def test_a_reader_that_hangs_is_ended(tmp_path, monkeypatch):
    with monkeypatch.context() as short:
        short.setattr(inputs, "SECONDS", 1)
        assert tried(worker.waits, tmp_path).end == "hang"
    assert tried(worker.lives, tmp_path).end == "read"


def test_what_a_reader_prints_stands_between_no_answers(tmp_path):
    assert tried(worker.talks, tmp_path).end == "read"
    assert tried(worker.lives, tmp_path).end == "read"

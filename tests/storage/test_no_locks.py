"""A file system without locks: whoever needs one refuses, and blames no other process."""

import errno
import os

import pytest

from closecall.cassettes.locks import open_locked
from closecall.errors import CassetteError, IndexFolderError, ModelError
from closecall.index.folder import building
from closecall.models.one_at_a_time import one_at_a_time

fcntl = pytest.importorskip("fcntl")


def a_cassette(folder):
    os.close(open_locked(folder / "default.jsonl.part"))


def an_index(folder):
    with building(folder / "idx"):
        pass


def a_model(folder):
    with one_at_a_time(folder / "tiny.lock"):
        pass


WRITERS = [(a_cassette, CassetteError), (an_index, IndexFolderError), (a_model, ModelError)]


@pytest.mark.parametrize(("write", "kind"), WRITERS)
@pytest.mark.parametrize("number", [errno.ENOLCK, errno.EOPNOTSUPP])
def test_locks_that_there_are_none_of(tmp_path, monkeypatch, write, kind, number):
    def fails(*_):
        raise OSError(number, os.strerror(number))

    monkeypatch.setattr(fcntl, "flock", fails)
    with pytest.raises(kind, match="cannot be locked") as raised:
        write(tmp_path)
    assert "another process" not in str(raised.value)
    assert str(tmp_path) in str(raised.value)


@pytest.mark.parametrize(("write", "kind"), WRITERS)
def test_a_lock_that_somebody_holds(tmp_path, monkeypatch, write, kind):
    def busy(*_):
        raise BlockingIOError(errno.EAGAIN, os.strerror(errno.EAGAIN))

    write(tmp_path)
    monkeypatch.setattr(fcntl, "flock", busy)
    with pytest.raises(kind, match="another process"):
        write(tmp_path)

"""Folders that came from anyone: nothing is written, removed or listed beyond a link."""

import errno
import os

import pytest

from closecall.errors import StorageError
from closecall.storage import open_store

posix = pytest.mark.skipif(os.name != "posix", reason="links are not for everybody there")


@pytest.fixture
def outside(tmp_path):
    """A folder that is none of the store's, with a file in it."""
    folder = tmp_path / "outside"
    folder.mkdir()
    (folder / "file").write_bytes(b"not yours")
    return folder


@pytest.fixture
def store(tmp_path, outside):
    """A store with a link to that folder in it."""
    made = open_store(tmp_path / "store", create=True)
    (tmp_path / "store" / "parts").symlink_to(outside)
    return made


def left(folder):
    return {path.name: path.read_bytes() for path in folder.iterdir()}


@posix
def test_nothing_is_created_through_a_link(store, outside):
    with pytest.raises(StorageError, match="store/parts: is a link"):
        store.create("parts/new", b"bytes")
    with pytest.raises(StorageError, match="store/parts: is a link"):
        store.create("parts/deep/new", b"bytes")
    assert left(outside) == {"file": b"not yours"}


@posix
def test_nothing_is_removed_through_a_link_but_a_link_itself_is(store, outside, tmp_path):
    with pytest.raises(StorageError, match="store/parts: is a link"):
        store.remove("parts/file")
    assert left(outside) == {"file": b"not yours"}
    store.remove("parts")
    assert not (tmp_path / "store" / "parts").is_symlink()
    assert left(outside) == {"file": b"not yours"}


@posix
def test_what_is_behind_a_link_is_not_listed_and_the_link_is(store):
    with pytest.raises(StorageError, match="store/parts: is a link"):
        store.names("parts")
    assert store.names() == ["parts"]  # so that such a folder is not taken for an empty one


@posix
def test_what_cannot_become_a_file_is_said_and_not_taken_for_one(store, outside, tmp_path):
    (tmp_path / "store" / "folder").mkdir()
    with pytest.raises(StorageError, match="store/folder: is not a regular file"):
        store.create("folder", b"bytes")
    (tmp_path / "store" / "nowhere").symlink_to(outside / "none")
    with pytest.raises(StorageError, match="store/nowhere: is a link"):
        store.create("nowhere", b"bytes")
    assert not (outside / "none").exists()


@pytest.fixture
def deep(tmp_path):
    """A file in folders that are nested deeper than Python's calls may be; all gone again after."""
    within = "/".join(["a"] * 1200)
    (tmp_path / ".closecall-keep").touch()  # what os.removedirs stops at
    for part in (4, 3, 2, 1):  # by parts: it calls itself
        (tmp_path / within[: len(within) // part]).mkdir(parents=True, exist_ok=True)
    (tmp_path / within / "file").touch()
    yield f"{within}/file"
    (tmp_path / within / "file").unlink()
    os.removedirs(tmp_path / within)


def test_folders_nested_deeper_than_calls_may_be_are_listed(tmp_path, deep):
    assert open_store(tmp_path).names() == [deep]


def test_a_name_that_cannot_be_looked_for_is_told(tmp_path):
    with pytest.raises(StorageError, match="cannot be looked for: File name too long"):
        open_store(tmp_path).exists("a" * 300)


@pytest.fixture
def without_links(monkeypatch):
    """A file system without hard links."""

    def refused(*_args, **_options):
        raise OSError(errno.EPERM, os.strerror(errno.EPERM))

    monkeypatch.setattr(os, "link", refused)


def test_without_links_a_file_is_created_once_all_the_same(tmp_path, without_links):
    store = open_store(tmp_path)
    assert store.create("claim", b"first")
    assert not store.create("claim", b"second")
    assert left(tmp_path) == {"claim": b"first"}


def test_without_links_a_full_disk_leaves_no_half_file(tmp_path, without_links, monkeypatch):
    from pathlib import Path

    whole = bytes(1000)

    def full(*_args, **_options):
        raise OSError(errno.ENOSPC, os.strerror(errno.ENOSPC))

    class Full:
        """An open file on a disk with no room for its bytes."""

        def __init__(self, file):
            self._file = file

        def __enter__(self):
            return self

        def __exit__(self, *_):
            self._file.close()

        def close(self):
            self._file.close()

        def write(self, data):
            self._file.write(data[:10])
            full()

    opened = Path.open
    with monkeypatch.context() as disk:
        disk.setattr(Path, "replace", full)
        disk.setattr(
            Path,
            "open",
            lambda path, mode="r", *rest, **more: (
                Full(opened(path, mode, *rest, **more))
                if mode == "xb"
                else opened(path, mode, *rest, **more)
            ),
        )
        with pytest.raises(StorageError, match="No space left"):
            open_store(tmp_path).create("part", whole)
    assert left(tmp_path) == {}
    assert open_store(tmp_path).create("part", whole)
    assert left(tmp_path) == {"part": whole}


def test_without_room_for_a_copy_what_to_set_is_said(memory, monkeypatch):
    import tempfile

    from closecall.storage import fetched

    def none(**_options):
        raise FileNotFoundError(errno.ENOENT, "No usable temporary directory found")

    memory.pipe_file("/bucket/cases.jsonl", b"{}")
    monkeypatch.setattr(tempfile, "mkdtemp", none)
    with (
        pytest.raises(StorageError, match="No usable temporary directory found; set TMPDIR"),
        fetched("memory://bucket/cases.jsonl"),
    ):
        pass


@pytest.mark.parametrize("name", ["C:evil", "C:/Users/evil", "run.json:stream"])
def test_a_name_leads_to_no_drive_of_windows(name):
    from closecall.storage.store import forbidden

    assert forbidden("nt").search(name)
    assert not forbidden("posix").search(name)


def test_a_full_disk_is_not_said_of_the_file_that_is_copied(tmp_path, monkeypatch):
    from contextlib import contextmanager

    from closecall.errors import UsageError

    class Full:
        def write(self, _data):
            raise OSError(errno.ENOSPC, os.strerror(errno.ENOSPC))

    @contextmanager
    def full(path):
        try:
            yield Full()
        except OSError as error:  # as closecall.atomic says it
            raise UsageError(f"cannot write {path}: {error.strerror}") from error

    monkeypatch.setattr("closecall.storage.local.whole_bytes", full)
    (tmp_path / "source").write_bytes(b"bytes")
    with pytest.raises(StorageError, match=r"cannot write .*/to: No space left"):
        open_store(tmp_path).write("to", tmp_path / "source")

"""What every store does, in a folder and in fsspec's memory; servers are in ``test_servers``."""

import os
import sys
import threading

import pytest

from closecall.errors import MissingExtraError, StorageError, UsageError
from closecall.storage import fetched, open_store
from closecall.storage.fetching import Copy
from closecall.storage.places import located
from closecall.storage.remote import UrlStore


@pytest.fixture(params=["folder", "memory"])
def store(request, tmp_path):
    if request.param == "folder":
        return open_store(tmp_path / "store", create=True)
    request.getfixturevalue("memory")
    return open_store("memory://bucket/store")


def test_objects_come_back_as_they_were_written(store, tmp_path):
    file = tmp_path / "file"
    file.write_bytes(b"\x00\xffbytes\r\n")
    store.write("b", b"two")
    store.write("a/deep/er", file)
    assert store.names() == ["a/deep/er", "b"]
    assert store.names("a") == ["a/deep/er"]
    assert store.names("none") == []
    assert store.read("a/deep/er") == file.read_bytes()
    assert (store.size("b"), store.exists("b"), store.exists("a")) == (3, True, False)
    store.write("b", b"three")
    assert store.read("b") == b"three"
    store.remove("b")
    store.remove("b")
    assert store.names() == ["a/deep/er"]


def test_an_object_is_opened_as_a_file_to_seek_in(store):
    store.write("a", bytes(range(100)))
    with store.open("a") as file:
        assert file.seek(-3, 2) == 97
        assert file.read() == bytes([97, 98, 99])
        assert file.seek(10) == 10
        assert file.read(2) == bytes([10, 11])
        assert file.read(0) == b""
        file.seek(1000)
        assert file.read() == b""
    store.write("empty", b"")
    assert store.read("empty") == b""


@pytest.mark.parametrize("call", ["read", "size", "open"])
def test_what_is_not_there_is_told_with_its_place(store, call):
    with pytest.raises(StorageError, match=r"store/none: there is no such (file|object)"):
        getattr(store, call)("none")


def test_an_object_is_created_once(store):
    assert store.create("claim", b"first")
    assert not store.create("claim", b"second")
    assert not store.create("claim", b"first")
    assert (store.names(), store.read("claim")) == (["claim"], b"first")


def test_one_of_many_threads_creates_a_file(tmp_path):
    store, won = open_store(tmp_path), []

    def create(number):
        if store.create("claim", b"%d" % number):
            won.append(number)

    threads = [threading.Thread(target=create, args=(n,)) for n in range(8)]
    for thread in threads:
        thread.start()
    for thread in threads:
        thread.join()
    assert [store.read("claim")] == [b"%d" % number for number in won]
    assert store.names() == ["claim"]


def test_what_is_being_written_in_a_folder_is_not_listed_nor_left(tmp_path):
    store = open_store(tmp_path)

    with pytest.raises(StorageError, match="there is no such file"):
        store.write("a", tmp_path / "none")
    assert list(tmp_path.iterdir()) == []
    (tmp_path / ".closecall-abc").write_bytes(b"half")
    assert store.names() == []


@pytest.mark.skipif(os.name != "posix", reason="permissions are those of POSIX")
def test_files_of_a_folder_have_the_permissions_of_any_new_file(tmp_path):
    """Whoever may read the folder may read all of it, however a file was put there."""
    store = open_store(tmp_path)
    mask = os.umask(0o027)
    try:
        store.create("created", b"one")
        store.write("written", b"two")
    finally:
        os.umask(mask)
    modes = [(tmp_path / name).stat().st_mode & 0o777 for name in ("created", "written")]
    assert modes == [0o640, 0o640]


@pytest.mark.skipif(os.name != "posix", reason="links and pipes are those of POSIX")
@pytest.mark.parametrize("call", ["read", "size", "open"])
def test_links_and_pipes_in_a_folder_are_refused(tmp_path, call):
    """A folder may come from anyone: a link leads out of it, and a pipe is waited for forever."""
    store = open_store(tmp_path / "store", create=True)
    (tmp_path / "outside").mkdir()
    (tmp_path / "outside" / "file").write_bytes(b"not yours")
    (tmp_path / "store" / "link").symlink_to(tmp_path / "outside" / "file")
    (tmp_path / "store" / "folder").symlink_to(tmp_path / "outside")
    (tmp_path / "store" / "own").mkdir()
    os.mkfifo(tmp_path / "store" / "pipe")
    for name, said in (
        ("link", "store/link: is a link"),
        ("folder/file", "store/folder: is a link"),
        ("own", "store/own: is not a regular file"),
        ("pipe", "store/pipe: is not a regular file"),
    ):
        with pytest.raises(StorageError, match=said):
            getattr(store, call)(name)


def test_a_folder_that_is_not_there_is_told(tmp_path):
    with pytest.raises(StorageError, match="there is no such folder"):
        open_store(tmp_path / "none")
    (tmp_path / "file").write_bytes(b"")
    with pytest.raises(StorageError, match="file"):
        open_store(tmp_path / "file", create=True)


def test_a_missing_package_is_named(monkeypatch):
    monkeypatch.setitem(sys.modules, "fsspec.core", None)
    with pytest.raises(
        MissingExtraError, match=r"s3:// needs fsspec and s3fs.*closecall\[storage\]"
    ):
        open_store("s3://bucket/x")


def test_google_storage_goes_through_what_fsspec_has_for_it(memory, monkeypatch):
    """No server of it is tested against; what is registered for gs:// is used like any other."""
    from fsspec.implementations.memory import MemoryFileSystem

    class Fake(MemoryFileSystem):
        protocol = "gs"

        @classmethod
        def _strip_protocol(cls, path):
            return "/" + str(path).removeprefix("gs://").strip("/")

    monkeypatch.setitem(sys.modules["fsspec.registry"]._registry, "gs", Fake)
    store = open_store("gs://bucket/x")
    store.write("a", b"1")
    assert (store.names(), store.read("a")) == (["a"], b"1")


class Broken:
    """A file system that fails as it is told: a list of exceptions, one a call, None for none."""

    protocol = "s3"

    def __init__(self, inner, failures):
        self.inner, self.failures, self.calls = inner, list(failures), 0

    def __getattr__(self, name):
        method = getattr(self.inner, name)

        def call(*args, **kwargs):
            self.calls += 1
            failure = self.failures.pop(0) if self.failures else None
            if isinstance(failure, Exception):
                raise failure
            result = method(*args, **kwargs)
            if failure == "after":
                raise ConnectionResetError("lost")
            return result

        return call


def broken(memory, *failures):
    return UrlStore("s3://bucket", Broken(memory, failures), "/bucket")


def test_what_passes_is_tried_again_and_what_does_not_is_not(memory):
    store = broken(memory, ConnectionResetError(), TimeoutError(), OSError("?"))
    store.write("a", b"1")
    assert (store._files.calls, memory.cat_file("/bucket/a")) == (4, b"1")
    store = broken(memory, *[ConnectionResetError()] * 7)
    with pytest.raises(
        StorageError, match=r"writing failed 7 times: ConnectionResetError\. Try again"
    ):
        store.write("a", b"2")
    store = broken(memory, PermissionError("no"))
    with pytest.raises(StorageError, match=r"access was refused\. Set AWS_ACCESS_KEY_ID"):
        store.write("a", b"2")
    assert (store._files.calls, memory.cat_file("/bucket/a")) == (1, b"1")


def test_a_creation_whose_answer_is_lost_is_known_by_its_bytes(memory):
    assert broken(memory, "after").create("claim", b"mine")
    assert not broken(memory).create("claim", b"another's")


def test_a_reply_that_is_short_is_asked_for_again(memory):
    memory.pipe_file("/bucket/a", b"0123456789")
    store, replies = UrlStore("s3://bucket", memory, "/bucket"), []

    class Short:
        info = staticmethod(memory.info)

        @staticmethod
        def cat_file(path, start, end):
            replies.append((start, end))
            whole = memory.cat_file(path, start=start, end=end)
            return whole[: 4 if len(replies) == 1 else None]

    store._files = Short
    assert store.ranges("a").read(10) == b"0123456789"
    assert replies == [(0, 10), (0, 10)]


def test_an_object_that_is_read_whole_is_one_request_a_piece(memory, monkeypatch):
    monkeypatch.setattr("closecall.storage.ranges.PIECE", 100_000)
    memory.pipe_file("/bucket/a", bytes(250_000))
    store, asked = UrlStore("s3://bucket", memory, "/bucket"), []

    class Counted:
        info = staticmethod(memory.info)

        @staticmethod
        def cat_file(path, start, end):
            asked.append((start, end))
            return memory.cat_file(path, start=start, end=end)

    store._files = Counted
    assert store.read("a") == bytes(250_000)
    assert asked == [(0, 100_000), (100_000, 200_000), (200_000, 250_000)]


def test_an_object_that_is_replaced_while_it_is_read_is_refused(memory):
    store = open_store("memory://bucket")
    store.write("a", bytes(10))
    file = store.ranges("a")
    assert file.read(5) == bytes(5)
    store.write("a", bytes(12))
    with pytest.raises(StorageError, match="changed while it was being read; start again"):
        file.read(5)


def test_nothing_that_a_service_says_is_passed_on(memory):
    said = "AKIACLOSECALLTEST000 https://x/?X-Amz-Signature=abcdef"

    class RefusedError(Exception):
        def __init__(self, message):
            super().__init__(message)
            error = {"Code": message, "Message": message}
            self.response = {"ResponseMetadata": {"HTTPStatusCode": 403}, "Error": error}

    class SorryError(Exception):
        error_code = "AKIACLOSECALLTEST000"
        status_code = 500

    for failure in (RefusedError(said), SorryError(said), OSError(said), ValueError(said)):
        with pytest.raises(StorageError) as caught:
            broken(memory, *[failure] * 7).read("a")
        error = caught.value
        assert "AKIA" not in str(error)
        assert "Signature" not in str(error)
        assert (error.__cause__, error.__context__) == (None, None)


def test_a_fetched_object_is_gone_after_the_block_and_a_path_stays(memory, tmp_path):
    memory.pipe_file("/bucket/cases.jsonl", b"{}")
    with fetched("memory://bucket/cases.jsonl") as path:
        assert (path.name, path.read_bytes()) == ("cases.jsonl", b"{}")
    assert not path.parent.exists()
    with fetched(tmp_path / "own") as path:
        assert path == tmp_path / "own"
    with pytest.raises(UsageError, match="name an object in it"):
        Copy(located("memory://bucket"))


def test_a_copy_goes_with_the_last_reference_to_it(memory):
    memory.pipe_file("/bucket/cases.jsonl", b"{}")
    copy = Copy(located("memory://bucket/cases.jsonl"))
    folder = copy.path.parent
    assert folder.exists()
    del copy
    assert not folder.exists()


@pytest.mark.skipif(os.name != "posix", reason="links and pipes are not for everybody there")
@pytest.mark.parametrize("name", ["a", "deep/a"])
def test_nothing_is_written_through_a_link_or_into_a_pipe(tmp_path, name):
    """A folder that came from elsewhere would have a file written out of it, or be waited for."""
    store = open_store(tmp_path / "store", create=True)
    outside = tmp_path / "outside"
    place = tmp_path / "store" / name
    place.parent.mkdir(exist_ok=True)
    place.symlink_to(outside)
    with pytest.raises(StorageError, match="is a link"):
        store.write(name, b"bytes")
    place.unlink()
    os.mkfifo(place)
    with pytest.raises(StorageError, match="is not a regular file"):
        store.write(name, b"bytes")
    assert not outside.exists()
    (tmp_path / "store" / "folder").symlink_to(tmp_path)
    with pytest.raises(StorageError, match="is a link"):
        store.write("folder/outside", b"bytes")
    assert not outside.exists()

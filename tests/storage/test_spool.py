"""Claims: one process anywhere works on a place, and what it leaves behind is not lost."""

import errno
import json
import os

import pytest

from closecall.errors import StorageError
from closecall.storage import open_store
from closecall.storage.ranges import RangeFile
from closecall.storage.spool import Spool

URL = "memory://bucket/place"


@pytest.fixture(autouse=True)
def _memory(memory):
    """Every place here is in fsspec's memory."""


def test_a_second_machine_is_told_who_works_there_since_when_and_how_to_take_over(here, elsewhere):
    first = Spool(URL, "claim")
    note = json.loads(open_store(URL).read("claim"))
    elsewhere("there")
    said = rf"process {note['pid']} on {note['host']} since {note['since']}\. .*--take-over"
    with pytest.raises(StorageError, match=said):
        Spool(URL, "claim")
    first.release()
    assert not first.folder.exists()
    second = Spool(URL, "claim")
    assert json.loads(open_store(URL).read("claim"))["host"] == "there"
    second.release()
    assert open_store(URL).names() == []


def test_a_second_process_of_this_machine_waits(here):
    first = Spool(URL, "claim")
    with pytest.raises(StorageError, match="another process of this machine is writing it"):
        Spool(URL, "claim", take_over=True)
    first.release()


def test_what_a_dead_process_left_is_gone_on_with_on_its_machine(here):
    dead = Spool(URL, "claim")
    assert not dead.left_over
    (dead.folder / "half").write_bytes(b"half")
    dead.leave()  # the lock goes with a process; claim and folder stay
    heir = Spool(URL, "claim")
    assert heir.left_over
    assert (heir.folder / "half").read_bytes() == b"half"
    heir.release()


def test_a_claim_that_was_taken_over_leaves_the_first_ones_work_aside(
    here, elsewhere, monkeypatch
):
    dead = Spool(URL, "claim")
    (dead.folder / "half").write_bytes(b"half")
    dead.leave()
    elsewhere()
    heir = Spool(URL, "claim", take_over=True)
    assert not heir.left_over
    assert list(heir.folder.iterdir()) == []
    heir.release()
    monkeypatch.chdir(here)
    late = Spool(URL, "claim")
    assert not late.left_over
    (aside,) = here.glob(".closecall/spool/*-aside-*/half")
    assert aside.read_bytes() == b"half"
    late.release()
    assert aside.exists()


def test_a_claim_is_seen_on_a_server_that_takes_no_notice_of_conditions(
    here, elsewhere, monkeypatch
):
    from closecall.storage.remote import UrlStore

    def always(store, name, data):
        store.write(name, data)
        return True

    monkeypatch.setattr(UrlStore, "create", always)
    first = Spool(URL, "claim")
    elsewhere()
    with pytest.raises(StorageError, match="is being written by process"):
        Spool(URL, "claim")
    first.release()


def test_a_claim_of_something_else_is_told_too(here):
    open_store(URL).write("claim", b"not a claim")
    with pytest.raises(StorageError, match="a host that cannot be told"):
        Spool(URL, "claim")
    assert list(here.glob(".closecall/spool/*")) == []


def test_spool_folders_keep_out_of_version_control(here):
    Spool(URL, "claim").release()
    assert (here / ".closecall" / ".gitignore").read_text().endswith("*\n")


def test_whoever_was_taken_over_writes_nothing_more_and_takes_no_claim_away(here, elsewhere):
    slow = Spool(URL, "claim")
    (slow.folder / "late").write_bytes(b"late")
    slow.require_held()
    elsewhere()
    heir = Spool(URL, "claim", take_over=True)
    with pytest.raises(StorageError, match=r"taken over meanwhile by process .* on elsewhere"):
        slow.require_held()
    slow.release()
    assert json.loads(open_store(URL).read("claim"))["host"] == "elsewhere"
    heir.require_held()
    heir.release()
    with pytest.raises(StorageError, match="another process, which has left it"):
        heir.require_held()


def test_an_object_is_in_the_folder_whole_or_not_at_all(here, monkeypatch):
    open_store(URL).write("a", b"0123456789")
    spool = Spool(URL, "claim")
    read = RangeFile.read
    reads = []

    def killed(file, size=-1):
        reads.append(size)
        if len(reads) > 1:
            raise KeyboardInterrupt
        return read(file, 4)

    with monkeypatch.context() as lost:
        lost.setattr(RangeFile, "read", killed)
        with pytest.raises(KeyboardInterrupt):
            spool.fetch("a", 100)
    assert list(spool.folder.iterdir()) == []
    spool.fetch("a", 100)
    assert (spool.folder / "a").read_bytes() == b"0123456789"
    spool.release()


@pytest.mark.parametrize(
    "claim", [b'{"x":' * 1500, b'{"host":"' + b"h" * 10_000 + b'","pid":1,"since":"","token":""}']
)
def test_a_claim_that_someone_made_up_is_no_more_than_a_claim(here, claim):
    open_store(URL).write("claim", claim)
    with pytest.raises(StorageError, match="a host that cannot be told"):
        Spool(URL, "claim")


def test_a_folder_that_is_full_is_named(here, monkeypatch):
    from pathlib import Path

    def full(*_):
        raise OSError(28, "No space left on device")

    with monkeypatch.context() as disk:
        disk.setattr(Path, "write_bytes", full)
        with pytest.raises(StorageError, match=r"[0-9a-f]{16}: cannot be used: No space left"):
            Spool(URL, "claim", home=here)
    assert open_store(URL).names() == []


def test_a_file_system_without_locks_blames_no_other_process(here, monkeypatch):
    fcntl = pytest.importorskip("fcntl")

    def fails(*_):
        raise OSError(errno.ENOLCK, os.strerror(errno.ENOLCK))

    monkeypatch.setattr(fcntl, "flock", fails)
    with pytest.raises(StorageError, match=r"spool.*lock: cannot be locked") as raised:
        Spool(URL, "claim")
    assert "another process" not in str(raised.value)


def test_a_lock_that_its_last_holder_takes_away_is_taken_anew(here, monkeypatch):
    """Between the opening of its file and the lock on it another process may be done."""
    import shutil

    from closecall.storage import locking

    lock, removed = locking.lock, []

    def late(descriptor):
        if not removed:
            (home,) = (here / ".closecall" / "spool").iterdir()
            shutil.rmtree(home)
            removed.append(home)
        lock(descriptor)

    monkeypatch.setattr(locking, "lock", late)
    spool = Spool(URL, "claim")
    monkeypatch.setattr(locking, "lock", lock)
    assert (removed[0] / "lock").exists()
    with pytest.raises(StorageError, match="another process of this machine"):
        Spool(URL, "claim")
    spool.release()

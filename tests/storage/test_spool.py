"""Claims: one process anywhere works on a place, and what it leaves behind is not lost."""

import json

import pytest

from closecall.errors import StorageError
from closecall.storage import open_store
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

"""Recordings at a URL."""

import json

import pytest

from closecall.cassettes import open_cassette
from closecall.cassettes.afar import cassette_at
from closecall.errors import CassetteError, StorageError, UsageError
from closecall.storage import open_store
from closecall.storage.remote import UrlStore
from closecall.storage.spool import Spool
from closecall.testing import HashEmbedder

URL = "memory://bucket/tape"


@pytest.fixture(autouse=True)
def _memory(memory, here):
    """Every place here is in fsspec's memory."""


def record(text, mode="record-missing", **options):
    with (
        cassette_at(URL, mode, "desk", **options) as folder,
        open_cassette(folder, mode, scenario="desk", local=True) as cassette,
    ):
        embedder = cassette.embedder(HashEmbedder, "hash")
        embedder.embed([text], role="text")
        return cassette.counts


def test_what_was_recorded_at_a_url_is_replayed_from_there_on_another_machine(here, elsewhere):
    assert record("one").recorded == 1
    assert record("two").recorded == 1
    assert open_store(URL).names() == ["desk.jsonl"]
    assert list((here / ".closecall" / "spool").iterdir()) == []
    elsewhere()
    for text in ("one", "two"):
        assert record(text, "replay").replayed == 1


def test_a_replay_of_nothing_is_told():
    with pytest.raises(
        UsageError, match=r"there is no desk\.jsonl to replay; record it: --record memory://"
    ):
        record("one", "replay")


def test_two_machines_do_not_record_one_scenario_at_once(elsewhere):
    with cassette_at(URL, "record", "desk"):
        elsewhere()
        with pytest.raises(StorageError, match="is being written by process"):
            record("one")
    assert open_store(URL).names() == []


def test_what_cannot_be_pushed_is_safe_and_pushed_by_the_next_recording(here, monkeypatch):
    def refuse(_store, name, _data):
        raise StorageError(f"{name}: writing failed 7 times")

    with monkeypatch.context() as broken:
        broken.setattr(UrlStore, "write", refuse)
        with pytest.raises(CassetteError, match=r"is safe in .*spool.*the next recording"):
            record("one")
    assert record("two").recorded == 1
    header, *lines = open_store(URL).read("desk.jsonl").decode().splitlines()
    assert json.loads(header)
    assert len(lines) == 3  # who replied, and two recordings
    assert record("one", "replay").replayed == 1


def test_a_process_that_died_while_recording_loses_nothing(here):
    with cassette_at(URL, "record", "desk") as folder:
        cassette = open_cassette(folder, "record", scenario="desk", local=True)
        cassette.embedder(HashEmbedder, "hash").embed(["one"], role="text")
        cassette.tape._let_go()  # as a killed process does
    assert open_store(URL).names() == ["desk.jsonl.claim"]
    record("two")
    assert record("one", "replay").replayed == 1


def test_a_process_that_died_before_it_had_the_recording_loses_nothing_of_it():
    record("one")
    Spool(URL, "desk.jsonl.claim").leave()  # killed before it had fetched what is there
    assert record("two").recorded == 1
    for text in ("one", "two"):
        assert record(text, "replay").replayed == 1


def test_who_was_taken_over_does_not_write_over_the_recording_of_the_heir(elsewhere):
    place = cassette_at(URL, "record", "desk")
    folder = place.__enter__()
    with open_cassette(folder, "record", scenario="desk", local=True) as cassette:
        cassette.embedder(HashEmbedder, "hash").embed(["one"], role="text")
    elsewhere()
    record("two", take_over=True)
    kept = open_store(URL).read("desk.jsonl")
    with pytest.raises(StorageError, match="taken over meanwhile"):
        place.__exit__(None, None, None)
    assert open_store(URL).read("desk.jsonl") == kept
    assert list(folder.glob("desk.jsonl"))

"""Runs at a URL: whole or gone on with, whatever breaks and wherever it goes on."""

import json
import shutil
from contextlib import suppress

import pytest

from closecall import evaluate, resume
from closecall.errors import RunFolderError, StorageError
from closecall.runs.afar import CLAIM, fetched_run, runs_at, written_run
from closecall.runs.reader import open_run
from closecall.storage import open_store
from closecall.storage.remote import UrlStore
from closecall.storage.spool import Spool

URL = "memory://bucket/runs/r1"
CASES = [
    {"id": f"case-{n}", "response": f"answer {n}", "reference": f"answer {n % 3}"}
    for n in range(5)
]


class StopError(Exception):
    pass


@pytest.fixture(autouse=True)
def _memory(memory, monkeypatch):
    """Every place here is in fsspec's memory, and a batch has two cases."""
    monkeypatch.setattr("closecall.runs.runner.BATCH_CASES", 2)


@pytest.fixture
def cases(here):
    """A file of cases, which a run can be gone on with."""
    file = here.parent / "cases.jsonl"
    file.write_text("".join(json.dumps(row) + "\n" for row in CASES), encoding="utf-8")
    return file


def run(cases, folder, *, stop=None, resumed=False):
    """Measure word overlap; ``stop`` breaks off after that many cases."""

    def progress(done, _total):
        if stop is not None and done >= stop:
            raise StopError

    if resumed:
        return resume(folder, cache=False, progress=progress)
    return evaluate(cases, "token_f1", cache=False, aef=folder, progress=progress)


def whole(folder):
    assert open_run(folder).verify() == []
    lines = (folder / "results.ndjson").read_text(encoding="utf-8").splitlines()
    return [json.loads(line)["caseId"] for line in lines]


def test_a_run_is_pushed_whole_the_seal_last_and_nothing_of_it_stays(cases, here, monkeypatch):
    order = []
    write = UrlStore.write
    monkeypatch.setattr(
        UrlStore, "write", lambda store, name, data: (order.append(name), write(store, name, data))
    )
    with written_run(URL, resume=False) as folder:
        run(cases, folder)
        assert open_store(URL).names() == [CLAIM]
    assert order[-2:] == ["run.json", "seal.json"]
    assert sorted(order) == open_store(URL).names()
    assert list((here / ".closecall" / "spool").iterdir()) == []
    with fetched_run(URL) as copy:
        assert copy.name == "r1"
        assert whole(copy) == [row["id"] for row in CASES]
    assert not copy.exists()


def test_a_run_that_was_stopped_goes_on_on_another_machine(cases, here, elsewhere, monkeypatch):
    with pytest.raises(StopError), written_run(URL, resume=False) as folder:
        run(cases, folder, stop=1)
    store = open_store(URL)
    assert CLAIM not in store.names()
    assert json.loads(store.read("run.json"))["status"] == "running"
    assert store.read("results.ndjson").count(b"\n") == 2
    elsewhere()
    with written_run(URL, resume=True) as folder:
        run(cases, folder, resumed=True)
    with fetched_run(URL) as copy:
        assert whole(copy) == [row["id"] for row in CASES]


def test_a_run_that_cannot_be_pushed_is_safe_and_pushed_by_resuming(cases, here, monkeypatch):
    def refuse(_store, name, _data):
        if name != CLAIM:
            raise StorageError("memory://bucket: writing failed 7 times: TimeoutError. Try again")

    with monkeypatch.context() as broken:
        broken.setattr(UrlStore, "write", refuse)
        with (
            pytest.raises(StorageError, match=r"The run is safe in .*spool.*--resume memory://"),
            written_run(URL, resume=False) as folder,
        ):
            run(cases, folder)
    assert open_store(URL).names() == [CLAIM]
    with pytest.raises(RunFolderError, match="--resume"), written_run(URL, resume=False):
        pass
    with written_run(URL, resume=True) as folder:
        run(cases, folder, resumed=True)
    with fetched_run(URL) as copy:
        assert whole(copy) == [row["id"] for row in CASES]
    assert list((here / ".closecall" / "spool").iterdir()) == []


@pytest.mark.parametrize("allowed", range(1, 7))
def test_a_push_that_breaks_off_anywhere_leaves_a_run_to_go_on_with(
    allowed, cases, here, elsewhere, monkeypatch
):
    with pytest.raises(StopError), written_run(URL, resume=False) as folder:
        run(cases, folder, stop=1)
    write, left = UrlStore.write, [allowed]

    def some(store, name, data):
        left[0] -= 1
        if left[0] < 0:
            raise StorageError("the connection failed")
        write(store, name, data)

    with monkeypatch.context() as broken:
        broken.setattr(UrlStore, "write", some)
        try:
            with written_run(URL, resume=True) as folder:
                run(cases, folder, resumed=True)
            complete = True
        except StorageError:
            complete = False
    assert complete == (allowed >= 6)
    if not complete:  # the machine is gone for good, with its folder
        shutil.rmtree(here / ".closecall")
        elsewhere()
        with pytest.raises(StorageError, match="--take-over"), written_run(URL, resume=True):
            pass
        with written_run(URL, resume=True, take_over=True) as folder:
            run(cases, folder, resumed=True)
    with fetched_run(URL) as copy:
        assert whole(copy) == [row["id"] for row in CASES]


def test_two_machines_cannot_write_the_same_run(cases, here, elsewhere):
    with written_run(URL, resume=False) as folder:
        elsewhere()
        with (
            pytest.raises(StorageError, match="is being written by process"),
            written_run(URL, resume=False),
        ):
            pass
        run(cases, folder)
    with (
        pytest.raises(RunFolderError, match="already holds a run"),
        written_run(URL, resume=False),
    ):
        pass
    assert CLAIM not in open_store(URL).names()


def test_places_that_hold_something_else_or_nothing_are_refused(here):
    open_store(URL).write("notes.txt", b"mine")
    with pytest.raises(RunFolderError, match="is not empty"), written_run(URL, resume=False):
        pass
    with pytest.raises(RunFolderError, match="holds no run"), written_run(URL, resume=True):
        pass
    with pytest.raises(RunFolderError, match="holds no run"), fetched_run(URL):
        pass
    assert open_store(URL).names() == ["notes.txt"]


def test_a_run_that_never_began_leaves_nothing(here):
    with pytest.raises(StopError), written_run(URL, resume=False):
        raise StopError
    assert open_store(URL).names() == []
    assert list((here / ".closecall" / "spool").iterdir()) == []


def test_names_that_a_stranger_put_there_lead_nowhere(cases, here, memory):
    with written_run(URL, resume=False) as folder:
        run(cases, folder)
    memory.store["/bucket/runs/r1/../../evil"] = memory.open("/x", "wb")
    with pytest.raises(Exception, match="is no name in a store"), fetched_run(URL):
        pass


def test_runs_below_a_url_are_listed_as_those_of_a_folder_are(cases, here, elsewhere):
    for name in ("r1", "r2"):
        with written_run(f"memory://bucket/runs/{name}", resume=False) as folder:
            run(cases, folder)
    with pytest.raises(StopError), written_run("memory://bucket/runs/r3", resume=False) as folder:
        run(cases, folder, stop=1)
    open_store("memory://bucket/runs").write("notes.txt", b"no run")
    found = {one.folder: one for one in runs_at("memory://bucket/runs")}
    assert sorted(found) == [f"memory://bucket/runs/r{n}" for n in (1, 2, 3)]
    first = found["memory://bucket/runs/r1"]
    sizes = [open_store(URL).size(name) for name in open_store(URL).names()]
    assert (first.status, first.counts.total, first.bytes) == ("complete", 5, sum(sizes))
    assert found["memory://bucket/runs/r3"].status == "cut off"


def test_a_fault_in_a_fetched_run_is_told_as_about_its_url(cases, here):
    with written_run(URL, resume=False) as folder:
        run(cases, folder)
    open_store(URL).write("run.json", b"{")
    with pytest.raises(RunFolderError, match=f"^{URL}/run.json: "), fetched_run(URL) as copy:
        open_run(copy)


def at_the_url():
    store = open_store(URL)
    return {name: store.read(name) for name in store.names()}


@pytest.mark.parametrize("fetched", range(6))
@pytest.mark.parametrize("stop", [1, None])
def test_a_process_that_died_while_it_fetched_a_run_harms_none_of_it(
    fetched, stop, cases, here, monkeypatch
):
    if stop is None:
        with written_run(URL, resume=False) as folder:
            run(cases, folder)
    else:
        with pytest.raises(StopError), written_run(URL, resume=False) as folder:
            run(cases, folder, stop=stop)
    fetch, left = Spool.fetch, [fetched]

    def some(spool, *what):
        left[0] -= 1
        if left[0] < 0:
            raise KeyboardInterrupt
        fetch(spool, *what)

    with monkeypatch.context() as killed:
        killed.setattr(Spool, "fetch", some)
        killed.setattr(Spool, "release", Spool.leave)  # the dead clear nothing away
        with suppress(KeyboardInterrupt), written_run(URL, resume=True):
            raise KeyboardInterrupt
    with written_run(URL, resume=True) as folder:
        run(cases, folder, resumed=True)
    with fetched_run(URL) as copy:
        assert whole(copy) == [row["id"] for row in CASES]


def test_who_was_taken_over_does_not_write_over_the_run_of_the_heir(cases, here, elsewhere):
    with pytest.raises(StopError), written_run(URL, resume=False) as folder:
        run(cases, folder, stop=1)
    slow = written_run(URL, resume=True)
    folder = slow.__enter__()
    run(cases, folder, resumed=True)
    elsewhere()
    with written_run(URL, resume=True, take_over=True) as other:
        run(cases, other, resumed=True)
    kept = at_the_url()
    with pytest.raises(StorageError, match=r"taken over meanwhile .*put aside"):
        slow.__exit__(None, None, None)
    assert at_the_url() == kept
    with fetched_run(URL) as copy:
        assert whole(copy) == [row["id"] for row in CASES]
    assert whole(folder) == [row["id"] for row in CASES]


@pytest.mark.parametrize("way", [fetched_run, lambda url: written_run(url, resume=True)])
def test_nothing_is_fetched_of_what_is_larger_than_a_run_may_be(cases, here, monkeypatch, way):
    """Whoever owns a bucket could fill the disk of whoever looks at a run in it."""
    with written_run(URL, resume=False) as folder:
        run(cases, folder)
    before, read = at_the_url(), []
    with monkeypatch.context() as small:
        small.setattr("closecall.runs.afar.MAX_FILE", 100)
        small.setattr("closecall.storage.ranges.RangeFile.read", lambda *_: read.append(1))
        with pytest.raises(StorageError, match=rf"{URL}/.*: is larger than 100 bytes"):
            way(URL).__enter__()
    assert read == []
    with monkeypatch.context() as small:
        small.setattr("closecall.runs.afar.MAX_FILES", 3)
        with pytest.raises(RunFolderError, match="more than 3 files"):
            way(URL).__enter__()
    assert at_the_url() == before

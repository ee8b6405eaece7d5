"""The life of a run folder: begun, appended to, closed, sealed, refused."""

import errno
import json
import os
import shutil
import subprocess
import sys
import tempfile
from pathlib import Path

import pytest
from folder_helpers import (
    ENDED,
    PATHS,
    STATES,
    case,
    close,
    content,
    fill,
    finished,
    header,
    metrics,
    result,
    results_of,
    summary,
)

from closecall.errors import RunFolderError, UsageError
from closecall.records import Case
from closecall.runs import appender, caselines, claim, files, folder, wire
from closecall.runs.caselines import case_line
from closecall.runs.folder import RunFolder
from closecall.runs.reader import open_run
from closecall.runs.sealing import seal_run

NAMES = {"run.json", "results.ndjson", "metrics.json", "summary.json", "seal.json", "ext"}


def names(place):
    return {p.relative_to(place).as_posix() for p in place.rglob("*")}


def text_lines(place):
    data = (place / "ext/closecall/cases.ndjson").read_bytes()
    return [json.loads(line) for line in data.splitlines()]


def test_a_closed_run_holds_its_files_and_nothing_else(tmp_path):
    place = finished(tmp_path / "deep" / "run")
    assert names(place) == NAMES | {"ext/closecall", "ext/closecall/cases.ndjson"}
    assert not any(b"\r" in p.read_bytes() for p in place.rglob("*") if p.is_file())
    run = open_run(place)
    assert (run.header["status"], run.header["endedAt"], run.sealed) == ("completed", ENDED, True)
    assert len(list(run.results())) == 24
    assert [c.id for c in run.cases()] == [case(i).id for i in range(12)]
    assert list(run.cases())[3] == case(3)


def test_how_lines_are_batched_leaves_no_trace(tmp_path):
    one = content(finished(tmp_path / "one", batch=1))
    many = content(finished(tmp_path / "many", batch=5))
    assert one == many
    with RunFolder.create(tmp_path / "halves", header(), metrics()) as run:
        run.append_case([case_line(case(i)) for i in range(12)])
        for i in range(12):
            for line in results_of(i):
                run.append([line])
        close(run)
    assert content(tmp_path / "halves") == one


def test_while_open_it_can_be_read_up_to_the_last_whole_line(tmp_path):
    place = tmp_path / "run"
    with RunFolder.create(place, header(), metrics()) as run:
        fill(run, 2)
        with (place / "results.ndjson").open("ab") as file:
            file.write(b'{"half')
        reader = open_run(place)
        assert reader.running
        assert reader.summary is None
        assert len(list(reader.results())) == 4


def test_an_open_run_goes_on_and_ends_like_one_that_never_stopped(tmp_path):
    expected = content(finished(tmp_path / "whole"))
    place = tmp_path / "run"
    with RunFolder.create(place, header(), metrics()) as run:
        fill(run, 5)
    assert not (place / "ext/closecall/writer.json").exists()
    with RunFolder.resume(place) as run:
        assert run.done == 5
        assert run.paths == PATHS
        assert list(run.existing()) == [line for i in range(5) for line in results_of(i)]
        fill(run, 12)
        assert len(list(run.existing())) == 10
        close(run)
    assert content(place) == expected


def test_every_place_a_writer_can_be_cut_off_at_loses_no_whole_case(tmp_path):
    whole = finished(tmp_path / "whole", cases=4)
    expected = content(whole)
    results = expected["results.ndjson"]
    texts = expected["ext/closecall/cases.ndjson"]
    starts = [0, *(i + 1 for i, b in enumerate(results) if b == 10)]
    open_header = {k: v for k, v in open_run(whole).header.items() if k != "endedAt"}
    cuts = sorted({*range(0, len(results), 97), *starts, *(s - 1 for s in starts if s)})
    for number, cut in enumerate(cuts):
        place = tmp_path / str(cut)
        (place / "ext/closecall").mkdir(parents=True)
        (place / "results.ndjson").write_bytes(results[:cut])
        # The texts may be ahead of the results, by whole lines or not.
        (place / "ext/closecall/cases.ndjson").write_bytes(texts[: len(texts) - number % 3])
        (place / "metrics.json").write_bytes(expected["metrics.json"])
        (place / "run.json").write_bytes(wire.dump_document(open_header | {"status": "running"}))
        with RunFolder.resume(place) as run:
            complete = results[:cut].count(b"\n") // 2
            assert run.done == min(complete, 3 if number % 3 else 4)
            fill(run, 4)
            close(run)
        assert content(place) == expected
        assert open_run(place).verify() == []


def test_texts_lost_in_a_power_failure_take_their_results_with_them(tmp_path):
    expected = content(finished(tmp_path / "whole", cases=4))
    place = tmp_path / "run"
    with RunFolder.create(place, header(), metrics()) as run:
        fill(run, 4)
    texts = place / "ext/closecall/cases.ndjson"
    texts.write_bytes(texts.read_bytes()[:-300])
    with RunFolder.resume(place) as run:
        assert run.done < 4
        fill(run, 4)
        close(run)
    assert content(place) == expected


@pytest.mark.parametrize("file", ["results.ndjson", "ext/closecall/cases.ndjson"])
def test_a_line_the_run_did_not_write_stops_a_resume_by_file_and_line(tmp_path, file):
    place = tmp_path / "run"
    with RunFolder.create(place, header(), metrics()) as run:
        fill(run, 4)
    for damage in (b'{"a":1}\n', b"\0\0\0\n", b'{"id":"case-9"}\n'):
        whole = (place / file).read_bytes()
        lines = whole.splitlines(keepends=True)
        lines[2] = damage
        (place / file).write_bytes(b"".join(lines))
        with pytest.raises(RunFolderError, match=f"{file}:3: "):
            RunFolder.resume(place)
        (place / file).write_bytes(whole)
    RunFolder.resume(place).release()


# -- who may write ---------------------------------------------------------------------------


def test_a_second_writer_is_refused_and_told_who_has_it(tmp_path):
    place = tmp_path / "run"
    with RunFolder.create(place, header(), metrics()) as run:
        fill(run, 1)
        for again in (
            lambda: RunFolder.resume(place),
            lambda: _in_another_process(place),
        ):
            with pytest.raises(RunFolderError, match=rf"pid {os.getpid()} .*--resume"):
                again()
        fill(run, 2)
    RunFolder.resume(place).release()


def _in_another_process(place):
    code = (
        "import sys; from closecall.runs.folder import RunFolder\n"
        "try: RunFolder.resume(sys.argv[1])\n"
        "except Exception as e: print(e); sys.exit(4)"
    )
    done = subprocess.run(
        [sys.executable, "-c", code, str(place)], capture_output=True, text=True, check=False
    )
    assert done.returncode == 4, done
    raise RunFolderError(done.stdout)


def test_a_folder_that_is_taken_is_not_touched(tmp_path):
    place = finished(tmp_path / "run")
    before = content(place)
    with pytest.raises(RunFolderError, match=r"already holds a run, completed.*--aef"):
        RunFolder.create(place, header(), metrics())
    with pytest.raises(RunFolderError, match=r"completed, there is nothing to resume.*summary"):
        RunFolder.resume(place)
    assert content(place) == before

    open_place = tmp_path / "open"
    RunFolder.create(open_place, header(), metrics()).release()
    with pytest.raises(RunFolderError, match="eval --resume"):
        RunFolder.create(open_place, header(), metrics())

    other = tmp_path / "other"
    (other / ".git").mkdir(parents=True)
    with pytest.raises(RunFolderError, match="is not empty"):
        RunFolder.create(other, header(), metrics())
    assert names(other) == {".git"}
    with pytest.raises(RunFolderError, match=r"holds no run.*--aef"):
        RunFolder.resume(other)
    (tmp_path / "file").write_bytes(b"")
    with pytest.raises(RunFolderError):
        RunFolder.create(tmp_path / "file", header(), metrics())


def test_what_a_writer_killed_at_once_left_is_no_obstacle(tmp_path):
    place = tmp_path / "run"
    (place / "ext/closecall").mkdir(parents=True)
    for name in ("results.ndjson", "metrics.json.tmp", "ext/closecall/writer.json"):
        (place / name).write_bytes(b"")
    finished(place)
    assert open_run(place).verify() == []


def test_a_note_of_who_writes_that_a_power_failure_emptied_is_no_obstacle(tmp_path):
    place = tmp_path / "run"
    with RunFolder.create(place, header(), metrics()) as run:
        fill(run, 3)
        (place / files.WRITER).write_bytes(b"")
        with pytest.raises(RunFolderError, match=r"another process is writing this run\. Wait"):
            RunFolder.resume(place)
    (place / files.WRITER).write_bytes(b"")
    with RunFolder.resume(place) as run:
        fill(run, 12)
        close(run)
    assert open_run(place).verify() == []


def test_wrong_facts_are_found_before_a_folder_is_made(tmp_path):
    place = tmp_path / "run"
    for facts in ((header(runId="a b"), metrics()), (header(), metrics() * 2), (header(), [])):
        with pytest.raises(UsageError):
            RunFolder.create(place, *facts)
    assert not place.exists()


# -- what append refuses ---------------------------------------------------------------------


def test_lines_out_of_order_are_refused_and_nothing_is_written(tmp_path):
    with RunFolder.create(tmp_path / "run", header(), metrics()) as run:
        fill(run, 1)
        run.append_case([caselines.case_line(case(1)), caselines.case_line(case(2))])
        first, second = results_of(1)
        for wrong in (
            [second],
            [first, first],
            [first, results_of(2)[1]],
            [*results_of(1), *results_of(0)],
            [*results_of(1), *results_of(1)],
            [first, {**second, "ext": {"x": float("nan")}}],
        ):
            with pytest.raises(UsageError):
                run.append(wrong)
        assert run.done == 1
        run.append([first])
        with pytest.raises(UsageError, match="only some of its results"):
            close(run)
        run.append([second])
        assert run.done == 2
        run.append(results_of(2))
        close(run)
    assert open_run(tmp_path / "run").verify() == []


def test_results_wait_for_the_texts_of_their_case(tmp_path):
    with RunFolder.create(tmp_path / "run", header(), metrics()) as run:
        run.append_case([case_line(case(0))])
        with pytest.raises(UsageError, match="before its results"):
            run.append([*results_of(0), *results_of(1)])
        fill_one = results_of(0)
        run.append(fill_one)
        assert run.done == 1


def test_a_closed_or_released_folder_takes_nothing(tmp_path):
    run = RunFolder.create(tmp_path / "run", header(), metrics())
    close(run)
    run.release()
    for act in (
        lambda: run.append(results_of(0)),
        lambda: run.append_case([case_line(case(0))]),
        lambda: close(run),
    ):
        with pytest.raises(UsageError, match="closed or released"):
            act()


def test_limits_are_kept_before_anything_is_written(tmp_path, monkeypatch):
    with RunFolder.create(tmp_path / "run", header(), metrics()) as run:
        fill(run, 2)
        size = (tmp_path / "run/results.ndjson").stat().st_size
        monkeypatch.setattr(appender, "MAX_LINES", 5)
        run.append_case([case_line(case(2))])
        with pytest.raises(RunFolderError, match=r"at most 5 lines.*split the cases"):
            run.append(results_of(2))
        monkeypatch.undo()
        monkeypatch.setattr(appender, "MAX_FILE", size + 10)
        with pytest.raises(RunFolderError, match="split the cases"):
            run.append(results_of(2))
        monkeypatch.undo()
        first, second = results_of(2)
        with pytest.raises(RunFolderError, match="longer than"):
            run.append([first, {**second, "ext": {"closecall": "x" * wire.MAX_LINE}}])
        assert (tmp_path / "run/results.ndjson").stat().st_size == size
        run.append(results_of(2))
        close(run)
    assert open_run(tmp_path / "run").verify() == []


# -- texts too long to keep ------------------------------------------------------------------


def test_a_text_too_long_for_a_line_is_cut_and_marked(tmp_path):
    long = Case(id="case-0", input="short", response="é" * (3 * 1024 * 1024), context=("y",))
    with RunFolder.create(tmp_path / "run", header(), metrics()) as run:
        run.append_case([case_line(long)])
        run.append(results_of(0))
        close(run)
    reader = open_run(tmp_path / "run")
    assert reader.verify() == []
    (line,) = text_lines(tmp_path / "run")
    kept = line["truncated"]["characters"]
    assert line["truncated"]["members"] == ["response"]
    assert line["response"] == "é" * kept
    assert 2_000_000 < kept < 2_097_152
    (back,) = reader.cases()
    assert (back.input, back.context) == ("short", ("y",))


def test_a_list_too_long_for_a_line_leaves_the_id(tmp_path):
    many = case_line(Case(id="c\t1", response="r", context=("ab",) * 100, label=case(1).label))
    data = caselines.dump_case(many, limit=200)
    assert len(data) <= 201
    line = json.loads(data)
    assert line == {
        "id": caselines.case_id("c\t1"),
        "label": "accept",
        "truncated": {"characters": 0, "members": ["response", "context"]},
    }
    assert caselines.filed_id(json.loads(caselines.dump_case(many))) == line["id"]


def test_past_the_budget_cases_are_listed_without_texts(tmp_path, monkeypatch):
    monkeypatch.setattr(folder, "TEXT_BUDGET", 600)
    whole = content(finished(tmp_path / "whole"))
    with RunFolder.create(tmp_path / "run", header(), metrics()) as run:
        fill(run, 7)
    with RunFolder.resume(tmp_path / "run") as run:
        fill(run, 12)
        close(run)
    assert content(tmp_path / "run") == whole
    lines = text_lines(tmp_path / "run")
    assert [line["id"] for line in lines] == [case(i).id for i in range(12)]
    assert "truncated" not in lines[0]
    assert lines[-1]["truncated"]["characters"] == 0


# -- closing ---------------------------------------------------------------------------------


def test_a_foreign_file_stops_the_close_and_no_result_is_lost(tmp_path):
    place = tmp_path / "run"
    with RunFolder.create(place, header(), metrics()) as run:
        fill(run, 12)
        (place / "notes.txt").write_bytes(b"mine")
        with pytest.raises(RunFolderError, match=r"notes\.txt.*--resume"):
            close(run)
        assert open_run(place).running
    (place / "notes.txt").unlink()
    with RunFolder.resume(place) as run:
        assert run.done == 12
        close(run)
    assert content(place) == content(finished(tmp_path / "whole"))


def test_a_close_that_cannot_write_leaves_the_run_open_and_can_be_repeated(tmp_path):
    place = tmp_path / "run"
    with RunFolder.create(place, header(), metrics()) as run:
        fill(run, 12)
        (place / "run.json.tmp").mkdir()
        with pytest.raises(RunFolderError, match=r"cannot be closed.*--resume"):
            close(run)
        assert open_run(place).running
        (place / "run.json.tmp").rmdir()
        close(run)
    assert open_run(place).verify() == []
    assert content(place) == content(finished(tmp_path / "whole"))


@pytest.mark.skipif(os.name == "nt", reason="file size limits are a POSIX thing")
def test_a_full_disk_takes_back_the_half_line_and_names_what_is_safe(tmp_path):
    import resource

    place = tmp_path / "run"
    with RunFolder.create(place, header(contentCapture="off"), metrics()) as run:
        fill(run, 3)
        size = (place / "results.ndjson").stat().st_size
        before = resource.getrlimit(resource.RLIMIT_FSIZE)
        resource.setrlimit(resource.RLIMIT_FSIZE, (size + 100, before[1]))
        try:
            with pytest.raises(
                RunFolderError, match=r"6 lines before are safe\. Go on with: .* --resume "
            ):
                fill(run, 4)
            assert (place / "results.ndjson").stat().st_size == size
            resource.setrlimit(resource.RLIMIT_FSIZE, (50, before[1]))
            with pytest.raises(RunFolderError, match=r"cannot be closed"):
                close(run)
        finally:
            resource.setrlimit(resource.RLIMIT_FSIZE, before)
        assert not [name for name in names(place) if name.endswith(".tmp")]
        fill(run, 12)
        close(run)
    whole = finished(tmp_path / "whole", contentCapture="off")
    assert (place / "results.ndjson").read_bytes() == (whole / "results.ndjson").read_bytes()


@pytest.mark.skipif(os.name == "nt", reason="permissions of folders are a POSIX thing")
def test_a_folder_nobody_may_write_is_a_typed_error():
    parent = Path(tempfile.mkdtemp())
    try:
        parent.chmod(0o755)
        place = parent / "run"
        with RunFolder.create(place, header(), metrics()) as run:
            fill(run, 2)
        for path in (place / "ext/closecall", place / "ext", place):
            path.chmod(0o555)
        (place / "results.ndjson").chmod(0o444)
        outcome = _as_nobody(
            parent,
            lambda: RunFolder.create(parent / "new", header(), metrics()),
            lambda: RunFolder.resume(place),
            lambda: len(list(open_run(place).results())),
        )
        assert outcome == ["RunFolderError", "RunFolderError", "4"]
    finally:
        for path in (parent / "run/ext/closecall", parent / "run/ext", parent / "run"):
            path.chmod(0o755)
        shutil.rmtree(parent)


@pytest.mark.skipif(os.name == "nt", reason="permissions of folders are a POSIX thing")
@pytest.mark.parametrize("mode", [0o000, 0o444])
def test_below_a_folder_nobody_may_enter_is_a_typed_error(mode):
    parent = Path(tempfile.mkdtemp())
    closed, place = parent / "closed", parent / "closed" / "run"
    try:
        with RunFolder.create(place, header(), metrics()) as run:
            fill(run, 2)
        closed.chmod(mode)
        parent.chmod(0o755)
        outcome = _as_nobody(
            parent,
            *(
                lambda act=act, path=path: act(path)
                for path in (place, closed / "new", closed)
                for act in (lambda p: RunFolder.create(p, header(), metrics()), RunFolder.resume)
            ),
            lambda: open_run(place),
        )
        assert outcome == ["RunFolderError"] * 7
    finally:
        parent.chmod(0o755)
        closed.chmod(0o755)
        shutil.rmtree(parent)


def _as_nobody(parent, *acts):
    """Try each without the powers of root; tell what each gave, or the kind of its error."""
    receive, send = os.pipe()
    child = os.fork() if sys.version_info < (3, 12) else _fork_quietly()
    if child == 0:
        seen = []
        try:
            if os.geteuid() == 0:
                os.setuid(65534)
            else:
                parent.chmod(0o555)
            for act in acts:
                try:
                    seen.append(str(act()))
                except Exception as error:  # noqa: BLE001 - the kind is what is asked for
                    seen.append(type(error).__name__)
        finally:
            os.write(send, json.dumps(seen).encode())
            os._exit(0)
    os.close(send)
    os.waitpid(child, 0)
    with os.fdopen(receive, "rb") as pipe:
        return json.loads(pipe.read())


def _fork_quietly():
    import warnings

    with warnings.catch_warnings():
        warnings.simplefilter("ignore", DeprecationWarning)
        return os.fork()


@pytest.mark.parametrize("moved", [0, 1, 2])
def test_a_writer_killed_between_the_moves_of_a_close(tmp_path, monkeypatch, moved):
    place = tmp_path / "run"
    run = RunFolder.create(place, header(), metrics())
    fill(run, 12)
    commit, moves = files.commit, []

    def dies(root, name):
        if len(moves) == moved:
            raise KeyboardInterrupt
        moves.append(name)
        commit(root, name)

    monkeypatch.setattr(files, "commit", dies)
    with pytest.raises(KeyboardInterrupt):
        close(run)
    monkeypatch.undo()
    run._let_go()
    if moved < 2:
        with RunFolder.resume(place) as again:
            assert again.done == 12
            close(again)
    else:
        with pytest.raises(RunFolderError, match="nothing to resume"):
            RunFolder.resume(place)
    assert content(place) == content(finished(tmp_path / "whole"))
    assert open_run(place).verify() == []
    assert open_run(place).sealed


def test_a_run_can_be_sealed_later_but_once(tmp_path):
    place = tmp_path / "run"
    with RunFolder.create(place, header(), metrics()) as run:
        fill(run, 3)
        with pytest.raises(RunFolderError, match="only a closed run"):
            seal_run(place)
        close(run)
    (place / "seal.json").unlink()
    assert open_run(place).verify() == []
    assert not open_run(place).sealed
    seal_run(place)
    assert open_run(place).verify() == []
    with pytest.raises(RunFolderError, match="sealed already"):
        seal_run(place)


def test_an_exception_in_the_work_keeps_the_run_resumable(tmp_path):
    place = tmp_path / "run"

    def work():
        with RunFolder.create(place, header(), metrics()) as run:
            fill(run, 2)
            raise KeyboardInterrupt

    with pytest.raises(KeyboardInterrupt):
        work()
    with RunFolder.resume(place) as run:
        assert run.done == 2


def test_all_states_occur_in_the_small_run():
    """The tests above lean on it."""
    assert {line["state"] for i in range(12) for line in results_of(i)} == set(STATES)
    assert result("c", PATHS[0], "passed", 1.0)["scores"]
    assert summary([])["lanes"][0]["metrics"][0]["N"] == 0


@pytest.mark.parametrize("there", [False, True])
def test_a_run_that_has_no_room_to_begin_leaves_nothing(tmp_path, monkeypatch, there):
    write, place = files.stage, tmp_path / "run"
    if there:
        place.mkdir()

    def full(root, name, data):
        if name == files.RUN:
            (root / f"{name}{files.TEMPORARY}").touch()
            raise OSError(errno.ENOSPC, os.strerror(errno.ENOSPC))
        write(root, name, data)

    monkeypatch.setattr(files, "stage", full)
    with pytest.raises(RunFolderError, match=r"cannot be written: No space left on device\. Cho"):
        RunFolder.create(place, header(), metrics())
    assert place.exists() == there
    if there:
        assert names(place) <= {"ext", "ext/closecall"}
    monkeypatch.undo()
    RunFolder.create(place, header(), metrics()).release()


def test_results_that_were_removed_while_they_were_locked_are_not_written_to(
    tmp_path, monkeypatch
):
    lock = claim.locking.lock

    def late(descriptor):
        (tmp_path / "run/results.ndjson").unlink()
        lock(descriptor)

    monkeypatch.setattr(claim.locking, "lock", late)
    with pytest.raises(RunFolderError, match=r"was removed by another process just now\. Try"):
        RunFolder.create(tmp_path / "run", header(), metrics())

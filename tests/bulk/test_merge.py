"""Shards merged are the run that was never sharded: lines, counts, gates, findings, exit code."""

import itertools
import json
import shutil

import pytest
from bulk_cases import lines, parts, rows, run, same_run, summary, write
from labelled_rows import made
from labelled_rows import rows as labelled

from closecall import Goal, evaluate, load_run, save_calibration
from closecall.bulk.merging import merge_runs
from closecall.errors import (
    CalibrationFileError,
    NotComparableError,
    RunFolderError,
    UsageError,
)
from closecall.gates.deciding import DecidingGates, LaterGates
from closecall.runs.reader import open_run
from closecall.runs.shards import read_shard, shard_of
from closecall.testing import HashEmbedder

CASES = 130
GATES = (
    "pass_rate(semantic_similarity) >= 0.2",
    'pass_rate(semantic_similarity where slice.kind = "kind 2") >= 0.1',
    'mean(semantic_similarity where tag = "odd") >= 0.5',
)


def decided(header):
    return DecidingGates(GATES, header)


def later(header):
    return LaterGates(GATES, header)


@pytest.fixture(scope="module")
def cases(tmp_path_factory):
    return write(tmp_path_factory.mktemp("cases") / "cases.jsonl", CASES)


def sharded(cases, folder, count=3, *, kinds=("folder", "parts"), do=run, **options):
    """Every shard in a place of its own, of both kinds in turn."""
    kind = itertools.cycle(kinds)
    places = []
    for index in range(1, count + 1):
        place = folder / f"shard-{index}"
        aef = place if next(kind) == "folder" else parts(place, 16)
        do(cases, aef=aef, shard=f"{index}/{count}", **options)
        places.append(place)
    return places


@pytest.mark.parametrize("content", [True, False])
def test_merged_shards_are_the_run_that_was_never_sharded(cases, tmp_path, content):
    whole = run(cases, tmp_path / "whole", content=content, watch=decided)
    shards = sharded(cases, tmp_path, content=content, watch=later)
    found = merge_runs([shards[2], shards[0], shards[1]], tmp_path / "merged", watch=decided)
    assert same_run(found, whole)
    assert found.gates_code is not None
    assert lines(tmp_path / "merged") == lines(tmp_path / "whole")
    assert summary(tmp_path / "merged") == summary(tmp_path / "whole")
    assert open_run(tmp_path / "merged").verify() == []
    stored = load_run(tmp_path / "merged")
    assert same_run(stored, load_run(tmp_path / "whole"))
    assert stored.header.run_id != load_run(shards[0]).header.run_id
    assert stored.header.shard is None
    again = merge_runs(shards, parts(tmp_path / "parts", 50), watch=decided)
    assert same_run(again, whole)
    assert rows(again) == rows(stored)
    assert open_run(tmp_path / "parts").verify() == []


def calibrated(cases, aef=None, **options):
    return evaluate(cases, embedder=HashEmbedder(), aef=aef, cache=False, **options)


@pytest.mark.parametrize("content", [True, False])
def test_what_is_watched_for_a_calibration_is_found_all_the_same(tmp_path, content):
    options = {"calibration": tmp_path / "cutoff.json", "content": content, "name": "mine"}
    save_calibration(made(goal=Goal(max_far=0.1)), options["calibration"])
    given = tmp_path / "cases.jsonl"
    moved = labelled(90, 30, seed=3)
    given.write_text(
        "".join(json.dumps(one | {"response": one["response"] * 3}) + "\n" for one in moved)
    )
    whole = calibrated(given, tmp_path / "whole", **options)
    assert whole.watched[0].shift.findings
    shards = sharded(given, tmp_path, do=calibrated, **options)
    found = merge_runs(shards, tmp_path / "merged")
    assert same_run(found, whole)
    assert summary(tmp_path / "merged") == summary(tmp_path / "whole")
    assert lines(tmp_path / "merged") == lines(tmp_path / "whole")
    # Elsewhere the calibration lies in another place.
    options["calibration"].rename(tmp_path / "moved.json")
    with pytest.raises(CalibrationFileError):
        merge_runs(shards, tmp_path / "again")
    assert not (tmp_path / "again").exists()
    named = merge_runs(shards, tmp_path / "named", calibration=[tmp_path / "moved.json"])
    assert same_run(named, whole)
    save_calibration(made(goal=Goal(max_far=0.2)), tmp_path / "other.json")
    with pytest.raises(CalibrationFileError, match="in the shards and is"):
        merge_runs(shards, tmp_path / "again", calibration=[tmp_path / "other.json"])


def test_repeated_answers_are_merged_run_by_run(cases, tmp_path):
    calls = {}

    def answer(case):
        calls[case.id] = calls.get(case.id, 0) + 1
        return case.references[0] if calls[case.id] % 2 else "something else"

    def repeated(cases, aef=None, **options):
        calls.clear()
        return run(cases, aef, answers=answer, runs=3, success_threshold=0.6, **options)

    asked = tmp_path / "asked.jsonl"
    kept = [json.loads(line) for line in cases.read_text().splitlines()]
    for one in kept[:40]:
        one.pop("response")
    asked.write_text("".join(json.dumps(one) + "\n" for one in kept[:60]))
    whole = repeated(asked, tmp_path / "whole")
    found = merge_runs(sharded(asked, tmp_path, do=repeated), tmp_path / "merged")
    assert same_run(found, whole)
    assert found.answered == whole.answered
    stored = load_run(tmp_path / "whole")
    assert [[one.results for one in row.trials] for row in found] == [
        [one.results for one in row.trials] for row in stored
    ]


def test_one_whole_run_goes_from_one_kind_into_the_other_and_back(cases, tmp_path):
    whole = run(cases, tmp_path / "whole")
    there = merge_runs([tmp_path / "whole"], parts(tmp_path / "there"))
    merge_runs([tmp_path / "there"], tmp_path / "back")
    assert same_run(there, whole)
    for name in ("results.ndjson", "ext/closecall/cases.ndjson"):
        assert (tmp_path / "back" / name).read_bytes() == (tmp_path / "whole" / name).read_bytes()


@pytest.fixture(scope="module")
def shards(cases, tmp_path_factory):
    return sharded(cases, tmp_path_factory.mktemp("shards"))


def test_a_shard_that_is_missing_is_named(shards, tmp_path):
    with pytest.raises(UsageError, match="of 3 shards 1 is missing: 2"):
        merge_runs([shards[2], shards[0]], tmp_path / "merged")
    with pytest.raises(UsageError, match=r"2 are missing: 1, 3.*--shard INDEX/3"):
        merge_runs([shards[1]], tmp_path / "merged")
    assert not (tmp_path / "merged").exists()


def test_a_shard_that_is_given_twice_is_named(shards, tmp_path):
    with pytest.raises(UsageError, match=r"shard 1 of 3 is given twice: .*shard-1"):
        merge_runs([*shards, shards[0]], tmp_path / "merged")


def test_a_whole_run_among_shards_is_named(cases, shards, tmp_path):
    run(cases, tmp_path / "whole")
    with pytest.raises(UsageError, match="whole: is a whole run and no shard"):
        merge_runs([*shards, tmp_path / "whole"], tmp_path / "merged")


@pytest.mark.parametrize(
    ("options", "said"),
    [
        ({"guards": "off"}, "the guards"),
        ({"content": False}, "--no-content"),
        ({"subject": "desk"}, "whose answers"),
        ({"embedder": HashEmbedder(32)}, "the embedder"),
        ({"shard": "2/4"}, "how many shards"),
        ({"asked": {"gates": [{"rule": "x", "name": ""}]}}, "the gates"),
    ],
)
def test_shards_of_different_questions_are_not_merged(cases, shards, tmp_path, options, said):
    run(cases, tmp_path / "other", **{"shard": "2/3", **options})
    with pytest.raises(NotComparableError, match=said) as caught:
        merge_runs([shards[0], tmp_path / "other", shards[2]], tmp_path / "merged")
    assert caught.value.exit_code == 13


def test_shards_of_other_cases_are_not_merged(shards, tmp_path):
    run(write(tmp_path / "cases.jsonl", CASES + 3), tmp_path / "other", shard="2/3")
    with pytest.raises(NotComparableError, match="130 in the first, 133 in the other"):
        merge_runs([shards[0], tmp_path / "other", shards[2]], tmp_path / "merged")


def test_a_shard_that_was_changed_or_is_open_is_refused(shards, tmp_path):
    copies = [shutil.copytree(place, tmp_path / place.name) for place in shards]
    results = copies[0] / "results.ndjson"
    results.write_bytes(results.read_bytes().replace(b'"state":"passed"', b'"state":"failed"', 1))
    with pytest.raises(RunFolderError, match=r"results\.ndjson: was changed after sealing"):
        merge_runs(copies, tmp_path / "merged")
    header = json.loads((copies[2] / "run.json").read_bytes())
    header.pop("endedAt")
    (copies[2] / "run.json").write_text(json.dumps(header | {"status": "running"}))
    with pytest.raises(RunFolderError, match="shard 3 of 3 is not finished"):
        merge_runs([shards[0], shards[1], copies[2]], tmp_path / "merged")
    assert not (tmp_path / "merged").exists()


@pytest.mark.parametrize("kind", ["folder", "parts"])
def test_a_merge_that_fails_half_way_leaves_nothing(shards, tmp_path, monkeypatch, kind):
    def broken(*_args, **_options):
        raise RunFolderError("no")

    monkeypatch.setattr("closecall.bulk.counting.Recount.finish", broken)
    to = tmp_path / "merged"
    with pytest.raises(RunFolderError, match="no"):
        merge_runs(shards, to if kind == "folder" else parts(to))
    assert not to.exists() or not [path for path in to.rglob("*") if path.is_file()]


def test_a_merge_that_finds_the_disk_full_is_not_sent_to_resume_it(shards, tmp_path, monkeypatch):
    import os

    writing = os.write

    def full(descriptor, data):
        if b'"resultId"' in bytes(data):
            raise OSError(28, "No space left on device")
        return writing(descriptor, data)

    monkeypatch.setattr(os, "write", full)
    with pytest.raises(RunFolderError, match=r"No space left on device\. Choose another") as error:
        merge_runs(shards, tmp_path / "merged")
    assert "resume" not in str(error.value)
    assert not (tmp_path / "merged").exists()


@pytest.mark.parametrize("kind", ["folder", "parts"])
def test_a_merge_into_a_place_that_is_taken_names_its_own_option(shards, tmp_path, kind):
    to = tmp_path / "merged"
    merge_runs(shards, to)
    before = sorted(to.rglob("*"))
    with pytest.raises(
        RunFolderError, match=r"already holds a run.*Choose another place: -o DIR$"
    ):
        merge_runs(shards, to if kind == "folder" else parts(to))
    assert sorted(to.rglob("*")) == before


def test_a_shard_goes_on_as_that_shard(cases, tmp_path, monkeypatch):
    monkeypatch.setattr("closecall.runs.runner.BATCH_CASES", 10)

    def stop(done, total):
        assert total == 44
        if done >= 20:
            raise KeyboardInterrupt

    with pytest.raises(KeyboardInterrupt):
        run(cases, parts(tmp_path / "run"), shard=(3, 3), progress=stop)
    with pytest.raises(RunFolderError, match="shard 3 of 3 then, all of it now"):
        run(cases, tmp_path / "run", resume=True)
    run(cases, tmp_path / "run", shard=(3, 3), resume=True)
    assert next(iter(load_run(tmp_path / "run"))).case.id == "case-86"
    assert len(load_run(tmp_path / "run")) == 44


def test_shards_part_the_cases_evenly():
    for rows_, count in ((10, 3), (7, 7), (1_000_003, 16)):
        ranges = [shard_of((index, count), rows_) for index in range(1, count + 1)]
        assert [one.first for one in ranges[1:]] == [one.stop for one in ranges[:-1]]
        assert (ranges[0].first, ranges[-1].stop) == (0, rows_)
        assert max(one.cases for one in ranges) - min(one.cases for one in ranges) <= 1


@pytest.mark.parametrize("text", ["0/3", "4/3", "1", "1/0", "a/b", "1/2/3", "-1/3", "1/1000000"])
def test_a_shard_that_there_is_not_is_refused(text):
    with pytest.raises(UsageError):
        read_shard(text)


def test_more_shards_than_cases_are_refused(tmp_path):
    with pytest.raises(UsageError, match="3 cases make at most 3 shards, not 4"):
        run(write(tmp_path / "a.jsonl", 3), shard="1/4")


def test_a_run_too_large_for_a_folder_is_pointed_to_parts(shards, tmp_path, monkeypatch):
    monkeypatch.setattr("closecall.runs.room.MAX_LINES", 100)
    with pytest.raises(UsageError, match="--parts DIR"):
        merge_runs(shards, tmp_path / "merged")
    assert len(merge_runs(shards, parts(tmp_path / "parts"))) == CASES

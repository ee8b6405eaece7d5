"""``closecall runs``: what is kept, one of them again, and removing old ones with care."""

import json
import os
import shutil
import sys
from datetime import UTC, datetime, timedelta
from pathlib import Path

import pytest

from closecall import evaluate
from closecall.errors import RunFolderError, UsageError
from closecall.runs.kept import chosen, find_run, remove, runs_in, why_not
from closecall.storage import locking
from closecall.testing import HashEmbedder

PLACE = Path(".closecall/runs")


@pytest.fixture
def kept(tmp_path, monkeypatch):
    """Make runs in the default place, each an hour older than the one before."""
    monkeypatch.chdir(tmp_path)

    def made(*names, content=True):
        for age, name in enumerate(names):
            cases = [{"id": "a", "response": "yes", "reference": "yes"},
                     {"id": "b", "response": "no", "reference": "yes"},
                     {"id": "c", "response": " ", "reference": "yes"}]  # fmt: skip
            evaluate(cases, "token_f1", HashEmbedder(), cache=False, aef=PLACE / name,
                     name=f"suite {name}", content=content)  # fmt: skip
            at_age(PLACE / name, timedelta(hours=age))
        return [PLACE / name for name in names]

    return made


def at_age(folder, age):
    """Date a run back; the seal does not matter here."""
    place = folder / "run.json"
    began = (datetime.now(UTC) - age).isoformat().replace("+00:00", "Z")
    document = json.loads(place.read_text(encoding="utf-8"))
    document["startedAt"] = document["config"]["closecall"]["started_at"] = began
    place.write_text(json.dumps(document), encoding="utf-8")


def unclose(folder):
    place = folder / "run.json"
    document = json.loads(place.read_text(encoding="utf-8"))
    document["status"] = "running"
    del document["endedAt"]
    place.write_text(json.dumps(document), encoding="utf-8")


def names(folder=PLACE):
    return sorted(path.name for path in folder.iterdir())


def test_the_list_has_the_newest_first_and_says_what_came_of_each(cli, kept):
    kept("new", "old")
    said = cli("runs", "list")
    assert said.code == 0
    lines = said.out.splitlines()
    assert lines[0].startswith("new  20")
    assert "suite new" in lines[0]
    assert lines[1] == "    1 passed, 1 failed, 1 not measured of 3 cases, token_f1; exit code 1"
    assert lines[2].startswith("old  20")
    found = cli("runs", "list", "--json").json
    assert [run["folder"] for run in found] == [str(PLACE / "new"), str(PLACE / "old")]
    assert found[0]["status"] == "complete"
    assert found[0]["counts"]["total"] == 3
    size = sum(p.stat().st_size for p in (PLACE / "new").rglob("*") if p.is_file())
    assert found[0]["bytes"] == size


def test_nothing_there_is_said(cli):
    assert cli("runs", "list").out == f"no runs in {PLACE}\n"
    assert cli("runs", "list", "elsewhere", "--json").json == []
    assert cli("runs", "prune", "--keep", "1").out == "nothing to remove; 0 kept\n"


def test_what_is_no_run_is_passed_over_and_what_is_broken_is_told(cli, kept):
    kept("good", "broken")
    (PLACE / "notes").mkdir()
    (PLACE / "file.txt").write_text("x")
    (PLACE / "broken" / "run.json").write_text("{")
    said = cli("runs", "list")
    assert said.code == 0
    assert "notes" not in said.out
    assert "UNREADABLE" in said.out
    assert "run.json" in said.out
    pruned = cli("runs", "prune", "--keep", "0", "--yes")
    assert pruned.code == 0
    assert names() == ["broken", "file.txt", "notes"]
    assert "broken is left alone: " in pruned.err
    assert "run.json" in pruned.err


def test_a_run_is_shown_by_folder_id_or_the_start_of_it(cli, kept):
    kept("run-20260101T000000Z-aa", "run-20260102T000000Z-bb")
    whole = cli("runs", "show", PLACE / "run-20260101T000000Z-aa")
    assert whole.code == 0
    assert "suite run-20260101T000000Z-aa: 3 cases" in whole.out
    assert cli("runs", "show", "run-20260101T000000Z-aa").out == whole.out
    assert cli("runs", "show", "run-20260101").out == whole.out
    found = cli("runs", "show", "run-20260102", "--format", "json").json
    assert found["stats"]["failed"] == 1
    several = cli("runs", "show", "run-")
    assert several.code == 2
    assert "fits 2 runs" in several.err
    none = cli("runs", "show", "run-2025")
    assert none.code == 2
    assert "closecall runs list shows" in none.err


def test_a_report_can_be_written_but_not_into_the_run(cli, kept, tmp_path):
    (folder,) = kept("one")
    assert cli("runs", "show", "one", "-o", "report.md").code == 0
    assert (tmp_path / "report.md").read_text(encoding="utf-8").startswith("### suite one")
    said = cli("runs", "show", "one", "-o", folder / "report.md")
    assert said.code == 2
    assert "is a run folder" in said.err


def test_a_run_that_was_cut_off_is_shown_as_far_as_it_came(cli, kept):
    (folder,) = kept("one")
    unclose(folder)
    said = cli("runs", "show", "one")
    assert said.code == 0
    assert "is not closed" in said.err
    assert "cut off" in cli("runs", "list").out
    (run,) = runs_in(PLACE)
    assert (run.status, run.exit_code) == ("cut off", None)


def test_without_yes_and_without_a_person_nothing_is_removed(cli, kept):
    kept("a", "b", "c")
    said = cli("runs", "prune", "--keep", "1")
    assert said.code == 0
    assert said.out.count("would remove") == 2
    assert "Add --yes to remove 2 of 3 runs" in said.out
    assert names() == ["a", "b", "c"]
    dry = cli("runs", "prune", "--keep", "1", "--json").json
    assert dry["removed"] == []
    assert dry["wouldRemove"] == [str(PLACE / "c"), str(PLACE / "b")]


def test_the_oldest_go(cli, kept):
    kept("a", "b", "c")
    said = cli("runs", "prune", "--keep", "1", "--yes")
    assert said.code == 0
    assert said.out.startswith("removed 2 runs, ")
    assert said.out.endswith("; 1 kept\n")
    assert names() == ["a"]
    assert cli("runs", "show", "a").code == 0


def test_by_age_and_both_together(cli, kept):
    folders = kept("a", "b", "c")
    at_age(folders[1], timedelta(days=8))
    at_age(folders[2], timedelta(days=40))
    said = cli("runs", "prune", "--older-than", "5w", "--keep", "1", "--json", "--yes")
    assert said.json["removed"] == [str(folders[2])]
    assert said.json["kept"] == 2
    cli("runs", "prune", "--older-than", "7d", "--keep", "2", "--yes")
    assert names() == ["a", "b"]
    cli("runs", "prune", "--older-than", "7d", "--yes")
    assert names() == ["a"]


def test_a_person_is_asked(cli, kept, monkeypatch):
    import io

    class Terminal(io.StringIO):
        def isatty(self):
            return True

    kept("a", "b")
    monkeypatch.setattr(sys, "stdin", Terminal("n\n"))
    said = cli("runs", "prune", "--keep", "1")
    assert said.code == 130
    assert "Remove 1 of 2 runs" in said.err
    assert names() == ["a", "b"]
    monkeypatch.setattr(sys, "stdin", Terminal("y\n"))
    assert cli("runs", "prune", "--keep", "1").code == 0
    assert names() == ["a"]


def test_what_to_remove_must_be_said(cli):
    said = cli("runs", "prune", "--yes")
    assert said.code == 2
    assert "--keep N, --older-than 30d or both" in said.err
    assert cli("runs", "prune", "--older-than", "soon").code == 2
    with pytest.raises(UsageError):
        chosen([])


def test_a_folder_with_anything_else_in_it_is_left_alone(cli, kept):
    folders = kept("a", "b", "c", "d")
    (folders[1] / "notes.txt").write_text("mine")
    (folders[2] / "ext" / "mine").mkdir()
    (folders[2] / "ext" / "mine" / "x.json").write_text("{}")
    if os.name == "posix":
        (folders[3] / "ext" / "link").symlink_to("/etc")
    said = cli("runs", "prune", "--keep", "0", "--yes")
    assert said.code == 0
    assert names() == ["b", "c", "d"] if os.name == "posix" else ["b", "c"]
    assert "notes.txt" in said.err
    assert "ext/mine/x.json" in said.err
    assert (folders[1] / "notes.txt").read_text() == "mine"
    with pytest.raises(RunFolderError, match="not removed"):
        remove(folders[1])


@pytest.mark.skipif(os.name != "posix", reason="links need rights elsewhere")
def test_a_link_to_a_run_is_neither_listed_nor_removed(kept, tmp_path):
    (folder,) = kept("a")
    elsewhere = tmp_path / "elsewhere"
    shutil.move(folder, elsewhere)
    folder.symlink_to(elsewhere)
    assert runs_in(PLACE) == []
    assert why_not(folder) == "is a link"
    with pytest.raises(RunFolderError):
        remove(folder)
    assert (elsewhere / "run.json").exists()


def test_a_run_that_is_being_written_is_never_removed(cli, kept):
    folders = kept("a", "b")
    unclose(folders[1])
    descriptor = os.open(folders[1] / "results.ndjson", os.O_RDWR)
    locking.lock(descriptor)
    try:
        assert {run.status for run in runs_in(PLACE)} == {"complete", "being written"}
        assert "being written" in cli("runs", "list").out
        assert cli("runs", "prune", "--keep", "0", "--yes").code == 0
        assert names() == ["b"]
        with pytest.raises(RunFolderError, match="a process is writing it"):
            remove(folders[1])
    finally:
        os.close(descriptor)
    assert (folders[1] / "results.ndjson").stat().st_size
    # The process is gone, and what it left can go too.
    assert cli("runs", "prune", "--keep", "0", "--yes").code == 0
    assert names() == []


def test_runs_without_content_are_listed_and_removed_like_others(cli, kept):
    kept("a", "b", content=False)
    assert cli("runs", "list").code == 0
    assert cli("runs", "prune", "--keep", "1", "--yes").code == 0
    assert names() == ["a"]


def test_a_run_is_found_by_path_before_name(kept):
    (folder,) = kept("one")
    assert find_run(str(folder), PLACE) == folder
    assert find_run("one", PLACE) == folder
    with pytest.raises(UsageError, match="there is no run"):
        find_run("", PLACE)


def test_hostile_names_are_shown_not_obeyed(cli, kept):
    (folder,) = kept("one")
    place = folder / "run.json"
    document = json.loads(place.read_text(encoding="utf-8"))
    document["config"]["closecall"]["name"] = "\x1b[31mred"
    place.write_text(json.dumps(document), encoding="utf-8")
    assert "\x1b" not in cli("runs", "list").out
    assert "\x1b" not in cli("runs", "list", "--json").out

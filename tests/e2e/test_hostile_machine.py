"""Folders that cannot be written, a machine without a home: the run goes on, or says why not."""

import json
import os
import shutil
import subprocess
import sys
import tempfile
from pathlib import Path

import pytest
from e2e_helpers import cli, environment, write_cases

from closecall import load_run

NO_USER = """
import pwd
def unknown(_):
    raise KeyError("uid not found")
pwd.getpwuid = unknown
"""


READ_ONLY = """
import json, os, sys
from pathlib import Path
from closecall import evaluate, load_embedder

embedder, folder, notices = load_embedder("minilm"), Path(sys.argv[1]), []
rows = [{"response": "it rains", "reference": "rain"}, {"response": "no", "reference": "yes"}]
more = [{"response": "something new", "reference": "yes"}, *rows]
evaluate(more, embedder=embedder, cache=folder.with_name("other"))
evaluate(rows, embedder=embedder, cache=folder)
before = {path: path.read_bytes() for path in folder.iterdir()}
for path in (*before, folder):
    path.chmod(0o555 if path.is_dir() else 0o444)
folder.parent.chmod(0o755)
if os.geteuid() == 0:
    os.setuid(65534)
run = evaluate(more[:2], embedder=embedder, cache=folder, on_notice=notices.append)
changed = [path.name for path in folder.iterdir() if before.get(path) != path.read_bytes()]
print(json.dumps({"measured": run.metrics[0].measured, "notices": notices, "changed": changed}))
"""


@pytest.fixture
def cases(home):
    return write_cases(home / "cases.jsonl", 12)


def measured(done):
    assert "Traceback" not in done.stderr, done.stderr
    assert "internal error" not in done.stderr, done.stderr
    assert done.returncode == 1, done.stderr
    return json.loads(done.stdout)["stats"]["measured"]


@pytest.mark.parametrize("place", ["file", "file/below", "/proc/closecall", "/dev/null/x"])
def test_a_cache_that_cannot_be_kept_is_one_notice(home, cases, place):
    (home / "file").write_text("here already", encoding="utf-8")
    env = environment(CLOSECALL_CACHE_DIR=place)
    done = cli("eval", cases, "--format", "json", cwd=home, env=env)
    assert measured(done) == 10
    assert done.stderr.count("cache") >= 1
    assert (home / "file").read_text(encoding="utf-8") == "here already"


@pytest.mark.skipif(os.name == "nt", reason="permissions of folders are a POSIX thing")
def test_a_read_only_cache_folder():
    """A run by somebody who may only read the cache uses it, and says once that it keeps nothing.

    The powers of root reach everywhere, so a test run by root gives them up. By then all code has
    been loaded and the model as well, as they may lie where only root can read.
    """
    parent = Path(tempfile.mkdtemp())
    folder = parent / "cache"
    try:
        done = subprocess.run(
            [sys.executable, "-c", READ_ONLY, str(folder)],
            cwd=parent,
            env=environment(),
            capture_output=True,
            encoding="utf-8",
            timeout=240,
            check=False,
        )
        assert (done.returncode, done.stderr) == (0, "")
        said = json.loads(done.stdout)
        assert said["measured"] == 2
        assert said["changed"] == []
        (notice,) = said["notices"]
        assert str(folder) in notice
    finally:
        if folder.exists():
            folder.chmod(0o755)
        shutil.rmtree(parent)


def test_no_home_and_no_user(home, cases):
    guard = home / "guard"
    guard.mkdir()
    (guard / "sitecustomize.py").write_text(NO_USER, encoding="utf-8")
    env = {"PYTHONPATH": f"{guard}:{environment()['PYTHONPATH']}", "PATH": "/usr/bin:/bin"}
    done = cli("eval", cases, "--format", "json", cwd=home, env=env)
    assert measured(done) == 10
    assert "--cache-dir" in done.stderr
    assert not (home / "~").exists()


def test_an_empty_environment_but_for_a_place_for_caches(home, cases):
    env = {"PYTHONPATH": environment()["PYTHONPATH"], "XDG_CACHE_HOME": str(home / "xdg")}
    done = cli("eval", cases, "--format", "json", cwd=home, env=env)
    assert measured(done) == 10
    assert list((home / "xdg").rglob("*.sqlite3"))


def test_a_working_folder_without_room_for_runs(home, cases):
    (home / ".closecall").write_text("in the way", encoding="utf-8")
    done = cli("eval", cases, "--format", "json", cwd=home)
    assert measured(done) == 10
    assert "no run folder" in done.stderr
    assert "--aef" in done.stderr
    assert json.loads(done.stdout)["metadata"]["RunFolder"] is None


@pytest.mark.parametrize("place", ["file", "file/run", "/proc/closecall-run", "/dev/null/run"])
def test_a_named_run_folder_that_cannot_be_is_an_error(home, cases, place):
    (home / "file").write_text("here already", encoding="utf-8")
    done = cli("eval", cases, "--aef", place, cwd=home)
    assert done.returncode in {2, 4}
    assert done.stdout == ""
    assert place.rpartition("/")[2] in done.stderr
    assert "internal error" not in done.stderr


def test_a_run_folder_that_holds_something_is_left_alone(home, cases):
    (home / "run").mkdir()
    (home / "run" / "notes.txt").write_text("mine", encoding="utf-8")
    done = cli("eval", cases, "--aef", "run", cwd=home)
    assert done.returncode == 4
    assert "not empty" in done.stderr
    assert [p.name for p in (home / "run").iterdir()] == ["notes.txt"]


@pytest.mark.parametrize("place", ["/proc/report.json", "file/report.json", "/dev/null/r.json"])
def test_a_report_that_cannot_be_written_is_found_out_before_the_work(home, cases, place):
    (home / "file").write_text("here already", encoding="utf-8")
    done = cli("eval", cases, "-o", place, "--aef", "run", cwd=home)
    assert done.returncode == 2
    assert "cannot write" in done.stderr
    assert place in done.stderr
    assert not (home / "run").exists()


def test_names_of_any_kind_in_paths(home):
    for name in ("mit leer ü.jsonl", "😀.jsonl", "-m.jsonl", "%s{}.jsonl", "a\nb.jsonl"):
        cases = write_cases(home / name, 4)
        done = cli("eval", "-q", "--aef", f"{name}.run", "--format", "json", "--", cases, cwd=home)
        assert measured(done) == 4, name
        assert load_run(home / f"{name}.run").header.dataset.path == str(cases)


def test_nothing_is_left_behind(home, cases):
    """Neither by closecall nor by what it stands on: the runtime keeps telemetry unless told."""
    places = {name: home / name for name in ("tmp", "house", "xdg")}
    for place in places.values():
        place.mkdir()
    env = environment(
        TMPDIR=str(places["tmp"]), HOME=str(places["house"]), XDG_CACHE_HOME=str(places["xdg"])
    )
    done = cli("eval", cases, "-o", "out.json", "--aef", "run", cwd=home, env=env)
    assert done.returncode == 1
    assert [path for place in places.values() for path in place.rglob("*")] == []
    left = sorted(p.name for p in home.iterdir() if p.name not in places)
    assert left == ["cases.jsonl", "out.json", "run"]
    assert sorted(p.name for p in (home / "run").rglob("*") if p.is_file()) == [
        "cases.ndjson",
        "metrics.json",
        "results.ndjson",
        "run.json",
        "seal.json",
        "summary.json",
    ]

"""A run that is killed, interrupted or contested ends as if nothing had happened."""

import json
import random
import shlex
import signal
import subprocess
import sys
import time

import pytest
from e2e_helpers import (
    METRICS,
    SLOW_RUN,
    cli,
    environment,
    lines_of,
    normalised,
    start,
    wait_for,
    write_cases,
    write_unique,
)

from closecall import load_run
from closecall.cli import run

CASES = 1500
BAD = {100, 1450}
SEEDS = (11, 12, 13)
EMBEDDED = 768
"""Cases of a run with the real model: three batches, stopped after the first."""


def slow(home, folder, seconds=0.0, batch=512, *more):
    command = [sys.executable, SLOW_RUN, home / "cases.jsonl", folder, seconds, batch, *more]
    return list(map(str, command))


def finish(home, folder, batch=512):
    done = subprocess.run(
        slow(home, folder, 0.0, batch),
        env=environment(),
        capture_output=True,
        encoding="utf-8",
        check=False,
    )
    assert "exit 1" in done.stdout, done.stderr
    return int(done.stdout.split()[0])


@pytest.fixture(scope="module")
def unstopped(tmp_path_factory):
    """A folder with ``CASES``, and the run of them that nothing stops."""
    place = tmp_path_factory.mktemp("unstopped") / "work ing's ü"
    place.mkdir()
    write_cases(place / "cases.jsonl", CASES, bad=BAD)
    finish(place, place / "whole")
    return place


@pytest.mark.parametrize("seed", SEEDS)
def test_killed_at_random_moments_it_ends_like_one_that_never_was(home, unstopped, seed):
    chance = random.Random(seed)
    done = 0
    for _ in range(5):
        batch = chance.randint(3, 40)
        wanted = min(done + chance.randint(1, 250), CASES - 300)
        paused = slow(unstopped, home / "killed", 0.02, batch, "hold", wanted + 100)
        process = start(*paused[1:])
        wait_for(lambda n=wanted: lines_of(home / "killed") >= n * 2, process)
        time.sleep(chance.random() * 0.04)  # within a batch, not always at its end
        process.send_signal(signal.SIGKILL)
        process.communicate()
        now = lines_of(home / "killed") // 2
        assert done <= now < CASES - 2
        done = now
    assert done > 100
    began_with = finish(unstopped, home / "killed", chance.randint(1, 512))
    assert 0 < began_with <= done
    assert normalised(home / "killed") == normalised(unstopped / "whole")
    killed, whole = load_run(home / "killed"), load_run(unstopped / "whole")
    assert (killed.cases, killed.metrics) == (whole.cases, whole.metrics)
    assert killed.cases.bad_rows == 2


def test_a_half_written_line_is_done_again(home):
    write_cases(home / "cases.jsonl", 60)
    finish(home, home / "whole")
    process = start(*slow(home, home / "cut", 0.0, 10, "hold", 20)[1:])
    wait_for(lambda: lines_of(home / "cut") >= 40, process)
    process.kill()
    process.communicate()
    results = home / "cut" / "results.ndjson"
    lines = results.read_bytes().splitlines(keepends=True)
    results.write_bytes(b"".join(lines[:-1]) + lines[-1][:37])
    finish(home, home / "cut")
    assert normalised(home / "cut") == normalised(home / "whole")


def killed_run(home, count=EMBEDDED, signal_number=signal.SIGKILL):
    """A real run of the command line that was stopped after its first results."""
    write_unique(home / "cases.jsonl", count)
    arguments = ["-m", "closecall", "eval", "cases.jsonl", "--aef", "run", "--no-cache"]
    process = start(*arguments, cwd=home)
    wait_for(lambda: lines_of(home / "run") > 0, process)
    process.send_signal(signal_number)
    _, err = process.communicate()
    assert 0 < lines_of(home / "run") < count, "it was done before it could be stopped"
    return process.returncode, err


def test_the_command_line_killed_and_resumed_elsewhere_ends_the_same(home, tmp_path):
    code, _ = killed_run(home)
    assert code == -signal.SIGKILL
    elsewhere = tmp_path / "elsewhere"
    elsewhere.mkdir()
    done = cli("eval", "--resume", home / "run", "--format", "json", cwd=elsewhere)
    assert done.returncode in {0, 1}, done.stderr
    assert json.loads(done.stdout)["stats"]["measured"] == EMBEDDED
    fresh = cli("eval", "cases.jsonl", "--aef", "whole", "--no-cache", cwd=home)
    assert fresh.returncode == done.returncode
    assert normalised(home / "run") == normalised(home / "whole")


def test_interrupted_by_hand_it_says_how_to_go_on_and_that_works(home):
    code, err = killed_run(home, signal_number=signal.SIGINT)
    assert code == 130, err
    assert "Traceback" not in err
    (hint,) = [line for line in err.splitlines() if "closecall eval --resume" in line]
    command = shlex.split(hint.partition("closecall ")[2])
    done = cli(*command, "-q", cwd=home)
    assert done.returncode in {0, 1}, done.stderr
    assert load_run(home / "run").cases.total == EMBEDDED


def test_a_hint_for_a_folder_with_blanks_can_be_typed(home, monkeypatch, capsys):
    write_cases(home / "cases.jsonl", 5)

    def interrupted(*_args, **_options):
        raise KeyboardInterrupt

    monkeypatch.setattr("closecall.runs.work.run_cases", interrupted)
    assert run(["eval", "cases.jsonl", "--aef", "it's a run"]) == 130
    hint = capsys.readouterr().err.partition("--resume ")[2].splitlines()[0]
    assert shlex.split(hint) == ["it's a run"]
    monkeypatch.undo()


def test_a_finished_run_is_reported_and_not_run_again(home, capsys):
    write_cases(home / "cases.jsonl", 5)
    assert run(["eval", "cases.jsonl", "--aef", "run", "-q"]) == 1
    before = {p: p.read_bytes() for p in (home / "run").rglob("*") if p.is_file()}
    (home / "cases.jsonl").unlink()  # not even its cases are needed to say so
    capsys.readouterr()
    assert run(["eval", "--resume", "run"]) == 1
    said = capsys.readouterr()
    assert "had ended" in said.err
    assert "of 5 cases; exit code 1" in said.out
    assert before == {p: p.read_bytes() for p in (home / "run").rglob("*") if p.is_file()}


@pytest.mark.parametrize("what", ["missing", "empty", "file", "foreign"])
def test_what_is_no_run_is_refused(home, capsys, what):
    place = home / "run"
    if what == "file":
        place.write_text("x", encoding="utf-8")
    elif what != "missing":
        place.mkdir()
    if what == "foreign":
        (place / "run.json").write_text('{"status": "running"}', encoding="utf-8")
    code = run(["eval", "--resume", str(place)])
    err = capsys.readouterr().err
    assert code in {2, 4}, err
    assert "run" in err
    assert "internal error" not in err


def test_a_second_writer_of_one_run_is_refused(home):
    write_cases(home / "cases.jsonl", CASES, distinct=CASES)
    process = start(*slow(home, home / "run", 0.0, 20, "hold", 20)[1:])
    try:
        wait_for(lambda: lines_of(home / "run") > 0, process)
        second = subprocess.run(
            slow(home, home / "run"),
            env=environment(),
            capture_output=True,
            encoding="utf-8",
            check=False,
        )
        assert second.returncode == 1
        assert "RunFolderError" in second.stderr
        assert "another process is writing this run" in second.stderr
        assert str(process.pid) in second.stderr
        started = cli("eval", "cases.jsonl", "--aef", "run", cwd=home)
        assert started.returncode == 4
        assert "--resume" in started.stderr
    finally:
        process.kill()
        process.communicate()
    finish(home, home / "run")
    finish(home, home / "whole")
    assert normalised(home / "run") == normalised(home / "whole")


def test_two_processes_share_one_cache(home):
    write_unique(home / "cases.jsonl", 400)
    arguments = ["-m", "closecall", "eval", "cases.jsonl", "-q", "--cache-dir", "cache"]
    both = [start(*arguments, "--aef", name, "-o", f"{name}.csv", cwd=home) for name in "ab"]
    for process in both:
        _, err = process.communicate(timeout=240)
        assert process.returncode in {0, 1}
        assert err == ""
    alone = cli(*arguments[2:-1], "empty", "--aef", "c", "-o", "c.csv", cwd=home)
    assert alone.returncode == both[0].returncode
    assert normalised(home / "a") == normalised(home / "b") == normalised(home / "c")
    assert (home / "a.csv").read_bytes() == (home / "c.csv").read_bytes()
    stored = cli("cache", "info", "--cache-dir", "cache", cwd=home)
    assert stored.returncode == 0
    assert "800" in stored.stdout


def test_metrics_named(home):
    """The slow run and the tests speak of the same two metrics."""
    write_cases(home / "cases.jsonl", 3)
    finish(home, home / "run")
    assert ",".join(m.metric for m in load_run(home / "run").metrics) == METRICS

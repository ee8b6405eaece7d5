"""A project's suite, run as its people run it: offline, replaying, with and without pytest-xdist."""

import json
import re
import shutil
import sys
from pathlib import Path

import pytest

from closecall import load_run
from closecall.runs.reader import open_run

sys.path.insert(0, str(Path(__file__).parent))

from desk_server import desk_server

pytest_plugins = ["pytester"]

SAMPLE = Path(__file__).parent.parent / "sample_project"
PASSED = 13


@pytest.fixture
def project(pytester):
    """A copy of the project, without what keeps it out of this suite."""
    ours = shutil.ignore_patterns("conftest.py", "__pycache__")
    shutil.copytree(SAMPLE, pytester.path, dirs_exist_ok=True, ignore=ours)
    return pytester


def rows(folder):
    return {row.case.id: (row.state, row.results) for row in load_run(folder)}


def without_duration(found):
    return json.dumps({name: repr(one) for name, one in found.items()}, sort_keys=True)


@pytest.mark.parametrize("workers", [(), ("-n2",)], ids=["alone", "xdist"])
def test_the_suite_passes_offline_from_its_recordings(project, workers):
    said = project.runpytest_subprocess("-p", "no:cacheprovider", "-rA", *workers)
    said.assert_outcomes(passed=PASSED)
    said.stdout.fnmatch_lines(
        [
            "closecall: replaying *tests/cassettes/pytest.jsonl, asking no provider; *",
            "*= closecall =*",
            "embed_answer_similarity: 4 / 4 / 4 passed / measured / asked, cutoff 70 (default *",
            "not_embed_answer_similarity: 1 / 1 / 1 passed *",
            "13 passed of 13 answers: all of them measured and passed",
            "run folder: *",
        ]
    )
    assert "note:" not in said.stdout.str()
    (folder,) = (project.path / ".closecall" / "runs").iterdir()
    assert not open_run(folder).verify()
    run = load_run(folder)
    assert run.exit_code == 0
    assert run.header.instrument.model == "desk-embedder"
    assert "tests/test_desk.py::test_words[How long do refunds take?]" in rows(folder)


def test_workers_come_to_the_same_run(project):
    project.runpytest_subprocess("--closecall-aef", "one").assert_outcomes(passed=PASSED)
    project.runpytest_subprocess("--closecall-aef", "two", "-n2").assert_outcomes(passed=PASSED)
    one, two = rows(project.path / "one"), rows(project.path / "two")
    assert list(one) == list(two)
    assert without_duration(one) == without_duration(two)


@pytest.mark.loopback
def test_the_recordings_are_those_a_server_gives(project, monkeypatch):
    kept = project.path / "tests" / "cassettes" / "pytest.jsonl"
    before = keys(kept)
    kept.unlink()
    with desk_server() as server:
        monkeypatch.setenv("OPENAI_COMPATIBLE_ENDPOINT", server.url)
        said = project.runpytest_subprocess("--closecall-record", "tests/cassettes")
    said.assert_outcomes(passed=PASSED)
    said.stdout.fnmatch_lines(["closecall: recording to *", "note: *pytest.jsonl: * recorded, *"])
    assert keys(kept) == before


def keys(path):
    """What was asked, without what tells one server from another."""
    lines = [json.loads(line) for line in path.read_text(encoding="utf-8").splitlines()]
    return sorted(json.dumps(one["request"]) for one in lines if "request" in one)


def test_a_replay_that_lacks_a_text_is_an_error_that_says_what_to_type(project):
    project.makepyfile(
        test_new="""
        from closecall.asserting import assert_similar
        def test_new():
            assert_similar("Nobody recorded this.", "Nor this.")
        """
    )
    said = project.runpytest_subprocess("test_new.py")
    said.assert_outcomes(errors=1)
    said.stdout.fnmatch_lines(["*ReplayMissError*", "*--closecall-record-missing *cassettes*"])


@pytest.mark.loopback
def test_what_is_missing_is_added_where_that_is_asked_for(project, monkeypatch):
    project.makepyfile(
        test_new="""
        from closecall.asserting import assert_not_similar
        def test_old():
            assert_not_similar("Cats purr at night.", "Refunds take five working days.")
        def test_new():
            assert_not_similar("Dogs bark by day.", "Refunds take five working days.")
        """
    )
    shutil.rmtree(project.path / "tests")
    recordings = project.path / "tapes"
    with desk_server() as server:
        monkeypatch.setenv("OPENAI_COMPATIBLE_ENDPOINT", server.url)
        said = project.runpytest_subprocess("--closecall-record", recordings, "-k", "old")
        said.assert_outcomes(passed=1, deselected=1)
        before = len(server.requests)
        said = project.runpytest_subprocess("--closecall-record-missing", recordings)
        said.assert_outcomes(passed=2)
        asked = [text for one in server.requests[before:] for text in one.texts]
    assert "Dogs bark by day." in asked
    assert "Refunds take five working days." not in asked
    project.runpytest_subprocess("--closecall-replay", recordings).assert_outcomes(passed=2)


def test_a_suite_that_fails_shows_what_there_is_to_see(project):
    shutil.copy(project.path / "failing.py", project.path / "test_failing.py")
    said = project.runpytest_subprocess(
        "test_failing.py", "-o", "closecall_embedder=minilm", "-p", "no:cacheprovider", "-rA"
    )
    said.assert_outcomes(failed=6, errors=3, passed=1)
    text = said.stdout.str()
    assert "\x1b" not in text
    said.stdout.fnmatch_lines(
        [
            "*embed_answer_similarity: low similarity * < 70.00 (default cutoff, not calibrated)",
            "*question   How long do refunds take?",
            "*expected   Refunds take five days.",
            "*actual     We sell \\x1b[[]31mshoes.",
            "*weakest    *five *",
            '*guard      numbers: the response lacks "five days" (beside the score)',
            "*cutoff     70.0, default cutoff, not calibrated",
            "*next       *closecall calibrate LABELLED --metric embed_answer_similarity *",
        ]
    )
    assert re.search(r"semantic_similarity: low similarity \S+ %: 0\.\d+ < 0\.90", text)
    assert (
        'held back by a guard, numbers: the reference has "five days", the response "six' in text
    )
    assert "accepted, and this test asserts that it is not: high similarity 100.00 %" in text
    assert r"missing    \bfive days\b" in text
    assert "not measured: the case's response is blank" in text
    assert "did you mean 80?" in text
    assert "case       bad (mixed.jsonl:2)" in text
    assert "deciding.py" not in text
    assert "def check(" not in text
    said.stdout.fnmatch_lines(
        ["ERROR *test_nothing_said*.NotMeas*", "FAILED *test_another_number*.Unsure*"]
    )


def test_unsure_answers_are_skipped_where_that_is_asked_for(project):
    shutil.copy(project.path / "failing.py", project.path / "test_failing.py")
    said = project.runpytest_subprocess(
        "test_failing.py", "-k", "another_number", "-rs",
        "-o", "closecall_embedder=minilm", "-o", "closecall_unsure=skip",
    )  # fmt: skip
    said.assert_outcomes(skipped=1)
    said.stdout.fnmatch_lines(["SKIPPED *left unsure: *held back by a guard*"])

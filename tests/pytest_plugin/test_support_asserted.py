"""Support metrics in assertions and marked cases: what fails says which part is to blame."""

import json
import os
import sys
from pathlib import Path

import pytest

from closecall import load_run
from closecall.asserting import (
    AnswerError,
    NotMeasuredError,
    assert_grounded,
    assert_not_grounded,
    assert_not_similar,
    assert_similar,
    current,
)
from closecall.asserting.session import Session
from closecall.errors import UsageError
from closecall.testing import HashEmbedder

sys.path.insert(0, str(Path(__file__).parents[1] / "metrics" / "support"))

import word_reader
from word_reader import WordReader

pytest_plugins = ["pytester"]

CONTEXT = "The pump is drained in autumn. The tank holds ten litres."
GOOD = "The pump is drained in autumn."
WEAKEST = "The tank holds ten litres for apples."
BAD = f"{GOOD} {WEAKEST}"


@pytest.fixture
def session():
    """A session of this test's own, with an embedder that nothing may ask."""
    made = Session(embedder=HashEmbedder(), cache=False)

    def opener():
        return made

    current.enter(opener)
    yield made
    current.leave(opener)
    assert made.embedder.texts == []
    made.close()


@pytest.fixture
def named(monkeypatch):
    """A model that can be reckoned by hand, in the place of the bundled one."""
    reader = WordReader()
    monkeypatch.setattr("closecall.metrics.support.base.bundled", lambda: reader)
    return reader


SUPPORTED = {"metric": "context_support", "cutoff": 0.9}


def test_the_weakest_sentence_and_what_counts_against_it_are_named(session, named):
    assert assert_grounded(GOOD, CONTEXT, **SUPPORTED).state == "passed"
    assert_not_grounded(BAD, CONTEXT, **SUPPORTED)
    with pytest.raises(AnswerError) as caught:
        assert_grounded(BAD, CONTEXT, **SUPPORTED)
    said = str(caught.value)
    assert said.startswith("context_support: low support 71.43 %")
    assert f"  sentence   “{WEAKEST}” (0.71, the least supported of 2)" in said
    assert "  against    “for apples.” (without it: 1.00)" in said
    assert "closecall calibrate LABELLED --metric context_support" in said
    with pytest.raises(AnswerError, match="accepted, and this test asserts that it is not"):
        assert_not_grounded(GOOD, CONTEXT, **SUPPORTED)


@pytest.mark.parametrize("assertion", [assert_similar, assert_not_similar])
def test_what_it_cannot_read_is_neither_and_without_a_cutoff_nothing_is(session, named, assertion):
    german = "Die Pumpe wird im Herbst mit dem Wasser entleert."
    with pytest.raises(NotMeasuredError, match="the response is in German"):
        assertion(german, GOOD, metric="answer_support", cutoff=0.5)
    with pytest.raises(UsageError, match="no default cutoff"):
        assertion(GOOD, GOOD, metric="answer_support")
    assert named.asked == []


@pytest.fixture
def suite(pytester):
    """A suite with a marked file of a good and a bad case, and that model in its process."""
    rows = [
        {"id": name, "response": text, "context": CONTEXT}
        for name, text in (("good", GOOD), ("bad", BAD))
    ]
    lines = "".join(json.dumps(row) + "\n" for row in rows)
    (pytester.path / "cases.jsonl").write_text(lines, encoding="utf-8")
    pytester.makeconftest(
        f"""
        import sys

        sys.path.insert(0, {str(Path(word_reader.__file__).parent)!r})
        import closecall.metrics.support.base as base
        from word_reader import WordReader

        reader = WordReader()
        base.bundled = lambda: reader
        """
    )
    pytester.makepyfile(
        """
        import pytest

        @pytest.mark.closecall_cases("cases.jsonl", metrics="context_support", cutoff=0.9)
        def test_it():
            pass
        """
    )
    return pytester


def run(suite, *options):
    # Without what this environment has besides: it takes longer to load than most tests.
    others = ("-p", "no:hypothesispytest", "-p", "no:anyio")
    said = suite.runpytest_subprocess("-p", "no:cacheprovider", *others, *options)
    said.assert_outcomes(passed=1, failed=1)
    said.stdout.fnmatch_lines(
        [
            "context_support: low support 71.43 %*",
            f"*sentence   “{WEAKEST}” (0.71, the least supported of 2)",
            "*against    “for apples.” (without it: 1.00)",
        ]
    )


def test_marked_cases_are_decided_and_their_run_says_it_too(suite):
    run(suite, "--closecall-aef", "kept")
    bad, good = load_run(suite.path / "kept")
    assert [bad.state, good.state] == ["failed", "passed"]
    details = bad.results[0].measurement.details
    assert details["weakestSentence"] == WEAKEST
    assert details["against"]["text"] == "for apples."


def test_where_no_run_is_kept_no_text_is(suite):
    own = [suite.path, Path(os.environ["CLOSECALL_CACHE_DIR"]).parent]
    known = {*suite.path.iterdir(), suite.path / "stdout"}  # the last is pytester's
    run(suite, "--closecall-no-aef")
    left = [path for place in own for path in place.rglob("*") if path.is_file()]
    assert [path for path in left if path not in known and b"apples" in path.read_bytes()] == []

"""The assertions, without any test runner's help."""

import subprocess
import sys
import unittest

import pytest

from closecall.asserting import (
    AnswerError,
    NotMeasuredError,
    UnsureAnswerError,
    assert_grounded,
    assert_matches_fact,
    assert_not_grounded,
    assert_not_matches_fact,
    assert_not_similar,
    assert_similar,
    current,
)
from closecall.asserting.message import SHOWN
from closecall.asserting.session import Session
from closecall.errors import UsageError
from closecall.testing import HashEmbedder

SKY, GRASS = "the sky is blue today", "green grass grows slowly"


@pytest.fixture
def session():
    """A session of this test's own, which keeps what was recorded."""
    kept = []
    made = Session(embedder=HashEmbedder(), cache=False, on_record=kept.append)
    made.kept = kept

    def opener():
        return made

    current.enter(opener)
    yield made
    current.leave(opener)
    made.close()


def test_what_is_close_passes_and_is_returned(session):
    found = assert_similar(SKY, [GRASS, SKY])
    assert found.state == "passed"
    assert found.measurement.value == pytest.approx(100)
    assert assert_grounded(SKY, [SKY, GRASS]).state == "passed"
    assert assert_matches_fact(SKY, r"\bblue\b").state == "passed"
    assert len(session.kept) == 3


def test_what_is_not_close_fails_with_both_texts_and_the_numbers(session):
    with pytest.raises(AnswerError) as caught:
        assert_similar(GRASS, SKY, question="What is blue?")
    said = str(caught.value)
    assert isinstance(caught.value, AssertionError)
    assert caught.value.result.state == "failed"
    for part in ("What is blue?", SKY, GRASS, "< 70.00", "default cutoff, not calibrated",
                 "weakest", "closecall calibrate"):  # fmt: skip
        assert part in said


@pytest.mark.parametrize(
    ("positive", "negative", "near", "far"),
    [
        (assert_similar, assert_not_similar, (SKY, SKY), (GRASS, SKY)),
        (assert_grounded, assert_not_grounded, (SKY, [SKY]), (GRASS, [SKY])),
        (assert_matches_fact, assert_not_matches_fact, (SKY, "sky"), (SKY, "grass")),
    ],
)
def test_a_negation_is_the_opposite(session, positive, negative, near, far):
    positive(*near)
    negative(*far)
    with pytest.raises(AnswerError):
        positive(*far)
    with pytest.raises(AnswerError, match="accepted, and this test asserts that it is not"):
        negative(*near)
    states = [one.row.results[0].state.value for one in session.kept]
    assert states == ["passed", "passed", "failed", "failed"]


@pytest.mark.parametrize("assertion", [assert_similar, assert_not_similar])
def test_what_is_not_measured_is_neither(session, assertion):
    with pytest.raises(NotMeasuredError, match="response is blank") as caught:
        assertion(" ", SKY)
    assert not isinstance(caught.value, AssertionError)
    assert caught.value.exit_code == 11


@pytest.mark.parametrize("assertion", [assert_similar, assert_not_similar])
def test_what_a_guard_holds_back_is_neither_similar_nor_not(session, assertion):
    texts = ("It takes 5 days to come back to you", "It takes 6 days to come back to you")
    with pytest.raises(UnsureAnswerError, match="numbers"):
        assertion(*texts)
    assert_similar(*texts, guards={"numbers": "off"})


def test_digits_show_the_order(session):
    with pytest.raises(AnswerError) as caught:
        assert_similar("a b c d", "a b c d e", metric="semantic_similarity", cutoff=0.99)
    value = caught.value.result.measurement.value
    with pytest.raises(AnswerError, match=r"0\.\d{3,6} < 0\.\d{3,6}"):
        assert_similar(
            "a b c d", "a b c d e", metric="semantic_similarity", cutoff=value + 0.000002
        )


def test_long_and_hostile_texts_are_clipped_and_spelt_out(session):
    with pytest.raises(AnswerError) as caught:
        assert_similar("\x1b[2J\u202eevil" + "z" * 5000, SKY)
    said = str(caught.value)
    assert "\\x1b[2J\\u202eevil" in said
    assert "\x1b" not in said
    assert f"({5000 + 9 - SHOWN:,} more characters)" in said


def test_of_many_passages_some_are_shown_and_the_others_counted(session):
    passages = [f"passage {at}" for at in range(1000)]
    with pytest.raises(AnswerError) as caught:
        assert_grounded(GRASS, passages, cutoff=99)
    told = str(caught.value)
    assert "context[19] passage 19" in told
    assert "context    and 980 texts more" in told
    assert len(told.splitlines()) < 40


def test_arguments_that_are_wrong_say_what_is_right(session):
    for call, told in (
        (lambda: assert_similar(7, SKY), "actual must be a text"),
        (lambda: assert_similar(SKY, [SKY, None]), r"expected\[1\] must be a text"),
        (lambda: assert_similar(SKY, SKY, cutoff=0.8), "did you mean 80"),
        (lambda: assert_similar(SKY, SKY, metric="answer_alignment"), "no default cutoff"),
        (lambda: assert_matches_fact(SKY, []), "nothing to look for"),
        (lambda: assert_matches_fact(SKY, "x", match="some"), "all, any or none"),
        (lambda: assert_similar(SKY, SKY, cutoff=1, calibration="c"), "exclude each other"),
    ):
        with pytest.raises(UsageError, match=told):
            call()


def test_facts_may_be_several(session):
    assert_matches_fact(SKY, ["red", "blue"], match="any")
    assert_matches_fact(SKY, {"all": ["sky"], "none": ["grass"]})
    assert_matches_fact("It costs 3.50 (net)", "3.50 (net)", syntax="text")
    with pytest.raises(AnswerError, match=r"missing +red"):
        assert_matches_fact(SKY, ["red", "blue"])
    with pytest.raises(AnswerError, match=r"unwanted +blue"):
        assert_matches_fact(SKY, {"none": ["blue"]})


def test_texts_are_embedded_once(session):
    assert_similar(SKY, SKY)
    seen = len(session.embedder.texts)
    assert_similar(SKY, SKY, cutoff=50)
    assert len(session.embedder.texts) == seen


def test_unittest_sees_failures_errors_and_passes(session):
    class Desk(unittest.TestCase):
        def test_pass(self):
            assert_similar(SKY, SKY)

        def test_fail(self):
            assert_similar(GRASS, SKY)

        def test_error(self):
            assert_similar("", SKY)

    found = unittest.TestResult()
    unittest.defaultTestLoader.loadTestsFromTestCase(Desk).run(found)
    assert [found.testsRun, len(found.failures), len(found.errors)] == [3, 1, 1]


def test_a_plain_script_needs_no_test_runner():
    code = "from closecall.asserting import assert_similar; assert_similar('a blue sky', 'a blue sky')"
    subprocess.run([sys.executable, "-W", "error", "-c", code], check=True, timeout=120)


def test_importing_the_names_loads_nothing_heavy():
    code = (
        "import closecall.asserting, sys; "
        "assert not {'numpy', 'msgspec', 'unittest'} & sys.modules.keys()"
    )
    subprocess.run([sys.executable, "-c", code], check=True, timeout=60)

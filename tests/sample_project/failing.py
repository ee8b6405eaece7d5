"""Tests that do not pass; the run of them shows what a person is told."""

import pytest

from closecall.asserting import assert_matches_fact, assert_not_similar, assert_similar


def test_far_off():
    assert_similar(
        "We sell \x1b[31mshoes.", "Refunds take five days.", question="How long do refunds take?"
    )


def test_near_but_below():
    assert_similar(
        "Refunds take a while.", "Refunds take five days.",
        metric="semantic_similarity", cutoff=0.9, guards="off",
    )  # fmt: skip


def test_another_number():
    assert_similar("Refunds take six days.", "Refunds take five days.")


def test_too_close():
    assert_not_similar("Refunds take five days.", "Refunds take five days.")


def test_missing_fact():
    assert_matches_fact("Refunds take a while.", [r"\bfive days\b", "refunds"])


def test_nothing_said():
    assert_similar("", "Refunds take five days.")


def test_scale():
    assert_similar("Refunds take five days.", "Refunds take five days.", cutoff=0.8)


@pytest.mark.closecall_cases("mixed.jsonl", metrics=["embed_answer_similarity", "expected_fact"])
def test_mixed():
    pass

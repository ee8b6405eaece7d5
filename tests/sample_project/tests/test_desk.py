import unittest

import pytest
from desk import answer

from closecall.asserting import (
    assert_grounded,
    assert_matches_fact,
    assert_not_similar,
    assert_similar,
)


def test_refund():
    assert_similar(
        answer("How long do refunds take?"), "Refunds take five working days to arrive.", cutoff=60
    )


@pytest.mark.parametrize("country", ["Norway", "Sweden"])
def test_shipping(country):
    assert_matches_fact(answer("Where do you ship?"), rf"\b{country}\b")


def test_shipping_is_no_refund():
    assert_not_similar(answer("Where do you ship?"), "Refunds take five working days.")


def test_hours_come_from_the_sign(closecall):
    closecall.assert_grounded(
        answer("When are you open?"),
        ["The shop is open from nine to five on weekdays.", "Ring twice."],
    )


@pytest.mark.closecall_cases("answers.jsonl", metrics=["embed_answer_similarity"])
def test_answers():
    pass


@pytest.mark.closecall_cases("answers.jsonl", metrics="token_recall", cutoff=0.5, ids="input")
def test_words(case, result):
    assert case.input.endswith("?")
    assert result.state == "passed"


@pytest.fixture
def anyio_backend():
    return "asyncio"


@pytest.mark.anyio
async def test_an_async_desk():
    assert_similar(answer("Where do you ship?"), "We ship to Norway and to Sweden.")


class Hours(unittest.TestCase):
    def test_open(self):
        assert_grounded(
            answer("When are you open?"), "The shop is open from nine to five on weekdays."
        )

"""Without scripts the worst cases say what counts against them; the blocks hold it for scripts."""

import pytest

from closecall import Case, Measured, evaluate
from closecall.metrics.base import MetricSpec
from closecall.testing import HashEmbedder

RESPONSE = "The tank is new. The pump is <b>not</b> drained."
AT = RESPONSE.index("is <b>"), RESPONSE.index(" drained")


class Told:
    """A metric whose details are those of a support metric."""

    cutoff = 0.5
    spec = MetricSpec(
        id="told",
        name="told",
        version="1",
        needs=("context", "response"),
        default_cutoff=None,
        low=0.0,
        high=1.0,
        description="",
        embeds=False,
    )

    def texts(self, case):
        return ()

    def measure(self, case, vectors):
        start, end = AT
        return Measured(
            similarity=0.25,
            value=0.25,
            score=25.0,
            details={
                "sentences": 2,
                "weakestSentence": RESPONSE[17:],
                "weakestSentenceSupport": 0.25,
                "weakestSentenceAt": [17, len(RESPONSE)],
                "contextSentences": {"read": 3, "of": 12},
                "against": {
                    "text": RESPONSE[start:end],
                    "start": start,
                    "end": end,
                    "without": 0.875,
                    "parts": 4,
                },
            },
        )


@pytest.fixture(scope="module")
def page(page_of):
    case = Case(id="a", response=RESPONSE, context=("The tank is old.",))
    return page_of(evaluate([case], Told(), HashEmbedder(), cache=False))


def test_what_counts_against_a_case_is_said(page):
    assert (
        "told, sentence: “The pump is <b>not</b> drained.” (0.25, the least supported of 2)"
        in page.text
    )
    assert "told, against: “is <b>not</b>” (without it: 0.88)" in page.text
    assert "told, read: 3 of 12 parts of the context" in page.text


def test_what_is_quoted_is_text(page):
    assert "b" not in page.tags


def test_the_blocks_hold_the_places_for_the_scripts(page):
    details = page.cases[0]["results"][0]["details"]
    assert (details["against"]["start"], details["against"]["end"]) == AT

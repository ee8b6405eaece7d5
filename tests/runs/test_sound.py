"""What a metric of one's own gives back that no run could hold costs its case and not the run."""

import pytest

from closecall import evaluate, verify_run
from closecall.metrics.base import MetricSpec
from closecall.records import Measured, State
from closecall.testing import HashEmbedder

CASES = [{"id": name, "response": "It is lit.", "reference": "It is lit."} for name in "ab"]


class Odd:
    """Measures the first case as it should, and the second as it is told."""

    spec = MetricSpec(
        id="odd", name="odd", version="1", needs=("response",), default_cutoff=None, low=None,
        high=None, description="of one's own", embeds=False,
    )  # fmt: skip
    cutoff = None

    def __init__(self, **told):
        self.told = told

    def texts(self, case):
        return ()

    def measure(self, case, vectors):
        told = self.told if case.id == "b" else {}
        return Measured(**{"similarity": 0.5, "value": 0.5, "score": 50.0, **told})


@pytest.mark.parametrize(
    "told",
    [
        {"details": {f"k{number}": "x" * 900 for number in range(5000)}},
        {"details": {"n" * 70_000: 1}},
        {"details": {"count": 2**60}},
        {"details": {"counts": [2**60]}},
        {"details": {"count": 10**5000}},
        {"details": {"share": float("nan")}},
        {"details": {1: "a name that is none"}},
        {"score": -2.0},
        {"score": 100.1},
    ],
)
def test_one_case_is_not_measured_and_the_run_goes_on(tmp_path, told):
    run = evaluate(CASES, [Odd(**told)], HashEmbedder(), cache=False, aef=tmp_path / "run")
    assert [row.results[0].state for row in run] == [State.SCORED, State.ERROR]
    assert verify_run(tmp_path / "run").sound


@pytest.mark.parametrize(
    "details",
    [
        {f"k{number}": number for number in range(200)},
        {"most": 2**53 - 1, "half": "a \ud83d cut"},
        {"n" * 300: -(2**53) + 1},
    ],
)
def test_what_is_odd_and_can_be_held_is(tmp_path, details):
    odd = Odd(details=details)
    run = evaluate(CASES, [odd], HashEmbedder(), cache=False, aef=tmp_path / "run")
    assert [row.results[0].state for row in run] == [State.SCORED, State.SCORED]
    assert verify_run(tmp_path / "run").sound

"""What a run adds up to, against the same sums done by hand."""

import json
import math
import statistics

import pytest

from closecall.embedders.base import TextKey
from closecall.metrics.base import MetricSpec
from closecall.records import Case, Label, Measured, Role, State, Tokens, Unmeasured
from closecall.runs.evaluate import evaluate
from closecall.runs.header import MetricPlan
from closecall.runs.results import CaseResult, MetricResult
from closecall.runs.stored import load_run
from closecall.runs.summary import CaseCounts, MetricTally, RunTally, exit_code
from closecall.testing import HashEmbedder


def plan(cutoff=0.5, name="m"):
    return MetricPlan(
        id=name,
        name=name,
        version="1",
        evaluator_version="1+0",
        cutoff=cutoff,
        cutoff_source="chosen",
        low=0.0,
        high=1.0,
        description="",
    )


def result(state, value=None, *, borderline=False, tokens=None, reason="because", name="m"):
    measurement = (
        Unmeasured(reason, State(state))
        if value is None
        else Measured(similarity=value, value=value, score=100 * value, tokens=tokens or {})
    )
    return MetricResult(
        metric=name,
        state=State(state),
        measurement=measurement,
        cutoff=0.5,
        reason=reason,
        borderline=borderline,
    )


def labelled(label):
    return Case(id="c", label=label)


def test_one_metric_by_hand():
    tally = MetricTally(plan())
    cut = {"response": Tokens(256, 300)}
    tally.add(result("passed", 0.75), labelled(Label.ACCEPT))
    tally.add(result("passed", 0.5, borderline=True), labelled(Label.REJECT))
    tally.add(result("failed", 0.25, tokens=cut), labelled(Label.ACCEPT))
    tally.add(result("failed", 0.125), labelled(None))
    tally.add(result("not_measured", reason="no reference"), labelled(Label.ACCEPT))
    tally.add(result("not_measured", reason="no reference"), labelled(None))
    tally.add(result("error", reason="it broke"), labelled(Label.REJECT))
    done = tally.summary()
    assert (done.asked, done.measured, done.passed, done.failed) == (7, 4, 2, 2)
    assert done.mean == pytest.approx((0.75 + 0.5 + 0.25 + 0.125) / 4)
    assert done.median == 0.375
    assert (done.borderline, done.truncated) == (1, 1)
    assert done.absent == {"no reference": 2, "it broke": 1}
    assert done.absent_states == {State.NOT_MEASURED: 2, State.ERROR: 1}
    counts = done.labelled
    assert (counts.true_accepts, counts.false_rejects) == (1, 1)
    assert (counts.false_accepts, counts.true_rejects) == (1, 0)
    assert (counts.accepts, counts.rejects) == (2, 1)


def test_nothing_measured_has_no_mean_and_no_labels():
    tally = MetricTally(plan())
    tally.add(result("not_measured"), labelled(Label.ACCEPT))
    done = tally.summary()
    assert (done.mean, done.median, done.labelled) == (None, None, None)
    empty = MetricTally(plan()).summary()
    assert (empty.asked, empty.mean) == (0, None)


def test_a_result_that_does_not_apply_was_not_asked_for():
    tally = MetricTally(plan())
    tally.add(result("passed", 0.75), labelled(None))
    tally.add(result("not_applicable", reason="no question here"), labelled(Label.ACCEPT))
    tally.add(result("skipped", reason="left out"), labelled(None))
    done = tally.summary()
    assert (done.asked, done.measured, done.not_applicable) == (2, 1, 1)
    assert done.absent == {"left out": 1}
    assert done.absent_states == {State.SKIPPED: 1}


def test_reasons_beyond_a_hundred_are_counted_together_and_named_last():
    tally = MetricTally(plan())
    for index in range(300):
        tally.add(result("error", reason=f"broke at {index}"), labelled(None))
        tally.add(result("error", reason="broke at 7"), labelled(None))
    done = tally.summary()
    assert len(done.absent) == 101
    assert next(iter(done.absent.items())) == ("broke at 7", 301)
    assert list(done.absent.items())[-1] == ("other reasons", 200)
    assert sum(done.absent.values()) == done.asked == 600
    assert set(done.absent) == {f"broke at {i}" for i in range(100)} | {"other reasons"}


def test_the_mean_is_exact_whatever_the_order():
    values = [1e-6, 0.1, 0.7, 0.3333333, 1.0, 0.2] * 400
    tally, back = MetricTally(plan()), MetricTally(plan())
    for value in values:
        tally.add(result("passed", value), labelled(None))
    for value in reversed(values):
        back.add(result("passed", value), labelled(None))
    assert tally.summary().mean == back.summary().mean == math.fsum(values) / len(values)
    assert tally.summary().median == statistics.median(values)


@pytest.mark.parametrize(
    ("states", "whole"),
    [
        (("passed", "passed"), "passed"),
        (("passed", "failed"), "failed"),
        (("failed", "error"), "failed"),
        (("passed", "not_measured"), "not_measured"),
        (("scored", "error"), "error"),
        (("passed", "scored"), "passed"),
        (("scored", "scored"), "scored"),
        (("passed", "not_applicable"), "passed"),
        (("not_applicable", "not_applicable"), "not_applicable"),
        (("passed", "skipped"), "skipped"),
    ],
)
def test_a_case_is_what_its_worst_result_is(states, whole):
    results = tuple(result(state, 0.5 if State(state).measured else None) for state in states)
    row = CaseResult(case=Case(id="1"), results=results)
    assert row.state == whole
    tally = RunTally([plan(name="a"), plan(name="b")])
    tally.add([row])
    counts = tally.counts(0)
    names = ("passed", "failed", "scored", "unmeasured", "not_applicable")
    kept = {name: getattr(counts, name) for name in names}
    place = whole if State(whole).measured or whole == "not_applicable" else "unmeasured"
    assert kept == {name: int(name == place) for name in kept}


@pytest.mark.parametrize(
    ("counts", "code"),
    [
        ({"total": 2, "passed": 2}, 0),
        ({"total": 2, "scored": 2}, 0),
        ({"total": 2, "passed": 1, "failed": 1}, 1),
        ({"total": 2, "failed": 1, "unmeasured": 1, "bad_rows": 1}, 1),
        ({"total": 2, "passed": 1, "unmeasured": 1}, 11),
        ({"total": 1, "passed": 1, "bad_rows": 1}, 11),
        ({"total": 2, "passed": 1, "not_applicable": 1}, 0),
        ({"total": 2, "not_applicable": 2}, 0),
    ],
)
def test_the_exit_code(counts, code):
    assert exit_code(CaseCounts(**counts)) == code


class Scripted:
    """A metric whose outcome stands in the case's response."""

    def __init__(self, name, cutoff):
        self.cutoff = cutoff
        self.spec = MetricSpec(
            id=name,
            name=name,
            version="1",
            needs=("response",),
            default_cutoff=None,
            low=0.0,
            high=1.0,
            description="Scripted.",
        )

    def texts(self, case):
        return (TextKey(case.response, Role.TEXT),)

    def measure(self, case, vectors):
        try:
            value = float(case.response)
        except ValueError:
            state = State(case.response)
            if state is State.ERROR:
                raise RuntimeError("scripted") from None
            return Unmeasured(f"scripted {state}", state)
        return Measured(similarity=value, value=value, score=100 * value)


OUTCOMES = (
    "0.9",
    "0.5",
    "0.1",
    "error",
    "not_measured",
    "not_applicable",
    "skipped",
    "0.0",
    "1.0",
)


def test_summary_json_is_what_the_results_say_and_the_format_asks(tmp_path, shared_data):
    from folder_helpers import checker

    rows = [
        {"response": OUTCOMES[i % 9], "label": "accept" if i % 2 else "reject"} for i in range(60)
    ]
    metrics = [Scripted("decided", 0.5), Scripted("only-scored", None)]
    run = evaluate(rows, metrics, HashEmbedder(), aef=tmp_path / "run", cache=False)
    lines = [
        json.loads(x) for x in (tmp_path / "run" / "results.ndjson").read_bytes().splitlines()
    ]
    assert {line["state"] for line in lines} == {
        "passed",
        "failed",
        "scored",
        "error",
        "not_measured",
        "not_applicable",
        "skipped",
    }
    assert checker(shared_data)(tmp_path / "run") == []
    assert run.metrics == load_run(tmp_path / "run").metrics
    assert run.cases == load_run(tmp_path / "run").cases
    decided = run.metrics[0]
    by_state = [line["state"] for line in lines if line["path"] == "decided"]
    assert decided.passed == by_state.count("passed")
    assert decided.not_applicable == by_state.count("not_applicable") == 7
    assert decided.measured + sum(decided.absent.values()) == decided.asked == 60 - 7
    assert sum(decided.absent_states.values()) == sum(decided.absent.values())
    (entry, *_) = json.loads((tmp_path / "run/summary.json").read_bytes())["lanes"][0]["metrics"]
    assert (entry["N"], entry["notMeasured"]) == (53, sum(decided.absent.values()))

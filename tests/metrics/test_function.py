"""A function of one's own as a metric: shown like any other, and its errors cost one case."""

import json

import pytest

from closecall import Case, Measured, Unmeasured, evaluate, load_run, save_report
from closecall.errors import UsageError
from closecall.metrics.function import FunctionMetric
from closecall.testing import HashEmbedder

CASES = [Case(id=f"c{n}", response="word " * n) for n in range(1, 6)]


def short(case) -> bool:
    """Short answers only."""
    return len(case.response.split()) < 4


def length(case):
    if case.id == "c3":
        raise KeyError("no such word")
    return {"c4": float("nan"), "c5": "five"}.get(case.id, len(case.response.split()) / 10)


def mixed(case):
    value = 0.25
    if case.id == "c1":
        return Unmeasured("nothing to say")
    return Measured(similarity=value, value=value, score=None, details={"of": case.id})


def scored(metrics, **more):
    return evaluate(CASES, metrics, HashEmbedder(), cache=False, **more)


def states(run, at=0):
    return [row.results[at].state.value for row in run]


def test_true_passes_and_false_fails():
    run = scored([short])
    assert states(run) == ["passed"] * 3 + ["failed"] * 2
    assert run.header.metrics[0].description == "Short answers only."
    assert run.exit_code == 1


def test_a_number_is_a_score_and_an_error_costs_its_own_case_alone():
    run = scored([length, short])
    assert states(run) == ["scored", "scored", "error", "error", "error"]
    assert states(run, 1) == ["passed"] * 3 + ["failed"] * 2
    reasons = [row.results[0].reason for row in run][2:]
    assert "KeyError" in reasons[0]
    assert "nan" in reasons[1]
    assert "it returned str" in reasons[2]


def test_a_measurement_stands_as_it_is():
    run = scored([mixed])
    assert states(run) == ["not_measured"] + ["scored"] * 4
    assert list(run)[1].results[0].measurement.details == {"of": "c2"}


def test_a_name_and_a_cutoff_can_be_given():
    run = scored([FunctionMetric(length, "brevity", cutoff=0.2)])
    assert states(run)[:2] == ["failed", "passed"]
    assert run.metrics[0].metric == "brevity"
    with pytest.raises(UsageError, match="named twice"):
        scored([short, short])


def test_it_is_in_the_folder_and_in_every_report(tmp_path):
    run = scored([short, "token_f1"], aef=tmp_path / "run")
    again = load_run(tmp_path / "run")
    assert states(again) == states(run)
    for name in ("r.json", "r.md", "r.xml", "r.csv"):
        save_report(again, tmp_path / name)
        assert "short" in (tmp_path / name).read_text("utf-8")
    assert json.loads((tmp_path / "r.json").read_text())["metrics"][0]["passed"] == 3


def test_a_bool_that_nothing_says_how_to_judge_is_an_error_and_no_silent_pass():
    run = scored([lambda case: len(case.response) < 4])
    assert states(run) == ["error"] * 5
    assert run.exit_code == 11
    ((reason, count),) = run.metrics[0].absent.items()
    assert count == 5
    assert "-> bool" in reason
    assert states(scored([FunctionMetric(lambda case: case.id == "c1", "first", cutoff=0.5)])) == [
        "passed", *["failed"] * 4,
    ]  # fmt: skip


def test_an_async_function_is_told_so_and_leaves_nothing_behind():
    async def later(case):
        return True

    ((reason, count),) = scored([later]).metrics[0].absent.items()
    assert (count, "it returned coroutine" in reason) == (5, True)


def test_errors_that_differ_in_their_later_lines_are_counted_together():
    def broken(case):
        raise ValueError(f"no luck\nwith {case.id}")

    run = scored([broken])
    assert run.metrics[0].absent == {"broken failed: ValueError: no luck": 5}
    assert next(iter(run)).results[0].reason.endswith("no luck\nwith c1")


@pytest.mark.parametrize("cutoff", [float("nan"), float("inf"), "high", True])
def test_a_cutoff_that_no_value_could_meet_is_refused(cutoff):
    with pytest.raises(UsageError, match="finite number"):
        FunctionMetric(length, cutoff=cutoff)


def test_another_function_of_the_same_name_is_another_metric():
    def made(limit):
        if limit == 4:
            return short

        def short_(case) -> bool:
            return len(case.response) < limit

        return short_

    one, other = (FunctionMetric(made(limit), "short") for limit in (4, 9))
    assert one.spec.version != other.spec.version
    assert one.spec.version == FunctionMetric(short).spec.version
    assert FunctionMetric(len).spec.version

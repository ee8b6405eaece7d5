"""What the runs of one case come to: the state by how many passed, the value their mean."""

import math

import pytest

from closecall.records import Case, Measured, State, Tokens, Unmeasured
from closecall.runs.results import CaseResult, MetricResult
from closecall.runs.trials import RUNS, rolled_up

P, F, I = State.PASSED, State.FAILED, State.INCONCLUSIVE  # noqa: E741


def one(state, value=None, *, cutoff=70.0, **more):
    if not state.measured:
        why = Unmeasured(value or "no luck", state)
        return MetricResult(
            metric="m", state=state, measurement=why, cutoff=cutoff, reason=why.reason
        )
    measured = Measured(
        similarity=value / 100, value=value, score=value, tokens=more.pop("tokens", {})
    )
    return MetricResult(
        metric="m",
        state=state,
        measurement=measured,
        cutoff=cutoff,
        reason=f"{state} with {value}",
        **more,
    )


def over(*results, threshold=0.8, times=None):
    trials = [
        CaseResult(
            case=Case(id="c", response=f"answer {at}"),
            results=(result,),
            duration_ms=None if times is None else times[at],
        )
        for at, result in enumerate(results)
    ]
    return rolled_up(trials, threshold)


def test_the_state_is_by_how_many_passed_and_the_value_the_mean():
    row = over(*[one(P, value) for value in (80, 90, 71, 75)], one(F, 10.0))
    (result,) = row.results
    assert result.state is P
    assert result.measurement.value == pytest.approx((80 + 90 + 71 + 75 + 10) / 5)
    assert result.measurement.value < result.cutoff  # the mean does not decide
    assert result.measurement.similarity == pytest.approx(0.652)
    assert row.case.response == "answer 0"
    assert [trial.case.response for trial in row.trials] == [f"answer {n}" for n in range(5)]
    told = result.measurement.details[RUNS]
    assert told["values"] == [80, 90, 71, 75, 10]
    assert told["states"] == ["passed"] * 4 + ["failed"]
    assert (told["passed"], told["of"], told["needed"], told["measured"]) == (4, 5, 4, 5)
    assert result.reason == (
        "passed in 4 of 5 runs (needed 4), failed in 1, values 10.0000 to 90.0000; "
        "run 5: failed with 10.0"
    )


def test_a_run_without_a_result_is_in_no_mean_and_keeps_its_place():
    (result,) = over(one(P, 80.0), one(State.ERROR), one(P, 90.0), threshold=0.6).results
    assert result.state is P
    assert result.measurement.value == 85
    assert result.measurement.details[RUNS]["values"] == [80, None, 90]
    assert "without a result in 1" in result.reason


def test_where_it_depends_on_runs_without_a_result_nothing_is_measured():
    (result,) = over(one(P, 80.0), one(State.ERROR, "429\nat noon"), one(P, 90.0)).results
    assert result.state is State.NOT_MEASURED
    assert isinstance(result.measurement, Unmeasured)
    assert result.reason == (
        "passed in 2 of 3 runs (needed 3), no result in 1 of 3 runs, and it depends on them: 429"
    )


def test_absences_of_one_cause_have_one_reason():
    first, second = (
        over(one(State.ERROR, "429\nafter 3 s"), one(P, value), one(P, 90.0)).results[0].reason
        for value in (80.0, 95.0)
    )
    assert first == second


def test_without_any_result_it_is_what_every_run_is():
    (result,) = over(*[one(State.ERROR, "the server said 400")] * 3).results
    assert result.state is State.ERROR
    assert result.reason == "in none of 3 runs was there a result: the server said 400"
    (mixed,) = over(one(State.ERROR), one(State.SKIPPED), one(State.ERROR)).results
    assert mixed.state is State.NOT_MEASURED


def test_a_metric_without_a_cutoff_is_scored():
    row = over(*[one(State.SCORED, value, cutoff=None) for value in (10.0, 20.0, 60.0)])
    (result,) = row.results
    assert result.state is State.SCORED
    assert result.measurement.value == 30
    assert result.reason == "scored in 3 runs, values 10.0000 to 60.0000"


def test_the_mean_never_leaves_the_values():
    for value in (0.1, 1 / 3, 99.99999999999999, 1e308):
        (result,) = over(*[one(P, value, cutoff=0.0)] * 3).results
        assert result.measurement.value == value
    (result,) = over(*[one(P, 0.908, cutoff=0.0)] * 7).results
    assert result.measurement.value == 0.908
    (result,) = over(*[one(P, value, cutoff=0.0) for value in (1e308, 1e308, 1.7e308)]).results
    assert math.isfinite(result.measurement.value)


def test_close_calls_count_where_they_could_turn_the_case():
    near = one(P, 70.0, borderline=True)
    assert over(near, one(P, 90.0), one(P, 90.0), threshold=1).results[0].borderline
    assert not over(near, one(F, 9.0), one(F, 9.0), threshold=1).results[0].borderline
    assert not over(one(P, 90.0), one(P, 90.0), one(F, 9.0)).results[0].borderline


def test_a_guard_is_named_where_it_alone_keeps_the_case_from_passing():
    held = one(I, 90.0, held=("numbers",))
    also = one(I, 90.0, held=("names", "numbers"))
    (result,) = over(held, one(P, 90.0), also).results
    assert result.state is I
    assert result.held == ("numbers", "names")
    assert over(held, one(F, 9.0), one(F, 9.0)).results[0].held == ()
    assert over(held, *[one(P, 90.0)] * 4).results[0].held == ()


def test_what_a_model_saw_least_of_counts_for_the_case():
    whole, cut = Tokens(9, 9), Tokens(512, 700)
    row = over(
        one(P, 80.0, tokens={"response": whole}),
        one(P, 80.0, tokens={"response": cut}),
        one(P, 80.0),
    )
    assert row.results[0].measurement.tokens == {"response": cut}


def test_its_time_is_that_of_all_runs():
    assert over(*[one(P, 80.0)] * 3, times=(1.0, 2.5, 3.0)).duration_ms == 6.5
    assert over(*[one(P, 80.0)] * 3).duration_ms is None

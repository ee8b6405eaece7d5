"""What a run adds up to: nobody drops out, and every number has its denominator."""

from dataclasses import replace

import pytest

from closecall import Case
from closecall.calibration.records import Counts
from closecall.records import State
from closecall.report.overview import overview
from closecall.runs.summary import CaseCounts, exit_code


def test_every_case_asked_for_is_accounted_for(run, cases):
    summary = run.metrics[0]
    assert (summary.asked, summary.measured, summary.passed, summary.failed) == (7, 4, 2, 2)
    assert sum(summary.absent.values()) == summary.asked - summary.measured == 3
    assert sum(summary.absent_states.values()) == 3
    counts = run.cases
    assert counts.passed + counts.failed + counts.scored + counts.unmeasured == counts.total == 7
    assert len(run) == len(list(run)) == len(cases)


def test_results_come_in_the_order_of_the_cases_and_metrics(run, cases):
    assert [row.case.id for row in run] == [case.id for case in cases]
    for row in run:
        assert [r.metric for r in row.results] == [m.metric for m in run.metrics]


def test_absences_are_counted_by_reason(run):
    assert run.metrics[0].absent == {
        "the case's reference is missing": 1,
        "the case's response is blank": 1,
        "embedding the response failed: words (local): the model refused": 1,
    }


def test_mean_and_median_are_over_what_was_measured(run):
    summary = run.metrics[0]
    values = sorted(
        row.results[0].measurement.value for row in run if row.results[0].state.measured
    )
    assert len(values) == 4
    assert summary.mean == pytest.approx(sum(values) / 4)
    assert summary.median == pytest.approx((values[1] + values[2]) / 2)


def test_nothing_measured_has_no_mean_and_no_median(absent):
    for summary in absent.metrics:
        assert (summary.measured, summary.mean, summary.median) == (0, None, None)


def test_errors_of_the_cutoff_against_labels_are_counted_in_integers(run):
    assert run.metrics[0].labelled == Counts(
        true_accepts=1, false_rejects=1, false_accepts=1, true_rejects=1
    )
    assert (run.metrics[0].labelled.accepts, run.metrics[0].labelled.rejects) == (2, 2)


def test_without_labels_or_without_a_cutoff_there_are_no_such_errors(run, make_run):
    assert run.metrics[1].labelled is None
    unlabelled = make_run([Case(id="1", references=("a",), response="a")])
    assert unlabelled.metrics[0].labelled is None


@pytest.mark.parametrize(
    ("counts", "code"),
    [
        ({"total": 2, "passed": 2}, 0),
        ({"total": 2, "passed": 1, "scored": 1}, 0),
        ({"total": 2, "passed": 1, "failed": 1}, 1),
        ({"total": 3, "passed": 1, "failed": 1, "unmeasured": 1}, 1),
        ({"total": 2, "passed": 1, "unmeasured": 1}, 11),
        ({"total": 2, "unmeasured": 2}, 11),
        ({"total": 2, "passed": 2, "bad_rows": 1}, 11),
        ({"total": 2, "passed": 1, "failed": 1, "bad_rows": 1}, 1),
    ],
)
def test_exit_code(counts, code):
    assert exit_code(CaseCounts(**counts)) == code


def test_only_a_wholly_measured_and_passed_run_has_passed(run, absent, make_run):
    assert make_run([Case(id="1", references=("a",), response="a")]).passed
    assert not run.passed
    assert not absent.passed
    assert absent.exit_code == 11


def test_a_metric_that_breaks_is_an_error_with_a_reason_and_stops_nothing(make_run, buggy_metric):
    cases = [Case(id=str(i), references=("a",), response="a") for i in range(3)]
    run = make_run(cases, ["embed_answer_similarity", buggy_metric])
    assert [s.passed for s in run.metrics] == [3, 0]
    assert run.metrics[1].absent_states == {State.ERROR: 3}
    assert "breaks failed: RuntimeError: no luck with 1" in run.metrics[1].absent
    assert run.exit_code == 11


def test_where_a_metric_does_not_apply_nothing_was_asked(partly):
    (summary,) = partly.metrics
    assert (summary.asked, summary.measured, summary.absent) == (1, 1, {})
    counts = partly.cases
    assert (counts.total, counts.scored, counts.not_applicable, counts.unmeasured) == (3, 1, 2, 0)
    assert partly.exit_code == 0


def test_the_summary_without_cases_looks_at_none_of_them(run):
    def none_is_read():
        raise AssertionError("a case was read")

    seen = overview(replace(run, _rows=none_is_read), worst=0)
    assert seen.absent
    assert not seen.worst

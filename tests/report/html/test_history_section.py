"""The history: every run in its place, every figure with its n, and no line between unlike things."""

import io
import re

import pytest

from closecall import Case, evaluate
from closecall.calibration.binomial import clopper_pearson
from closecall.calibration.groups import rate_of_groups
from closecall.gates.intervals import mean_of_groups
from closecall.metrics.function import FunctionMetric
from closecall.report.html.changes import changes
from closecall.report.html.columns import Columns
from closecall.report.html.history import context
from closecall.report.html.over_time import figures_of
from closecall.report.html.page import Page, write_runs
from closecall.report.words import rate
from closecall.runs.stored import load_run
from closecall.runs.summary import CASCADE
from closecall.testing import HashEmbedder


def grade(case: Case) -> float | None:
    return case.metadata["grade"]


def graded(grades, **more):
    return [
        Case(id=f"c{at}", input=f"q{at}", response="x", metadata={"grade": value}, **more)
        for at, value in enumerate(grades)
    ]


def run_of(grades, folder=None, *, cutoff=0.5, **options):
    metric = FunctionMetric(grade, cutoff=cutoff)
    return evaluate(graded(grades), [metric], HashEmbedder(), cache=False, aef=folder, **options)


def page_of(*runs):
    ordered = sorted(runs, key=lambda run: (run.header.started_at, run.header.run_id))
    columns = Columns(ordered[-1].header)
    for row in ordered[-1]:
        columns.add(row)
    return Page(tuple(ordered), ordered[-1], ordered[-1], columns, (), None)


def rendered(*runs):
    out = io.StringIO()
    write_runs(runs, out)
    return out.getvalue()


def pieces(markup):
    """How many points each line of a picture joins."""
    return [
        len(re.findall(r"[ML]", path))
        for path in re.findall(r'class="cc-line k-one" d="([^"]*)"', markup)
    ]


def test_a_single_run_has_no_history():
    run = run_of([0.1, 0.9])
    assert context(page_of(run)) is None
    assert 'id="history"' not in rendered(run)


def test_runs_stand_in_the_order_of_their_start_whatever_the_order_given():
    first, second, third = (run_of([0.2, 0.9], name=name) for name in ("one", "two", "three"))
    found = context(page_of(third, first, second))
    assert [(row.number, row.name) for row in found["runs"]] == [
        (1, "one"),
        (2, "two"),
        (3, "three"),
    ]
    assert found["runs"][0].words == "1 case failed"
    assert found["runs"][0].counts == "1 passed, 1 failed of 2 cases"


def test_figures_are_those_of_the_run_with_exact_intervals():
    grades = [0.1, 0.7, 0.9, None, 0.6, 0.2]
    run = run_of(grades)
    found = figures_of(run)["grade"]
    summary = run.metrics[0]
    assert (found.asked, found.measured) == (summary.asked, summary.measured) == (6, 5)
    assert (found.passed.count, found.passed.n) == (summary.passed, 5) == (3, 5)
    assert found.mean == pytest.approx(summary.mean)
    exact = clopper_pearson(3, 5)
    assert (found.passed.interval.low, found.passed.interval.high) == (exact.low, exact.high)
    assert found.interval is None  # five values of a scale without ends


def test_groups_widen_the_intervals_of_rates_and_of_means():
    import numpy as np

    responses = ["the sky is blue", "we open at nine", "the sky", "blue"] * 10
    rows = [
        {
            "id": f"c{at}",
            "input": f"q{at // 4}",
            "response": text,
            "references": ["the sky is blue"],
        }
        for at, text in enumerate(responses)
    ]
    run = evaluate(rows, "token_f1", HashEmbedder(), cache=False)
    found = figures_of(run)["token_f1"]
    values = [row.results[0].measurement.value for row in run]
    passed = [row.results[0].state.value == "passed" for row in run]
    sizes = np.full(10, 4)
    assert found.passed == rate_of_groups(sizes, np.array(passed).reshape(10, 4).sum(axis=1))
    assert "design effect" in found.passed.interval.method
    sums = np.array(values).reshape(10, 4).sum(axis=1)
    assert found.interval == mean_of_groups(sizes, sums, low=0.0, high=1.0, level=0.95)


def test_the_columns_of_a_run_give_the_same_figures_as_its_cases(tmp_path):
    run_of([0.1, 0.7, None, 0.4], tmp_path / "a")
    run = load_run(tmp_path / "a")
    columns = Columns(run.header)
    for row in run:
        columns.add(row)
    assert figures_of(run, columns) == figures_of(run)


def test_without_a_cutoff_there_is_a_mean_and_no_rate():
    found = context(page_of(run_of([0.2, 0.4], cutoff=None), run_of([0.2, 0.4], cutoff=None)))
    (metric,) = found["metrics"]
    assert metric.rates is None
    assert pieces(metric.means) == [2]
    assert metric.rows[0][1:3] == ("-", "0.300")


def test_a_run_in_which_nothing_was_measured_keeps_its_place_without_a_point():
    found = context(page_of(run_of([0.2, 0.9]), run_of([None, None]), run_of([0.3, 0.9])))
    (metric,) = found["metrics"]
    assert [row.measured for row in metric.rows] == ["2 / 2", "0 / 2", "2 / 2"]
    assert metric.rows[1].passed == metric.rows[1].mean == "-"
    assert (
        len(re.findall(r'class="cc-dot', metric.rates.split("<g clip-path")[1].split("</g>")[0]))
        == 2
    )


def test_a_run_that_was_not_asked_for_a_metric_says_so():
    both = evaluate(
        graded([0.2, 0.9]), [FunctionMetric(grade, cutoff=0.5)], HashEmbedder(), cache=False
    )
    rows = [{"id": "c0", "input": "q", "response": "a", "references": ["a"]}]
    other = evaluate(rows, "token_f1", HashEmbedder(), cache=False)
    found = context(page_of(both, other))
    assert [(one.metric, [row.measured for row in one.rows]) for one in found["metrics"]] == [
        ("grade", ["2 / 2", "not asked"]),
        ("token_f1", ["not asked", "1 / 1"]),
    ]


def test_lines_break_where_a_figure_means_something_else():
    """Another cutoff makes other verdicts of the same values; another version other values."""
    runs = [run_of([0.2, 0.6, 0.9], cutoff=cutoff) for cutoff in (0.5, 0.5, 0.7, 0.7)]
    found = context(page_of(*runs))
    (metric,) = found["metrics"]
    assert pieces(metric.rates) == [2, 2]
    assert pieces(metric.means) == [4]
    assert [one.axis for one in found["steps"][1].changes] == ["cutoff"]
    assert rate(2, 3) in metric.rows[0].passed
    assert rate(1, 3) in metric.rows[2].passed


def test_another_embedder_breaks_every_line():
    runs = [
        evaluate(
            [{"id": "c", "input": "q", "response": "a", "references": ["a b"]}],
            "embed_answer_similarity,token_f1",
            HashEmbedder(dims=dims),
            cache=False,
        )
        for dims in (64, 128, 128)
    ]
    found = context(page_of(*runs))
    for metric in found["metrics"]:
        assert pieces(metric.rates) == [2]
        assert pieces(metric.means) == [2]


def test_what_changed_is_named_axis_by_axis():
    first = run_of([0.2, 0.9], subject="bot", subject_version="1")
    second = run_of([0.2, 0.9, 0.4], subject="bot", subject_version="2", cutoff=0.6)
    found = {one.axis: (one.before, one.after) for one in changes(first, second)}
    assert found["subject"] == ("bot 1", "bot 2")
    assert found["cutoff"] == ("0.5", "0.6")
    before, after = found["data"]
    assert before.startswith("2 cases of Python (")
    assert after.startswith("3 cases of Python (")
    assert set(found) == {"subject", "cutoff", "data"}
    assert changes(second, second) == []


def test_other_gates_are_a_change():
    import dataclasses

    from closecall.gates.evaluate import evaluate_gates
    from closecall.gates.parsing import parse_gate

    run = run_of([0.2, 0.9])
    gated = dataclasses.replace(
        run, gates=evaluate_gates(run, [parse_gate("pass_rate(grade) >= 0.4")]), gates_code=0
    )
    (found,) = changes(run, gated)
    assert (found.axis, found.before, found.after) == ("gates", "none", gated.gates[0].rule)
    rows = context(page_of(run, gated))["runs"]
    assert {row.gates for row in rows} == {"none", "1 / 1 (100.0 %) passed"}


def test_a_cascade_has_a_line_of_its_own_without_a_mean():
    import dataclasses

    import msgspec

    runs = []
    for cutoff in (0.5, 0.5, 0.7):
        run = run_of([0.2, 0.6, 0.9], cutoff=cutoff)
        header = msgspec.structs.replace(run.header, cascade=True)
        runs.append(dataclasses.replace(run, header=header))
    found = figures_of(runs[0])[CASCADE]
    assert (found.passed.count, found.passed.n, found.mean) == (2, 3, None)
    whole = context(page_of(*runs))["metrics"][-1]
    assert whole.metric == "the cascade as a whole"
    assert whole.means is None
    # Another cutoff of any rung makes other verdicts of the whole.
    assert pieces(whole.rates) == [2]


def test_names_and_subjects_are_text():
    bad = "</td><script>alert(1)</script>\u202e"
    page = rendered(*(run_of([0.2, 0.9], name=bad, subject=f"{bad}{at}") for at in range(2)))
    history = page[page.index('<section id="history"') : page.index('<section id="compare"')]
    assert "<script" not in history
    assert "\\u202e" in history
    assert "&lt;script&gt;" in history


def test_the_same_runs_give_the_same_bytes(tmp_path):
    for name in ("a", "b"):
        run_of([0.2, 0.9, 0.7], tmp_path / name, name=name)
    runs = [load_run(tmp_path / name) for name in ("a", "b")]
    assert rendered(*runs) == rendered(*reversed(runs))

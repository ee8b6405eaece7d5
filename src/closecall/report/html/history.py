"""The section of several runs: how each metric went from run to run, and what else changed."""

from __future__ import annotations

from collections.abc import Sequence
from itertools import pairwise
from typing import TYPE_CHECKING, Any, NamedTuple

from closecall.calibration.records import Interval, Rate
from closecall.report.charts.chart import Chart
from closecall.report.charts.svg import svg
from closecall.report.html.changes import Change, changes, values_apart, verdicts_apart
from closecall.report.html.history_charts import Point, mean_chart, rate_chart
from closecall.report.html.over_time import Figures, figures_of
from closecall.report.html.overview import exit_words
from closecall.report.overview import cutoff_words
from closecall.report.words import embedder_words, plural, rate
from closecall.report.worst import decimals
from closecall.runs.comparing.compare import subject_words
from closecall.runs.gate_results import GateState
from closecall.runs.record import Run
from closecall.runs.summary import CASCADE, EXIT_FAILED, EXIT_PASSED, MetricSummary

if TYPE_CHECKING:
    from closecall.report.html.page import Page

_FEWEST_RUNS = 2
_TONES = {EXIT_PASSED: "passed", EXIT_FAILED: "failed"}
_DAY = slice(5, 10)


class RunRow(NamedTuple):
    """One run as a row; ``number`` counts from 1, ``tone`` is a state's name for its badge."""

    number: int
    name: str
    started: str
    run_id: str
    counts: str
    gates: str
    tone: str
    exit_code: int
    words: str
    answers: str
    embedder: str


class Step(NamedTuple):
    """From one run to the next: what changed, nothing where it is empty."""

    before: int
    after: int
    changes: list[Change]


class MetricRow(NamedTuple):
    """One metric in one run."""

    number: int
    passed: str
    mean: str
    measured: str
    cutoff: str


class MetricHistory(NamedTuple):
    """One metric over all runs; a chart is None where there is nothing to draw."""

    metric: str
    description: str
    rates: Any
    means: Any
    rows: list[MetricRow]
    methods: str


def context(page: Page) -> dict[str, Any] | None:
    """Return the history; None of a single run."""
    runs = page.runs
    if len(runs) < _FEWEST_RUNS:
        return None
    figures = [figures_of(run, page.columns if run is page.run else None) for run in runs]
    steps = [
        Step(number, number + 1, changes(before, after))
        for number, (before, after) in enumerate(pairwise(runs), 1)
    ]
    names = dict.fromkeys(name for found in figures for name in found)
    return {
        "runs": [_run_row(number, run) for number, run in enumerate(runs, 1)],
        "steps": steps,
        "metrics": [_history(at, name, runs, figures, steps) for at, name in enumerate(names)],
    }


def _run_row(number: int, run: Run) -> RunRow:
    header, cases = run.header, run.cases
    counts = [
        f"{count:,} {word}"
        for count, word in (
            (cases.passed, "passed"),
            (cases.scored, "scored"),
            (cases.inconclusive, "unsure"),
            (cases.failed, "failed"),
            (cases.unmeasured, "not measured"),
            (cases.not_applicable, "not applicable"),
        )
        if count
    ]
    passed = sum(one.state is GateState.PASSED for one in run.gates)
    return RunRow(
        number=number,
        name=header.name,
        started=header.started_at.partition(".")[0].replace("T", " ").removesuffix("Z") + " UTC",
        run_id=header.run_id,
        counts=f"{', '.join(counts) or 'nothing'} of {plural(cases.total, 'case')}",
        gates=f"{rate(passed, len(run.gates))} passed" if run.gates else "none",
        tone=_TONES.get(run.exit_code, "inconclusive"),
        exit_code=run.exit_code,
        words=exit_words(run),
        answers=subject_words(header) or "not said",
        embedder=embedder_words(header.instrument),
    )


def _history(
    at: int,
    name: str,
    runs: Sequence[Run],
    figures: Sequence[dict[str, Figures]],
    steps: Sequence[Step],
) -> MetricHistory:
    plan = next(
        (plan for run in reversed(runs) for plan in run.header.metrics if plan.id == name), None
    )
    digits = decimals(None if plan is None else plan.high)
    rows, rates, means = [], [], []
    # What changed since the last run that has a point, which a line would come from.
    since: list[Change] = []
    for place, (run, found) in enumerate(zip(runs, figures, strict=True)):
        since = since + (steps[place - 1].changes if place else [])
        own = found.get(name)
        rows.append(_metric_row(place + 1, run, name, own, digits))
        if own is None:
            continue
        if own.passed is not None:
            joined = not verdicts_apart(since, name)
            rates.append(_rate_point(place, own.passed, joined=joined))
        if own.mean is not None:
            joined = not values_apart(since, name)
            means.append(_mean_point(place, own, own.mean, digits, joined=joined))
        if own.measured:
            since = []
    called = [f"{number}: {run.header.started_at[_DAY]}" for number, run in enumerate(runs, 1)]
    title = "the cascade as a whole" if plan is None else name
    return MetricHistory(
        metric=title,
        description="" if plan is None else plan.description,
        rates=_picture(rate_chart(rates, called, title), f"history-rate-{at}") if rates else None,
        means=_picture(mean_chart(means, called, title), f"history-mean-{at}") if means else None,
        rows=rows,
        methods=_methods(found[name] for found in figures if name in found),
    )


def _metric_row(number: int, run: Run, name: str, own: Figures | None, digits: int) -> MetricRow:
    if own is None:
        return MetricRow(number, "-", "-", "not asked", "-")
    passed = "-"
    if own.passed is not None:
        low, high = 100 * own.passed.interval.low, 100 * own.passed.interval.high
        passed = f"{rate(own.passed.count, own.passed.n)}, {low:.1f} to {high:.1f} %"
    mean = "-" if own.mean is None else f"{own.mean:.{digits}f}"
    if own.interval is not None:
        mean += f", {own.interval.low:.{digits}f} to {own.interval.high:.{digits}f}"
    summary = _summary(run, name)
    return MetricRow(
        number,
        passed,
        mean,
        f"{own.measured:,} / {own.asked:,}",
        "-" if summary is None or name == CASCADE else cutoff_words(run.header, summary),
    )


def _summary(run: Run, name: str) -> MetricSummary | None:
    return next((one for one in run.metrics if one.metric == name), None)


def _rate_point(at: int, found: Rate, *, joined: bool) -> Point:
    return Point(
        at,
        found.count / found.n,
        (found.interval.low, found.interval.high),
        found.n,
        f"run {at + 1}: {rate(found.count, found.n)} passed",
        joined,
    )


def _mean_point(at: int, own: Figures, mean: float, digits: int, *, joined: bool) -> Point:
    ends = None if own.interval is None else (own.interval.low, own.interval.high)
    said = f"run {at + 1}: mean {mean:.{digits}f} of {plural(own.measured, 'case')}"
    return Point(at, mean, ends, own.measured, said, joined)


def _picture(chart: Chart, name: str) -> Any:
    from markupsafe import Markup

    return Markup(svg(chart, name))  # noqa: S704 - the charts escape every text they hold


def _methods(found: Any) -> str:
    """Say how the intervals were made, each way once."""
    made: dict[str, None] = {}
    for one in found:
        intervals: list[Interval | None] = [
            None if one.passed is None else one.passed.interval,
            one.interval,
        ]
        for interval in intervals:
            if interval is not None:
                made.setdefault(interval.method.partition(",")[0].replace("_", " "))
    return ", ".join(made)

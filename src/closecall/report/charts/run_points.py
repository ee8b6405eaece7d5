"""The pass rate of each run, for the line of their history."""

from __future__ import annotations

from collections.abc import Sequence

from closecall.errors import UsageError
from closecall.report.charts.history import RunPoint
from closecall.runs.record import Run


def run_points(runs: Sequence[Run], metric: str | None = None) -> tuple[list[RunPoint], str]:
    """Return a point a run, the oldest first, and what is drawn.

    With a metric: of the cases it measured and cut, how many passed. Without: of the cases that
    passed, failed or were left unsure, how many passed. Nothing that was not measured is in a
    rate.

    Raises
    ------
    UsageError
        A run has no such metric.
    """
    found = []
    for run in sorted(runs, key=lambda one: (one.header.started_at, one.header.run_id)):
        passed, measured = _counts(run, metric)
        day = run.header.started_at.partition("T")[0]
        told = f"{run.header.run_id}, {run.header.name}: {passed:,} of {measured:,} passed"
        found.append(RunPoint(day, passed, measured, told))
    return found, metric or "all metrics"


def _counts(run: Run, metric: str | None) -> tuple[int, int]:
    if metric is None:
        cases = run.cases
        return cases.passed, cases.passed + cases.failed + cases.inconclusive
    for summary in run.metrics:
        if summary.metric == metric:
            return summary.passed, summary.measured if summary.cutoff is not None else 0
    known = " or -m ".join(summary.metric for summary in run.metrics)
    raise UsageError(f"run {run.header.run_id} has no metric {metric!r}: -m {known}")

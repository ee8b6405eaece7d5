"""The run as CSV: one line a case and metric, for spreadsheets and data frames.

Texts of cases are left out; ids stay. A cell that a spreadsheet would run as a formula gets a
leading apostrophe.
"""

from __future__ import annotations

import csv
from typing import IO

from closecall.records import Measured
from closecall.report.words import visible
from closecall.runs.header import MetricPlan
from closecall.runs.record import Run
from closecall.runs.results import CaseResult, MetricResult

COLUMNS = (
    "id",
    "group",
    "label",
    "metric",
    "state",
    "value",
    "score",
    "similarity",
    "cutoff",
    "cutoff_source",
    "cutoff_note",
    "borderline",
    "tokens_seen",
    "tokens_total",
    "reason",
)
_FORMULA = ("=", "+", "-", "@", "\t", "\n", "\uff1d", "\uff0b", "\uff0d", "\uff20")
"""What starts a formula, full-width signs included; ``visible`` has spelt out the rest."""


def write(run: Run, out: IO[str]) -> None:
    """Write the table; an absence has empty number cells and a reason."""
    writer = csv.writer(out, lineterminator="\n")
    writer.writerow(COLUMNS)
    plans = {plan.id: plan for plan in run.header.metrics}
    for row in run:
        for result in row.results:
            writer.writerow(_line(row, result, plans[result.metric]))


def _line(row: CaseResult, result: MetricResult, plan: MetricPlan) -> list[object]:
    measured = result.measurement
    numbers: list[object] = ["", "", ""]
    tokens: list[object] = ["", ""]
    if isinstance(measured, Measured):
        numbers = [
            measured.value,
            "" if measured.score is None else measured.score,
            measured.similarity,
        ]
        if measured.tokens:
            counts = measured.tokens.values()
            tokens = [sum(t.seen for t in counts), sum(t.total for t in counts)]
    return [
        cell(row.case.id),
        cell(row.case.group or ""),
        row.case.label or "",
        cell(result.metric),
        result.state.value,
        *numbers,
        "" if result.cutoff is None else result.cutoff,
        plan.cutoff_source,
        cell(plan.cutoff_note),
        str(result.borderline).lower(),
        *tokens,
        cell(result.reason),
    ]


def cell(text: str) -> str:
    """Return a text for a cell: visible, and never taken for a formula by a spreadsheet."""
    shown = visible(text)
    return f"'{shown}" if shown.startswith(_FORMULA) else shown

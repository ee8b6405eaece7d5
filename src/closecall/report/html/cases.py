"""The section of the cases: the worst first as a table; scripts add all others and their texts."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any, NamedTuple

from closecall.metrics.cutoffs import shown
from closecall.records import Case, Measured
from closecall.report.html.worst_first import ORDER
from closecall.report.words import shorten
from closecall.report.worst import decimals
from closecall.runs.results import CaseResult, MetricResult

if TYPE_CHECKING:
    from closecall.report.html.page import Page

TEXT = 240
"""Characters of a text that stand in the table without scripts."""

ID = 60


class Row(NamedTuple):
    """A case as the table shows it; of several results those that are worst say why."""

    id: str
    state: str
    label: str
    values: tuple[str, ...]
    why: str
    input: str
    expected_name: str
    expected: str
    response: str


def context(page: Page) -> dict[str, Any]:
    """Return the first cases, worst first."""
    plans = page.run.header.metrics
    digits = [decimals(plan.high) for plan in plans]
    return {
        "metrics": [plan.id for plan in plans],
        "rows": [_row(row, digits) for _, row in page.worst],
        "total": len(page.columns),
        "content": page.run.header.content,
    }


def _row(row: CaseResult, digits: list[int]) -> Row:
    case = row.case
    name, expected = _expected(case)
    worst = min(row.deciding, key=lambda result: ORDER.index(result.state))
    return Row(
        id=shorten(case.id, ID),
        state=row.state.value,
        label=case.label or "",
        values=tuple(
            _value(result, places) for result, places in zip(row.results, digits, strict=True)
        ),
        why=shorten(worst.reason, TEXT),
        input=shorten(case.input or "", TEXT),
        expected_name=name,
        expected=shorten(expected, TEXT),
        response=shorten(case.response or "", TEXT),
    )


def _value(result: MetricResult, places: int) -> str:
    found = result.measurement
    return shown(found.value, result.cutoff, places) if isinstance(found, Measured) else "-"


def _expected(case: Case) -> tuple[str, str]:
    for name, texts in (("reference", case.references), ("context", case.context)):
        found = next((text for text in texts if text.strip()), None)
        if found is not None:
            return name, found
    return "reference", ""

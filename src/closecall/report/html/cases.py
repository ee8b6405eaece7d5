"""The section of the cases: the worst first as a table; scripts add all others and their texts."""

from __future__ import annotations

from collections.abc import Iterator
from typing import TYPE_CHECKING, Any, NamedTuple

from closecall.metrics.cutoffs import shown
from closecall.metrics.support.said import said
from closecall.records import Measured
from closecall.report.html.heat import LEAST, Marked, Piece, marked
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
    expected: Marked
    response: Marked
    said: tuple[str, ...]


def context(page: Page) -> dict[str, Any]:
    """Return the first cases, worst first."""
    plans = page.run.header.metrics
    digits = [decimals(plan.high) for plan in plans]
    rows = [_row(row, digits) for _, row in page.worst]
    return {
        "metrics": [plan.id for plan in plans],
        "rows": rows,
        "total": len(page.columns),
        "content": page.run.header.content,
        "heat": any(row.expected.lowest or row.response.lowest for row in rows),
        "least": LEAST,
    }


def _row(row: CaseResult, digits: list[int]) -> Row:
    case = row.case
    name, expected = _expected(row)
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
        expected=_text(row, name, expected),
        response=_text(row, "response", case.response or ""),
        said=tuple(_said(row)),
    )


def _said(row: CaseResult) -> Iterator[str]:
    """Yield what metrics say of a case besides their numbers."""
    for result in row.results:
        found = result.measurement
        for name, text in said(found.details) if isinstance(found, Measured) else ():
            yield shorten(f"{result.metric}, {name}: {text}", TEXT)


def _text(row: CaseResult, side: str, text: str) -> Marked:
    """Return a text as far as it is shown, with the match of each word where that is known."""
    plain = Marked((Piece(shorten(text, TEXT)),) if text else (), "")
    return marked(row, side, text, TEXT) or plain


def _value(result: MetricResult, places: int) -> str:
    found = result.measurement
    return shown(found.value, result.cutoff, places) if isinstance(found, Measured) else "-"


def _expected(row: CaseResult) -> tuple[str, str]:
    """Return the best reference, or the first passage where there is none."""
    case = row.case
    for name, texts in (("reference", case.references), ("context", case.context)):
        found = _best(row, texts) if name == "reference" else None
        found = found or next((text for text in texts if text.strip()), None)
        if found is not None:
            return name, found
    return "reference", ""


def _best(row: CaseResult, references: tuple[str, ...]) -> str | None:
    """Return the reference that a metric was nearest to, where one says so."""
    for result in row.results:
        found = result.measurement
        at = found.details.get("bestReference") if isinstance(found, Measured) else None
        if type(at) is int and 0 <= at < len(references):
            return references[at]
    return None

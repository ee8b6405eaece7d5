"""The section of the slices: one table a field, in words."""

from __future__ import annotations

from collections.abc import Sequence
from typing import NamedTuple
from urllib.parse import quote

from closecall.report.slice_words import COLUMNS, figures, left_out, uses_labels
from closecall.report.slices import Sliced, Slices

OPENED = 3
"""Tables that stand open; the others open when asked to."""


class Line(NamedTuple):
    """One value and one metric; ``link`` leads to the cases, empty after the first metric."""

    value: str
    link: str
    cases: str
    metric: str
    cells: tuple[str, ...]


class Table(NamedTuple):
    """One field."""

    field: str
    values: int
    absent: int
    lines: tuple[Line, ...]
    opened: bool


class Section(NamedTuple):
    """All of it; ``heads`` are those of the figures."""

    heads: tuple[str, ...]
    tables: tuple[Table, ...]
    notes: tuple[str, ...]


def section(found: Slices) -> Section | None:
    """Return the section; None where no field has a few values."""
    if not found.fields:
        return None
    labelled = uses_labels(found)
    return Section(
        heads=COLUMNS if labelled else COLUMNS[:-2],
        tables=tuple(
            _table(one, labelled=labelled, opened=at < OPENED)
            for at, one in enumerate(found.fields)
        ),
        notes=tuple(left_out(found)),
    )


def slice_name(field: str, value: str) -> str:
    """Return what the filter of the cases calls a slice."""
    return f"{field}: {value}"


def _table(one: Sliced, *, labelled: bool, opened: bool) -> Table:
    lines: list[Line] = []
    for part in one.slices:
        link = (
            f"#cases?slice={quote(slice_name(one.field, part.value), safe='', errors='replace')}"
        )
        for at, metric in enumerate(part.metrics):
            cells: Sequence[str] = figures(metric)
            lines.append(
                Line(
                    value="" if at else part.value,
                    link="" if at else link,
                    cases="" if at else f"{part.cases:,}",
                    metric=metric.metric,
                    cells=tuple(cells if labelled else cells[:-2]),
                )
            )
    return Table(one.field, len(one.slices), one.absent, tuple(lines), opened)

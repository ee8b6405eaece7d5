"""The lines of the history: a figure with its interval, run after run.

A line joins two runs only where the figure means the same in both.
"""

from __future__ import annotations

from collections.abc import Sequence
from typing import NamedTuple

from closecall.report.charts.chart import Axis, Chart, Dot, Dots, Line, Tick
from closecall.report.charts.history import HISTORY
from closecall.report.charts.scales import nice_axis, share_axis

MOST_TICKS = 8
MOST_WRITTEN = 16
"""Points beside which their n is still written."""


class Point(NamedTuple):
    """One run's figure: its place among the runs, from 0, its interval, and what is said of it.

    ``joined`` is whether a line leads here from the run before it that has a figure.
    """

    at: int
    value: float
    interval: tuple[float, float] | None
    n: int
    told: str
    joined: bool


def rate_chart(points: Sequence[Point], names: Sequence[str], of: str) -> Chart:
    """Return the pass rates; ``names`` are written below, one a run."""
    return _chart(
        f"Passed, share of measured: {of}",
        points,
        names,
        share_axis("passed, share of measured"),
        "passed, with 95% interval and n",
    )


def mean_chart(points: Sequence[Point], names: Sequence[str], of: str) -> Chart:
    """Return the means, on an axis that holds them and their intervals."""
    ends = [end for one in points for end in (one.value, *(one.interval or ()))]
    return _chart(
        f"Mean: {of}",
        points,
        names,
        nice_axis("mean", min(ends), max(ends), about=5),
        "mean, with 95% interval and n",
    )


def _chart(
    title: str, points: Sequence[Point], names: Sequence[str], y: Axis, series: str
) -> Chart:
    every = -(-len(names) // MOST_TICKS)
    ticks = tuple(Tick(at, name) for at, name in enumerate(names) if at % every == 0)
    dots = tuple(
        Dot(
            one.at,
            one.value,
            None,
            one.interval,
            one.told,
            f"{one.n:,}" if len(points) <= MOST_WRITTEN else "",
        )
        for one in points
    )
    return Chart(
        kind=HISTORY,
        title=title,
        told="; ".join(one.told for one in points[-20:]) + ".",
        x=Axis("run, the oldest first", -0.5, len(names) - 0.5, ticks),
        y=y,
        marks=(*_lines(points), Dots("one", series, dots)),
        height=280,
    )


def _lines(points: Sequence[Point]) -> tuple[Line, ...]:
    pieces: list[list[tuple[float, float]]] = []
    for one in points:
        if not one.joined or not pieces:
            pieces.append([])
        pieces[-1].append((one.at, one.value))
    return tuple(Line("one", "", tuple(piece)) for piece in pieces if len(piece) > 1)

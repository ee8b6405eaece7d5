"""How often cases passed, run after run."""

from __future__ import annotations

from collections.abc import Sequence
from typing import NamedTuple

from closecall.report.charts.chart import Axis, Chart, Dot, Dots, Drawn, Line, NoChart, Tick
from closecall.report.charts.labelled import titled
from closecall.report.charts.scales import share_axis
from closecall.report.words import shorten

HISTORY = "history"
MOST_NAMES = 8

LEVEL = 0.95


class RunPoint(NamedTuple):
    """One run: ``passed`` of ``measured`` cases; ``name`` is written below it."""

    name: str
    passed: int
    measured: int
    told: str = ""


def history(runs: Sequence[RunPoint], *, of: str = "") -> Drawn:
    """Return the pass rate with its 95% interval over runs, in the order given.

    A run in which nothing was measured has no rate: it keeps its place and gets no point.

    Parameters
    ----------
    runs
        The oldest first.
    of
        What was scored, for the title.
    """
    from closecall.calibration.binomial import clopper_pearson

    title = titled("Passed of measured, run after run", of)
    if not runs:
        return NoChart(HISTORY, title, "There is no run to draw.")
    if not any(run.measured for run in runs):
        return NoChart(HISTORY, title, "In none of these runs was anything measured.")
    dots, told = [], []
    for at, run in enumerate(runs):
        if not run.measured:
            told.append(f"{run.name}: nothing measured")
            continue
        ends = clopper_pearson(run.passed, run.measured, LEVEL)
        said = f"{run.name}: {run.passed:,} of {run.measured:,} passed"
        told.append(said)
        dots.append(
            Dot(
                at,
                run.passed / run.measured,
                None,
                (ends.low, ends.high),
                run.told or said,
                f"{run.measured:,}" if len(runs) <= 2 * MOST_NAMES else "",
            )
        )
    every = -(-len(runs) // MOST_NAMES)
    ticks = tuple(
        Tick(at, shorten(run.name, 12)) for at, run in enumerate(runs) if at % every == 0
    )
    counted = [run.measured for run in runs if run.measured]
    least, most, none = min(counted), max(counted), len(runs) - len(counted)
    return Chart(
        kind=HISTORY,
        title=title,
        told="; ".join(told[-20:]) + ".",
        x=Axis("run, the oldest first", -0.5, len(runs) - 0.5, ticks),
        y=share_axis("passed, share of measured"),
        marks=(
            *_pieces(runs),
            Dots("one", "passed of measured, with 95% interval and n", tuple(dots)),
        ),
        notes=(
            f"{len(runs):,} runs, n = {least:,}"
            + (f" to {most:,}" if most > least else "")
            + " measured cases each"
            + (f" and {none:,} without any" if none else "")
            + "; intervals treat cases as independent",
        ),
    )


def _pieces(runs: Sequence[RunPoint]) -> tuple[Line, ...]:
    """Return a line through neighbouring rates; a run without one breaks it."""
    pieces: list[list[tuple[float, float]]] = [[]]
    for at, run in enumerate(runs):
        if run.measured:
            pieces[-1].append((at, run.passed / run.measured))
        elif pieces[-1]:
            pieces.append([])
    return tuple(Line("one", "", tuple(piece)) for piece in pieces if len(piece) > 1)

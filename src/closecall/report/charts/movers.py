"""The cases whose score moved most from one run to another."""

from __future__ import annotations

from collections.abc import Sequence
from typing import NamedTuple

from closecall.report.charts.chart import Axis, Box, Boxes, Chart, Drawn, NoChart, Rule, Tick
from closecall.report.charts.labelled import titled
from closecall.report.charts.scales import nice_axis
from closecall.report.words import shorten

MOVERS = "movers"
NAMED = 18
_ROW = 22
_FRAME = 110


class Moved(NamedTuple):
    """A case with its score in the first and in the second run."""

    name: str
    before: float
    after: float


def movers(
    moved: Sequence[Moved], *, of_n: int, score: str = "score", of: str = "", most: int = 20
) -> Drawn:
    """Return bars from 0 to the change, the largest first; equal ones by name.

    Parameters
    ----------
    moved
        Cases measured in both runs.
    of_n
        How many cases were compared in all.
    score
        What the scores are, for the axis.
    of
        What was scored, for the title.
    most
        How many bars at most.
    """
    title = titled("Cases that moved most", of)
    changed = [one for one in moved if one.after != one.before]
    if not changed:
        return NoChart(
            MOVERS, title, f"Of {of_n:,} cases measured in both runs none has another score."
        )
    changed.sort(key=lambda one: (-abs(one.after - one.before), one.name))
    shown = changed[:most]
    changes = [one.after - one.before for one in shown]

    def boxes(sign: int) -> tuple[Box, ...]:
        return tuple(
            Box(
                0,
                change,
                len(shown) - at - 0.82,
                len(shown) - at - 0.18,
                f"{shorten(one.name, 60)}: {one.before:.6g} before, {one.after:.6g} after",
            )
            for at, (one, change) in enumerate(zip(shown, changes, strict=True))
            if change * sign > 0
        )

    series = (
        Boxes("accept", "higher than before", boxes(1)),
        Boxes("reject", "lower than before", boxes(-1)),
    )
    ticks = tuple(
        Tick(len(shown) - at - 0.5, shorten(one.name, NAMED)) for at, one in enumerate(shown)
    )
    return Chart(
        kind=MOVERS,
        title=title,
        told="; ".join(
            f"{shorten(one.name, 60)} {one.before:.4g} to {one.after:.4g}" for one in shown
        )
        + ".",
        x=nice_axis(f"change of the {score}", min(0.0, *changes), max(0.0, *changes), about=6),
        y=Axis("", 0, len(shown), ticks),
        marks=(*(mark for mark in series if mark.boxes), Rule("guide", "x", 0.0, "")),
        notes=(
            f"the {len(shown):,} largest of {len(changed):,} changes, n = {of_n:,} cases compared",
        ),
        height=_FRAME + _ROW * len(shown),
    )

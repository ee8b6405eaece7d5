"""What is drawn, before anybody draws it: axes and marks in the units of the data.

Frozen records of plain numbers and texts. An axis is linear in its positions; where a scale bends
(the normal deviates of a DET curve), positions and ticks are bent already.
"""

from __future__ import annotations

from typing import Literal, NamedTuple, TypeAlias

Look: TypeAlias = Literal["accept", "reject", "one", "other", "limit", "guide"]
"""What a mark stands for, which decides how it looks: answers a person accepts or rejects, the
foremost or another series, a cutoff or a limit, a line to compare with."""


class Tick(NamedTuple):
    """A place on an axis and what is written there."""

    at: float
    text: str


class Axis(NamedTuple):
    """An axis from ``low`` to ``high``; ``label`` names the quantity with its unit."""

    label: str
    low: float
    high: float
    ticks: tuple[Tick, ...]

    def place(self, value: float) -> float:
        """Return where a value lies, from 0 at the low end to 1 at the high end."""
        return (value - self.low) / (self.high - self.low)

    def holds(self, value: float) -> bool:
        """Whether a value lies on the axis."""
        return self.low <= value <= self.high


class Box(NamedTuple):
    """A filled rectangle; ``told`` is what it says when pointed at."""

    x0: float
    x1: float
    y0: float
    y1: float
    told: str = ""


class Boxes(NamedTuple):
    """Rectangles of one series; ``name`` goes to the legend, none where it is empty."""

    look: Look
    name: str
    boxes: tuple[Box, ...]


class Line(NamedTuple):
    """A line through points; ``stairs`` marks one whose corners matter more than its slopes."""

    look: Look
    name: str
    points: tuple[tuple[float, float], ...]
    stairs: bool = False


class Dot(NamedTuple):
    """A point with the ends of its intervals, None where it has none."""

    x: float
    y: float
    x_range: tuple[float, float] | None = None
    y_range: tuple[float, float] | None = None
    told: str = ""
    written: str = ""


class Dots(NamedTuple):
    """Points of one series."""

    look: Look
    name: str
    dots: tuple[Dot, ...]


class Rule(NamedTuple):
    """A straight line across the chart at a place of one axis, with what stands beside it."""

    look: Look
    axis: Literal["x", "y"]
    at: float
    written: str


Mark: TypeAlias = Boxes | Line | Dots | Rule


class Chart(NamedTuple):
    """A picture: ``title`` and ``told`` are what a screen reader says, ``notes`` stand below."""

    kind: str
    title: str
    told: str
    x: Axis
    y: Axis
    marks: tuple[Mark, ...]
    notes: tuple[str, ...] = ()
    height: int = 340


class NoChart(NamedTuple):
    """Why there is nothing to draw, in a sentence."""

    kind: str
    title: str
    sentence: str


Drawn: TypeAlias = Chart | NoChart


class At(NamedTuple):
    """A cutoff to be shown: its value and what to call it."""

    value: float
    name: str

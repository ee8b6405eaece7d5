"""Axes with round numbers on them."""

from __future__ import annotations

import math
from collections.abc import Sequence
from statistics import NormalDist

from closecall.report.charts.chart import Axis, Tick

_STEPS = (1, 2, 5, 10)
_MOST_DEVIATES = 13
_RATES = (
    0.0001, 0.001, 0.01, 0.02, 0.05, 0.1, 0.2, 0.3, 0.5, 0.7, 0.8, 0.9, 0.95, 0.98, 0.99, 0.999,
    0.9999,
)  # fmt: skip


def nice_step(width: float, about: int, *, whole: bool = False) -> float:
    """Return the round step, 1, 2 or 5 times a power of ten, that gives about so many parts."""
    if not (math.isfinite(width) and width > 0):
        return 1.0
    raw = width / about
    power = 10.0 ** math.floor(math.log10(raw))
    step = next(step * power for step in _STEPS if step * power >= raw * (1 - 1e-9))
    return max(step, 1.0) if whole else step


def nice_axis(
    label: str, low: float, high: float, *, about: int = 6, whole: bool = False, pad: bool = True
) -> Axis:
    """Return an axis that holds ``low`` to ``high``, with ticks at round numbers.

    Parameters
    ----------
    label
        The quantity with its unit.
    low, high
        The least and the greatest value; equal ones are given room on both sides.
    about
        How many ticks are wished for.
    whole
        Ticks only at whole numbers: the axis counts something.
    pad
        False ends the axis at ``low`` and ``high`` instead of at the next ticks.
    """
    if not high > low:
        room = max(abs(low) * 0.05, 0.5 if whole else 0.05)
        low, high = low - room, high + room
    step = nice_step(high - low, about, whole=whole)
    first, last = math.floor(low / step + 1e-9), math.ceil(high / step - 1e-9)
    if not pad:
        first, last = math.ceil(low / step - 1e-9), math.floor(high / step + 1e-9)
    ticks = tuple(Tick(at * step, tick_text(at * step, step)) for at in range(first, last + 1))
    return Axis(label, first * step if pad else low, last * step if pad else high, ticks)


def score_axis(label: str, values: Sequence[float]) -> Axis:
    """Return an axis from the least to the greatest of some scores, with a little room."""
    low, high = min(values), max(values)
    room = (high - low) / 50 if high > low else max(abs(low) * 0.05, 0.05)
    return nice_axis(label, low - room, high + room, about=7, pad=False)


def tick_text(value: float, step: float) -> str:
    """Return a tick's number, with the decimals that its step has and no minus before a zero.

    >>> tick_text(0.30000000000000004, 0.1), tick_text(1500, 500), tick_text(-0.0, 0.5)
    ('0.3', '1,500', '0.0')
    """
    places = max(0, -math.floor(math.log10(step) + 1e-9))
    return f"{round(value, places) + 0.0:,.{places}f}"


def share_axis(label: str, high: float = 1.0) -> Axis:
    """Return an axis of shares from 0 to ``high`` or a little more, its ticks in percent."""
    made = nice_axis(label, 0.0, high, about=5)
    step = made.ticks[1].at - made.ticks[0].at
    ticks = tuple(Tick(tick.at, f"{tick_text(100 * tick.at, 100 * step)}%") for tick in made.ticks)
    return made._replace(ticks=ticks, high=max(made.high, high))


def deviate(rate: float) -> float:
    """Return the standard normal deviate of a rate between 0 and 1, ends excluded."""
    return NormalDist().inv_cdf(rate)


def deviate_axis(label: str, low: float, high: float) -> Axis:
    """Return an axis of normal deviates with ticks in percent, from a rate to another.

    It ends at the ticks around both rates, which lie between 0 and 1.
    """
    below = [at for at, rate in enumerate(_RATES) if rate <= low]
    above = [at for at, rate in enumerate(_RATES) if rate >= high]
    first = below[-1] if below else 0
    last = above[0] if above else len(_RATES) - 1
    if first == last:
        first, last = max(0, first - 1), min(len(_RATES) - 1, last + 1)
    shown = _RATES[first : last + 1]
    ends = deviate(shown[0]), deviate(shown[-1])
    ticks: list[Tick] = []
    for rate in shown:
        at = deviate(rate)
        if not ticks or at - ticks[-1].at >= (ends[1] - ends[0]) / _MOST_DEVIATES:
            ticks.append(Tick(at, f"{100 * rate:.10g}%"))
    return Axis(label, *ends, tuple(ticks))

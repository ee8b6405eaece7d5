"""The number that a gate asks for, with its interval, from what a tally counted."""

from __future__ import annotations

import math
from fractions import Fraction
from typing import NamedTuple, TypeAlias

import numpy as np

from closecall.calibration.groups import rate_of_groups
from closecall.calibration.inputs import Floats, Ints
from closecall.calibration.records import Interval
from closecall.gates.intervals import mean_of_groups, quantile_interval, quantile_of
from closecall.gates.tally import GateTally

LEVEL = 0.95
"""Of every interval; a gate that is ``surely`` so errs on each side 2.5 % of the time at most."""

DECIMALS = 10
"""Decimals of a mean that are compared: beyond them are the last digits of adding up."""

_HALF = 0.5
_PERCENT = 100

Number: TypeAlias = Fraction | float


class Found(NamedTuple):
    """The value a gate asks for, its interval where it has one, and the count behind a rate."""

    value: Number
    interval: Interval | None = None
    hits: int | None = None


def found_of(tally: GateTally, fill: int | None) -> Found:
    """Return the value over what was measured, or with all absences at one end (0 low, 1 high).

    On a scale without such an end the value may be infinite; it then only serves to compare.
    """
    if tally.kind == "measured":
        return Found(tally.measured)
    if tally.kind == "mean":
        return _mean(tally, fill)
    if tally.kind in {"quantile", "extreme"}:
        return _ordered(tally, fill)
    sizes, sums, absent = arrays(tally, fill)
    hits = sums.astype(np.int64) + (absent if fill else 0)
    if tally.kind in {"count", "every"}:
        return Found(int(hits.sum()))
    rate = rate_of_groups(sizes if fill is None else sizes + absent, hits, LEVEL)
    if rate is None:
        raise TypeError("a rate has cases")
    upper = tally.kind == "upper"
    value = rate.interval.high if upper else Fraction(rate.count, rate.n)
    return Found(value, rate.interval, rate.count)


def arrays(tally: GateTally, fill: int | None) -> tuple[Ints, Floats, Ints]:
    """Return sizes, sums and absences of the groups; without ``fill`` of those measured only."""
    sizes = np.array(tally.sizes, dtype=np.int64)
    absent = np.array(tally.absences, dtype=np.int64)
    there = sizes > 0 if fill is None else sizes + absent > 0
    return sizes[there], np.array(tally.sums)[there], absent[there]


def _mean(tally: GateTally, fill: int | None) -> Found:
    sizes, sums, absent = arrays(tally, fill)
    if fill is not None:
        end = _end(tally, fill)
        if math.isinf(end):
            return Found(end)
        sizes, sums = sizes + absent, sums + absent * end
    interval = mean_of_groups(sizes, sums, low=tally.plan.low, high=tally.plan.high, level=LEVEL)
    return Found(round(math.fsum(sums) / int(sizes.sum()), DECIMALS), interval)


def _ordered(tally: GateTally, fill: int | None) -> Found:
    sizes, _, absent = arrays(tally, fill)
    values = list(tally.values)
    if fill is not None:
        values += [_end(tally, fill)] * tally.absent
        sizes = sizes + absent
    values.sort()
    name = tally.gate.aggregate
    if tally.kind == "extreme":
        return Found(values[0] if name == "min" else values[-1])
    share = _HALF if name == "median" else int(name[1:]) / _PERCENT
    interval = quantile_interval(values, sizes, share, LEVEL)
    if interval is not None and not all(map(math.isfinite, (interval.low, interval.high))):
        interval = None
    return Found(round(quantile_of(values, share), DECIMALS), interval)


def _end(tally: GateTally, fill: int) -> float:
    end = tally.plan.high if fill else tally.plan.low
    if end is None:
        return math.inf if fill else -math.inf
    return end

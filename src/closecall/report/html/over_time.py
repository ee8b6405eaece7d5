"""Pass rates and means of every metric in one run, with intervals over its groups."""

from __future__ import annotations

import math
from array import array
from collections.abc import Iterable, Iterator
from typing import NamedTuple

from closecall.calibration.records import Interval, Rate
from closecall.records import Measured, State
from closecall.report.html.columns import STATES, Columns
from closecall.report.slices import hash_of
from closecall.runs.header import RunHeader
from closecall.runs.record import Run
from closecall.runs.results import CaseResult
from closecall.runs.summary import CASCADE

LEVEL = 0.95

DECIMALS = 10
"""Decimals of a mean: beyond them are the last digits of adding up."""


class Figures(NamedTuple):
    """One metric in one run.

    ``passed`` counts the measured cases that passed; None where there is no cutoff or nothing was
    measured. ``mean`` is over the ``measured`` cases, None of none or of a cascade as a whole;
    ``interval`` is its interval, None where there is none to be had.
    """

    asked: int
    measured: int
    passed: Rate | None
    mean: float | None
    interval: Interval | None


class _Tally:
    """Adds up one metric by group."""

    def __init__(self) -> None:
        self.numbers: dict[int, int] = {}
        self.sizes, self.passed, self.sums = array("q"), array("q"), array("d")
        self.asked = 0

    def add(self, unit: int, state: State, value: float | None) -> None:
        """Count one result."""
        self.asked += state is not State.NOT_APPLICABLE
        if not state.measured:
            return
        at = self.numbers.setdefault(unit, len(self.numbers))
        if at == len(self.sizes):
            self.sizes.append(0)
            self.passed.append(0)
            self.sums.append(0.0)
        self.sizes[at] += 1
        self.passed[at] += state is State.PASSED
        self.sums[at] += 0.0 if value is None else value


def figures_of(run: Run, columns: Columns | None = None) -> dict[str, Figures]:
    """Return the figures of each metric, and of the cascade where there is one, by name.

    One pass over the cases of the run, unless its ``columns`` are given.
    """
    header = run.header
    names = [plan.id for plan in header.metrics]
    tallies = [_Tally() for _ in (*names, CASCADE)]
    for unit, states, values in _rows(run) if columns is None else _column_rows(columns):
        for tally, state, value in zip(tallies, states, values, strict=True):
            tally.add(unit, state, value)
    found = {
        name: _figures(tally, header, name) for name, tally in zip(names, tallies, strict=False)
    }
    if header.cascade:
        found[CASCADE] = _figures(tallies[-1], header, CASCADE)
    return found


_Row = tuple[int, list[State], list[float | None]]


def _rows(rows: Iterable[CaseResult]) -> Iterator[_Row]:
    for row in rows:
        states = [*(result.state for result in row.results), row.state]
        values = [
            result.measurement.value if isinstance(result.measurement, Measured) else None
            for result in row.results
        ]
        yield hash_of(row.case), states, [*values, None]


def _column_rows(columns: Columns) -> Iterator[_Row]:
    for at, unit in enumerate(columns.units):
        codes = [*(one.states[at] for one in columns.metrics), columns.states[at]]
        values = [one.values[at] for one in columns.metrics]
        yield unit, [STATES[code] for code in codes], [*values, None]


def _figures(tally: _Tally, header: RunHeader, name: str) -> Figures:
    import numpy as np

    from closecall.calibration.groups import rate_of_groups
    from closecall.gates.intervals import mean_of_groups

    plan = next((plan for plan in header.metrics if plan.id == name), None)
    measured = sum(tally.sizes)
    if not measured:
        return Figures(tally.asked, 0, None, None, None)
    sizes, passed = (np.array(one, dtype=np.int64) for one in (tally.sizes, tally.passed))
    sums = np.array(tally.sums, dtype=np.float64)
    if plan is None:
        return Figures(tally.asked, measured, rate_of_groups(sizes, passed, LEVEL), None, None)
    return Figures(
        asked=tally.asked,
        measured=measured,
        passed=rate_of_groups(sizes, passed, LEVEL) if plan.cutoff is not None else None,
        mean=round(math.fsum(tally.sums) / measured, DECIMALS),
        interval=mean_of_groups(sizes, sums, low=plan.low, high=plan.high, level=LEVEL),
    )

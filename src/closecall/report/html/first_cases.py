"""The few cases that an overview names, met on the way, so that no pass is made to find them."""

from __future__ import annotations

import dataclasses

from closecall.records import Unmeasured
from closecall.report.nearest_labelled import nearest_of
from closecall.report.overview import MAX_REASONS, NAMED_CASES, WORST
from closecall.runs.record import Run
from closecall.runs.results import CaseResult


class FirstCases:
    """Keeps the first cases of each reason for an absence, held back by guards, and unsure.

    An overview of a run of these cases alone names the same as one of the whole run.
    """

    def __init__(self, run: Run) -> None:
        self._run = run
        self._kept: list[CaseResult] = []
        self._absent = {
            (summary.metric, reason): NAMED_CASES
            for summary in run.metrics
            for reason in list(summary.absent)[:MAX_REASONS]
        }
        self._held = WORST
        self._unsure = WORST

    def add(self, row: CaseResult) -> None:
        """Look at the next case."""
        wanted = False
        for result in row.results:
            if isinstance(result.measurement, Unmeasured):
                key = (result.metric, result.measurement.cause)
                if self._absent.get(key):
                    self._absent[key] -= 1
                    wanted = True
        if self._held and any(result.held for result in row.results):
            self._held -= 1
            wanted = True
        if self._unsure and nearest_of(row):
            self._unsure -= 1
            wanted = True
        if wanted:
            self._kept.append(row)

    def run(self) -> Run:
        """Return the run with its counts and with these cases alone."""
        return dataclasses.replace(self._run, _rows=lambda: iter(self._kept))

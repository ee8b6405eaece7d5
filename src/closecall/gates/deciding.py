"""Gates that count while a run goes on, and decide it before its folder is closed."""

from __future__ import annotations

import dataclasses
from collections.abc import Iterable

from closecall.gates.evaluate import GateKeeper, gates_exit
from closecall.runs.gate_rule import Gate
from closecall.runs.header import RunHeader
from closecall.runs.record import Run
from closecall.runs.results import CaseResult


class LaterGates:
    """Gates of a shard: held against its header, noted of each case, decided when it is merged."""

    def __init__(self, gates: Iterable[Gate | str], header: RunHeader) -> None:
        self._keeper = GateKeeper(gates, header.metrics, cascade=header.cascade)

    def __call__(self, rows: list[CaseResult]) -> None:
        """Count nothing."""

    def note(self, row: CaseResult) -> list[bool] | None:
        """Return which gates are about a case; None where all are about all."""
        return self._keeper.note(row)

    def take(self, row: CaseResult, note: list[bool] | None) -> None:
        """Count nothing."""


class DecidingGates:
    """What the ``watch`` of ``evaluate`` returns for gates; see ``runs.gate_lines.Deciding``.

    Parameters
    ----------
    gates
        Records, or rules as text.
    header
        Of the run.

    Raises
    ------
    UsageError
        As ``GateKeeper``: before the first case.
    """

    def __init__(self, gates: Iterable[Gate | str], header: RunHeader) -> None:
        self._keeper = GateKeeper(gates, header.metrics, cascade=header.cascade)

    def __call__(self, rows: list[CaseResult]) -> None:
        """Count a batch of decided cases."""
        self._keeper.add(rows)

    def note(self, row: CaseResult) -> list[bool] | None:
        """Return which gates are about a case; None where all are about all."""
        return self._keeper.note(row)

    def take(self, row: CaseResult, note: list[bool] | None) -> None:
        """Count a case by what was noted of it."""
        self._keeper.take(row, note)

    def decide(self, run: Run) -> Run:
        """Return the run with what became of its gates, and the exit code they give."""
        results = self._keeper.results()
        return dataclasses.replace(run, gates=results, gates_code=gates_exit(results, run))

"""Gates that count while a run goes on, and decide it before its folder is closed."""

from __future__ import annotations

import dataclasses
from collections.abc import Iterable

from closecall.errors import UsageError
from closecall.gates.evaluate import GateKeeper, gates_exit
from closecall.gates.kept import filters_of, kept_gates
from closecall.runs.gate_rule import Gate
from closecall.runs.header import RunHeader
from closecall.runs.record import Run
from closecall.runs.results import CaseResult


class LaterGates:
    """Gates of a shard: held against its header, noted of each case, decided when it is merged.

    Raises
    ------
    UsageError
        As ``GateKeeper``; or the run was begun with gates about other cases, and what was noted
        of its first cases would be taken for these.
    """

    def __init__(self, gates: Iterable[Gate | str], header: RunHeader) -> None:
        self._keeper = GateKeeper(gates, header.metrics, cascade=header.cascade)
        require_noted(self._keeper, header)

    def __call__(self, rows: list[CaseResult]) -> None:
        """Count nothing."""

    def note(self, row: CaseResult) -> list[bool] | None:
        """Return which gates are about a case; None where all are about all."""
        return self._keeper.note(row)

    def take(self, row: CaseResult, note: list[bool] | None) -> None:
        """Count nothing."""


def require_noted(keeper: GateKeeper, header: RunHeader) -> None:
    """Refuse gates that ask otherwise which cases they are about than those a run keeps.

    Raises
    ------
    UsageError
        Names the rules it was begun with.
    """
    begun = kept_gates(header.asked)
    if begun is not None and filters_of(begun) != keeper.filters:
        rules = ", ".join(repr(one.rule) for one in begun) or "none"
        raise UsageError(
            f"run {header.run_id} was begun with other gates ({rules:.400}), and notes of each "
            "case which of them are about it. Go on without --gate; other gates are held against "
            "the run once it is whole: closecall eval --resume RUN --gate RULE"
        )


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

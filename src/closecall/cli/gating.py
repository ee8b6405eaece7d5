"""Gates given on the command line or found in a file, held against a run as it goes on."""

from __future__ import annotations

import dataclasses
from collections.abc import Callable, Mapping, Sequence
from pathlib import Path
from typing import TYPE_CHECKING, Any

if TYPE_CHECKING:
    from closecall.gates.evaluate import GateKeeper
    from closecall.gates.rule import Gate
    from closecall.runs.header import RunHeader
    from closecall.runs.record import Run
    from closecall.runs.results import CaseResult


def wanted_gates(rules: Sequence[str], *, surely: bool, found: bool = True) -> list[Gate]:
    """Return the gates that were typed, else those of closecall.toml or pyproject.toml.

    With ``surely`` each that has an interval must hold at its far end. ``found`` False looks for
    no file.
    """
    from closecall.gates.config import find_gates

    if rules:
        return [_gate(rule, surely=surely) for rule in rules]
    return find_gates(Path.cwd()) if found else []


def kept_gates(kept: Mapping[str, Any]) -> list[Gate] | None:
    """Return the gates that a run was begun with; None where its header keeps none."""
    if "gates" not in kept:
        return None
    from closecall.gates.parsing import parse_gate

    return [
        parse_gate(one["rule"], name=one["name"], place="the run's header")
        for one in kept["gates"]
    ]


def keeping(gates: Sequence[Gate]) -> list[dict[str, Any]]:
    """Return gates as a run's header keeps them."""
    return [{"rule": one.rule, "name": one.name} for one in gates]


def _gate(rule: str, *, surely: bool) -> Gate:
    from closecall.errors import UsageError
    from closecall.gates.parsing import parse_gate

    if surely:
        try:
            return parse_gate(rule, surely=True, place="--gate")
        except UsageError:
            pass  # a count has no interval; whatever else is wrong is said below
    return parse_gate(rule, place="--gate")


class GateWatch:
    """What ``evaluate`` calls for each batch, and what the gates come to at its end."""

    def __init__(self, gates: Sequence[Gate]) -> None:
        self._gates = gates
        self._keeper: GateKeeper | None = None

    def __call__(self, header: RunHeader) -> Callable[[list[CaseResult]], None]:
        """Begin with a run; a gate that does not fit it is refused here, before the first case."""
        from closecall.gates.evaluate import GateKeeper

        self._keeper = GateKeeper(self._gates, header.metrics, cascade=header.cascade)
        return self._keeper.add

    def decided(self, run: Run) -> Run:
        """Return the run with what became of its gates, and the exit code they give."""
        from closecall.gates.evaluate import evaluate_gates, gates_exit

        # A run that had ended already was not watched.
        keeper = self._keeper
        results = evaluate_gates(run, self._gates) if keeper is None else keeper.results()
        return dataclasses.replace(run, gates=results, gates_code=gates_exit(results, run))

"""Gates given on the command line or found in a file, held against a run as it goes on."""

from __future__ import annotations

import dataclasses
from collections.abc import Callable, Mapping, Sequence
from pathlib import Path
from typing import TYPE_CHECKING, Any

if TYPE_CHECKING:
    from closecall.gates.deciding import DecidingGates, LaterGates
    from closecall.runs.gate_rule import Gate
    from closecall.runs.header import RunHeader
    from closecall.runs.record import Run


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
    """Return the gates that a run was begun with; None where its header keeps none.

    Raises
    ------
    RunFolderError
        The header has something else in their place.
    """
    if "gates" not in kept:
        return None
    from closecall.gates import kept as header

    return header.kept_gates(kept)


def require_verdicts(gates: Sequence[Gate]) -> None:
    """Refuse gates on scores beside scores in 8 bits; those on verdicts stay what they are."""
    from closecall.errors import UsageError

    on_scores = [one.rule for one in gates if one.kind in _ON_SCORES or one.test is not None]
    if on_scores:
        raise UsageError(
            "--fast keeps verdicts and not every score, so it goes with gates on verdicts such as "
            f"pass_rate, not with {on_scores[0]!r}"
        )


_ON_SCORES = frozenset({"mean", "quantile", "extreme"})


def keeping(gates: Sequence[Gate]) -> list[dict[str, Any]]:
    """Return gates as a run's header keeps them, each with where it was written."""
    from closecall.gates import kept as header

    return header.keeping(gates)


def _gate(rule: str, *, surely: bool) -> Gate:
    from closecall.errors import UsageError
    from closecall.gates.parsing import parse_gate

    if surely:
        try:
            return parse_gate(rule, surely=True, place="--gate")
        except UsageError:
            pass  # a count has no interval; whatever else is wrong is said below
    return parse_gate(rule, place="--gate")


class ShardGates:
    """Gates of a shard: held against its header, and decided when the shards are merged."""

    def __init__(self, gates: Sequence[Gate]) -> None:
        self._gates = gates

    def __call__(self, header: RunHeader) -> LaterGates:
        """Begin with a shard; a gate that does not fit it is refused before the first case."""
        from closecall.gates.deciding import LaterGates

        return LaterGates(self._gates, header)


class GateWatch:
    """What ``evaluate`` calls with its header; what it then calls for each batch and at the end.

    ``typed`` says that the gates were given for this very call, and are not those kept with a run.
    """

    def __init__(self, gates: Sequence[Gate], *, typed: bool = False) -> None:
        self._gates = gates
        self._typed = typed
        self._began = False

    def __call__(self, header: RunHeader) -> DecidingGates:
        """Begin with a run; a gate that does not fit it is refused here, before the first case."""
        from closecall.gates.deciding import DecidingGates

        self._began = True
        return DecidingGates(self._gates, header)

    def decided(self, run: Run, on_notice: Callable[[str], None] | None = None) -> Run:
        """Return the run with its gates' results and the exit code they give.

        A run that was watched is decided already. Of one that had ended before, what its folder
        holds stands, unless other gates are typed now: a closed folder does not change, so these
        decide this call alone.
        """
        if self._began:
            return run
        kept = [one.gate.rule for one in run.gates]
        if run.gates_code is not None and not self._typed:
            return run
        if kept == [gate.rule for gate in self._gates]:
            return run
        if run.gates_code is not None and on_notice is not None:
            on_notice(
                f"{run.place}: the gates typed now decide this report alone; the folder keeps "
                "the decision it was closed with"
            )
        from closecall.gates.evaluate import evaluate_gates, gates_exit

        run = dataclasses.replace(run, gates=(), gates_code=None)
        results = evaluate_gates(run, self._gates)
        return dataclasses.replace(run, gates=results, gates_code=gates_exit(results, run))

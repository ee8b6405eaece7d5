"""Gates on a run: all of them in one pass, and the exit code they make."""

from __future__ import annotations

from collections.abc import Iterable, Iterator, Sequence

from closecall.errors import UsageError
from closecall.gates.kept import filters_of
from closecall.gates.parsing import parse_gate
from closecall.gates.tally import GateTally, Groups, Kept
from closecall.gates.verdict import verdict
from closecall.metrics.cutoffs import PERCENT
from closecall.runs.gate_results import GateResult, GateState
from closecall.runs.gate_rule import CASCADE, Gate, Op, compares, spelt
from closecall.runs.header import MetricPlan
from closecall.runs.record import EXIT_UNCALIBRATED, Run
from closecall.runs.results import CaseResult
from closecall.runs.summary import EXIT_FAILED, EXIT_PASSED, EXIT_UNMEASURED

MAX_GATES = 100
ALL_KEPT = Kept()


class GateKeeper:
    """Evaluates gates while a run goes on, or afterwards.

    Parameters
    ----------
    gates
        Records, or rules as text.
    plans
        The metrics of the run, in the order of each case's results.
    cascade
        Whether the run is a cascade.
    kept
        What the cases that will come still carry.

    Raises
    ------
    UsageError
        A gate names a metric that the run has not, counts verdicts of one without a cutoff, or
        has a limit off the metric's scale: found before the first case.
    """

    def __init__(
        self,
        gates: Iterable[Gate | str],
        plans: Sequence[MetricPlan],
        *,
        cascade: bool = False,
        kept: Kept = ALL_KEPT,
    ) -> None:
        made = [parse_gate(gate) if isinstance(gate, str) else gate for gate in gates]
        if len(made) > MAX_GATES:
            raise UsageError(f"a run has at most {MAX_GATES} gates, got {len(made)}")
        self._groups = Groups(kept)
        self._tallies = [_tally(gate, plans, self._groups, cascade=cascade) for gate in made]
        self.filters = filters_of(made)

    def add(self, rows: Iterable[CaseResult]) -> None:
        """Count these cases."""
        for row in rows:
            group = self._groups.number(row.case)
            for tally in self._tallies:
                tally.add(row, group)

    def note(self, row: CaseResult) -> list[bool] | None:
        """Return which gates are about a case; None where all are about all."""
        if self.filters is None:
            return None
        return [tally.matches(row.case) for tally in self._tallies]

    def take(self, row: CaseResult, note: list[bool] | None) -> None:
        """Count a case by what was noted of it.

        Raises
        ------
        ValueError
            The note is none of these gates.
        """
        if note is None and self.filters is not None:
            raise ValueError(
                "it does not say which of the gates it is about; it was measured without them"
            )
        about = [True] * len(self._tallies) if note is None else note
        group = self._groups.number(row.case)
        for tally, own in zip(self._tallies, about, strict=True):
            tally.add(row, group, matches=own)

    def results(self) -> tuple[GateResult, ...]:
        """Return what became of each gate, in the order given."""
        return tuple(verdict(tally) for tally in self._tallies)


def evaluate_gates(run: Run, gates: Iterable[Gate | str]) -> tuple[GateResult, ...]:
    """Return what became of each gate on a run, in the order given; one pass over the cases.

    Raises
    ------
    UsageError
        As ``GateKeeper``; a gate that the run cannot answer for want of data is *not measured*.
    """
    header = run.header
    kept = Kept(content=header.content or run.folder is None, metadata=run.folder is None)
    keeper = GateKeeper(gates, header.metrics, cascade=header.cascade, kept=kept)
    keeper.add(run)
    return keeper.results()


def gates_exit(results: Sequence[GateResult], run: Run) -> int:
    """Return the exit code of a run with gates.

    1 if a gate failed. Otherwise 6 where a cutoff was used that belongs to something else, 11 if
    a gate cannot tell or was not measured, or anything the run was asked for was not measured,
    else 0. With gates, cases that fail or are left unsure do not fail the run by themselves: the
    gates say how many may. Without any gate it is the run's own code.
    """
    if not results:
        return run.exit_code
    if any(result.state is GateState.FAILED for result in results):
        return EXIT_FAILED
    if run.uncalibrated:
        return EXIT_UNCALIBRATED
    absent = run.cases.unmeasured or run.cases.bad_rows
    absent = absent or any(one.measured < one.asked for one in run.metrics if not run.cascade)
    if absent or not all(result.passed for result in results):
        return EXIT_UNMEASURED
    return EXIT_PASSED


def _tally(gate: Gate, plans: Sequence[MetricPlan], groups: Groups, *, cascade: bool) -> GateTally:
    try:
        at = _place(gate.metric, plans, cascade=cascade)
        plan = plans[at]
        if gate.needs_verdicts and plan.cutoff is None:
            raise UsageError(  # noqa: TRY301 - all refusals get the same beginning
                f"{plan.id} has no cutoff, so nothing passes or fails by it: give it one "
                f"(--cutoff {plan.id}=VALUE, --calibration FILE), or compare the value itself, "
                f"as in share({plan.id} >= VALUE)"
            )
        _require_on_scale(gate, plan)
    except UsageError as error:
        where = f"{gate.place}: " if gate.place else ""
        raise UsageError(f"{where}gate {gate}: {error}") from None
    return GateTally(gate, plan, at, groups)


def _require_on_scale(gate: Gate, plan: MetricPlan) -> None:
    """Refuse numbers that no value of the metric comes to, or that every value meets."""
    low, high = plan.low, plan.high
    if low is None or high is None:
        return
    for op, number in _compared(gate):
        if high == PERCENT and 0 < number < 1:
            raise UsageError(
                f"{plan.id} lies from 0 to 100; did you mean {spelt(round(number * PERCENT, 10))}?"
            )
        if not low <= number <= high:
            raise UsageError(
                f"{plan.id} lies from {spelt(low)} to {spelt(high)}, so {spelt(number)} is off "
                "its scale"
            )
        if compares(low, op, number) == compares(high, op, number):
            held = "every" if compares(low, op, number) else "no"
            raise UsageError(f"{op} {spelt(number)} holds for {held} value of {plan.id}")


def _compared(gate: Gate) -> Iterator[tuple[Op, float]]:
    if gate.test is not None:
        yield gate.test.op, gate.test.limit
    on_scale = gate.kind in {"mean", "quantile", "extreme"}
    if on_scale and gate.op is not None and gate.limit is not None:
        yield gate.op, gate.limit


def _place(name: str, plans: Sequence[MetricPlan], *, cascade: bool) -> int:
    """Return which of the metrics a gate means: by id, or by a name that only one of them has."""
    ids = [plan.id for plan in plans]
    if name in ids:
        return ids.index(name)
    if name == CASCADE and cascade:
        return len(plans) - 1
    named = [at for at, plan in enumerate(plans) if plan.name == name]
    if len(named) == 1:
        return named[0]
    several = "several metrics have that name" if named else f"the run has no metric {name!r}"
    more = f", {CASCADE}" if cascade else ""
    raise UsageError(f"{several}; it has {', '.join(ids)}{more}")

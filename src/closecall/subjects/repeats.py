"""What several runs of the same cases say together: how often a case passes, and which are flaky.

A pass share is k of n, with the exact interval of Clopper and Pearson (1934) for the rate behind
it. Agreement is the share of pairs of runs that say the same of a case.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from math import comb

import msgspec

from closecall.calibration.binomial import observed_rate
from closecall.calibration.records import Rate, typed
from closecall.errors import UsageError
from closecall.records import State

FEWEST = 3
"""Runs from which a share says anything: two either agree or do not."""

SUCCESS_THRESHOLD = 0.8
"""Share of runs a case has to pass in, where nothing else is said."""


class Repeated(msgspec.Struct, frozen=True, kw_only=True):
    """One case, by one metric, over several runs.

    ``runs`` is how many there were: ``passed``, ``failed``, ``unsure`` (measured and neither),
    and ``absent``. ``share`` is the passes among those decided, None where none was. ``agreeing``
    of ``pairs`` pairs of measured runs say the same. ``values`` has one number a run, None where
    it has none. ``state`` is what the runs make of the case, ``reason`` why it is nothing.
    """

    id: str
    runs: int
    passed: int
    failed: int
    unsure: int
    absent: int
    share: Rate | None
    agreeing: int
    pairs: int
    values: tuple[float | None, ...]
    state: State
    reason: str = ""

    @property
    def agreement(self) -> float | None:
        """The share of pairs of runs that agree, 0 to 1; None with fewer than two measured."""
        return self.agreeing / self.pairs if self.pairs else None

    @property
    def flaky(self) -> bool:
        """Whether it passed in some runs and failed in others."""
        return self.passed > 0 and self.failed > 0


class Repeats(msgspec.Struct, frozen=True, kw_only=True):
    """All cases over several runs.

    ``by_run`` has the passes among the decided cases of each run. ``cases_passed`` counts cases
    by their state over all runs. Both are None where nothing was decided.
    """

    runs: int
    threshold: float
    cases: tuple[Repeated, ...]
    by_run: tuple[Rate | None, ...]
    cases_passed: Rate | None
    agreeing: int
    pairs: int

    @property
    def agreement(self) -> float | None:
        """The share of pairs of runs that agree over all cases; None where there is no pair."""
        return self.agreeing / self.pairs if self.pairs else None

    @property
    def flaky(self) -> tuple[str, ...]:
        """Ids of the cases that passed in some runs and failed in others, in order."""
        return tuple(case.id for case in self.cases if case.flaky)


def checked_runs(runs: int) -> int:
    """Return a number of runs that says something: 1, or 3 and more.

    Raises
    ------
    UsageError
        It is another.
    """
    if runs == 1 or runs >= FEWEST:
        return runs
    raise UsageError(
        f"the number of runs must be 1, or at least {FEWEST} to say how often a case passes; "
        f"got {runs}"
    )


def checked_threshold(threshold: float) -> float:
    """Return a share of passes a case can need: above 0 and at most 1.

    Raises
    ------
    UsageError
        It is another.
    """
    if isinstance(threshold, bool) or not 0 < threshold <= 1:
        raise UsageError(f"the success threshold must be above 0 and at most 1, got {threshold!r}")
    return threshold


def repeated(
    case_id: str,
    states: Sequence[State],
    values: Sequence[float | None] = (),
    threshold: float = SUCCESS_THRESHOLD,
) -> Repeated:
    """Return what several runs say of one case.

    It passed if the passes are at least ``threshold`` of all runs, and failed if they could not
    be even with the undecided ones. In between it is inconclusive, or not measured where runs
    without a result would decide.

    Parameters
    ----------
    case_id
        Whose results these are.
    states
        One a run, in order; at least one.
    values
        The numbers behind them, one a run; empty: none are known.
    threshold
        Share of runs, read as the decimal it is written as: 0.7 of 10 runs is 7.

    Raises
    ------
    UsageError
        There is no run, or not one value a run, or the threshold is out of range.
    """
    runs = len(states)
    if not runs or (values and len(values) != runs):
        raise UsageError(f"{case_id}: {runs} states and {len(values)} values are no runs")
    checked_threshold(threshold)
    passed, failed = states.count(State.PASSED), states.count(State.FAILED)
    absent = sum(not state.measured for state in states)
    unsure = runs - passed - failed - absent
    state, reason = _state(states, passed, failed, absent, threshold)
    measured = [state for state in states if state.measured]
    return Repeated(
        id=case_id,
        runs=runs,
        passed=passed,
        failed=failed,
        unsure=unsure,
        absent=absent,
        share=observed_rate(passed, passed + failed),
        agreeing=sum(comb(measured.count(one), 2) for one in set(measured)),
        pairs=comb(len(measured), 2),
        values=tuple(values) or (None,) * runs,
        state=state,
        reason=reason,
    )


def repeats(
    results: Mapping[str, Sequence[State]],
    values: Mapping[str, Sequence[float | None]] | None = None,
    threshold: float = SUCCESS_THRESHOLD,
) -> Repeats:
    """Return what several runs say of all cases.

    Parameters
    ----------
    results
        By a case's id, its state in each run; as many for every case.
    values
        By a case's id, the number in each run.
    threshold
        See ``repeated``.

    Raises
    ------
    UsageError
        There is no case, cases differ in their runs, or see ``repeated``.
    """
    sizes = {len(states) for states in results.values()}
    if len(sizes) != 1:
        raise UsageError(f"every case must have as many runs; there are {sorted(sizes)}")
    (runs,) = sizes
    cases = tuple(
        repeated(name, states, (values or {}).get(name, ()), threshold)
        for name, states in results.items()
    )
    by_run = []
    for column in zip(*results.values(), strict=True):
        passed = column.count(State.PASSED)
        by_run.append(observed_rate(passed, passed + column.count(State.FAILED)))
    outcomes = [case.state for case in cases]
    through = outcomes.count(State.PASSED)
    return Repeats(
        runs=runs,
        threshold=threshold,
        cases=cases,
        by_run=tuple(by_run),
        cases_passed=observed_rate(through, through + outcomes.count(State.FAILED)),
        agreeing=sum(case.agreeing for case in cases),
        pairs=sum(case.pairs for case in cases),
    )


def _state(
    states: Sequence[State], passed: int, failed: int, absent: int, threshold: float
) -> tuple[State, str]:
    """Return what the runs make of a case, and why where that is nothing."""
    runs = len(states)
    first = states[0]
    if all(state is first for state in states) and first not in {State.PASSED, State.FAILED}:
        return first, "" if first.measured else f"in none of {runs} runs was there a result"
    needed = typed(threshold) * runs
    if passed >= needed:
        return State.PASSED, ""
    if runs - failed < needed:
        return State.FAILED, ""
    if absent:
        return (
            State.NOT_MEASURED,
            f"{absent} of {runs} runs have no result, and it depends on them",
        )
    return State.INCONCLUSIVE, ""

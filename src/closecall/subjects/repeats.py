"""What several runs say of one case: how often it passes, and whether they agree.

A pass share is k of n, with the exact interval of Clopper and Pearson (1934) for the rate behind
it. Agreement is the share of pairs of runs that say the same of a case.
"""

from __future__ import annotations

from collections.abc import Sequence
from math import ceil, comb

import msgspec

from closecall.calibration.binomial import observed_rate
from closecall.calibration.records import Rate, typed
from closecall.errors import UsageError
from closecall.records import State
from closecall.subjects.base import Subject

FEWEST = 3
"""Runs from which a share says anything: two either agree or do not."""

MOST = 1000
"""Runs that a run folder has room for."""

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


def checked_runs(runs: int) -> int:
    """Return a number of runs that says something: 1, or 3 to 1000.

    Raises
    ------
    UsageError
        It is another.
    """
    whole = isinstance(runs, int) and not isinstance(runs, bool)
    if whole and (runs == 1 or FEWEST <= runs <= MOST):
        return runs
    raise UsageError(
        f"the number of runs must be 1, or at least {FEWEST} to say how often a case passes, and "
        f"at most {MOST}; got {runs}"
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


def of_run(subject: Subject, number: int) -> Subject:
    """Return the subject of a repeated run, 0 the first.

    One that tells its runs apart has a ``for_run``, such as a chat model with another seed; any
    other is asked again.
    """
    for_run = getattr(subject, "for_run", None)
    found: Subject = subject if for_run is None else for_run(number)
    return found


def passes_needed(runs: int, threshold: float) -> int:
    """Return how many of so many runs a case has to pass in: the share, rounded up.

    The threshold is read as the decimal it is written as: 0.7 of 10 runs is 7.
    """
    return ceil(typed(threshold) * runs)


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
        Share of runs; see ``passes_needed``.

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


def _state(
    states: Sequence[State], passed: int, failed: int, absent: int, threshold: float
) -> tuple[State, str]:
    """Return what the runs make of a case, and why where that is nothing."""
    runs = len(states)
    first = states[0]
    if all(state is first for state in states) and first not in {State.PASSED, State.FAILED}:
        return first, "" if first.measured else f"in none of {runs} runs was there a result"
    needed = passes_needed(runs, threshold)
    if passed >= needed:
        return State.PASSED, ""
    if runs - failed < needed:
        return State.FAILED, ""
    if absent:
        none = absent == runs
        return State.NOT_MEASURED, (
            f"in none of {runs} runs was there a result"
            if none
            else f"no result in {absent} of {runs} runs, and it depends on them"
        )
    return State.INCONCLUSIVE, ""

"""From a question and a case to a verdict: a result, or what is raised instead of one."""

from __future__ import annotations

from collections.abc import Iterator
from contextlib import contextmanager
from typing import TYPE_CHECKING

import msgspec

from closecall.asserting.message import absence, failure
from closecall.asserting.outcomes import (
    AnswerError,
    NotAskedError,
    NotMeasuredError,
    UnsureAnswerError,
    UnsureSkippedError,
)
from closecall.asserting.session import ASSERTED, Record
from closecall.errors import ClosecallError, ReplayMissError, UsageError
from closecall.metrics.cutoffs import UNIT, relation
from closecall.records import Case, Measured, State
from closecall.runs.header import MetricPlan
from closecall.runs.results import CHOSEN_CUTOFF, CaseResult, MetricResult

if TYPE_CHECKING:
    from closecall.asserting.bench import Bench
    from closecall.asserting.question import Question
    from closecall.asserting.session import Session

NOT = "not_"
"""Begins the name, in a run folder, of a metric that must not accept."""

_HALF = 0.5


def check(session: Session, asked: Question, case: Case, *, negated: bool) -> MetricResult:
    """Measure a case and return what the only metric found, or raise.

    Raises
    ------
    AnswerError, NotMeasuredError, ClosecallError, unittest.SkipTest
        See ``outcomes``.
    """
    __tracebackhide__ = True
    try:
        with asserting(session):
            bench = session.bench(asked)
            if len(bench.plans) > 1:
                names = ", ".join(plan.id for plan in bench.plans)
                raise UsageError(f"an assertion has one metric, got {names}; write one for each")
            (plan,) = bench.plans
            _require_cutoff(plan)
            (row,) = session.measure(bench, [case])
    except ClosecallError as error:
        # Its message says it all; the way it took through closecall helps nobody.
        raise error.with_traceback(None) from error.__cause__
    result = row.results[0]
    kept = negation(plan, result) if negated else (named(plan), result)
    keep(session, bench, row, [kept])
    settle(session, bench, row, negated=negated)
    return result


def settle(session: Session, bench: Bench, row: CaseResult, *, negated: bool = False) -> None:
    """Raise what a case comes to, unless every metric accepts it.

    A failure outweighs an absence, an absence an unsure answer, and that what does not apply, as
    in every run (``runs.results.overall``). With ``negated`` the test asserts a rejection.
    """
    __tracebackhide__ = True
    wrong = State.PASSED if negated else State.FAILED
    for states in ({wrong}, _ABSENT, {State.INCONCLUSIVE}):
        for at, result in enumerate(row.results):
            if result.state in states:
                raise _problem(session, bench, at, row.case, result, negated=negated)
    applies = [one for one in row.results if one.state is not State.NOT_APPLICABLE]
    if not applies:
        raise NotAskedError("; ".join(dict.fromkeys(one.reason for one in row.results)))


def _problem(
    session: Session, bench: Bench, at: int, case: Case, result: MetricResult, *, negated: bool
) -> Exception:
    name = bench.metrics[at].spec.id
    if result.state in _ABSENT:
        return as_error(NotMeasuredError(absence(name, case, result), result))
    text = failure(session, bench, at, case, result, negated=negated)
    if result.state is not State.INCONCLUSIVE:
        return AnswerError(text, result)
    if session.unsure == "skip":
        return UnsureSkippedError(f"left unsure: {text.partition(chr(10))[0]}")
    return UnsureAnswerError(text, result)


def keep(
    session: Session,
    bench: Bench,
    row: CaseResult,
    kept: list[tuple[MetricPlan, MetricResult]],
) -> None:
    """Record a case under the names that its plans have in a run of many questions."""
    results = tuple(msgspec.structs.replace(result, metric=plan.id) for plan, result in kept)
    session.record(
        Record(
            row=msgspec.structs.replace(row, results=results),
            plans=tuple(plan for plan, _ in kept),
            embedder=bench.spec,
            instrument=bench.embedder.instrument,
            judges=bench.judges,
        )
    )


def named(plan: MetricPlan) -> MetricPlan:
    """Return a plan under a name that holds its cutoff, where a person chose that.

    A session may ask for one metric with several cutoffs; under this name each is a metric of its
    own, the same in every session.
    """
    if plan.cutoff_source != CHOSEN_CUTOFF:
        return plan
    return msgspec.structs.replace(plan, id=f"{plan.id}:cutoff={plan.cutoff:g}")


def negation(plan: MetricPlan, result: MetricResult) -> tuple[MetricPlan, MetricResult]:
    """Return what is recorded of an answer that must be rejected: 1 where it is, else 0."""
    told = named(plan)
    other = msgspec.structs.replace(
        told,
        id=f"{NOT}{told.id}",
        cutoff=_HALF,
        low=0.0,
        high=UNIT,
        description=f"1 where {told.id} rejects the answer, as the test asserts; else 0.",
        guards={},
        calibration=None,
        cutoff_source=CHOSEN_CUTOFF,
    )
    found = result.measurement
    if not isinstance(found, Measured) or result.state is State.INCONCLUSIVE:
        return other, msgspec.structs.replace(result, cutoff=_HALF)
    rejected = result.state is State.FAILED
    mark = float(rejected)
    word = "rejected" if rejected else "accepted"
    return other, MetricResult(
        metric=other.id,
        state=State.PASSED if rejected else State.FAILED,
        measurement=Measured(
            similarity=mark,
            value=mark,
            score=100 * mark,
            details={**found.details, "value": found.value, "cutoff": result.cutoff},
            tokens=found.tokens,
        ),
        cutoff=_HALF,
        reason=f"{word}, where the test asserts a rejection: {relation(mark, _HALF)}; "
        f"{result.reason}",
        borderline=result.borderline,
    )


@contextmanager
def asserting(session: Session) -> Iterator[None]:
    """Mark the errors of closecall inside as those of an assertion, for a test runner to tell."""
    try:
        yield
    except ClosecallError as error:
        as_error(error)
        if isinstance(error, ReplayMissError) and session.record_hint:
            error.add_note(session.record_hint)
        raise


def as_error(error: ClosecallError) -> ClosecallError:
    """Mark an error as that of an assertion, which a test runner tells from a failure."""
    setattr(error, ASSERTED, True)
    return error


def _require_cutoff(plan: MetricPlan) -> None:
    if plan.cutoff is None:
        raise UsageError(
            f"{plan.id} has no default cutoff, so it asserts nothing: give it one "
            f"(cutoff=VALUE), or let labels choose it (closecall calibrate LABELLED --metric "
            f"{plan.id} -o cutoff.json, then calibration='cutoff.json')"
        )


_ABSENT = frozenset({State.ERROR, State.NOT_MEASURED, State.SKIPPED})

"""The test of the test: would the gates let bad answers through?

Answers that are known to be bad go through the same metrics, cutoffs and guards as a run. Each
family of them is taken for a whole run of its own: where every gate passes, an assistant that
answered like this would have been let through.
"""

from __future__ import annotations

import heapq
from collections.abc import Callable, Iterable, Mapping, Sequence
from enum import StrEnum
from typing import TYPE_CHECKING, Any, NamedTuple

from closecall.embedders.absent import is_absent
from closecall.errors import UsageError
from closecall.gates.bad_cases import distinct, hand_written, made_up
from closecall.gates.deciding import DecidingGates
from closecall.gates.evaluate import GateKeeper
from closecall.records import Case, Measured, State
from closecall.runs.evaluate import evaluate
from closecall.runs.explaining import nothing_explained
from closecall.runs.gate_results import GateResult, GateState
from closecall.runs.gate_rule import Gate
from closecall.runs.results import CaseResult
from closecall.stress.making import MOST

if TYPE_CHECKING:
    from closecall.cassettes import Cassette
    from closecall.datasets import OnBadRow
    from closecall.embedders.base import Embedder
    from closecall.metrics.base import Metric
    from closecall.metrics.guards.policy import GuardPolicy
    from closecall.runs.asked import PathLike
    from closecall.runs.calibrations import Calibrations
    from closecall.runs.live import Judging
    from closecall.runs.record import Run
    from closecall.runs.runner import Progress

TOGETHER = "all together"
EXAMPLES = 3


class Outcome(StrEnum):
    """What the gates make of a family of bad answers."""

    STOPPED = "stopped"
    """At least one gate fails."""
    OPEN = "open"
    """No gate fails, but not all pass: the run would not be green."""
    LET_THROUGH = "let_through"
    """Every gate that has something to ask of them passes."""


class Through(NamedTuple):
    """A bad answer that is accepted, or of those without verdicts one that scores high.

    ``before`` and ``after`` are what an edit changed, empty for answers written by hand.
    """

    id: str
    response: str
    before: str
    after: str
    values: dict[str, float]
    state: State


class BadFamily(NamedTuple):
    """One family of bad answers taken for a run: how many, and what the gates make of it.

    ``accepted`` passed as whole cases, ``unmeasured`` lack at least one number.
    """

    family: str
    cases: int
    accepted: int
    unmeasured: int
    results: tuple[GateResult, ...]
    examples: tuple[Through, ...]

    @property
    def outcome(self) -> Outcome:
        """What the gates make of it."""
        if self.stopped_by:
            return Outcome.STOPPED
        # A gate on cases that are not among these (a tag, a label) stops none of them.
        passed = all(result.passed for result in self.results if result.asked)
        return Outcome.LET_THROUGH if passed else Outcome.OPEN

    @property
    def stopped_by(self) -> tuple[GateResult, ...]:
        """The gates that fail."""
        return tuple(one for one in self.results if one.state is GateState.FAILED)


class GateCheck(NamedTuple):
    """What ``check_gates`` found: each family, then all together.

    ``model`` embedded them, empty where nothing was embedded.
    """

    gates: tuple[Gate, ...]
    model: str
    metrics: tuple[str, ...]
    families: tuple[BadFamily, ...]
    together: BadFamily
    seed: int | None

    @property
    def exit_code(self) -> int:
        """1 where a family is let through, 11 where it is left open or not measured, else 0."""
        outcomes = {one.outcome for one in (*self.families, self.together)}
        if Outcome.LET_THROUGH in outcomes:
            return 1
        return 11 if Outcome.OPEN in outcomes or self.together.unmeasured else 0


def check_gates(
    gates: Iterable[Gate | str],
    cases: PathLike | Iterable[Case | Mapping[str, Any]] | None = None,
    metrics: str | Metric | Iterable[str | Metric] | None = None,
    embedder: Embedder | str | None = None,
    *,
    bad: PathLike | Iterable[Case | Mapping[str, Any]] | None = None,
    families: Sequence[str] | None = None,
    most: int | None = MOST,
    seed: int = 0,
    cutoffs: Mapping[str, float] | None = None,
    calibration: Calibrations | None = None,
    guards: str | Mapping[str, str] | GuardPolicy | None = None,
    cascade: bool = False,
    judge: Judging | None = None,
    cassette: Cassette | None = None,
    window: str | None = None,
    threads: int | None = None,
    mapping: Mapping[str, str] | None = None,
    on_bad_row: OnBadRow = "fail",
    cache: bool | PathLike = True,
    progress: Progress | None = None,
    on_notice: Callable[[str], None] | None = None,
) -> GateCheck:
    """Feed bad answers through the metrics of a run and see which gates stop them.

    Parameters
    ----------
    gates
        Records, or rules as text; at least one.
    cases
        Cases whose references are edited into wrong answers; see ``stress_set``. Tags and
        metadata of each case stay, so that gates on a part of the cases find theirs.
    bad
        Cases whose responses are known to be bad. Their family is what their ``family`` field
        says. At least one of ``cases`` and ``bad`` is needed.
    families, most, seed
        Which wrong families are made of ``cases``, how many answers of each, with which seed.
    metrics, embedder, cutoffs, calibration, guards, cascade, judge, window, threads, mapping, \
on_bad_row
        As in ``evaluate``; what the run to be gated uses. A metric that asks a chat model asks it
        for every bad answer.
    cassette, cache, progress, on_notice
        As in ``evaluate``.

    Raises
    ------
    UsageError
        There is no gate or no case, or as in ``evaluate`` and ``GateKeeper``: a gate that does not
        fit is found before anything is scored or sent.
    DataError
        Cases cannot be read or edited, or a bad answer is labelled accept.
    """
    given = list(gates)
    if not given:
        raise UsageError(
            "there are no gates to check: give --gate 'pass_rate(METRIC) >= 0.9', or write gates "
            "into closecall.toml"
        )
    if cases is None and bad is None:
        raise UsageError("give cases whose references can be edited, or bad answers of your own")
    found: list[Case] = []
    if bad is not None:
        found += hand_written(bad, mapping, on_bad_row)
    if cases is not None:
        found += made_up(cases, mapping, on_bad_row, families=families, most=most, seed=seed)
    with nothing_explained():
        run = evaluate(
            distinct(found),
            metrics,
            embedder,
            cutoffs=cutoffs,
            calibration=calibration,
            guards=guards,
            cascade=cascade,
            judge=judge,
            cassette=cassette,
            window=window,
            threads=threads,
            name="bad answers",
            watch=lambda header: DecidingGates(given, header),
            cache=cache,
            progress=progress,
            on_notice=on_notice,
        )
    return _checked(run, given, seed if cases is not None else None)


class _Family:
    """Adds up one family."""

    def __init__(self, name: str, run: Run, gates: Sequence[Gate | str]) -> None:
        self.name = name
        header = run.header
        self.keeper = GateKeeper(gates, header.metrics, cascade=header.cascade)
        self.cases = self.accepted = self.unmeasured = 0
        self.highest: list[tuple[bool, float, int, Through]] = []

    def add(self, row: CaseResult) -> None:
        self.keeper.add([row])
        self.cases += 1
        state = row.state
        self.accepted += state is State.PASSED
        self.unmeasured += any(
            not r.state.measured and r.state is not State.NOT_APPLICABLE for r in row.deciding
        )
        values = {
            r.metric: r.measurement.value
            for r in row.results
            if isinstance(r.measurement, Measured)
        }
        if state in {State.PASSED, State.SCORED}:
            first = next(iter(values.values()), 0.0)
            entry = (state is State.PASSED, first, -self.cases, _through(row, values))
            push = heapq.heappush if len(self.highest) < EXAMPLES else heapq.heappushpop
            push(self.highest, entry)

    def found(self) -> BadFamily:
        return BadFamily(
            family=self.name,
            cases=self.cases,
            accepted=self.accepted,
            unmeasured=self.unmeasured,
            results=self.keeper.results(),
            examples=tuple(entry[-1] for entry in sorted(self.highest, reverse=True)),
        )


def _through(row: CaseResult, values: dict[str, float]) -> Through:
    facts = row.case.metadata.get("stress")
    facts = facts if isinstance(facts, dict) else {}
    before, after = facts.get("from"), facts.get("to")
    return Through(
        id=row.case.id,
        response=row.case.response or "",
        before=before if isinstance(before, str) else "",
        after=after if isinstance(after, str) else "",
        values=values,
        state=row.state,
    )


def _checked(run: Run, gates: Sequence[Gate | str], seed: int | None) -> GateCheck:
    together = _Family(TOGETHER, run, gates)
    families: dict[str, _Family] = {}
    for row in run:
        name = str(row.case.metadata["family"])
        if name not in families:
            families[name] = _Family(name, run, gates)
        families[name].add(row)
        together.add(row)
    whole = together.found()
    instrument = run.header.instrument
    return GateCheck(
        gates=tuple(result.gate for result in whole.results),
        model="" if is_absent(instrument) else f"{instrument.model} ({instrument.provider})",
        metrics=tuple(plan.id for plan in run.header.metrics),
        families=tuple(family.found() for family in families.values()),
        together=whole,
        seed=seed,
    )

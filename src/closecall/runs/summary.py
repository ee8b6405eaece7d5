"""What a run adds up to: counts first, every rate with its n, absences beside them."""

from __future__ import annotations

import hashlib
import math
import statistics
from array import array
from collections.abc import Iterable, Sequence
from typing import Self

import msgspec

from closecall.calibration.labels.items import group_of
from closecall.calibration.records import Counts, Rate
from closecall.metrics.judge.agreement import AgreementTally, PanelAgreement
from closecall.records import ABSENCES, Case, Label, Measured, State
from closecall.runs.header import MetricPlan, RunHeader
from closecall.runs.results import CaseResult, MetricResult
from closecall.subjects.agreement import Repeats, RepeatsTally
from closecall.subjects.repeats import SUCCESS_THRESHOLD, repeated

EXIT_PASSED = 0
EXIT_FAILED = 1
EXIT_UNMEASURED = 11

MAX_REASONS = 100
"""Different reasons for absences that a metric's summary tells apart, the first in the file's
order; a reason may hold anything, and a million of them would not fit in a report or in memory."""

CASCADE = "cascade"

_MANY = 10_000

OTHER_REASONS = "other reasons"

_UNMEASURED = ABSENCES - {State.NOT_APPLICABLE}


class MetricSummary(msgspec.Struct, frozen=True, kw_only=True):
    """One metric over a run. ``mean`` and ``median`` are over ``measured``; None when that is 0.

    ``asked`` counts every case but the ``not_applicable`` ones, of which nothing was asked;
    ``passed`` and ``failed`` only measured ones. ``labelled`` holds the errors of the cutoff on
    labelled cases, None when no measured case has a label. ``absent`` counts what was asked for
    and not measured by reason, at most 100 of them and ``other reasons``; ``absent_states``
    counts the same by state. ``unknown`` counts measured cases with words or signs outside the
    model's vocabulary in a text.

    ``inconclusive`` cases lie between two cutoffs. Of labelled ones, ``labelled`` counts those
    decided, ``unsure_accepts`` and ``unsure_rejects`` those left to a person. The two rates are
    shares of all labelled rejects and of all labelled accepts, the unsure ones included, with
    intervals that allow for several answers to one question; None where there is no such label or
    no cutoff. ``cutoff_note`` says where the cutoff comes from and what is known of it.

    ``held_back`` counts the cases that the cutoff accepts and guards do not, ``held_accepts`` and
    ``held_rejects`` the labelled ones among them; ``held_by`` counts them guard by guard, where
    one case may be held back by several. ``guards`` says what each guard does. ``duration_ms`` is
    what a rung of a cascade took in all. ``agreement`` says how far the votes of several judges,
    or of several samples of one, agree; None where a case has one vote.
    """

    metric: str
    asked: int
    measured: int
    passed: int
    failed: int
    scored: int
    borderline: int
    truncated: int
    mean: float | None
    median: float | None
    cutoff: float | None
    cutoff_source: str
    labelled: Counts | None
    absent: dict[str, int]
    absent_states: dict[State, int]
    not_applicable: int = 0
    unknown: int = 0
    inconclusive: int = 0
    unsure_accepts: int = 0
    unsure_rejects: int = 0
    false_accept_rate: Rate | None = None
    false_reject_rate: Rate | None = None
    cutoff_note: str = ""
    guards: dict[str, str] = {}
    held_back: int = 0
    held_accepts: int = 0
    held_rejects: int = 0
    held_by: dict[str, int] = {}
    duration_ms: float | None = None
    agreement: PanelAgreement | None = None

    def absent_count(self, state: State) -> int:
        """Return how many results are in this absent state."""
        return self.absent_states.get(state, 0)


class MetricTally:
    """Adds up one metric as results come, in order.

    Holds one float64 a case, 8 MB a million, and two counts a group of labelled cases.
    """

    def __init__(self, plan: MetricPlan) -> None:
        self.plan = plan
        self.states: dict[State, int] = dict.fromkeys(State, 0)
        self.values = array("d")
        self.borderline = 0
        self.truncated = 0
        self.unknown = 0
        self.absent: dict[str, int] = {}
        self.labels: dict[tuple[Label, State], int] = {}
        self.held: dict[Label | None, int] = {}
        self.held_by: dict[str, int] = {}
        self.duration_ms: float | None = None
        self.agreement = AgreementTally()
        self._groups: dict[Label, dict[bytes, list[int]]] = {label: {} for label in Label}

    def add(self, result: MetricResult, case: Case) -> None:
        """Count one decided result."""
        label = case.label
        self.states[result.state] += 1
        if result.duration_ms is not None:
            self.duration_ms = (self.duration_ms or 0.0) + result.duration_ms
        measurement = result.measurement
        if isinstance(measurement, Measured):
            self.values.append(measurement.value)
            self.borderline += result.borderline
            tokens = measurement.tokens.values()
            self.truncated += any(t.seen < t.total for t in tokens)
            self.unknown += any(t.unknown for t in tokens)
            if result.held:
                self.held[label] = self.held.get(label, 0) + 1
                for name in result.held:
                    self.held_by[name] = self.held_by.get(name, 0) + 1
            if label is not None:
                pair = (label, result.state)
                self.labels[pair] = self.labels.get(pair, 0) + 1
                counted = self._groups[label].setdefault(_group(case), [0, 0])
                counted[0] += 1
                counted[1] += result.state is _WRONG[label]
        elif result.state in _UNMEASURED:
            reason = measurement.cause
            if reason not in self.absent and len(self.absent) >= MAX_REASONS:
                reason = OTHER_REASONS
            self.absent[reason] = self.absent.get(reason, 0) + 1

    def summary(self) -> MetricSummary:
        """Return the summary so far."""
        n = len(self.values)
        return MetricSummary(
            metric=self.plan.id,
            asked=sum(self.states.values()) - self.states[State.NOT_APPLICABLE],
            measured=n,
            passed=self.states[State.PASSED],
            failed=self.states[State.FAILED],
            scored=self.states[State.SCORED],
            borderline=self.borderline,
            truncated=self.truncated,
            mean=math.fsum(self.values) / n if n else None,
            median=_median(self.values) if n else None,
            cutoff=self.plan.cutoff,
            cutoff_source=self.plan.cutoff_source,
            labelled=self._counts(),
            absent=dict(sorted(self.absent.items(), key=_most_frequent_first)),
            absent_states={s: n for s, n in self.states.items() if n and s in _UNMEASURED},
            not_applicable=self.states[State.NOT_APPLICABLE],
            unknown=self.unknown,
            inconclusive=self.states[State.INCONCLUSIVE],
            unsure_accepts=self.labels.get((Label.ACCEPT, State.INCONCLUSIVE), 0),
            unsure_rejects=self.labels.get((Label.REJECT, State.INCONCLUSIVE), 0),
            false_accept_rate=self._rate(Label.REJECT),
            false_reject_rate=self._rate(Label.ACCEPT),
            cutoff_note=self.plan.cutoff_note,
            guards=self.plan.guards,
            held_back=sum(self.held.values()),
            held_accepts=self.held.get(Label.ACCEPT, 0),
            held_rejects=self.held.get(Label.REJECT, 0),
            duration_ms=None if self.duration_ms is None else round(self.duration_ms, 3),
            agreement=self.agreement.found(),
            held_by={
                name: self.held_by[name] for name in self.plan.guards if name in self.held_by
            },
        )

    def _rate(self, label: Label) -> Rate | None:
        """Return how often the cutoff is wrong of cases with this label."""
        counted = self._groups[label]
        if not counted or self.plan.cutoff is None:
            return None
        import numpy as np

        from closecall.calibration.groups import rate_of_groups

        sizes, hits = np.array(list(counted.values()), dtype=np.int64).T
        return rate_of_groups(sizes, hits)

    def _counts(self) -> Counts | None:
        def count(label: Label, state: State) -> int:
            return self.labels.get((label, state), 0)

        counts = Counts(
            true_accepts=count(Label.ACCEPT, State.PASSED),
            false_rejects=count(Label.ACCEPT, State.FAILED),
            false_accepts=count(Label.REJECT, State.PASSED),
            true_rejects=count(Label.REJECT, State.FAILED),
        )
        unsure = count(Label.ACCEPT, State.INCONCLUSIVE) + count(Label.REJECT, State.INCONCLUSIVE)
        return counts if counts.accepts + counts.rejects + unsure else None


def _median(values: array[float]) -> float:
    """Return the median; of many values in 8 bytes each, where a sorted list takes 32."""
    n = len(values)
    if n < _MANY:
        return statistics.median(values)
    import numpy as np

    found, half = np.array(values), n // 2
    if n % 2:
        found.partition(half)
        return float(found[half])
    found.partition((half - 1, half))
    return float(found[half - 1] + found[half]) / 2


def _group(case: Case) -> bytes:
    """Return 16 bytes that stand for the case's group, whose name may be a long text."""
    name = group_of(case)[0].encode("utf-8", errors="surrogatepass")
    return hashlib.blake2b(name, digest_size=16).digest()


_WRONG = {Label.REJECT: State.PASSED, Label.ACCEPT: State.FAILED}
"""What a false accept and a false reject look like."""


def _most_frequent_first(counted: tuple[str, int]) -> tuple[bool, int, str]:
    reason, count = counted
    return reason == OTHER_REASONS, -count, reason


class CaseCounts(msgspec.Struct, frozen=True, kw_only=True):
    """Cases by what became of them; ``bad_rows`` were left out because they could not be read.

    Of a ``not_applicable`` case nothing was asked: it neither passed nor is it unmeasured.
    ``score`` is the mean over the ``with_score`` cases that have one, 0 to 100.
    """

    total: int = 0
    passed: int = 0
    failed: int = 0
    scored: int = 0
    unmeasured: int = 0
    inconclusive: int = 0
    not_applicable: int = 0
    bad_rows: int = 0
    score: float | None = None
    with_score: int = 0


def exit_code(cases: CaseCounts) -> int:
    """Return 1 when a case failed, 11 when one was not measured or left unsure, else 0."""
    if cases.failed:
        return EXIT_FAILED
    open_cases = cases.unmeasured or cases.bad_rows or cases.inconclusive
    return EXIT_UNMEASURED if open_cases else EXIT_PASSED


class RunTally:
    """Adds up a whole run: one tally a metric, and the cases by what became of them."""

    def __init__(
        self,
        plans: Sequence[MetricPlan],
        *,
        cascade: bool = False,
        runs: int = 1,
        threshold: float = SUCCESS_THRESHOLD,
    ) -> None:
        self.metrics = [MetricTally(plan) for plan in plans]
        self.threshold = threshold
        self.repeated = [RepeatsTally(plan.id, runs, threshold) for plan in plans if runs > 1]
        self.whole = MetricTally(plans[-1]) if cascade else None
        self.cases = 0
        self._states: dict[State, int] = dict.fromkeys(State, 0)
        self._scores = array("d")

    @classmethod
    def of(cls, header: RunHeader) -> Self:
        """Return the tally of a run that is about to begin, or to be read."""
        return cls(
            header.metrics,
            cascade=header.cascade,
            runs=header.runs,
            threshold=header.success_threshold,
        )

    def add(self, rows: Iterable[CaseResult]) -> None:
        """Count these cases."""
        for row in rows:
            self.cases += 1
            self._states[row.state] += 1
            score = row.score
            if score is not None:
                self._scores.append(score)
            for tally, result in zip(self.metrics, row.results, strict=True):
                tally.add(result, row.case)
            for answer in row.trials or (row,):  # every answer was voted on
                for tally, result in zip(self.metrics, answer.results, strict=True):
                    tally.agreement.add(result.measurement)
            for at, repeats in enumerate(self.repeated):
                if not row.trials:
                    repeats.add_once()
                    continue
                states = [trial.results[at].state for trial in row.trials]
                repeats.add(states, repeated(row.case.id, states, threshold=self.threshold))
            if self.whole is not None:
                self.whole.add(row.deciding[0], row.case)

    def cascade(self) -> MetricSummary | None:
        """Return the cascade as a whole, of which only counts and rates mean anything."""
        if self.whole is None:
            return None
        return msgspec.structs.replace(
            self.whole.summary(), metric=CASCADE, mean=None, median=None, cutoff_note=""
        )

    def repeats(self) -> tuple[Repeats, ...] | None:
        """Return what the runs of the cases say, one a metric; None where there is but one run."""
        return tuple(tally.repeats() for tally in self.repeated) or None

    def summaries(self) -> tuple[MetricSummary, ...]:
        """Return one summary a metric."""
        return tuple(tally.summary() for tally in self.metrics)

    def counts(self, bad_rows: int) -> CaseCounts:
        """Return the cases by what became of them."""
        states, n = self._states, len(self._scores)
        return CaseCounts(
            total=self.cases,
            passed=states[State.PASSED],
            failed=states[State.FAILED],
            scored=states[State.SCORED],
            unmeasured=sum(states[state] for state in _UNMEASURED),
            inconclusive=states[State.INCONCLUSIVE],
            not_applicable=states[State.NOT_APPLICABLE],
            bad_rows=bad_rows,
            score=round(math.fsum(self._scores) / n, 4) if n else None,
            with_score=n,
        )

"""One metric on one case, decided: the row every report is made of."""

from __future__ import annotations

from collections.abc import Mapping

import msgspec

from closecall.calibration.records import Decision
from closecall.metrics.base import SCORE_NOISE, Metric
from closecall.metrics.cutoffs import PERCENT, UNIT, relation
from closecall.metrics.guards.policy import REJECT, UNSURE, Held
from closecall.records import Case, Measured, Measurement, State, Unmeasured
from closecall.runs.applied import Applied
from closecall.runs.values import clip_reason

DEFAULT_CUTOFF = "default"
CHOSEN_CUTOFF = "chosen"
NO_CUTOFF = "none"
CALIBRATED_CUTOFF = "calibrated"
UNCALIBRATED_CUTOFF = "uncalibrated"

CUTOFF_WORDS = {
    DEFAULT_CUTOFF: "default cutoff, not calibrated",
    CHOSEN_CUTOFF: "cutoff chosen by you, not calibrated",
    NO_CUTOFF: "no cutoff, scored only",
    CALIBRATED_CUTOFF: "calibrated cutoff",
    UNCALIBRATED_CUTOFF: "UNCALIBRATED cutoff",
}
"""What is said of a cutoff of each origin, in short; ``cutoff_note`` says it in full."""


class MetricResult(msgspec.Struct, frozen=True, kw_only=True):
    """A measurement with what was made of it.

    ``reason`` says in words why the state is what it is. ``borderline`` marks a value so near
    its cutoff that another machine's rounding could turn the verdict. ``held`` names the guards
    that differ, where the cutoff accepts and they do not. ``duration_ms`` is known of the rungs
    of a cascade.
    """

    metric: str
    state: State
    measurement: Measurement
    cutoff: float | None
    reason: str
    borderline: bool = False
    held: tuple[str, ...] = ()
    duration_ms: float | None = None


class CaseTokens(msgspec.Struct, frozen=True, kw_only=True, omit_defaults=True):
    """Tokens of replies about one case, as they were reported; None where one of them was not.

    ``replayed`` of the replies came from a recording: what those took was spent when they were
    recorded, and not in this run. ``metric`` is whose judge it was.
    """

    role: str
    model: str
    prompt_tokens: int | None = None
    completion_tokens: int | None = None
    replies: int = 1
    replayed: int = 0
    metric: str = ""


class CaseResult(msgspec.Struct, frozen=True, kw_only=True):
    """All metrics on one case, in the order asked.

    ``duration_ms`` is the case's share of the batch it was embedded in; None when unknown. In a
    ``cascade`` the last rung that the case came to speaks for it; a pass after a rung that raised
    an error is an error, since something asked for was not done. ``trials`` has each run of a case
    that was answered several times, whose results here are those over all runs.
    ``answered`` has the tokens of the subject's answers; see ``case_tokens.tokens_of``.
    """

    case: Case
    results: tuple[MetricResult, ...]
    duration_ms: float | None = None
    cascade: bool = False
    trials: tuple[CaseResult, ...] = ()
    answered: tuple[CaseTokens, ...] = ()

    @property
    def deciding(self) -> tuple[MetricResult, ...]:
        """The results that the case's state and score are made of."""
        if not self.cascade:
            return self.results
        there = [r for r in self.results if r.state is not State.NOT_APPLICABLE]
        return tuple(there[-1:]) or self.results

    @property
    def state(self) -> State:
        """The case as a whole; see ``overall``."""
        if len(self.results) == 1 and not self.cascade:
            return self.results[0].state
        state = overall([result.state for result in self.deciding])
        broke = any(result.state is State.ERROR for result in self.results)
        return State.ERROR if self.cascade and broke and state is State.PASSED else state

    @property
    def score(self) -> float | None:
        """Mean of the metrics' scores, 0 to 100; None when no metric has one."""
        scores = [
            result.measurement.score
            for result in self.deciding
            if isinstance(result.measurement, Measured) and result.measurement.score is not None
        ]
        return round(sum(scores) / len(scores), 4) if scores else None


def overall(states: list[State]) -> State:
    """Return what a case with these results is.

    A failure outweighs all; then any absence, because a case that was not fully measured has
    not passed; then a pass; a case with numbers but no cutoff is ``scored``.
    """
    return next((state for state in _WEIGHT if state in states), State.NOT_MEASURED)


_WEIGHT = (
    State.FAILED,
    State.ERROR,
    State.NOT_MEASURED,
    State.SKIPPED,
    State.INCONCLUSIVE,
    State.WARN,
    State.PASSED,
    State.SCORED,
    State.NOT_APPLICABLE,
)


def cutoff_source(metric: Metric, applied: Applied | None = None) -> str:
    """Return where a metric's cutoff comes from, one of the keys of ``CUTOFF_WORDS``."""
    if applied is not None:
        return UNCALIBRATED_CUTOFF if applied.uncalibrated else CALIBRATED_CUTOFF
    if metric.cutoff is None:
        return NO_CUTOFF
    return DEFAULT_CUTOFF if metric.cutoff == metric.spec.default_cutoff else CHOSEN_CUTOFF


def cutoff_note(source: str, applied: Applied | None) -> str:
    """Return what every surface says of a cutoff: its origin, promise, evidence and date."""
    return CUTOFF_WORDS[source] if applied is None else applied.words


def decide(
    metric: Metric, measurement: Measurement, applied: Applied | None = None
) -> MetricResult:
    """Compare a measurement with the metric's cutoff, or with the calibrated one."""
    name = metric.spec.id
    cutoff = metric.cutoff if applied is None else applied.accept
    if isinstance(measurement, Unmeasured):
        # As a run folder files it, so that a run reads back and adds up as it was.
        measurement = Unmeasured(clip_reason(measurement.reason), measurement.state)
        return MetricResult(
            metric=name,
            state=measurement.state,
            measurement=measurement,
            cutoff=cutoff,
            reason=measurement.reason,
        )
    if cutoff is None:
        return MetricResult(
            metric=name,
            state=State.SCORED,
            measurement=measurement,
            cutoff=None,
            reason=clip_reason(f"{name} {measurement.value:.4f}; {CUTOFF_WORDS[NO_CUTOFF]}"),
        )
    noise = SCORE_NOISE * (PERCENT if metric.spec.high == PERCENT else 1.0)
    if applied is None:
        state = State.PASSED if measurement.value >= cutoff else State.FAILED
        borderline = not metric.spec.exact and abs(measurement.value - cutoff) <= noise
    else:
        state = _STATES[applied.decide(measurement.value)]
        borderline = applied.close(measurement.value)
    return MetricResult(
        metric=name,
        state=state,
        measurement=measurement,
        cutoff=cutoff,
        reason=_sentence(metric, measurement, cutoff, state, applied),
        borderline=borderline,
    )


def guards_words(guards: Mapping[str, str]) -> str:
    """Return what stands beside a cutoff, such as ``unsure where numbers or names differ``."""
    told = []
    for action in (REJECT, UNSURE):
        names = [name for name, does in guards.items() if does == action]
        listed = " or ".join(filter(None, (", ".join(names[:-1]), *names[-1:])))
        if names:
            told.append(f"{action} where {listed} differ")
    return ", ".join(told)


def hold_back(result: MetricResult, held: Held) -> MetricResult:
    """Return a passed result as the guards leave it: unsure or failed, with what they found."""
    measured = result.measurement
    if not isinstance(measured, Measured):
        raise TypeError("only a measured answer can be accepted and held back")
    details = {**measured.details, "heldBack": held.findings}
    return msgspec.structs.replace(
        result,
        state=State.FAILED if held.action == REJECT else State.INCONCLUSIVE,
        measurement=msgspec.structs.replace(measured, details=details),
        reason=clip_reason(f"held back by a guard, {held.words}; {result.reason}"),
        held=held.guards,
    )


_STATES = {
    Decision.ACCEPT: State.PASSED,
    Decision.REJECT: State.FAILED,
    Decision.UNSURE: State.INCONCLUSIVE,
}


def _sentence(
    metric: Metric, measured: Measured, cutoff: float, state: State, applied: Applied | None
) -> str:
    # A percentage only where the similarity ends at 1: an inner product has no whole.
    of_one = metric.spec.high in (UNIT, PERCENT)
    quantity = metric.spec.quantity
    similarity = f"{100 * measured.similarity:.2f} %" if of_one else f"{measured.similarity:.4f}"
    origin = CUTOFF_WORDS[cutoff_source(metric, applied)]
    if applied is not None:
        origin = f"{origin} of {applied.created.partition('T')[0]}"
    # As they were decided: a calibration rounds a value before it compares.
    value = measured.value if applied is None else applied.rounded(measured.value)
    compared = relation(value, cutoff)
    if applied is not None and applied.reject is not None:
        lower = relation(value, applied.reject)
        if state is State.INCONCLUSIVE:
            return f"unsure, {quantity} {similarity}: {lower} and {compared} ({origin})"
        compared = compared if state is State.PASSED else lower
    closeness = "high" if state is State.PASSED else "low"
    return f"{closeness} {quantity} {similarity}: {compared} ({origin})"

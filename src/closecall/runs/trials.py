"""One case answered several times: what its runs come to, metric by metric.

A metric's value is the mean over the runs that measured it; its state is that of ``repeated``, and
not what the mean would be.
"""

from __future__ import annotations

import math
from collections.abc import Callable, Sequence

from closecall.metrics.cutoffs import shown
from closecall.records import JSON, Measured, Measurement, State, Tokens, Unmeasured
from closecall.runs.results import CaseResult, MetricResult
from closecall.runs.values import clip_reason
from closecall.subjects.repeats import Repeated, passes_needed, repeated

RUNS = "runs"
"""The detail of a result that says what each run found."""

_STATE_WORDS = {
    State.FAILED: "failed",
    State.WARN: "warned",
    State.INCONCLUSIVE: "unsure",
    State.NOT_APPLICABLE: "not applicable",
    State.SKIPPED: "skipped",
    State.NOT_MEASURED: "not measured",
    State.ERROR: "without a result",
}
"""How runs are told that did not pass, in this order."""


def rolled_up(trials: Sequence[CaseResult], threshold: float) -> CaseResult:
    """Return a case over its runs, in order; what is shown of it is the first run's response.

    Parameters
    ----------
    trials
        The case as each run answered it, with the same metrics in each.
    threshold
        Share of runs a case has to pass in, above 0 and at most 1.
    """
    first = trials[0]
    times = [trial.duration_ms for trial in trials if trial.duration_ms is not None]
    return CaseResult(
        case=first.case,
        results=tuple(
            _over_runs([trial.results[at] for trial in trials], threshold)
            for at in range(len(first.results))
        ),
        duration_ms=round(math.fsum(times), 3) if times else None,
        trials=tuple(trials),
    )


def _repeated(
    found: Sequence[MetricResult],
    threshold: float,
    as_state: Callable[[MetricResult], State] = lambda result: result.state,
) -> Repeated:
    values = [
        None if isinstance(r.measurement, Unmeasured) else r.measurement.value for r in found
    ]
    return repeated("", [as_state(result) for result in found], values, threshold)


def _over_runs(found: Sequence[MetricResult], threshold: float) -> MetricResult:
    whole = _repeated(found, threshold)
    state = whole.state
    reason = clip_reason(_sentence(found, whole, threshold))
    measured = [r.measurement for r in found if isinstance(r.measurement, Measured)]
    measurement: Measurement
    if state.measured:
        details: dict[str, JSON] = {
            RUNS: {
                "values": list(whole.values),
                "states": [result.state.value for result in found],
                "passed": whole.passed,
                "measured": len(measured),
                "of": whole.runs,
                "needed": passes_needed(whole.runs, threshold),
            }
        }
        measurement = _mean(measured, details)
    else:
        measurement = Unmeasured(reason, state)
    return MetricResult(
        metric=found[0].metric,
        state=state,
        measurement=measurement,
        cutoff=found[0].cutoff,
        reason=reason,
        borderline=_turns(found, whole, threshold),
        held=_held(found, whole, threshold),
    )


def _mean(measured: Sequence[Measured], details: dict[str, JSON]) -> Measured:
    scores = [one.score for one in measured if one.score is not None]
    names = dict.fromkeys(name for one in measured for name in one.tokens)
    return Measured(
        similarity=_middle([one.similarity for one in measured]),
        value=_middle([one.value for one in measured]),
        score=_middle(scores) if len(scores) == len(measured) else None,
        details=details,
        tokens={
            name: max(
                (one.tokens[name] for one in measured if name in one.tokens), key=_least_seen
            )
            for name in names
        },
    )


def _middle(values: Sequence[float]) -> float:
    """Return the mean, which rounding must not put beyond the values."""
    mean = math.fsum(value / len(values) for value in values)
    return min(max(mean, min(values)), max(values))


def _least_seen(tokens: Tokens) -> tuple[bool, bool, int]:
    """Order what the model saw of a text, so that the worst of the runs counts for the case."""
    return tokens.truncated, tokens.unknown > 0, tokens.total


def _turns(found: Sequence[MetricResult], whole: Repeated, threshold: float) -> bool:
    """Return whether the close calls among the runs could turn what the case comes to."""
    if not any(result.borderline for result in found):
        return False

    def to(state: State) -> State:
        turned = _repeated(found, threshold, as_state=lambda r: state if r.borderline else r.state)
        return turned.state

    return any(to(state) is not whole.state for state in (State.PASSED, State.FAILED))


def _held(found: Sequence[MetricResult], whole: Repeated, threshold: float) -> tuple[str, ...]:
    """Return the guards that differ in some run, where without them the case had passed."""
    names = tuple(dict.fromkeys(name for result in found for name in result.held))
    if not names or whole.state is State.PASSED:
        return ()
    without = _repeated(found, threshold, as_state=lambda r: State.PASSED if r.held else r.state)
    return names if without.state is State.PASSED else ()


def _sentence(found: Sequence[MetricResult], whole: Repeated, threshold: float) -> str:
    """Return what the runs say in words: how many passed, the values, and what speaks against it.

    An absence is told without the values, so that those of one cause are counted as one.
    """
    states = [result.state for result in found]
    told = []
    if found[0].cutoff is None and whole.state.measured:
        told.append(f"scored in {whole.runs} runs")
    elif found[0].cutoff is not None and whole.absent < whole.runs:
        needed = passes_needed(whole.runs, threshold)
        told.append(f"passed in {whole.passed} of {whole.runs} runs (needed {needed})")
    if not whole.state.measured:
        causes = [r.measurement.cause for r in found if isinstance(r.measurement, Unmeasured)]
        return ", ".join([*told, f"{whole.reason}: {causes[0]}"])
    for state, word in _STATE_WORDS.items():
        if count := states.count(state):
            told.append(f"{word} in {count}")
    values = [value for value in whole.values if value is not None]
    low, high = (shown(value, found[0].cutoff, _DIGITS) for value in (min(values), max(values)))
    told.append(f"value {low}" if low == high else f"values {low} to {high}")
    said = ", ".join(told)
    other = next((at for at, state in enumerate(states) if state in _STATE_WORDS), None)
    return said if other is None else f"{said}; run {other + 1}: {found[other].reason}"


_DIGITS = 4

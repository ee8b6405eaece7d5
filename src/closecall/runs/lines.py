"""Results as lines of a run folder, and lines as results again."""

from __future__ import annotations

from typing import Any

import msgspec

from closecall.embedders.absent import is_absent
from closecall.records import Case, Measured, Measurement, State, Tokens, Unmeasured
from closecall.runs.aef import result_line, score
from closecall.runs.header import MetricPlan, RunHeader
from closecall.runs.results import CaseResult, CaseTokens, MetricResult, guards_words
from closecall.subjects.repeats import passes_needed

EXT = "closecall"
"""Our member of the format's ``ext`` object."""

MAX_SOURCE = 512
"""Characters the format keeps of where a threshold comes from."""

MAX_DURATION_MS = 1e15
"""More than any run can take."""


class _Facts(msgspec.Struct, frozen=True, omit_defaults=True, forbid_unknown_fields=True):
    """What the format has no member for."""

    similarity: float
    score: float | None = None
    details: dict[str, Any] = {}
    tokens: dict[str, Tokens] = {}
    borderline: bool = False
    held: tuple[str, ...] = ()
    usage: tuple[CaseTokens, ...] = ()


def to_line(
    header: RunHeader,
    plan: MetricPlan,
    case: Case,
    result: MetricResult,
    duration_ms: float | None,
    *,
    trial: int | None = None,
    trials: dict[str, Any] | None = None,
) -> dict[str, Any]:
    """Return the line of results.ndjson for one decided measurement.

    ``trial`` is which run of a repeated case it is of; ``trials`` counts the runs that it is over.
    """
    measured = result.measurement
    common: dict[str, Any] = {
        "reason": result.reason,
        "duration_ms": duration_ms if result.duration_ms is None else result.duration_ms,
        "annotator": annotator_of(header, plan),
        "trial": trial,
        "trials": trials,
    }
    if isinstance(measured, Measured):
        facts = _Facts(
            measured.similarity,
            measured.score,
            measured.details,
            measured.tokens,
            result.borderline,
            result.held,
        )
        normalized = None if measured.score is None else round(measured.score / 100, 6)
        common["scores"] = [score(plan.id, measured.value, normalized)]
        common["ext"] = {EXT: msgspec.to_builtins(facts)}
        if result.cutoff is not None:
            common["verdict_rule"] = rule_of(plan, result.cutoff)
            if trials is not None:
                needed = passes_needed(header.runs, header.success_threshold)
                common["verdict_rule"]["expr"] += f"; in {needed} of {header.runs} runs"
        if result.state is State.FAILED:
            common["severity"] = "medium"
    return result_line(
        header.run_id,
        case.id,
        plan.id,
        evaluator_of(plan),
        result.state,
        **common,
    )


def evaluator_of(plan: MetricPlan) -> tuple[str, str]:
    """Return the id and the version of what measured."""
    return f"closecall.{plan.id}", plan.evaluator_version


def annotator_of(header: RunHeader, plan: MetricPlan) -> dict[str, str]:
    """Return what gave the number: code with an embedder, or a chat model."""
    if not plan.judges:
        if is_absent(header.instrument):
            return {"kind": "CODE"}
        return {"kind": "CODE", "model": header.instrument.model}
    return {"kind": "LLM", "model": ", ".join(plan.judges)}


def rule_of(plan: MetricPlan, cutoff: float) -> dict[str, Any]:
    """Return the rule in words; of a calibration also its promise, evidence and date."""
    used = plan.calibration
    below = "" if used is None or used.reject is None else f"; unsure from {used.reject:.10g}"
    digits = "g" if used is None else ".10g"
    beside = f"; {guards_words(plan.guards)}" if plan.guards else ""
    mark = "" if used is None else f"calibration {used.digest[:12]}: "
    return {
        "expr": f"{plan.id} >= {cutoff:{digits}}{below}{beside}",
        "threshold": cutoff,
        "source": f"{mark}{plan.cutoff_note}"[:MAX_SOURCE],
    }


def from_line(plan: MetricPlan, line: dict[str, Any]) -> MetricResult:
    """Return the result a line holds.

    Raises
    ------
    msgspec.ValidationError, KeyError, ValueError
        The line is not one that closecall wrote.
    """
    state = State(line["state"])
    measurement: Measurement
    borderline = False
    held: tuple[str, ...] = ()
    if state.measured:
        facts = msgspec.convert(line["ext"][EXT], _Facts)
        value = next(s["value"] for s in line["scores"] if s["metric"] == plan.id)
        measurement = Measured(
            similarity=facts.similarity,
            value=float(value),
            score=facts.score,
            details=facts.details,
            tokens=facts.tokens,
        )
        borderline, held = facts.borderline, facts.held
    else:
        measurement = Unmeasured(line["reason"], state)
    return MetricResult(
        metric=plan.id,
        state=state,
        measurement=measurement,
        cutoff=plan.cutoff,
        reason=line.get("reason", ""),
        borderline=borderline,
        held=held,
    )


def case_result(header: RunHeader, case: Case, lines: list[dict[str, Any]]) -> CaseResult:
    """Return a case with its results, in the order of the header's metrics."""
    by_path = {line["path"]: line for line in lines}
    durations = [_duration(line) for line in lines if "durationMs" in line]
    results = [from_line(plan, by_path[plan.id]) for plan in header.metrics]
    if header.cascade:
        results = [
            msgspec.structs.replace(result, duration_ms=by_path[result.metric].get("durationMs"))
            for result in results
        ]
    return CaseResult(
        case=case,
        results=tuple(results),
        duration_ms=sum(durations) if durations else None,
        cascade=header.cascade,
    )


def _duration(line: dict[str, Any]) -> float:
    """Return the milliseconds of a line, bounded so that any number of them adds up."""
    found = line["durationMs"]
    sound = isinstance(found, int | float) and not isinstance(found, bool)
    if not sound or not 0 <= found <= MAX_DURATION_MS:
        raise ValueError(
            f"durationMs must be a number from 0 to {MAX_DURATION_MS:g}, got {found!r:.40}"
        )
    return float(found)

"""closecall as a scorer of Inspect AI.

::

    from inspect_ai import Task
    from closecall.integrations.inspect_ai import closecall_scorer

    Task(dataset=..., solver=..., scorer=closecall_scorer(calibration="cutoff.json"))

A score is ``C`` where closecall's cutoff accepts the answer and ``I`` where it rejects it; a
metric without a cutoff gives its value, 0 to 1. What cannot be measured is *unscored*, with the
reason, and so is what the cutoff leaves unsure: Inspect keeps such samples, leaves them out of its
metrics, and counts them.
"""

from __future__ import annotations

from collections.abc import Mapping
from typing import TYPE_CHECKING, Any

import anyio.to_thread
from inspect_ai.scorer import (
    CORRECT,
    INCORRECT,
    Score,
    Scorer,
    Target,
    accuracy,
    scorer,
    stderr,
)
from inspect_ai.solver import TaskState

from closecall.asserting.outcomes import NotMeasuredError
from closecall.integrations.verdict import asked, spec_of, verdict_on
from closecall.records import Case, State

if TYPE_CHECKING:
    from closecall.embedders.base import Embedder
    from closecall.metrics.base import Metric
    from closecall.metrics.guards.policy import GuardPolicy
    from closecall.runs.calibrations import One

UNSURE = "unsure"
"""Why a sample is unscored that was measured: nobody knows."""


@scorer(metrics=[accuracy(), stderr()])
def closecall_scorer(
    *,
    metric: str | Metric | None = None,
    cutoff: float | None = None,
    calibration: One | None = None,
    embedder: Embedder | str | None = None,
    guards: str | Mapping[str, str] | GuardPolicy | None = None,
    judge: Any = None,
    context: str = "context",
) -> Scorer:
    """Return a scorer that compares the output with the target, or with passages.

    Parameters
    ----------
    metric
        A name or a metric. None: that of the calibration, else ``embed_answer_similarity``.
    cutoff
        Accept from this value on, on the metric's own scale. None: that of the calibration, else
        the metric's default.
    calibration
        A calibration file; it must belong to this embedder and metric.
    embedder
        An embedder or its name.
    guards
        What a guard that differs does, as ``evaluate`` takes it.
    judge
        The chat model, for metrics that ask one.
    context
        The key of a sample's metadata that holds its passages, a text or a list of texts.
    """
    question = asked(
        metric=metric,
        cutoff=cutoff,
        calibration=calibration,
        embedder=embedder,
        guards=guards,
        judge=judge,
    )
    spec_of(question)  # a wrong name is told before the first sample

    async def score(state: TaskState, target: Target) -> Score:
        case = _case(state, target, context)
        try:
            verdict = await anyio.to_thread.run_sync(verdict_on, case, question)
        except NotMeasuredError as absent:
            return Score.unscored(
                reason=_reason(case, absent.result.state),
                answer=case.response,
                explanation=str(absent),
                metadata={"metric": absent.result.metric, "state": absent.result.state.value},
            )
        if verdict.unsure:
            return Score.unscored(
                reason=UNSURE,
                answer=case.response,
                explanation=verdict.reason,
                metadata=verdict.facts,
            )
        value: str | float = verdict.score
        if verdict.accepted is not None:
            value = CORRECT if verdict.accepted else INCORRECT
        return Score(
            value=value,
            answer=case.response,
            explanation=verdict.reason,
            metadata=verdict.facts,
        )

    return score


def _reason(case: Case, state: State) -> str:
    """Return one of Inspect's own words where it fits, else closecall's state."""
    if not (case.response or "").strip():
        return "no_response"
    return "scoring_failed" if state is State.ERROR else state.value


def _case(state: TaskState, target: Target, key: str) -> Case:
    passages = state.metadata.get(key)
    if isinstance(passages, str):
        passages = [passages]
    return Case(
        id=str(state.sample_id),
        input=state.input_text,
        response=state.output.completion,
        references=tuple(target),
        context=tuple(one for one in passages or () if isinstance(one, str)),
        metadata=dict(state.metadata),
    )

"""One answer measured and decided, in the words and on the scale that other evaluators use."""

from __future__ import annotations

from collections.abc import Mapping
from typing import TYPE_CHECKING, Any, NamedTuple

from closecall.asserting.bench import choose
from closecall.asserting.current import current
from closecall.asserting.outcomes import NotMeasuredError
from closecall.asserting.question import ANSWER, Question, question
from closecall.errors import UsageError
from closecall.metrics.cutoffs import PERCENT
from closecall.metrics.registry import load_metrics
from closecall.records import Case, Measured, State
from closecall.report.words import visible
from closecall.runs.results import MetricResult, cutoff_source

if TYPE_CHECKING:
    from closecall.embedders.base import Embedder
    from closecall.metrics.base import Metric, MetricSpec
    from closecall.metrics.guards.policy import GuardPolicy
    from closecall.runs.calibrations import One


class Verdict(NamedTuple):
    """A measured answer.

    ``score`` and ``cutoff`` are on 0 to 1 where the metric's scale ends (0 to 100 is divided by
    100), else on its own scale. ``accepted`` is None where nobody knows: between two cutoffs, or
    held back by a guard; and where there is no ``cutoff``. ``facts`` can be written as JSON.
    """

    score: float
    cutoff: float | None
    accepted: bool | None
    reason: str
    result: MetricResult
    facts: dict[str, Any]

    @property
    def unsure(self) -> bool:
        """Whether there is a cutoff, and it does not decide."""
        return self.result.state is State.INCONCLUSIVE


def asked(
    *,
    metric: str | Metric | None = None,
    cutoff: float | None = None,
    calibration: One | None = None,
    embedder: Embedder | str | None = None,
    guards: str | Mapping[str, str] | GuardPolicy | None = None,
    judge: Any = None,
) -> Question:
    """Return what is asked of every answer; parameters are those of ``assert_similar``.

    Nothing is opened. Without a metric it is that of the calibration, else
    ``embed_answer_similarity``.
    """
    return question(
        metrics=metric,
        cutoff=cutoff,
        calibration=calibration,
        embedder=embedder,
        guards=guards,
        judge=judge,
        sides=ANSWER if metric is None else None,
    )


def spec_of(asked: Question) -> MetricSpec:
    """Return what the metric is that was asked for; no model is opened.

    Raises
    ------
    UsageError
        There are several.
    """
    metrics = current().metrics(asked)
    if len(metrics) > 1:
        names = ", ".join(metric.spec.id for metric in metrics)
        raise UsageError(f"one metric gives one verdict, and these are several: {names}")
    return metrics[0].spec


def cutoff_of(asked: Question) -> float | None:
    """Return the cutoff that will decide, on the hosts' scale; no model is opened.

    None where the metric has none. An instrument that does not fit is found with the first answer.
    """
    spec = spec_of(asked)
    chosen = choose(asked, current().given)
    (metric,) = load_metrics(chosen.metrics, chosen.cutoffs)
    made = [one.made.accept_cutoff.value for one in chosen.made if one.metric == spec.id]
    cutoff = made[0] if made else metric.cutoff
    return None if cutoff is None else _unit(cutoff, spec)


def verdict_on(case: Case, asked: Question) -> Verdict:
    """Return the verdict on one answer.

    Raises
    ------
    NotMeasuredError
        There is no number; the message says why.
    ClosecallError
        A name, cutoff, calibration or setting is wrong.
    """
    spec = spec_of(asked)
    session = current()
    bench = session.bench(asked)
    (row,) = session.measure(bench, [case])
    result = row.results[0]
    found = result.measurement
    if not isinstance(found, Measured):
        what = result.state.value.replace("_", " ")
        raise NotMeasuredError(visible(f"{what}: {result.reason} ({spec.id})"), result)
    applied = bench.applied.get(spec.id)
    facts = {
        "metric": spec.id,
        "state": result.state.value,
        "value": found.value,
        "cutoff": result.cutoff,
        "cutoffSource": cutoff_source(bench.metrics[0], applied),
        "similarity": found.similarity,
        "embedder": bench.spec,
    }
    decided = result.state in (State.PASSED, State.FAILED)
    return Verdict(
        score=_unit(found.value, spec),
        cutoff=None if result.cutoff is None else _unit(result.cutoff, spec),
        accepted=result.state is State.PASSED if decided else None,
        reason=visible(f"{result.reason}; {spec.id}"),
        result=result,
        facts=facts,
    )


def _unit(value: float, spec: MetricSpec) -> float:
    return value / PERCENT if spec.high == PERCENT else value

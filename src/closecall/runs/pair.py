"""One pair of texts, measured and decided without a run around it."""

from __future__ import annotations

from closecall.embedders.base import Embedder
from closecall.embedders.cached import CachedEmbedder
from closecall.errors import UsageError
from closecall.metrics.base import Metric
from closecall.metrics.guards.policy import NO_GUARDS, GuardPolicy
from closecall.records import Case, Unmeasured
from closecall.runs.applied import Applied
from closecall.runs.explaining import explained
from closecall.runs.results import MetricResult, decide
from closecall.runs.runner import asked_texts, guarded, measured_case

_TWO = 2


def score_pair(
    metric: Metric,
    text_a: str,
    text_b: str,
    embedder: Embedder,
    applied: Applied | None = None,
    *,
    guards: GuardPolicy = NO_GUARDS,
) -> MetricResult:
    """Return the decided measurement of a pair.

    ``text_a`` goes to the metric's first field and ``text_b`` to its second. ``applied`` is a
    calibration that decides instead of the metric's own cutoff; ``guards`` look at what it
    accepts.
    """
    if len(metric.spec.needs) < _TWO:
        read = " and ".join(metric.spec.needs) or "whole"
        raise UsageError(
            f"{metric.spec.id} reads the {read} of a case, which is no pair of texts: evaluate a "
            "file of cases with it"
        )
    first, second = metric.spec.needs[:_TWO]
    case = Case(id="pair", **{first: _value(first, text_a), second: _value(second, text_b)})  # type: ignore[arg-type]
    texts = asked_texts(metric, case)
    if isinstance(texts, Unmeasured):
        return decide(metric, texts, applied)
    vectors = CachedEmbedder(embedder).fetch(texts)
    result = decide(metric, measured_case(metric, case, vectors), applied)
    rows = explained([metric], [case], [guarded([metric], case, [result], guards)])
    return rows[0][0]


def _value(field: str, text: str) -> str | tuple[str, ...]:
    return (text,) if field in ("references", "context") else text

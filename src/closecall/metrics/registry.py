"""Metrics by name, as the command line and ``evaluate`` take them.

A name may carry options: ``embedding_similarity:method=euclidean:normalize=false``.
"""

from __future__ import annotations

from collections.abc import Iterable, Mapping, Sequence
from typing import Any

from closecall.errors import UnknownNameError, UsageError
from closecall.metrics.base import Metric, MetricSpec
from closecall.metrics.embedding_similarity import EmbeddingSimilarity
from closecall.metrics.pooled import (
    AnswerSimilarity,
    QueryContextSimilarity,
    ResponseContextSimilarity,
    SemanticSimilarity,
)

BUILT_IN: dict[str, Any] = {
    cls.NAME: cls
    for cls in (
        AnswerSimilarity,
        ResponseContextSimilarity,
        QueryContextSimilarity,
        SemanticSimilarity,
        EmbeddingSimilarity,
    )
}
DEFAULT = AnswerSimilarity.NAME


def load_metric(name: str, cutoff: float | None = None) -> Metric:
    """Return the metric of this name, with options after colons.

    Raises
    ------
    UnknownNameError
        No metric of that name; lists those there are.
    UsageError
        An option or a cutoff is not allowed.
    """
    base, *pairs = name.strip().split(":")
    if base not in BUILT_IN:
        import difflib

        near = difflib.get_close_matches(base, BUILT_IN, n=1)
        hint = f" Did you mean {near[0]}?" if near else ""
        raise UnknownNameError(
            f"there is no metric {base!r}.{hint} Metrics: {', '.join(BUILT_IN)}"
        )
    options: dict[str, Any] = {}
    for pair in pairs:
        key, sep, value = pair.partition("=")
        if not sep or not key:
            raise UsageError(f"{name}: options are written NAME=VALUE, got {pair!r}")
        key, value = key.strip(), value.strip()
        if key in options:
            raise UsageError(f"{name}: the option {key!r} is given twice")
        options[key] = {"true": True, "false": False}.get(value.lower(), value)
    allowed = EmbeddingSimilarity.DEFAULTS if base == EmbeddingSimilarity.NAME else {}
    unknown = [key for key in options if key not in allowed]
    if unknown:
        there_are = f"its options are {', '.join(allowed)}" if allowed else "it has no options"
        raise UsageError(f"{base} has no option {unknown[0]!r}; {there_are}")
    metric: Metric = BUILT_IN[base](cutoff=cutoff, **options)
    return metric


def load_metrics(
    names: str | Metric | Iterable[str | Metric], cutoffs: Mapping[str, float] | None = None
) -> list[Metric]:
    """Return metrics from names (also comma-separated) and instances, each at most once.

    ``cutoffs`` maps a metric's name or id to its cutoff.
    """
    if isinstance(names, str) or not isinstance(names, Iterable):
        names = [names]
    cutoffs = dict(cutoffs or {})
    flat: list[str | Metric] = []
    for item in names:
        flat.extend(part for part in item.split(",") if part.strip()) if isinstance(
            item, str
        ) else flat.append(item)
    if not flat:
        raise UsageError(f"name at least one metric: {', '.join(BUILT_IN)}")
    metrics: list[Metric] = []
    used: set[str] = set()
    for item in flat:
        metric = item
        if isinstance(metric, type):
            metric = metric()
        if isinstance(metric, str):
            metric = _with_cutoff(metric, cutoffs, used)
        if not isinstance(getattr(metric, "spec", None), MetricSpec):
            raise UsageError(f"expected a metric or the name of one, got {metric!r}")
        metrics.append(metric)
    _refuse_unused(cutoffs, used, metrics)
    ids = [metric.spec.id for metric in metrics]
    twice = sorted({i for i in ids if ids.count(i) > 1})
    if twice:
        raise UsageError(f"metric {twice[0]} is named twice; each metric counts once")
    return metrics


def _with_cutoff(name: str, cutoffs: Mapping[str, float], used: set[str]) -> Metric:
    metric = load_metric(name)
    for key in (metric.spec.id, metric.spec.name):
        if key in cutoffs:
            used.add(key)
            return load_metric(name, cutoffs[key])
    return metric


def _refuse_unused(
    cutoffs: Mapping[str, float], used: set[str], metrics: Sequence[Metric]
) -> None:
    left = [key for key in cutoffs if key not in used]
    given = {name for metric in metrics for name in (metric.spec.id, metric.spec.name)}
    if left and left[0] in given:
        raise UsageError(
            f"the cutoff for {left[0]!r} has no effect: name the metric by its name, or give the "
            "cutoff to the metric itself, and each metric one cutoff"
        )
    if left:
        raise UsageError(
            f"a cutoff was given for {left[0]!r}, which is not among the metrics of this run: "
            f"{', '.join(metric.spec.id for metric in metrics)}"
        )

"""The cases with the lowest values, with the two texts behind each."""

from __future__ import annotations

import heapq
from collections.abc import Callable, Sequence
from typing import NamedTuple

from closecall.metrics.cutoffs import shown
from closecall.metrics.support.said import said
from closecall.records import Case, Measured
from closecall.runs.record import Run
from closecall.runs.results import CaseResult, MetricResult


class Worst(NamedTuple):
    """One of the lowest values of a metric, with the two texts behind it.

    ``said`` is what the metric says of it besides, each with a name of one word.
    """

    case_id: str
    value: str
    state: str
    first_name: str
    first: str
    second_name: str
    second: str
    said: tuple[tuple[str, str], ...] = ()


def decimals(high: float | None) -> int:
    """Return how many decimals a value on this scale is shown with."""
    return 1 if high == 100 else 3  # noqa: PLR2004 - percent


def worst_cases(
    run: Run, keep: int, look: Callable[[CaseResult], None]
) -> dict[str, tuple[Worst, ...]]:
    """Return the lowest values of each metric, at most ``keep`` each, in one pass.

    ``look`` is shown every case on the way: reading a run again is what a report takes its time
    for.
    """
    digits = {plan.id: decimals(plan.high) for plan in run.header.metrics}
    heaps: dict[str, list[tuple[float, int, Case, tuple[MetricResult, MetricResult]]]] = {
        m.metric: [] for m in run.metrics
    }
    for order, row in enumerate(run):
        look(row)
        texts = row.trials[0].results if row.trials else row.results
        for result, first in zip(row.results, texts, strict=True):
            if isinstance(result.measurement, Measured):
                # Negated so that the heap's top is the one to drop; earlier cases stay on ties.
                entry = (-result.measurement.value, -order, row.case, (result, first))
                heap = heaps[result.metric]
                if len(heap) < keep:
                    heapq.heappush(heap, entry)
                elif entry[:2] > heap[0][:2]:
                    heapq.heapreplace(heap, entry)
    return {
        metric: tuple(
            _entry(case, *results, digits[metric])
            for _, _, case, results in sorted(heap, key=lambda e: (-e[0], -e[1]))
        )
        for metric, heap in heaps.items()
        if heap
    }


def _entry(case: Case, result: MetricResult, first_run: MetricResult, digits: int) -> Worst:
    """Return what is shown: of a repeated case the texts of its first run."""
    measured, there = result.measurement, first_run.measurement
    if not isinstance(measured, Measured):
        raise TypeError("only measured results have a value")
    details = there.details if isinstance(there, Measured) else {}
    name = result.metric.partition(":")[0]
    if name == "embed_query_context":
        first, second = (
            ("input", case.input or ""),
            ("context", _chosen(case.context, details.get("bestPassage"))),
        )
    elif name in _AGAINST_CONTEXT or ":sides=context" in result.metric:
        first, second = (
            ("context", _chosen(case.context, details.get("bestPassage"))),
            ("response", case.response or ""),
        )
    elif name.startswith("llm_"):
        reason = details.get("reason")
        first, second = (
            ("reason", reason if isinstance(reason, str) else ""),
            ("response", case.response or ""),
        )
    else:
        reference = _chosen(case.references, details.get("bestReference"))
        first, second = ("reference", reference), ("response", case.response or "")
    value = shown(measured.value, result.cutoff, digits)
    told = tuple(said(details))
    return Worst(case.id, value, result.state.value, *first, *second, told)


_AGAINST_CONTEXT = frozenset(
    {
        "embed_response_context",
        "context_alignment",
        "context_window_similarity",
        "context_support",
    }
)


def _chosen(texts: Sequence[str], best: object) -> str:
    """Return the text a metric named as best, or the first that is not blank.

    Empty when there is none: a run folder need not hold the texts.
    """
    if isinstance(best, int) and 0 <= best < len(texts):
        return texts[best]
    return next((text for text in texts if text.strip()), "")

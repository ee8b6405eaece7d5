"""One pair of texts as a line or a JSON object."""

from __future__ import annotations

from typing import Any

import msgspec

from closecall.instrument import Instrument
from closecall.metrics.base import Metric
from closecall.metrics.cutoffs import shown
from closecall.records import Measured
from closecall.report.overview import decimals
from closecall.runs.results import CUTOFF_WORDS, MetricResult, cutoff_source


def line(result: MetricResult, metric: Metric, instrument: Instrument) -> str:
    """Return value, state, why, and what measured it, on one line."""
    measured = result.measurement
    if not isinstance(measured, Measured):
        return f"{result.state.value}: {result.reason} ({metric.spec.id})"
    value = shown(measured.value, result.cutoff, decimals(metric.spec.high))
    return f"{value}  {result.state.value}: {result.reason}; {metric.spec.id}, {instrument.model}"


def record(result: MetricResult, metric: Metric, instrument: Instrument) -> dict[str, Any]:
    """Return everything known of the pair; an absence has a reason and no numbers."""
    known: dict[str, Any] = {
        "metric": metric.spec.id,
        "state": result.state.value,
        "reason": result.reason,
        "cutoff": result.cutoff,
        "cutoffNote": CUTOFF_WORDS[cutoff_source(metric)],
        "calibrated": False,
        "EmbeddingModel": instrument.model,
        "EmbeddingProvider": instrument.provider,
        "InstrumentDigest": instrument.digest,
    }
    measured = result.measurement
    if isinstance(measured, Measured):
        known |= {
            "value": measured.value,
            "score": measured.score,
            "similarity": measured.similarity,
            "borderline": result.borderline,
            "details": measured.details,
            "tokens": msgspec.to_builtins(measured.tokens),
        }
    return known

"""One pair of texts as a line or a JSON object."""

from __future__ import annotations

from typing import Any

import msgspec

from closecall.instrument import Instrument
from closecall.metrics.base import Metric
from closecall.metrics.cutoffs import shown
from closecall.records import Measured
from closecall.report.json_report import metric_json
from closecall.report.words import plural
from closecall.report.worst import decimals
from closecall.runs.applied import Applied
from closecall.runs.results import (
    CALIBRATED_CUTOFF,
    MetricResult,
    cutoff_note,
    cutoff_source,
)


def line(
    result: MetricResult,
    metric: Metric,
    instrument: Instrument,
    applied: Applied | None = None,
) -> str:
    """Return value, state, why, and what measured it, on one line; a calibration on a second."""
    told = _line(result, metric, instrument)
    return told if applied is None else f"{told}\n{applied.words}"


def _line(result: MetricResult, metric: Metric, instrument: Instrument) -> str:
    measured = result.measurement
    if not isinstance(measured, Measured):
        why = "; ".join(result.reason.splitlines())
        return f"{result.state.value}: {why} ({metric.spec.id})"
    value = shown(measured.value, result.cutoff, decimals(metric.spec.high))
    said = f"{value}  {result.state.value}: {result.reason}; {metric.spec.id}, {instrument.model}"
    unknown = sum(tokens.unknown for tokens in measured.tokens.values())
    return f"{said}; {plural(unknown, 'word or sign')} unknown to the model" if unknown else said


def record(
    result: MetricResult,
    metric: Metric,
    instrument: Instrument,
    applied: Applied | None = None,
) -> dict[str, Any]:
    """Return everything known of the pair; an absence has a reason and no numbers."""
    source = cutoff_source(metric, applied)
    return {
        **metric_json(result),
        "cutoffNote": cutoff_note(source, applied),
        "calibrated": source == CALIBRATED_CUTOFF,
        "calibration": None if applied is None else msgspec.to_builtins(applied),
        "EmbeddingModel": instrument.model,
        "EmbeddingProvider": instrument.provider,
        "InstrumentDigest": instrument.digest,
    }

"""One pair of texts as a line or a JSON object."""

from __future__ import annotations

from typing import Any

import msgspec

from closecall.embedders.absent import is_absent
from closecall.instrument import Instrument
from closecall.metrics.base import Metric
from closecall.metrics.cutoffs import shown
from closecall.metrics.support.said import said
from closecall.records import Measured
from closecall.report.json_report import metric_json
from closecall.report.words import embedder_facts, plural, shorten
from closecall.report.worst import decimals
from closecall.runs.applied import Applied
from closecall.runs.results import (
    CALIBRATED_CUTOFF,
    MetricResult,
    cutoff_note,
    cutoff_source,
)

WIDTH = 240
"""Characters of a line that explains: two quotations would not fit, one does."""


def line(
    result: MetricResult,
    metric: Metric,
    instrument: Instrument,
    applied: Applied | None = None,
) -> str:
    """Return value, state, why, and what measured it, on one line; a calibration on a second.

    Then what the metric says of the two texts besides, on a line each.
    """
    lines = [_line(result, metric, instrument)]
    if applied is not None:
        lines.append(applied.words)
    measured = result.measurement
    if isinstance(measured, Measured):
        lines += (f"  {name}: {shorten(text, WIDTH)}" for name, text in said(measured.details))
    return "\n".join(lines)


def _line(result: MetricResult, metric: Metric, instrument: Instrument) -> str:
    measured = result.measurement
    if not isinstance(measured, Measured):
        why = "; ".join(result.reason.splitlines())
        return f"{result.state.value}: {why} ({metric.spec.id})"
    value = shown(measured.value, result.cutoff, decimals(metric.spec.high))
    by = "nothing embedded" if is_absent(instrument) else instrument.model
    told = f"{value}  {result.state.value}: {result.reason}; {metric.spec.id}, {by}"
    unknown = sum(tokens.unknown for tokens in measured.tokens.values())
    return f"{told}; {plural(unknown, 'word or sign')} unknown to the model" if unknown else told


def record(
    result: MetricResult,
    metric: Metric,
    instrument: Instrument,
    applied: Applied | None = None,
) -> dict[str, Any]:
    """Return everything known of the pair; an absence has a reason and no numbers.

    Where the metric embeds nothing the model and its provider are None, as in a run's report.
    """
    source = cutoff_source(metric, applied)
    return {
        **metric_json(result),
        "cutoffNote": cutoff_note(source, applied),
        "calibrated": source == CALIBRATED_CUTOFF,
        "calibration": None if applied is None else msgspec.to_builtins(applied),
        **embedder_facts(instrument),
        "InstrumentDigest": instrument.digest,
    }

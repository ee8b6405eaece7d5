"""What a run is, apart from when it ran: two runs with one digest asked the same question.

The digest moves when the model, its provider, a metric's version or options, a cutoff, the
window policy or any case changes; not with the file's name, format or place.
"""

from __future__ import annotations

import hashlib
from collections.abc import Sequence
from typing import Any

import msgspec

from closecall.instrument import Instrument, canonical_json
from closecall.metrics.base import Metric


def definition(
    cases_digest: str, metrics: Sequence[Metric], instrument: Instrument
) -> dict[str, Any]:
    """Return the definition as JSON values."""
    return {
        "cases": cases_digest,
        "metrics": [
            {
                "id": metric.spec.id,
                "version": metric.spec.version,
                "cutoff": metric.cutoff,
                "options": metric.spec.options,
            }
            for metric in metrics
        ],
        "instrument": msgspec.to_builtins(instrument),
    }


def definition_digest(value: dict[str, Any]) -> str:
    """Return sha256 (hex) over the definition in one fixed spelling."""
    return hashlib.sha256(canonical_json(value)).hexdigest()


def evaluator_version(metric: Metric, instrument: Instrument) -> str:
    """Return the version written beside each result: the metric's own, then 12 hex digits.

    The digits move with the instrument, the cutoff and the options, so equal versions mean the
    same procedure.
    """
    facts = [
        metric.spec.id,
        metric.spec.version,
        metric.cutoff,
        metric.spec.options,
        instrument.digest,
    ]
    return f"{metric.spec.version}+{hashlib.sha256(canonical_json(facts)).hexdigest()[:12]}"

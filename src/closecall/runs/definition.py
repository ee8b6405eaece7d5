"""What a run is, apart from when it ran: two runs with one digest asked the same question.

The digest moves when the model, its provider, a metric's version or options, a cutoff, the
window policy or any case changes; not with the file's name, format or place.
"""

from __future__ import annotations

import hashlib
from collections.abc import Mapping, Sequence
from typing import Any

import msgspec

from closecall.instrument import Instrument, canonical_json
from closecall.metrics.base import Metric
from closecall.runs.applied import Applied


def definition(
    cases_digest: str,
    metrics: Sequence[Metric],
    instrument: Instrument,
    applied: Mapping[str, Applied] | None = None,
    guards: Mapping[str, Mapping[str, str]] | None = None,
    *,
    cascade: bool = False,
    subject: str = "",
    repeats: tuple[int, float] = (1, 1.0),
) -> dict[str, Any]:
    """Return the definition as JSON values.

    ``applied`` maps a metric to its calibration, ``guards`` to the guards that stand beside it. In
    a ``cascade`` the metrics decide one after another. ``subject`` is the digest of what answers
    the cases, ``repeats`` how often it does and the share of passes a case needs.
    """
    used, beside = applied or {}, guards or {}
    return {
        "cases": cases_digest,
        "metrics": [
            {
                "id": metric.spec.id,
                "version": metric.spec.version,
                "cutoff": metric.cutoff,
                "options": metric.spec.options,
                **_by_calibration(used.get(metric.spec.id)),
                **({"guards": dict(found)} if (found := beside.get(metric.spec.id)) else {}),
            }
            for metric in metrics
        ],
        "instrument": msgspec.to_builtins(instrument),
        **({"cascade": True} if cascade else {}),
        **({"subject": subject} if subject else {}),
        **({"runs": repeats[0], "successThreshold": repeats[1]} if repeats[0] > 1 else {}),
    }


def definition_digest(value: dict[str, Any]) -> str:
    """Return sha256 (hex) over the definition in one fixed spelling."""
    return hashlib.sha256(canonical_json(value)).hexdigest()


def _by_calibration(applied: Applied | None) -> dict[str, Any]:
    """Return the members that a calibration changes, so that other runs keep their digest."""
    if applied is None:
        return {}
    return {"cutoff": applied.accept, "calibration": applied.digest}


def evaluator_version(
    metric: Metric,
    instrument: Instrument,
    applied: Applied | None = None,
    guards: Mapping[str, str] | None = None,
) -> str:
    """Return the version written beside each result: the metric's own, then 12 hex digits.

    The digits move with the instrument, the cutoff or calibration, the options and the guards, so
    equal versions mean the same procedure.
    """
    facts: list[Any] = [
        metric.spec.id,
        metric.spec.version,
        metric.cutoff,
        metric.spec.options,
        instrument.digest,
        *(() if applied is None else (applied.digest,)),
        *([dict(guards)] if guards else ()),
    ]
    return f"{metric.spec.version}+{hashlib.sha256(canonical_json(facts)).hexdigest()[:12]}"

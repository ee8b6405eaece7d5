"""The facts of a run that stand in its header, as written and as read back."""

from __future__ import annotations

from typing import Any

import msgspec

from closecall.datasets import OnBadRow
from closecall.instrument import Instrument
from closecall.metrics.base import Metric
from closecall.runs.applied import Applied
from closecall.runs.definition import evaluator_version
from closecall.runs.results import cutoff_note, cutoff_source


class MetricPlan(msgspec.Struct, frozen=True, kw_only=True):
    """A metric as a run used it; enough to read its results without the metric's code."""

    id: str
    name: str
    version: str
    evaluator_version: str
    cutoff: float | None
    cutoff_source: str
    low: float | None
    high: float | None
    description: str
    calibration: Applied | None = None

    @classmethod
    def of(
        cls, metric: Metric, instrument: Instrument, applied: Applied | None = None
    ) -> MetricPlan:
        """Return the plan of a metric with this instrument, and the calibration it is cut by."""
        spec = metric.spec
        return cls(
            id=spec.id,
            name=spec.name,
            version=spec.version,
            evaluator_version=evaluator_version(metric, instrument, applied),
            cutoff=metric.cutoff if applied is None else applied.accept,
            cutoff_source=cutoff_source(metric, applied),
            low=spec.low,
            high=spec.high,
            description=spec.description,
            calibration=applied,
        )

    @property
    def cutoff_note(self) -> str:
        """What every surface says of the cutoff."""
        return cutoff_note(self.cutoff_source, self.calibration)


class DatasetFacts(msgspec.Struct, frozen=True, kw_only=True):
    """Where the cases came from and how the file was read.

    ``path`` is None for cases given in Python. ``rows`` counts readable cases, ``bad_rows``
    those left out and ``problems`` says why the first of them could not be read; ``mapping`` and
    ``on_bad_row`` are what the caller asked for.
    """

    path: str | None
    format: str
    digest: str
    rows: int
    bad_rows: int = 0
    problems: tuple[str, ...] = ()
    reading: tuple[str, ...] = ()
    mapping: dict[str, str] = {}
    on_bad_row: OnBadRow = "fail"


class RunHeader(msgspec.Struct, frozen=True, kw_only=True):
    """What was asked, with what, when. Times are ISO 8601 in UTC."""

    run_id: str
    name: str
    started_at: str
    ended_at: str | None
    producer_version: str
    dataset: DatasetFacts
    metrics: tuple[MetricPlan, ...]
    embedder: str
    instrument: Instrument
    instrument_digest: str
    definition_digest: str
    subject: str | None = None
    subject_version: str | None = None
    content: bool = True

    def to_json(self) -> dict[str, Any]:
        """Return JSON values; ``from_json`` reads them back."""
        built: dict[str, Any] = msgspec.to_builtins(self)
        return built

    @classmethod
    def from_json(cls, value: object) -> RunHeader:
        """Read a header back; raises ``msgspec.ValidationError`` naming the field."""
        return msgspec.convert(value, cls)

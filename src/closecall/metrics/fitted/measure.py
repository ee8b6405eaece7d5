"""``judge_features``: the features of each case, for a head to be fitted on. Not a verdict."""

from __future__ import annotations

from collections.abc import Sequence

from closecall.embedders.base import TextKey, VectorLookup
from closecall.metrics.base import BatchMetric, MetricSpec
from closecall.metrics.fitted.features import Sides, joined_version
from closecall.metrics.fitted.reading import read, texts_of, with_support
from closecall.metrics.fitted.support import supports
from closecall.records import JSON, Case, Measured, Measurement, Unmeasured

FEATURES = "features"
"""The member of the details that holds them."""

SUPPORT_VALUE = "support"
"""The member of the details that holds the value of the pair model's metric, where it is used."""


class JudgeFeatures:
    """Every feature of a case in its details; the value is the first of them.

    Used while a judge is fitted; it is not among the metrics that have a name. ``support`` is the
    metric of the pair model, None where the judge goes without one.
    """

    NAME = "judge_features"

    def __init__(self, sides: Sides = "references", support: BatchMetric | None = None) -> None:
        self.sides = sides
        self.support = support
        self.cutoff: float | None = None
        self.spec = MetricSpec(
            id=self.NAME,
            name=self.NAME,
            version=joined_version(None if support is None else support.spec.version),
            needs=(sides, "response"),
            default_cutoff=None,
            low=None,
            high=None,
            description="The scalars that a judge is fitted on.",
            options={"sides": sides},
        )

    def texts(self, case: Case) -> tuple[TextKey, ...] | Unmeasured:
        """Return the texts to embed, or why nothing can be measured."""
        return texts_of(case, self.sides)

    def measure(self, case: Case, vectors: VectorLookup) -> Measurement:
        """Measure one case; two or three milliseconds with the vectors at hand."""
        return self.measure_batch([case], vectors)[0]

    def measure_batch(self, cases: Sequence[Case], vectors: VectorLookup) -> Sequence[Measurement]:
        """Return one measurement a case, in order; the pair model reads them all at once."""
        support = supports(self.support, cases, vectors)
        return [
            self._measured(case, vectors, own) for case, own in zip(cases, support, strict=True)
        ]

    def _measured(
        self, case: Case, vectors: VectorLookup, support: Measurement | None
    ) -> Measurement:
        found = with_support(read(case, self.sides, vectors), self.sides, support)
        if isinstance(found, Unmeasured):
            return found
        value = next(iter(found.features.values()))
        details: dict[str, JSON] = {FEATURES: dict(found.features)}
        if isinstance(support, Measured):
            details[SUPPORT_VALUE] = support.value
        return Measured(
            similarity=value,
            value=value,
            score=None,
            details=details,
            tokens=found.tokens,
        )

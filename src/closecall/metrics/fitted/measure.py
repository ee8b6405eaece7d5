"""``judge_features``: the features of each case, for a head to be fitted on. Not a verdict."""

from __future__ import annotations

from closecall.embedders.base import TextKey, VectorLookup
from closecall.metrics.base import MetricSpec
from closecall.metrics.fitted.features import VERSION, Sides
from closecall.metrics.fitted.reading import read, texts_of
from closecall.records import Case, Measured, Measurement, Unmeasured

FEATURES = "features"
"""The member of the details that holds them."""


class JudgeFeatures:
    """Every feature of a case in its details; the value is the first of them.

    Used while a judge is fitted; it is not among the metrics that have a name.
    """

    NAME = "judge_features"

    def __init__(self, sides: Sides = "references") -> None:
        self.sides = sides
        self.cutoff: float | None = None
        self.spec = MetricSpec(
            id=self.NAME,
            name=self.NAME,
            version=VERSION,
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
        found = read(case, self.sides, vectors)
        if isinstance(found, Unmeasured):
            return found
        value = next(iter(found.features.values()))
        return Measured(
            similarity=value,
            value=value,
            score=None,
            details={FEATURES: found.features},
            tokens=found.tokens,
        )

"""What the metrics that compare a response with its references by wording have in common."""

from __future__ import annotations

from collections.abc import Sequence
from typing import NamedTuple

from closecall.embedders.base import TextKey, VectorLookup
from closecall.instrument import canonical_text
from closecall.metrics.lexical.unit_metric import UnitMetric, measured
from closecall.metrics.sides import Side, reference_side, response_side
from closecall.records import JSON, Case, Measurement, Unmeasured


class Compared(NamedTuple):
    """A response against one reference: how close, 0 to 1, and what there is to tell of it."""

    value: float
    details: dict[str, JSON]


class ReferenceMetric(UnitMetric):
    """A response against its references by wording, 0 to 1; needs no vectors.

    Every reference is compared on its own; the best counts and is named, the first of equals.
    """

    def texts(self, case: Case) -> tuple[TextKey, ...] | Unmeasured:
        """Return no texts, since no vectors are needed; or why nothing can be measured."""
        sides = _sides(case)
        return sides if isinstance(sides, Unmeasured) else ()

    def measure(self, case: Case, vectors: VectorLookup) -> Measurement:  # noqa: ARG002 - no model
        """Measure one case; ``vectors`` may be empty."""
        sides = _sides(case)
        if isinstance(sides, Unmeasured):
            return sides
        references, response = sides
        found = self._measure(
            [canonical_text(text) for text in references.texts],
            canonical_text(response.texts[0]),
            references.written,
        )
        if isinstance(found, Unmeasured):
            return found
        details = dict(found.details)
        if len(references.texts) > 1:
            details["references"] = len(references.texts)
        return measured(found.value, details)

    def _measure(
        self, references: list[str], response: str, written: Sequence[int]
    ) -> Compared | Unmeasured:
        """Return the best of the references; ``written`` is the place of each in the case."""
        best: Compared | None = None
        at = 0
        for index, found in enumerate(self._each(references, response)):
            if isinstance(found, Unmeasured):
                return found
            if best is None or found.value > best.value:
                best, at = found, index
        assert best is not None  # noqa: S101 - a side has at least one text
        return with_best(best, written, at)

    def _each(self, references: list[str], response: str) -> Sequence[Compared | Unmeasured]:
        """Return the response against each reference."""
        raise NotImplementedError


def with_best(found: Compared, written: Sequence[int], at: int) -> Compared:
    """Return what was found with the reference it was found with, where there are several."""
    if len(written) == 1:
        return found
    return Compared(found.value, {**found.details, "bestReference": written[at]})


def _sides(case: Case) -> tuple[Side, Side] | Unmeasured:
    references, response = reference_side(case), response_side(case)
    if isinstance(references, Unmeasured):
        return references
    return response if isinstance(response, Unmeasured) else (references, response)

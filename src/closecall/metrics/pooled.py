"""Metrics on one pooled vector a text: how close is one text of a case to another?

A pooled cosine sees topic and wording. It is nearly blind to a changed number, a negation or a
swapped name; every report says so.
"""

from __future__ import annotations

from collections.abc import Callable
from functools import partial
from typing import ClassVar

from closecall.embedders.base import TextKey, VectorLookup
from closecall.metrics.base import DECIMALS, SCORE_DECIMALS, MetricSpec
from closecall.metrics.cosine import cosines
from closecall.metrics.cutoffs import PERCENT, UNIT, checked_cutoff
from closecall.metrics.normalizer import ScoreNormalizer
from closecall.metrics.sides import (
    NotEmbeddedError,
    Side,
    alternatives_of,
    context_side,
    input_side,
    known_tokens,
    not_blank,
    reference_side,
    response_side,
    vector_of,
)
from closecall.records import JSON, Case, Measured, Measurement, Role, Unmeasured

_SIDES = {"references": reference_side, "response": response_side, "input": input_side}


class _PooledMetric:
    """Cosine of two sides of a case, as a score: below 0 as 0, times ``HIGH``.

    The first side may have alternatives; the best counts and is named.
    """

    NAME: ClassVar[str]
    NEEDS: ClassVar[tuple[str, str]] = ("references", "response")
    DEFAULT_CUTOFF: ClassVar[float]
    DESCRIPTION: ClassVar[str]
    HIGH: ClassVar[float] = PERCENT
    ROLE: ClassVar[Role] = Role.TEXT
    """What a context is to the model."""
    VERSION: ClassVar[str] = "1"

    def __init__(self, cutoff: float | None = None) -> None:
        self.cutoff: float | None = checked_cutoff(
            self.NAME, self.DEFAULT_CUTOFF if cutoff is None else cutoff, 0.0, self.HIGH
        )
        self.spec = MetricSpec(
            id=self.NAME,
            name=self.NAME,
            version=self.VERSION,
            needs=self.NEEDS,
            default_cutoff=self.DEFAULT_CUTOFF,
            low=0.0,
            high=self.HIGH,
            description=self.DESCRIPTION,
            reads_response="response" in self.NEEDS,
        )
        self._first, self._second = map(self._reader, self.NEEDS)

    def __repr__(self) -> str:
        return f"{type(self).__name__}(cutoff={self.cutoff:g})"

    def _sides(self, case: Case) -> tuple[Side | Unmeasured, Side | Unmeasured]:
        return self._first(case), self._second(case)

    def _reader(self, field: str) -> Callable[[Case], Side | Unmeasured]:
        return partial(context_side, role=self.ROLE) if field == "context" else _SIDES[field]

    def _details(self, first: str, second: str) -> dict[str, JSON]:
        return {"groundTruthLength": len(first), "outputLength": len(second)}

    def _passages(self, case: Case) -> tuple[TextKey, ...]:  # noqa: ARG002 - the context metrics'
        return ()

    def texts(self, case: Case) -> tuple[TextKey, ...] | Unmeasured:
        """Return the texts to embed, or why nothing can be measured."""
        first, second = self._sides(case)
        if isinstance(first, Unmeasured):
            return first
        if isinstance(second, Unmeasured):
            return second
        return (*first.keys, *second.keys, *self._passages(case))

    def measure(self, case: Case, vectors: VectorLookup) -> Measurement:
        """Measure one case; about 20 microseconds with the vectors at hand."""
        first, second = self._sides(case)
        if isinstance(first, Unmeasured):
            return first
        if isinstance(second, Unmeasured):
            return second
        try:
            return self._measure(case, first, second, vectors)
        except NotEmbeddedError as absent:
            return Unmeasured(str(absent))

    def _measure(
        self, case: Case, first: Side, second: Side, vectors: VectorLookup
    ) -> Measurement:
        against, against_tokens = vector_of(vectors, second.keys[0], second.name)
        found = alternatives_of(vectors, first)
        near = cosines(found.vectors, against)
        best = near.index(max(near))
        similarity = near[best]
        score = round(ScoreNormalizer.from_similarity(similarity), SCORE_DECIMALS)
        details: dict[str, JSON] = {
            "cosineSimilarity": similarity,
            "interpretation": ScoreNormalizer.label(score),
            **self._details(found.texts[best], second.texts[0]),
        }
        if len(first.texts) > 1:
            details["references"] = len(near)
            details["bestReference"] = found.written[best]
        if found.unread:
            details["unreadReferences"] = list(found.unread)
        passages = self._passages(case)
        if passages:
            other = against if second.name != "context" else found.vectors[0]
            each = cosines([vector_of(vectors, p, "passage")[0] for p in passages], other)
            top = each.index(max(each))
            details["passages"] = len(each)
            details["bestPassage"] = not_blank(case.context)[0][top]
            details["bestPassageSimilarity"] = each[top]
        return Measured(
            similarity=similarity,
            value=score if self.HIGH == PERCENT else round(max(similarity, 0.0), DECIMALS),
            score=score,
            details=details,
            tokens=known_tokens([(first.name, found.tokens[best]), (second.name, against_tokens)]),
        )


class AnswerSimilarity(_PooledMetric):
    """``embed_answer_similarity``: is the response close to the reference? 0 to 100.

    With several references the best counts and is named. Default cutoff 70, not calibrated.
    """

    NAME = "embed_answer_similarity"
    DEFAULT_CUTOFF = 70.0
    DESCRIPTION = "Cosine of response and best reference, 0 to 100."


class SemanticSimilarity(_PooledMetric):
    """``semantic_similarity``: like ``AnswerSimilarity`` on a scale of 0 to 1, cutoff 0.7."""

    NAME = "semantic_similarity"
    DEFAULT_CUTOFF = 0.7
    HIGH = UNIT
    DESCRIPTION = "Cosine of response and best reference, 0 to 1."


class _ContextMetric(_PooledMetric):
    """A context is compared as a whole; the nearest of several passages stands beside it."""

    DEFAULT_CUTOFF = 50.0

    def _details(self, first: str, second: str) -> dict[str, JSON]:  # noqa: ARG002 - same
        return {}

    def _passages(self, case: Case) -> tuple[TextKey, ...]:
        _, passages = not_blank(case.context)
        return tuple(TextKey(p, self.ROLE) for p in passages) if len(passages) > 1 else ()


class ResponseContextSimilarity(_ContextMetric):
    """``embed_response_context``: is the response near the context it was given? 0 to 100.

    Passages are joined with a line break and compared as a whole; each is also embedded apart
    and the nearest is reported beside it. Default cutoff 50, not calibrated.
    """

    NAME = "embed_response_context"
    NEEDS = ("context", "response")
    DESCRIPTION = "Cosine of response and context, 0 to 100."


class QueryContextSimilarity(_ContextMetric):
    """``embed_query_context``: is the context near the question? 0 to 100.

    The question is embedded as a query and the passages as documents, so a model with prefixes
    gets the right one for each. Default cutoff 50, not calibrated.
    """

    NAME = "embed_query_context"
    NEEDS = ("input", "context")
    DESCRIPTION = "Cosine of input and context, 0 to 100."
    ROLE = Role.DOCUMENT

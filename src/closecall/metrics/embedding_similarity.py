"""``embedding_similarity``: response and reference by the distance of your choice."""

from __future__ import annotations

import math
from typing import ClassVar

import numpy as np

from closecall.embedders.base import TextKey, VectorLookup
from closecall.errors import UsageError
from closecall.metrics.base import DECIMALS, SCORE_DECIMALS, MetricSpec
from closecall.metrics.cosine import cosine
from closecall.metrics.cutoffs import checked_cutoff
from closecall.metrics.normalizer import ScoreNormalizer
from closecall.metrics.sides import (
    NotEmbeddedError,
    Side,
    alternatives_of,
    known_tokens,
    reference_side,
    response_side,
    vector_of,
)
from closecall.records import JSON, Case, Measured, Measurement, Unmeasured
from closecall.similarity import (
    METHODS,
    dot_product,
    euclidean_distance,
    manhattan_distance,
)

COMBINE = ("best", "mean")


class EmbeddingSimilarity:
    """``embedding_similarity``: how close are response and reference, higher is closer.

    Parameters
    ----------
    method
        ``cosine``: the plain cosine, -1 to 1, not clamped. ``euclidean`` and ``manhattan``:
        1 / (1 + distance), 0 to 1. ``dot``: the inner product.
    normalize
        Make both vectors unit length first. It changes every method but cosine, so a cutoff
        belongs to one setting.
    references
        With several references, the ``best`` counts, or the ``mean``.
    cutoff
        On the scale of the method. None (default): a number without a verdict.
    """

    NAME = "embedding_similarity"
    VERSION = "1"
    DEFAULTS: ClassVar[dict[str, JSON]] = {
        "method": "cosine",
        "normalize": True,
        "references": "best",
    }

    def __init__(
        self,
        method: str = "cosine",
        *,
        normalize: bool = True,
        references: str = "best",
        cutoff: float | None = None,
    ) -> None:
        self.method = _one_of("method", method, METHODS)
        self.references = _one_of("references", references, COMBINE)
        if not isinstance(normalize, bool):
            raise UsageError(f"{self.NAME}: normalize must be true or false, got {normalize!r}")
        self.normalize = normalize
        unbounded = method == "dot" and not normalize
        low, high = (-1.0, 1.0) if method in ("cosine", "dot") else (0.0, 1.0)
        reach = (-math.inf, math.inf) if unbounded else (low, high)
        self.cutoff = None if cutoff is None else checked_cutoff(self.NAME, cutoff, *reach)
        options: dict[str, JSON] = {
            "method": method,
            "normalize": normalize,
            "references": references,
        }
        changed = {name: v for name, v in options.items() if v != self.DEFAULTS[name]}
        self.spec = MetricSpec(
            id=self.NAME + "".join(f":{k}={str(v).lower()}" for k, v in changed.items()),
            name=self.NAME,
            version=self.VERSION,
            needs=("references", "response"),
            default_cutoff=None,
            low=None if unbounded else low,
            high=None if unbounded else high,
            description=f"{method} similarity of response and {references} of references"
            f"{', unit vectors' if normalize else ', vectors as they are'}.",
            options=options,
        )

    def __repr__(self) -> str:
        return f"{type(self).__name__}({self.spec.id!r}, cutoff={self.cutoff})"

    def texts(self, case: Case) -> tuple[TextKey, ...] | Unmeasured:
        """Return the texts to embed, or why nothing can be measured."""
        references, response = reference_side(case), response_side(case)
        if isinstance(references, Unmeasured):
            return references
        if isinstance(response, Unmeasured):
            return response
        return (*references.keys, *response.keys)

    def measure(self, case: Case, vectors: VectorLookup) -> Measurement:
        """Measure one case."""
        references, response = reference_side(case), response_side(case)
        if isinstance(references, Unmeasured):
            return references
        if isinstance(response, Unmeasured):
            return response
        try:
            return self._measure(references, response, vectors)
        except NotEmbeddedError as absent:
            return Unmeasured(str(absent))

    def _measure(self, references: Side, response: Side, vectors: VectorLookup) -> Measured:
        answer, answer_tokens = vector_of(vectors, response.keys[0], response.name)
        found = alternatives_of(vectors, references)
        values = [self._similarity(vector, answer) for vector in found.vectors]
        best = values.index(max(values))
        value = values[best] if self.references == "best" else math.fsum(values) / len(values)
        value = _rounded(value)
        details: dict[str, JSON] = {"method": self.method, "normalize": self.normalize}
        if len(references.texts) > 1:
            details["references"] = len(values)
            details["bestReference"] = found.written[best]
        if found.unread:
            details["unreadReferences"] = list(found.unread)
        score = round(ScoreNormalizer.from_similarity(value), SCORE_DECIMALS)
        return Measured(
            similarity=value,
            value=value,
            score=None if self.spec.high is None else score,
            details=details,
            tokens=known_tokens([("reference", found.tokens[best]), ("response", answer_tokens)]),
        )

    def _similarity(self, a: np.ndarray, b: np.ndarray) -> float:
        if self.method == "cosine":
            return cosine(a, b)
        if self.normalize:
            a, b = _unit(a), _unit(b)
        if self.method == "dot":
            return _rounded(float(dot_product(a, b)))
        distance = euclidean_distance if self.method == "euclidean" else manhattan_distance
        return _rounded(1.0 / (1.0 + float(distance(a, b))))


def _rounded(value: float) -> float:
    return round(value, DECIMALS) + 0.0  # never -0.0


def _unit(vector: np.ndarray) -> np.ndarray:
    """Return a (d,) vector of length 1 in float64; zero vectors were refused on arrival."""
    wide = vector.astype(np.float64)
    return wide / float(np.linalg.norm(wide))


def _one_of(name: str, value: str, allowed: tuple[str, ...]) -> str:
    if value not in allowed:
        raise UsageError(
            f"{EmbeddingSimilarity.NAME}: {name} must be one of {', '.join(allowed)}; "
            f"got {value!r}"
        )
    return value

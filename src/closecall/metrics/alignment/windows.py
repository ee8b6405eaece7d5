"""The best part of the answer against the reference, for models that give one vector a text.

A pooled vector of a long answer is far from that of a short reference even where the answer
holds it word for word. A window of the answer is not. This is how a provider without token
vectors gets evidence of the same kind, at a dozen short embeddings an answer.
"""

from __future__ import annotations

import statistics
from typing import ClassVar

from closecall.embedders.base import Failure, TextKey, Vector, VectorLookup
from closecall.metrics.alignment.sentences import clauses, sentences, windows
from closecall.metrics.base import DECIMALS, SCORE_DECIMALS, MetricSpec
from closecall.metrics.cosine import cosine
from closecall.metrics.cutoffs import PERCENT, UNIT, checked_cutoff
from closecall.metrics.lexical.options import metric_id, one_of
from closecall.metrics.sides import (
    NotEmbeddedError,
    alternatives_of,
    known_tokens,
    not_blank,
    reference_side,
    response_side,
    vector_of,
)
from closecall.records import JSON, Case, Measured, Measurement, Role, Tokens, Unmeasured

WIDEST = 6
"""References of more words than this are compared with clauses instead of windows."""

MOST = 256
"""Most parts of one answer that are embedded; they are then taken at even distances."""

EXCERPT = 200
PARTS = ("windows", "clauses", "sentences")


class AnswerWindowSimilarity:
    """``answer_window_similarity``: the best part of the answer against the reference, -1 to 1.

    Parts are windows of as many words as the reference has (the median, with several), at every
    word; clauses where it has more than ``WIDEST``. The best pair of part and reference counts;
    the whole answer is one of the parts. No default cutoff.

    Parameters
    ----------
    parts
        ``windows`` (default), ``clauses``, or ``sentences``.
    cutoff
        -1 to 1. None (default): a number without a verdict; ``closecall calibrate`` finds one.
    """

    NAME = "answer_window_similarity"
    VERSION = "1"
    NEEDS: ClassVar[tuple[str, str]] = ("references", "response")
    DEFAULTS: ClassVar[dict[str, JSON]] = {"parts": "windows"}
    DESCRIPTION: ClassVar[str] = "Cosine of the best reference and the best part of the response."

    def __init__(self, cutoff: float | None = None, *, parts: str = "") -> None:
        wanted = parts or str(self.DEFAULTS["parts"])
        self.parts = one_of(self.NAME, "parts", wanted, PARTS)
        self.cutoff = None if cutoff is None else checked_cutoff(self.NAME, cutoff, -UNIT, UNIT)
        options: dict[str, JSON] = {"parts": self.parts}
        self.spec = MetricSpec(
            id=metric_id(self.NAME, options, self.DEFAULTS),
            name=self.NAME,
            version=self.VERSION,
            needs=self.NEEDS,
            default_cutoff=None,
            low=-UNIT,
            high=UNIT,
            description=self.DESCRIPTION,
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
        own = self._parts(response.texts[0], references.texts)
        return (*references.keys, *map(TextKey, own))

    def measure(self, case: Case, vectors: VectorLookup) -> Measurement:
        """Measure one case."""
        references, response = reference_side(case), response_side(case)
        if isinstance(references, Unmeasured):
            return references
        if isinstance(response, Unmeasured):
            return response
        try:
            whole, tokens = vector_of(vectors, response.keys[0], "response")
            found = alternatives_of(vectors, references)
            own = [(response.texts[0], whole)]
            own += readable(vectors, self._parts(response.texts[0], references.texts)[1:])
        except NotEmbeddedError as absent:
            return Unmeasured(str(absent))
        scored = [
            (cosine(vector, mine), -at, -place)
            for at, vector in enumerate(found.vectors)
            for place, (_, mine) in enumerate(own)
        ]
        value, at, place = max(scored)
        best, where = -at, -place
        details: dict[str, JSON] = {
            "parts": len(own),
            "bestPart": own[where][0][:EXCERPT],
            "wholeSimilarity": max(cosine(vector, whole) for vector in found.vectors),
        }
        if len(references.texts) > 1:
            details["references"] = len(found.vectors)
            details["bestReference"] = found.written[best]
        if found.unread:
            details["unreadReferences"] = list(found.unread)
        return _measured(
            value, details, known_tokens([("reference", found.tokens[best]), ("response", tokens)])
        )

    def _parts(self, response: str, references: tuple[str, ...]) -> list[str]:
        """Return the parts of the response, the whole first, each once."""
        width = round(statistics.median(len(text.split()) for text in references))
        if self.parts == "windows" and width <= WIDEST:
            spans = windows(response, max(1, width))
        elif self.parts == "sentences":
            spans = sentences(response)
        else:
            spans = clauses(response)
        return spread(response, spans)


class ContextWindowSimilarity:
    """``context_window_similarity``: each sentence of the answer against its nearest passage part.

    The mean over the response's sentences of the highest cosine to any sentence of any passage,
    -1 to 1; the sentence that is supported least is named. No default cutoff.
    """

    NAME = "context_window_similarity"
    VERSION = "1"
    DEFAULTS: ClassVar[dict[str, JSON]] = {}

    def __init__(self, cutoff: float | None = None) -> None:
        self.cutoff = None if cutoff is None else checked_cutoff(self.NAME, cutoff, -UNIT, UNIT)
        self.spec = MetricSpec(
            id=self.NAME,
            name=self.NAME,
            version=self.VERSION,
            needs=("context", "response"),
            default_cutoff=None,
            low=-UNIT,
            high=UNIT,
            description="Mean over the response's sentences of the nearest sentence of context.",
        )

    def __repr__(self) -> str:
        return f"{type(self).__name__}(cutoff={self.cutoff})"

    def texts(self, case: Case) -> tuple[TextKey, ...] | Unmeasured:
        """Return the texts to embed, or why nothing can be measured."""
        _, passages = not_blank(case.context)
        if not passages:
            given = "blank" if case.context else "missing"
            return Unmeasured(f"the case's context is {given}")
        response = response_side(case)
        if isinstance(response, Unmeasured):
            return response
        theirs = [part for passage in passages for part in spread(passage, sentences(passage))]
        own = spread(response.texts[0], sentences(response.texts[0]))
        return tuple(TextKey(text, Role.TEXT) for text in (*theirs, *own))

    def measure(self, case: Case, vectors: VectorLookup) -> Measurement:
        """Measure one case."""
        keys = self.texts(case)
        if isinstance(keys, Unmeasured):
            return keys
        _, passages = not_blank(case.context)
        text = case.response or ""
        try:
            theirs = readable(
                vectors, [part for p in passages for part in spread(p, sentences(p))]
            )
            own = readable(vectors, spread(text, sentences(text))[1:]) or readable(vectors, [text])
        except NotEmbeddedError as absent:
            return Unmeasured(str(absent))
        if not theirs or not own:
            return Unmeasured("the model knows no word or sign of the response or of any passage")
        best = [max(cosine(mine, vector) for _, vector in theirs) for _, mine in own]
        low = best.index(min(best))
        details: dict[str, JSON] = {
            "sentences": len(own),
            "contextParts": len(theirs),
            "weakestSentence": own[low][0][:EXCERPT],
            "weakestSentenceSimilarity": best[low],
        }
        return _measured(sum(best) / len(best), details, {})


def spread(text: str, spans: list[tuple[int, int]]) -> list[str]:
    """Return the whole text, then its parts, each once and at most ``MOST`` of them."""
    step = max(1, -(-len(spans) // MOST))
    return list(dict.fromkeys([text, *(text[start:end] for start, end in spans[::step])]))


def readable(vectors: VectorLookup, texts: list[str]) -> list[tuple[str, Vector]]:
    """Return the texts that have a vector, with it; those no model word is in are left out."""
    found: list[tuple[str, Vector]] = []
    for text in texts:
        outcome = vectors.get(TextKey(text))
        if isinstance(outcome, Failure) and outcome.unreadable:
            continue
        found.append((text, vector_of(vectors, TextKey(text), "part of a text")[0]))
    return found


def _measured(value: float, details: dict[str, JSON], tokens: dict[str, Tokens]) -> Measured:
    value = round(value, DECIMALS) + 0.0
    return Measured(
        similarity=value,
        value=value,
        score=round(PERCENT * max(value, 0.0), SCORE_DECIMALS),
        details=details,
        tokens=tokens,
    )

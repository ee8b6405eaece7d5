"""Is the reference in the answer? Each reference token against its nearest token of the answer.

What else the answer says costs nothing, which a pooled cosine cannot offer: it takes a long right
answer for a distant one. Like every similarity, alignment takes a changed number for a near one
and does not see an inserted "not".
"""

from __future__ import annotations

from functools import cached_property
from typing import ClassVar, NamedTuple

import numpy as np
from numpy.typing import NDArray

from closecall.embedders.base import Embedded, Failure, Pieces, TextKey, VectorLookup
from closecall.instrument import canonical_text
from closecall.metrics.alignment.matching import best_matches, weakest, weighted_mean
from closecall.metrics.alignment.spelling import Spellings
from closecall.metrics.alignment.weights import (
    PLAIN,
    WEIGHTS,
    question_words,
    token_weights,
    word_weights,
)
from closecall.metrics.alignment.words import WORD_MATCHES, word_matches
from closecall.metrics.base import DECIMALS, SCORE_DECIMALS, MetricSpec
from closecall.metrics.cutoffs import PERCENT, UNIT, checked_cutoff
from closecall.metrics.lexical.options import metric_id, one_of, switch
from closecall.metrics.lexical.tokenizers import SQUAD, TokenPairs
from closecall.metrics.sides import Side, known_tokens, reference_side, response_side
from closecall.records import JSON, Case, Measured, Measurement, Role, Unmeasured

SHOWN = 5
"""Words named that match worst."""


class Aligned(NamedTuple):
    """One reference against the response: the value, and what it was made of.

    ``best`` is the highest cosine of each token of the reference, ``back`` of each of the
    response where the metric looks there too.
    """

    value: float
    best: NDArray[np.float32]
    details: dict[str, JSON]
    back: NDArray[np.float32] | None = None


class Answer:
    """The response and the question, read once for all references."""

    def __init__(self, text: str, pieces: Pieces, question: str | None) -> None:
        self.text = text
        self.pieces = pieces
        self._question = question
        self._pairs = TokenPairs(SQUAD, text)
        self._spellings: dict[tuple[bool, int], Spellings] = {}

    @cached_property
    def asked(self) -> frozenset[str]:
        """The question's words."""
        return question_words(self._question)

    def words_of(self, reference: str, *, alike: bool) -> tuple[list[str], NDArray[np.float64]]:
        """Return the words of a reference and how well the response matches each."""
        words, own = self._pairs.against(reference)
        # The pairs hold one list of the response's words for each way of cutting them.
        key = (alike, id(own))
        if key not in self._spellings:
            self._spellings[key] = Spellings(own, alike=alike)
        return words, self._spellings[key].matches(words)


class _Alignment:
    """Token vectors of references and response; the best reference counts and is named."""

    NAME: ClassVar[str]
    VERSION: ClassVar[str] = "1"
    DEFAULTS: ClassVar[dict[str, JSON]] = {}
    DESCRIPTION: ClassVar[str]
    LOW: ClassVar[float] = -1.0

    cutoff: float | None
    spec: MetricSpec

    def _settle(self, cutoff: float | None, options: dict[str, JSON]) -> None:
        self.cutoff = None if cutoff is None else checked_cutoff(self.NAME, cutoff, self.LOW, UNIT)
        self.spec = MetricSpec(
            id=metric_id(self.NAME, options, self.DEFAULTS),
            name=self.NAME,
            version=self.VERSION,
            needs=("references", "response"),
            default_cutoff=None,
            low=self.LOW,
            high=UNIT,
            description=self.DESCRIPTION,
            options=options,
        )

    def __repr__(self) -> str:
        return f"{type(self).__name__}({self.spec.id!r}, cutoff={self.cutoff})"

    def texts(self, case: Case) -> tuple[TextKey, ...] | Unmeasured:
        """Return the texts to embed token by token, or why nothing can be measured."""
        references, response = reference_side(case), response_side(case)
        if isinstance(references, Unmeasured):
            return references
        if isinstance(response, Unmeasured):
            return response
        return (*_keys(references), *_keys(response))

    def measure(self, case: Case, vectors: VectorLookup) -> Measurement:
        """Measure one case; 60 against 10 tokens take about 30 microseconds."""
        references, response = reference_side(case), response_side(case)
        if isinstance(references, Unmeasured):
            return references
        if isinstance(response, Unmeasured):
            return response
        answer = pieces_of(vectors, _keys(response)[0], response.name)
        if isinstance(answer, Unmeasured):
            return answer
        found = [pieces_of(vectors, key, references.name) for key in _keys(references)]
        unread = [
            references.written[at] for at, one in enumerate(found) if isinstance(one, Unread)
        ]
        broken = next((one for one in found if type(one) is Unmeasured), None)
        if broken is not None:
            return broken
        kept = [(at, one) for at, one in enumerate(found) if isinstance(one, Embedded)]
        if not kept:
            return Unmeasured("the model knows no word or sign of any reference")
        against = Answer(response.texts[0], pieces(answer), case.input)
        aligned = [self._align(references.texts[at], pieces(one), against) for at, one in kept]
        best = max(range(len(aligned)), key=lambda at: (aligned[at].value, -at))
        at, reference = kept[best]
        details = dict(aligned[best].details)
        words = {
            "reference": word_matches(
                canonical_text(references.texts[at]), pieces(reference), aligned[best].best
            )
        }
        if (back := aligned[best].back) is not None:
            words["response"] = word_matches(canonical_text(against.text), against.pieces, back)
        details[WORD_MATCHES] = words
        if len(references.texts) > 1:
            details["references"] = len(kept)
            details["bestReference"] = references.written[at]
        if unread:
            details["unreadReferences"] = unread
        value = round(aligned[best].value, DECIMALS) + 0.0
        return Measured(
            similarity=value,
            value=value,
            score=round(PERCENT * max(value, 0.0), SCORE_DECIMALS),
            details=details,
            tokens=known_tokens([("reference", reference.tokens), ("response", answer.tokens)]),
        )

    def _align(self, reference: str, mine: Pieces, answer: Answer) -> Aligned:
        raise NotImplementedError


class AnswerAlignment(_Alignment):
    """``answer_alignment``: is the reference in the answer? -1 to 1, no default cutoff.

    The mean over the reference's tokens of the highest cosine to any token of the response
    (BERTScore's recall, Zhang et al. 2020; see ``matching`` for the differences), averaged with
    the mean over the reference's words of how well the response has each (see ``spelling``).
    In both means, what stands in the question too weighs ``IN_QUESTION``.

    The default was chosen from a table of variants (``benchmarks/alignment_variants.py``) on 17
    sets of human-labelled answers and pairs, about 900 rows each, with the bundled model. There
    the area under the curve rose against version 1 (``question=false:spelling=false``) from .629
    to .716 on TruthfulQA (95 % interval of the difference .056 to .118, n = 902), and from .837
    to .844 on NQ-open answers of twelve systems (-.003 to .017, n = 892); on no set did it fall by
    more than .007. Questions that played no part in the choice agree: TruthfulQA .636 to .707
    (.056 to .088, n = 3,033), EVOUNA-NQ .955 to .959 (.002 to .007, n = 3,100).

    Parameters
    ----------
    lexical
        False leaves the words out and keeps the tokens: for paraphrases and other languages.
    question
        False lets all tokens and words weigh alike, whatever stands in the question.
    spelling
        False counts only words that are equal; True a differently spelled one for a part.
    weights
        ``plain`` (default), or ``content``: function words weigh ``weights.FUNCTION``.
    cutoff
        -1 to 1. None (default): a number without a verdict; ``closecall calibrate`` finds one.
    """

    NAME = "answer_alignment"
    VERSION = "2"
    DEFAULTS: ClassVar[dict[str, JSON]] = {
        "lexical": True,
        "question": True,
        "spelling": True,
        "weights": PLAIN,
    }
    DESCRIPTION = "How much of the best reference is in the response, token by token."

    def __init__(
        self,
        cutoff: float | None = None,
        *,
        lexical: bool = True,
        question: bool = True,
        spelling: bool = True,
        weights: str = PLAIN,
    ) -> None:
        self.lexical = switch(self.NAME, "lexical", lexical)
        self.question = switch(self.NAME, "question", question)
        self.spelling = switch(self.NAME, "spelling", spelling)
        self.weights = one_of(self.NAME, "weights", weights, WEIGHTS)
        self._settle(
            cutoff,
            {
                "lexical": self.lexical,
                "question": self.question,
                "spelling": self.spelling,
                "weights": self.weights,
            },
        )

    def _align(self, reference: str, mine: Pieces, answer: Answer) -> Aligned:
        text = canonical_text(reference)
        asked = answer.asked if self.question else frozenset[str]()
        best, _ = best_matches(mine.vectors, [answer.pieces.vectors])
        recall = weighted_mean(best, token_weights(text, mine.spans, asked, self.weights))
        details: dict[str, JSON] = {
            "alignmentRecall": round(recall, DECIMALS),
            "referenceTokens": len(best),
            "weakest": weakest(text, mine, best, SHOWN),
        }
        if not self.lexical:
            return Aligned(recall, best, details)
        words, matches = answer.words_of(reference, alike=self.spelling)
        if not words:  # a reference of signs only has no words to share
            return Aligned(recall, best, details)
        if asked:
            details["wordsInQuestion"] = sum(word in asked for word in words)
        share = float(np.average(matches, weights=word_weights(words, asked, self.weights)))
        details["wordRecall"] = round(share, DECIMALS)
        return Aligned((recall + share) / 2, best, details)


class AlignmentF1(_Alignment):
    """``alignment_f1``: reference and answer cover each other, -1 to 1, no default cutoff.

    The harmonic mean of the two directions (BERTScore's F1). It punishes a right answer for
    saying more than the reference; use it where the two should say the same.
    """

    NAME = "alignment_f1"
    DESCRIPTION = "Harmonic mean of both directions of token alignment."

    def __init__(self, cutoff: float | None = None) -> None:
        self._settle(cutoff, {})

    def _align(self, reference: str, mine: Pieces, answer: Answer) -> Aligned:
        other = answer.pieces
        there, _ = best_matches(mine.vectors, [other.vectors])
        back, _ = best_matches(other.vectors, [mine.vectors])
        recall, precision = weighted_mean(there, None), weighted_mean(back, None)
        both = recall + precision
        value = 2 * recall * precision / both if min(recall, precision) > 0 else min(recall, 0.0)
        details: dict[str, JSON] = {
            "alignmentRecall": round(recall, DECIMALS),
            "alignmentPrecision": round(precision, DECIMALS),
            "referenceTokens": len(there),
            "responseTokens": len(back),
            "weakest": weakest(canonical_text(reference), mine, there, SHOWN),
            "weakestOfResponse": weakest(canonical_text(answer.text), other, back, SHOWN),
        }
        return Aligned(value, there, details, back)


class AlignmentMinimum(_Alignment):
    """``alignment_min``: the reference token that is least in the answer, -1 to 1.

    One missing word of ten hardly moves a mean. No default cutoff.
    """

    NAME = "alignment_min"
    DESCRIPTION = "Lowest match of any token of the best reference in the response."

    def __init__(self, cutoff: float | None = None) -> None:
        self._settle(cutoff, {})

    def _align(self, reference: str, mine: Pieces, answer: Answer) -> Aligned:
        best, _ = best_matches(mine.vectors, [answer.pieces.vectors])
        details: dict[str, JSON] = {
            "alignmentRecall": round(weighted_mean(best, None), DECIMALS),
            "referenceTokens": len(best),
            "weakest": weakest(canonical_text(reference), mine, best, SHOWN),
        }
        return Aligned(float(best.min()), best, details)


class Unread(Unmeasured, frozen=True):
    """The model knows no word or sign of a text, now and on every other run."""


def pieces_of(vectors: VectorLookup, key: TextKey, name: str) -> Embedded | Unmeasured:
    """Return a text with its token vectors, or why there are none."""
    found = vectors.get(key)
    if found is None:
        return Unmeasured(f"the {name} was not embedded")
    if isinstance(found, Failure):
        if found.unreadable:
            return Unread(f"embedding the {name} failed: {found.reason}")
        hint = (
            "; answer_window_similarity and context_window_similarity need none"
            if found.no_pieces
            else ""
        )
        return Unmeasured(f"embedding the {name} failed: {found.reason}{hint}")
    if found.pieces is None or not len(found.pieces.vectors):
        return Unread(f"the {name} has no token that the model knows")
    return found


def pieces(one: Embedded) -> Pieces:
    """Return the token vectors of a text that has them."""
    if one.pieces is None:
        raise TypeError("this text was embedded without its tokens")
    return one.pieces


def _keys(side: Side) -> tuple[TextKey, ...]:
    return tuple(TextKey(text, Role.TEXT, pieces=True) for text in side.texts)

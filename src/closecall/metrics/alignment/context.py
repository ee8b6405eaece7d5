"""Is the answer in its context? Each token of the answer against its nearest token of a passage.

BERTScore's precision (Zhang et al. 2020; see ``matching``) over all passages at once. What the
context says besides costs nothing. A sentence that says the opposite in the same words is as
well supported, by this measure, as one that agrees.
"""

from __future__ import annotations

from typing import ClassVar

import numpy as np
from numpy.typing import NDArray

from closecall.embedders.base import Embedded, TextKey, VectorLookup
from closecall.instrument import canonical_text
from closecall.metrics.alignment.answer import SHOWN, Unread, pieces, pieces_of
from closecall.metrics.alignment.matching import best_matches, weakest, weighted_mean
from closecall.metrics.alignment.sentences import sentences
from closecall.metrics.alignment.spelling import Spellings
from closecall.metrics.alignment.weights import CONTENT, WEIGHTS, token_weights, word_weights
from closecall.metrics.alignment.words import WORD_MATCHES, word_matches
from closecall.metrics.base import DECIMALS, SCORE_DECIMALS, MetricSpec
from closecall.metrics.cutoffs import PERCENT, UNIT, checked_cutoff
from closecall.metrics.lexical.options import metric_id, one_of, switch
from closecall.metrics.lexical.tokenizers import SQUAD, TokenPairs
from closecall.metrics.sides import known_tokens, not_blank, response_side
from closecall.records import JSON, Case, Measured, Measurement, Role, Unmeasured

EXCERPT = 200
"""Characters shown of the weakest sentence."""


class ContextAlignment:
    """``context_alignment``: is the answer in the context? -1 to 1, no default cutoff.

    The mean over the response's tokens of the highest cosine to any token of any passage,
    averaged with the share of the response's words that the context has, word for word. In both
    means a function word weighs ``weights.FUNCTION``: nearly every context has those. The details
    name the sentence that is supported least.

    Chosen as ``answer_alignment`` was, from six sets. Against version 1 (``weights=plain``) the
    area under the curve rose from .637 to .654 on dialogues of Q-squared (95 % interval of the
    difference .011 to .023, n = 652); on the other five it moved by less than .006 (BEGIN on
    Wizard of Wikipedia, .939 to .940, n = 920).

    Parameters
    ----------
    lexical
        False leaves the share of words out: for paraphrases and other languages.
    weakest
        True takes the sentence that is supported least for the whole.
    weights
        ``content`` (default), or ``plain``: all tokens and words weigh alike, as in version 1.
    cutoff
        -1 to 1. None (default): a number without a verdict; ``closecall calibrate`` finds one.
    """

    NAME = "context_alignment"
    VERSION = "2"
    DEFAULTS: ClassVar[dict[str, JSON]] = {"lexical": True, "weakest": False, "weights": CONTENT}

    def __init__(
        self,
        cutoff: float | None = None,
        *,
        lexical: bool = True,
        weakest: bool = False,
        weights: str = CONTENT,
    ) -> None:
        self.lexical = switch(self.NAME, "lexical", lexical)
        self.weakest = switch(self.NAME, "weakest", weakest)
        self.weights = one_of(self.NAME, "weights", weights, WEIGHTS)
        self.cutoff = None if cutoff is None else checked_cutoff(self.NAME, cutoff, -UNIT, UNIT)
        options: dict[str, JSON] = {
            "lexical": self.lexical,
            "weakest": self.weakest,
            "weights": self.weights,
        }
        self.spec = MetricSpec(
            id=metric_id(self.NAME, options, self.DEFAULTS),
            name=self.NAME,
            version=self.VERSION,
            needs=("context", "response"),
            default_cutoff=None,
            low=-UNIT,
            high=UNIT,
            description="How much of the response is in the context, token by token.",
            options=options,
        )

    def __repr__(self) -> str:
        return f"{type(self).__name__}({self.spec.id!r}, cutoff={self.cutoff})"

    def texts(self, case: Case) -> tuple[TextKey, ...] | Unmeasured:
        """Return the texts to embed token by token, or why nothing can be measured."""
        _, passages = not_blank(case.context)
        if not passages:
            given = "blank" if case.context else "missing"
            return Unmeasured(f"the case's context is {given}")
        response = response_side(case)
        if isinstance(response, Unmeasured):
            return response
        return (*map(_key, passages), _key(response.texts[0]))

    def measure(self, case: Case, vectors: VectorLookup) -> Measurement:
        """Measure one case."""
        keys = self.texts(case)
        if isinstance(keys, Unmeasured):
            return keys
        answer = pieces_of(vectors, keys[-1], "response")
        if isinstance(answer, Unmeasured):
            return answer
        written, _ = not_blank(case.context)
        found = [pieces_of(vectors, key, "passage") for key in keys[:-1]]
        broken = next((one for one in found if type(one) is Unmeasured), None)
        if broken is not None:
            return broken
        kept = [at for at, one in enumerate(found) if isinstance(one, Embedded)]
        unread = [written[at] for at, one in enumerate(found) if isinstance(one, Unread)]
        passages = [one for one in found if isinstance(one, Embedded)]
        if not passages:
            return Unmeasured("the model knows no word or sign of any passage")
        own = pieces(answer)
        text = canonical_text(keys[-1].text)
        best, whose = best_matches(own.vectors, [pieces(one).vectors for one in passages])
        weights = token_weights(text, own.spans, frozenset(), self.weights)
        parts = _by_sentence(text, own.spans, best, weights)
        low = min(range(len(parts)), key=lambda at: (parts[at][2], at))
        start, end, least = parts[low]
        whole = weighted_mean(best, weights)
        precision = least if self.weakest else whole
        nearest = int(np.bincount(whose, minlength=len(passages)).argmax())
        details: dict[str, JSON] = {
            "alignmentPrecision": round(whole, DECIMALS),
            "responseTokens": len(best),
            "sentences": len(parts),
            "weakestSentence": text[start:end][:EXCERPT],
            "weakestSentenceAlignment": round(least, DECIMALS),
            "weakest": weakest(text, own, best, SHOWN),
            WORD_MATCHES: {"response": word_matches(text, own, best)},
        }
        if len(keys) > 2:  # noqa: PLR2004 - the response and more than one passage
            details["passages"] = len(passages)
            details["bestPassage"] = written[kept[nearest]]
        if unread:
            details["unreadPassages"] = unread
        value = precision
        if self.lexical:
            part = text[start:end] if self.weakest else text
            words = _word_precision(part, [keys[at].text for at in kept], self.weights)
            if words is not None:
                details["wordPrecision"] = round(words, DECIMALS)
                value = (precision + words) / 2
        value = round(value, DECIMALS) + 0.0
        return Measured(
            similarity=value,
            value=value,
            score=round(PERCENT * max(value, 0.0), SCORE_DECIMALS),
            details=details,
            tokens=known_tokens(
                [("response", answer.tokens), ("context", passages[nearest].tokens)]
            ),
        )


def _by_sentence(
    text: str,
    spans: tuple[tuple[int, int], ...],
    best: NDArray[np.float32],
    weights: NDArray[np.float64] | None,
) -> list[tuple[int, int, float]]:
    """Return (start, end, mean match) of each sentence that has a token; at least one."""
    found = []
    starts = np.array([span[0] for span in spans])
    for start, end in sentences(text):
        inside = (starts >= start) & (starts < end)
        if inside.any():
            own = None if weights is None else weights[inside]
            found.append((start, end, weighted_mean(best[inside], own)))
    return found or [(0, len(text), weighted_mean(best, weights))]


def _word_precision(response: str, passages: list[str], weights: str) -> float | None:
    """Return the share of the response's words that the context has; None of no words."""
    context, words = TokenPairs(SQUAD, response).against(" ".join(passages))
    if not words:
        return None
    matches = Spellings(context, alike=False).matches(words)
    return float(np.average(matches, weights=word_weights(words, frozenset(), weights)))


def _key(text: str) -> TextKey:
    return TextKey(text, Role.TEXT, pieces=True)

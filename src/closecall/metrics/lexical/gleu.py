"""``gleu``: which share of all runs of one to four words do response and reference have in common?

Google BLEU (Wu et al. 2016): matches of all run lengths together, over the n-grams of whichever
text has more. The smaller of precision and recall, so leaving out costs as adding does.
"""

from __future__ import annotations

from collections.abc import Sequence
from typing import ClassVar, NamedTuple

from closecall.metrics.lexical.bleu import ORDERS
from closecall.metrics.lexical.ngrams import lacking, ngrams, shared
from closecall.metrics.lexical.options import one_of
from closecall.metrics.lexical.references import Compared, ReferenceMetric, with_best
from closecall.metrics.lexical.tokenizers import MEAI, SPACE, SQUAD, WORDS, TokenPairs
from closecall.records import JSON

BEST = "best"
POOLED = "pooled"


class GleuCounts(NamedTuple):
    """Shared n-grams, and those of the text that has more of them."""

    matches: int
    total: int

    @property
    def score(self) -> float:
        """``matches / total``, 0 without any n-gram."""
        return self.matches / self.total if self.total else 0.0


def gleu_counts(reference: Sequence[str], response: Sequence[str]) -> GleuCounts:
    """Return what two tokenized texts share, over run lengths 1 to 4; symmetric, O(tokens).

    >>> gleu_counts(["THE", "SKY", "IS", "BLUE"], ["THE", "SEA", "IS", "BLUE"])
    GleuCounts(matches=4, total=10)
    """
    matches = sum(shared(ngrams(reference, n), ngrams(response, n)) for n in ORDERS)
    longer = max(len(reference), len(response))
    return GleuCounts(matches, sum(max(0, longer - n + 1) for n in ORDERS))


class Gleu(ReferenceMetric):
    """``gleu``: shared runs of one to four words, 0 to 1. Default cutoff 0.5, not calibrated.

    Parameters
    ----------
    references
        With several references, the ``best`` counts. ``pooled`` adds up matches and totals over
        all of them before dividing, as Microsoft.Extensions.AI.Evaluation first did: a response
        equal to one of two references is then about 0.5.
    tokenizer
        ``words`` (default), ``meai``, ``squad`` or ``space``; see ``tokenizers``.
    cutoff
        0 to 1.
    """

    NAME = "gleu"
    DESCRIPTION = "GLEU (1 to 4 words) of response and references, 0 to 1."
    DEFAULTS: ClassVar[dict[str, JSON]] = {"references": BEST, "tokenizer": WORDS}

    def __init__(
        self, cutoff: float | None = None, *, references: str = BEST, tokenizer: str = WORDS
    ) -> None:
        self.references = one_of(self.NAME, "references", references, (BEST, POOLED))
        allowed = (WORDS, MEAI, SQUAD, SPACE)
        self.tokenizer = one_of(self.NAME, "tokenizer", tokenizer, allowed)
        self._settle(cutoff, {"references": self.references, "tokenizer": self.tokenizer})

    def _measure(self, references: list[str], response: str, written: Sequence[int]) -> Compared:
        cut, answer = TokenPairs(self.tokenizer, response).against_all(references)
        counts = [gleu_counts(tokens, answer) for tokens in cut]
        scores = [each.score for each in counts]
        best = scores.index(max(scores))
        used = counts[best]
        if self.references == POOLED:
            used = GleuCounts(sum(c.matches for c in counts), sum(c.total for c in counts))
        missing = lacking(cut[best], answer)
        details: dict[str, JSON] = {
            "matches": used.matches,
            "total": used.total,
            "responseTokens": len(answer),
            "referenceTokens": len(cut[best]),
            "missingTokens": missing.total,
            "missing": missing.shown,
        }
        return with_best(Compared(used.score, details), written, best)

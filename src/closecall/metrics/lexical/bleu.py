"""``bleu``: which runs of one to four words do response and references share?

Sentence BLEU (Papineni et al. 2002) with smoothing method 4 of Chen and Cherry (2014), K = 5::

    p_n  = clipped matches / max(1, n-grams of the response)
    BLEU = BP * exp(sum over n = 1..4 with p_n > 0 of ln(p_n) / 4)
    BP   = 1 where the response is longer than the closest reference, else exp(1 - r / h)

for h tokens in the response and r in the reference of the closest length, the shorter of two. A
match counts at most as often as it occurs in any one reference. The i-th run length without a
match counts as ln(h) / (5 * 2**i) matches where h > 1. Without a single shared word BLEU is 0.
"""

from __future__ import annotations

import math
from collections.abc import Sequence
from typing import ClassVar, NamedTuple

from closecall.metrics.lexical.ngrams import lacking, ngrams, shared
from closecall.metrics.lexical.options import one_of
from closecall.metrics.lexical.references import Compared, ReferenceMetric, with_best
from closecall.metrics.lexical.tokenizers import MEAI, SPACE, SQUAD, WORDS, TokenPairs
from closecall.records import JSON

ORDERS = (1, 2, 3, 4)
K = 5.0


class BleuParts(NamedTuple):
    """A sentence BLEU and the counts behind it, of run lengths 1 to 4.

    ``closest`` is the index of the reference whose length counts.
    """

    score: float
    matches: tuple[int, ...]
    totals: tuple[int, ...]
    brevity_penalty: float
    closest: int


def sentence_bleu(references: Sequence[Sequence[str]], response: Sequence[str]) -> BleuParts:
    """Return the BLEU of one tokenized response, 0 to 1; O(tokens) time and memory.

    A response that is token by token one of the references is 1, also where it has two or three
    tokens and so no longer runs to match; smoothing alone would give 0.22 and 0.58.

    >>> parts = sentence_bleu([["THE", "SKY", "IS", "BLUE"]], ["THE", "SEA", "IS", "BLUE"])
    >>> round(parts.score, 4), parts.matches, parts.totals
    (0.1862, (3, 1, 0, 0), (4, 3, 2, 1))
    """
    length = len(response)
    closest = min(
        range(len(references)),
        key=lambda at: (abs(len(references[at]) - length), len(references[at])),
    )
    matches: list[int] = []
    totals: list[int] = []
    for n in ORDERS:
        most = ngrams(references[0], n)
        for reference in references[1:]:
            most |= ngrams(reference, n)
        matches.append(shared(ngrams(response, n), most))
        totals.append(max(1, length - n + 1))
    penalty = _brevity_penalty(length, len(references[closest]))
    score = penalty * _smoothed_mean(matches, totals, length) if matches[0] else 0.0
    if matches[0] and any(list(response) == list(reference) for reference in references):
        score = 1.0
    return BleuParts(score, tuple(matches), tuple(totals), penalty, closest)


def _brevity_penalty(length: int, closest: int) -> float:
    if length > closest:
        return 1.0
    return math.exp(1 - closest / length) if length else 0.0


def _smoothed_mean(matches: Sequence[int], totals: Sequence[int], length: int) -> float:
    """Return the geometric mean of the precisions above 0."""
    logarithms: list[float] = []
    without = 0
    for found, total in zip(matches, totals, strict=True):
        counted: float = found
        if not found and length > 1:
            without += 1
            counted = math.log(length) / (K * 2**without)
        if counted:
            logarithms.append(math.log(counted / total))
    return math.exp(math.fsum(logarithms) / len(ORDERS))


class Bleu(ReferenceMetric):
    """``bleu``: shared runs of one to four words, 0 to 1. Default cutoff 0.5, not calibrated.

    All references count together: a run may match any of them. ``bestReference`` names the one
    that alone would give the highest BLEU, ``closestReference`` the one whose length counted.

    Parameters
    ----------
    tokenizer
        ``words`` (default), ``meai``, ``squad`` or ``space``; see ``tokenizers``.
    cutoff
        0 to 1.
    """

    NAME = "bleu"
    DESCRIPTION = "Sentence BLEU-4 of response and references, smoothed, 0 to 1."
    DEFAULTS: ClassVar[dict[str, JSON]] = {"tokenizer": WORDS}

    def __init__(self, cutoff: float | None = None, *, tokenizer: str = WORDS) -> None:
        allowed = (WORDS, MEAI, SQUAD, SPACE)
        self.tokenizer = one_of(self.NAME, "tokenizer", tokenizer, allowed)
        self._settle(cutoff, {"tokenizer": self.tokenizer})

    def _measure(self, references: list[str], response: str, written: Sequence[int]) -> Compared:
        cut, answer = TokenPairs(self.tokenizer, response).against_all(references)
        usable = [at for at, tokens in enumerate(cut) if tokens]
        parts = sentence_bleu([cut[at] for at in usable], answer)
        alone = [sentence_bleu([cut[at]], answer).score for at in usable if len(usable) > 1]
        best = usable[alone.index(max(alone))] if alone else usable[0]
        missing = lacking(cut[best], answer)
        closest = usable[parts.closest]
        details: dict[str, JSON] = {
            "matches": list(parts.matches),
            "totals": list(parts.totals),
            "brevityPenalty": round(parts.brevity_penalty, 6),
            "responseTokens": len(answer),
            "referenceTokens": len(cut[closest]),
            "missingTokens": missing.total,
            "missing": missing.shown,
        }
        if len(written) > 1:
            details["closestReference"] = written[closest]
        return with_best(Compared(parts.score, details), written, best)

"""Counts and shares of words and letters that features are made of. All linear in the texts."""

from __future__ import annotations

import math
from collections import Counter
from collections.abc import Sequence

import numpy as np
from numpy.typing import NDArray

from closecall.embedders.base import Pieces
from closecall.instrument import canonical_text
from closecall.metrics.alignment.matching import surface
from closecall.metrics.guards.words import STOP, fold
from closecall.metrics.lexical.ngrams import char_ngrams, ngrams, shared

LIGHT = 0.15
"""What a token weighs that carries no matter, or stands in the question too."""

TRIPLE = 3


def amount(count: float) -> float:
    """Return the logarithm of 1 more than a count, so that twice as much is one step."""
    return math.log1p(count)


def recall(wanted: Sequence[str], there: Sequence[str]) -> float:
    """Return the share of the wanted tokens that are there, each as often as wanted; 0 of none."""
    if not wanted:
        return 0.0
    return shared(Counter(wanted), Counter(there)) / len(wanted)


def f1(first: Sequence[str], second: Sequence[str]) -> float:
    """Return the F1 of two bags of tokens; 0 where both are empty."""
    if not (first or second):
        return 0.0
    return 2 * shared(Counter(first), Counter(second)) / (len(first) + len(second))


def runs_recall(wanted: Sequence[str], there: Sequence[str], length: int) -> float:
    """Return the share of wanted runs of so many tokens that are there; of fewer, of them all."""
    length = min(length, len(wanted))
    if not length:
        return 0.0
    return shared(ngrams(wanted, length), ngrams(there, length)) / (len(wanted) - length + 1)


def triples(text: str) -> Counter[str]:
    """Return the runs of three letters of a text, without case and signs."""
    kept = "".join(char if char.isalnum() else " " for char in canonical_text(text).casefold())
    return char_ngrams(f" {' '.join(kept.split())} ", TRIPLE)


def triples_recall(wanted: Counter[str], there: Counter[str]) -> float:
    """Return the share of wanted triples that are there; 0 of none."""
    total = wanted.total()
    return shared(wanted, there) / total if total else 0.0


def contains(wanted: Sequence[str], there: Sequence[str]) -> bool:
    """Return whether tokens stand in others in a row; none never do."""
    return bool(wanted) and f" {' '.join(wanted)} " in f" {' '.join(there)} "


def words_of(text: str | None) -> frozenset[str]:
    """Return the words of a text, folded, cut at white space."""
    kept = (word.strip(".,;:!?\"'()") for word in canonical_text(text or "").split())
    return frozenset(fold(word) for word in kept)


def weights(text: str, own: Pieces, light: frozenset[str]) -> NDArray[np.float64]:
    """Return (t,) the weight of each token: ``LIGHT`` where its word is light or a stop word."""
    known: dict[tuple[int, int], float] = {}
    for span in own.spans:
        if span not in known:
            word = fold(surface(text, span))
            known[span] = LIGHT if word in light or word in STOP else 1.0
    return np.array([known[span] for span in own.spans])

"""Which words of one text another has, a different spelling or ending counting for a part.

Words are compared by the pairs of neighbouring letters they share (Dice's coefficient on
bigrams, Adamson and Boreham 1974), with the two ends of a word as letters of their own. So
*Rowlings* is near *Rowling*, and *Bogota* near *Bogotá*.
"""

from __future__ import annotations

from collections import Counter
from collections.abc import Iterable, Sequence

import numpy as np
from numpy.typing import NDArray

ALIKE = 0.5
"""Words that share less than this of their letter pairs are different words."""

SHORTEST = 4
"""Shorter words must be equal: *cat* and *cut* share half of their letter pairs."""


class Spellings:
    """The words of one text, to look others up in; built once, O(letters).

    Parameters
    ----------
    words
        Lower-cased words, in any order.
    alike
        Whether a word that is spelled nearly so counts for a part. Never one with a digit in it.
    """

    def __init__(self, words: Iterable[str], *, alike: bool = True) -> None:
        self._count = Counter(words)
        self._alike = alike
        self._index: dict[str, list[int]] | None = None
        self._rows: dict[str, NDArray[np.intp]] = {}
        self._sizes = np.empty(0)

    def matches(self, words: Sequence[str]) -> NDArray[np.float64]:
        """Return how well each word is matched: 1 where it is there, 0 where nothing is near.

        A word that is asked for more often than it is there is missing the other times. O(1) a
        word that is there; for another, O(words of the text that share a letter pair).

        Returns
        -------
        NDArray
            float64, (len(words),), each 0, 1, or from ``ALIKE`` to 1.
        """
        left = dict(self._count)
        found = np.zeros(len(words))
        for at, word in enumerate(words):
            if left.get(word, 0) > 0:
                left[word] -= 1
                found[at] = 1.0
            elif self._alike and word not in left and _compared(word):
                found[at] = self._nearest(word)
        return found

    def _nearest(self, word: str) -> float:
        if self._index is None:
            self._index = self._indexed()
        own = letter_pairs(word)
        # Common pairs are asked for again and again: as arrays they add up at numpy's speed.
        for pair in own - self._rows.keys():
            self._rows[pair] = np.array(self._index.get(pair, ()), dtype=np.intp)
        shared = np.concatenate([self._rows[pair] for pair in own])
        if not len(shared):
            return 0.0
        counts = np.bincount(shared, minlength=len(self._sizes))
        best = float((2 * counts / (self._sizes + len(own))).max())
        return best if best >= ALIKE else 0.0

    def _indexed(self) -> dict[str, list[int]]:
        """Return which words have a letter pair."""
        index: dict[str, list[int]] = {}
        sizes = []
        for at, word in enumerate(word for word in self._count if _compared(word)):
            pairs = letter_pairs(word)
            sizes.append(len(pairs))
            for pair in pairs:
                index.setdefault(pair, []).append(at)
        self._sizes = np.array(sizes, dtype=np.float64)
        return index


def letter_pairs(word: str) -> frozenset[str]:
    """Return each pair of neighbouring letters of a word, its two ends included.

    >>> sorted(letter_pairs("anna"))
    [' a', 'a ', 'an', 'na', 'nn']
    """
    padded = f" {word} "
    return frozenset(padded[at : at + 2] for at in range(len(padded) - 1))


def _compared(word: str) -> bool:
    return len(word) >= SHORTEST and not any(char.isdigit() for char in word)

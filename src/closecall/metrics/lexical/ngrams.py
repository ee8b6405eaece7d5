"""Runs of tokens and of characters, counted, and what two counts share."""

from __future__ import annotations

from collections import Counter
from collections.abc import Hashable, Mapping, Sequence
from itertools import islice
from typing import NamedTuple, TypeVar

Gram = TypeVar("Gram", bound=Hashable)

SHOWN = 10
"""Tokens named in details at most."""

SHOWN_CHARS = 80
"""Characters shown of one token."""


def ngrams(tokens: Sequence[str], n: int) -> Counter[tuple[str, ...]]:
    """Return how often each run of ``n`` tokens occurs; O(n times the tokens).

    >>> ngrams("to be or to be".split(), 2).most_common(1)
    [(('to', 'be'), 2)]
    """
    return Counter(zip(*(islice(tokens, start, None) for start in range(n)), strict=False))


def char_ngrams(text: str, n: int) -> Counter[str]:
    """Return how often each run of ``n`` characters occurs."""
    return Counter(text[start : start + n] for start in range(len(text) - n + 1))


def shared(first: Mapping[Gram, int], second: Mapping[Gram, int]) -> int:
    """Return the size of the multiset intersection: each gram as often as in the rarer of two.

    >>> shared(Counter("aab"), Counter("abb"))
    2
    """
    if len(second) < len(first):
        first, second = second, first
    return sum(min(count, second[gram]) for gram, count in first.items() if gram in second)


class Difference(NamedTuple):
    """Tokens of one text that the other lacks: how many, and the first few in order."""

    total: int
    shown: list[str]


def lacking(tokens: Sequence[str], other: Sequence[str]) -> Difference:
    """Return the tokens that ``other`` lacks, counted as often as they are missing.

    >>> lacking(["a", "b", "a", "c"], ["a", "d"])
    Difference(total=3, shown=['b', 'a', 'c'])
    """
    left = Counter(other)
    count = 0
    shown: list[str] = []
    for token in tokens:
        if left.get(token):
            left[token] -= 1
            continue
        count += 1
        if len(shown) < SHOWN:
            shown.append(clipped(token))
    return Difference(count, shown)


def clipped(token: str) -> str:
    """Return a token fit to be shown: a very long one is cut."""
    return token if len(token) <= SHOWN_CHARS else f"{token[:SHOWN_CHARS]}..."

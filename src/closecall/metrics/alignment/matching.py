"""Each token of one text against its nearest token of another, by cosine.

The greedy matching of BERTScore (Zhang, Kishore, Wu, Weinberger and Artzi, 2020), with these
differences: the two directions are metrics of their own and not averaged, because an answer may
say more than its reference; token vectors come from the last layer of the model that also makes
the pooled vectors; special tokens take no part; cosines are not rescaled by a baseline.
"""

from __future__ import annotations

import re
from bisect import bisect_right
from collections.abc import Sequence

import numpy as np
from numpy.typing import NDArray

from closecall.embedders.base import Pieces, Vectors

_RUN = re.compile(r"(?:[^\W_]|')+")
_BLOCK = 4_000_000
"""Most cosines held at once: 16 MB."""


def best_matches(
    tokens: Vectors, others: Sequence[Vectors]
) -> tuple[NDArray[np.float32], NDArray[np.intp]]:
    """Return the highest cosine of each token to any token of the others, and which text has it.

    O(t * T * d) time for t tokens against T others; memory is bounded.

    Parameters
    ----------
    tokens
        float32, (t, d), rows of length 1.
    others
        Token vectors of one or more texts, each (T, d); at least one row among them.

    Returns
    -------
    tuple
        float32, (t,), at most 1; and (t,), the index into ``others``, the first on ties.
    """
    best = np.full(len(tokens), -np.inf, dtype=np.float32)
    whose = np.zeros(len(tokens), dtype=np.intp)
    for index, other in enumerate(others):
        step = max(1, _BLOCK // max(1, len(other)))
        for start in range(0, len(tokens) if len(other) else 0, step):
            part = slice(start, start + step)
            found = (tokens[part] @ other.T).max(axis=1)
            better = found > best[part]
            best[part][better] = found[better]
            whose[part][better] = index
    return np.minimum(best, np.float32(1)), whose


def weighted_mean(values: NDArray[np.float32], weights: NDArray[np.float64] | None) -> float:
    """Return the mean, added up in float64; ``weights`` are above 0, None weighs all alike."""
    wide = values.astype(np.float64)
    if weights is None:
        return float(wide.sum() / len(wide))
    return float((wide * weights).sum() / weights.sum())


def surface(text: str, span: tuple[int, int]) -> str:
    """Return the whole word that a token is part of, as it stands in the text."""
    start, end = span
    while start > 0 and _joins(text[start - 1]) and _joins(text[start]):
        start -= 1
    while end < len(text) and _joins(text[end]) and _joins(text[end - 1]):
        end += 1
    return text[start:end]


def _joins(char: str) -> bool:
    return char.isalnum() or char == "'"


def surfaces(text: str, spans: Sequence[tuple[int, int]]) -> list[tuple[int, str]]:
    """Return where the word of each token begins, and the word as ``surface`` does, all at once.

    A word is a run of letters, digits and apostrophes. Takes O(text + tokens * log words), also
    where a script without spaces makes one run of a whole sentence.
    """
    runs = [match.span() for match in _RUN.finditer(text)]
    starts = [start for start, _ in runs]
    found: list[tuple[int, str]] = []
    bounds = (0, 0)
    for start, end in spans:
        first, last = bisect_right(starts, start) - 1, bisect_right(starts, end - 1) - 1
        low = runs[first][0] if first >= 0 and start < runs[first][1] else start
        high = runs[last][1] if last >= 0 and end <= runs[last][1] else end
        # Tokens of one word share one copy of it.
        found.append(found[-1] if found and (low, high) == bounds else (low, text[low:high]))
        bounds = (low, high)
    return found


def weakest(
    text: str, pieces: Pieces, best: NDArray[np.float32], most: int
) -> list[dict[str, object]]:
    """Return the words of a text with the lowest matches, the lowest first.

    A word of several tokens has the match of its worst one, and is named once.
    """
    found: dict[tuple[int, str], float] = {}
    for key, match in zip(surfaces(text, pieces.spans), best.tolist(), strict=True):
        found[key] = min(found.get(key, 1.0), match)
    ranked = sorted(found.items(), key=lambda item: (item[1], item[0][0]))
    return [{"word": word, "match": round(match, 4)} for (_, word), match in ranked[:most]]

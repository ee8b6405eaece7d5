"""How well each word of a text is matched, kept so that a report can show the whole text.

Compact, as it is written once a case: two lists of small numbers, about as long as the text.
"""

from __future__ import annotations

from collections.abc import Mapping
from typing import NamedTuple

import numpy as np
from numpy.typing import NDArray

from closecall.embedders.base import Pieces
from closecall.metrics.alignment.matching import surfaces
from closecall.metrics.lexical.tokenizers import has_unspaced
from closecall.records import JSON

WORD_MATCHES = "wordMatches"
"""The name in a result's details; a member for each text, ``reference`` or ``response``."""

MOST_WORDS = 2000
"""Words of a text that are kept, from its beginning; ``leftOut`` counts the others."""

HUNDREDTHS = 100


class WordMatch(NamedTuple):
    """A word by its place in the canonical text, and its match, -1 to 1 in hundredths."""

    start: int
    end: int
    match: float


def word_matches(text: str, pieces: Pieces, best: NDArray[np.float32]) -> dict[str, JSON]:
    """Return the match of every word that the model saw, as ``read_word_matches`` reads it.

    ``spans`` holds two numbers a word, how many characters lie between it and the word before
    and how long it is; ``matches`` one, its cosine in hundredths. A word of several tokens has
    the match of its worst; in scripts without spaces each token stands for itself.

    Parameters
    ----------
    text
        The canonical text, to whose characters ``pieces.spans`` belong.
    pieces
        Its tokens, t.
    best
        float32, (t,), the highest cosine of each.
    """
    found: list[tuple[int, int, float]] = []
    words = surfaces(text, pieces.spans)
    for (start, end), (low, word), match in zip(pieces.spans, words, best.tolist(), strict=True):
        one = (start, end) if has_unspaced(text[start:end]) else (low, low + len(word))
        if found and one[0] < found[-1][1]:  # another token of the word before
            first, last, worst = found[-1]
            found[-1] = (first, max(last, one[1]), min(worst, match))
        else:
            found.append((*one, match))
    spans: list[int] = []
    at = 0
    for start, end, _ in found[:MOST_WORDS]:
        spans += (start - at, end - start)
        at = end
    told: dict[str, JSON] = {
        "spans": spans,
        "matches": [round(HUNDREDTHS * match) for _, _, match in found[:MOST_WORDS]],
    }
    if len(found) > MOST_WORDS:
        told["leftOut"] = len(found) - MOST_WORDS
    return told


def read_word_matches(details: Mapping[str, object], side: str) -> list[WordMatch]:
    """Return the words of one side, in order; empty where a result has none, or none that fit.

    Parameters
    ----------
    details
        Of a result, perhaps from a file that someone wrote by hand.
    side
        ``reference`` or ``response``.
    """
    every = details.get(WORD_MATCHES)
    one = every.get(side) if isinstance(every, Mapping) else None
    if not isinstance(one, Mapping):
        return []
    spans, matches = _numbers(one.get("spans")), _numbers(one.get("matches"))
    if len(spans) != 2 * len(matches) or min(spans, default=0) < 0:
        return []
    found = []
    at = 0
    for gap, length, match in zip(spans[::2], spans[1::2], matches, strict=True):
        start, at = at + gap, at + gap + length
        found.append(WordMatch(start, at, match / HUNDREDTHS))
    return found


def _numbers(value: object) -> list[int]:
    """Return a list of whole numbers; empty where it is anything else."""
    if not isinstance(value, list | tuple) or not all(type(one) is int for one in value):
        return []
    return list(value)

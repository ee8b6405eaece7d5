"""Which part of a response counts most against it: parts are left out, one at a time.

What is left is read again beside the same text. It shows what the model went by, and not what is
wrong with the response.
"""

from __future__ import annotations

import re
from collections.abc import Iterator, Mapping, Sequence
from itertools import pairwise
from typing import NamedTuple

from closecall.metrics.alignment.sentences import clauses, sentences
from closecall.metrics.base import DECIMALS
from closecall.metrics.guards.words import STOP, fold
from closecall.metrics.support.asking import Asking
from closecall.metrics.support.said import AGAINST
from closecall.records import JSON

MOST = 6
"""Parts of a response that are left out at most, and so the pairs that one explanation costs."""

LEAST_RISE = 0.1
"""A part counts against a response if the value rises by so much without it."""

SHOWN = 200
"""Characters shown of a part."""

Spans = list[tuple[int, int]]

_WORD = re.compile(r"\S+")
_EDGE = re.compile(r"^\W+|\W+$")


class Read(NamedTuple):
    """A pair that was read: the first text, and the places read of the response's text.

    ``written`` is the response as it is shown, with the same places.
    """

    first: str
    text: str
    places: tuple[tuple[int, int], ...]
    written: str


def against(
    reads: Sequence[Read | None], values: Sequence[float], asking: Asking
) -> list[Mapping[str, JSON]]:
    """Return, for each pair, the part of the response that counts most against it.

    ``start`` and ``end`` are its place in the canonical text, ``without`` is the value without
    it, ``parts`` how many parts were tried. Empty where there is nothing to leave out, or no part
    moves the value by ``LEAST_RISE``.

    Parameters
    ----------
    reads
        None where nothing is to be explained.
    values
        What the model said of each, 0 to 1.
    asking
        Asked at once about all of them.
    """
    tried: list[list[tuple[int, int, int]]] = []
    for read in reads:
        own: list[tuple[int, int, int]] = []
        if read is not None:
            for start, end in parts_of(read.text, read.places):
                left = _without(read, start, end)
                if left and asking.unreadable(left) is None:
                    own.append((start, end, asking.add(read.first, left)))
        tried.append(own)
    found = asking.values()
    told: list[Mapping[str, JSON]] = []
    for read, own, value in zip(reads, tried, values, strict=True):
        start, end, place = max(own, key=lambda one: found[one[2]], default=(0, 0, -1))
        if read is None or place < 0 or found[place] - value < LEAST_RISE:
            told.append({})
            continue
        told.append(
            {
                AGAINST: {
                    "text": read.written[start:end][:SHOWN],
                    "start": start,
                    "end": end,
                    "without": round(float(found[place]), DECIMALS),
                    "parts": len(own),
                }
            }
        )
    return told


def parts_of(text: str, places: Sequence[tuple[int, int]]) -> Spans:
    """Return at most ``MOST`` parts of what was read of a text, as small as that allows.

    Groups of words where there are few, else clauses, else sentences, else neighbours together;
    words, or runs of them, where all is one group.
    """
    finest: Spans = []
    for cut in (sentences, clauses, _groups, _words):
        parts = [(start + a, start + b) for start, end in places for a, b in cut(text[start:end])]
        if len(parts) > MOST:
            return finest if len(finest) > 1 else _together(parts)
        if cut is _words and len(finest) > 1:
            return finest
        finest = parts
    return finest


def _groups(text: str) -> Spans:
    """Return groups of words, cut between clauses and before the function words of a group."""
    found: Spans = []
    for first, last in clauses(text):
        matter = fresh = True
        for match in _WORD.finditer(text, first, last):
            start, end = match.span()
            function = fold(_EDGE.sub("", match.group())) in STOP
            if fresh or (function and matter):
                found.append((start, end))
                matter = not function
            else:
                found[-1] = (found[-1][0], end)
                matter = matter or not function
            fresh = False
    return found


def _words(text: str) -> Spans:
    return [match.span() for match in _WORD.finditer(text)]


def _together(parts: Spans) -> Spans:
    """Return ``MOST`` runs of neighbouring parts, of as many parts each as can be."""
    edges = [len(parts) * at // MOST for at in range(MOST + 1)]
    return [(parts[first][0], parts[last - 1][1]) for first, last in pairwise(edges)]


def _without(read: Read, start: int, end: int) -> str:
    """Return what was read of the response but for one part."""
    return " ".join(_left(read, start, end))


def _left(read: Read, start: int, end: int) -> Iterator[str]:
    for first, last in read.places:
        for a, b in ((first, min(last, start)), (max(first, end), last)):
            piece = read.text[a:b].strip()
            if a < b and piece:
                yield piece

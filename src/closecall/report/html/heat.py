"""Texts with the match of each word, for the table that stands without scripts."""

from __future__ import annotations

from typing import NamedTuple

from closecall.instrument import canonical_text
from closecall.metrics.alignment.words import WordMatch, read_word_matches
from closecall.records import Measured
from closecall.report.words import visible
from closecall.runs.results import CaseResult

LEAST = (0.8, 0.65, 0.5, 0.35)
"""The least match of each level, from well matched (0) to hardly at all (4, which has none)."""

LOWEST = 3
"""Words named with their match, for who cannot see the marks."""


class Piece(NamedTuple):
    """A part of a text; ``match`` is that of a word, as it is shown, and ``level`` its mark."""

    text: str
    level: int | None = None
    match: str = ""


class Marked(NamedTuple):
    """A text in pieces, and its words with the lowest matches; empty where nothing is known."""

    pieces: tuple[Piece, ...]
    lowest: str


def marked(row: CaseResult, side: str, text: str, width: int) -> Marked | None:
    """Return the beginning of a text with its words' matches; None where no metric kept any.

    Of several metrics the first that has some.

    Parameters
    ----------
    side
        ``reference`` or ``response``.
    text
        The best reference, or the response.
    width
        Characters at most; what is cut is shown as cut.
    """
    for result in row.results:
        found = result.measurement
        if isinstance(found, Measured) and (words := read_word_matches(found.details, side)):
            return _marked(canonical_text(text), words, width)
    return None


def level(match: float) -> int:
    """Return how strongly a word is marked: 0 not at all, to 4."""
    return next((at for at, least in enumerate(LEAST) if match >= least), len(LEAST))


def _marked(text: str, words: list[WordMatch], width: int) -> Marked:
    # Of a text that was cut when it was kept, the words that are there.
    words = [word for word in words if word.end <= len(text)]
    pieces: list[Piece] = []
    at = 0
    end = min(len(text), width)
    for word in words:
        if word.end > end:
            break
        pieces.append(Piece(visible(text[at : word.start])))
        said = f"{word.match:.2f}"
        pieces.append(Piece(visible(text[word.start : word.end]), level(word.match), said))
        at = word.end
    pieces.append(Piece(visible(text[at:end]) + ("…" if end < len(text) else "")))
    lowest = sorted(words, key=lambda word: (word.match, word.start))[:LOWEST]
    named = ", ".join(f"{visible(text[one.start : one.end])} {one.match:.2f}" for one in lowest)
    return Marked(tuple(piece for piece in pieces if piece.text), named)

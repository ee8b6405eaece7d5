"""Where sentences, clauses and windows of a text begin and end."""

from __future__ import annotations

import re
from collections.abc import Iterator

# A full stop ends a sentence before white space and what may begin one; not within 3.5 or e.g.
_END = re.compile(
    r"(?<=[.!?…])[\"'\u201d\u2019)\]]*\s+(?=[^\W_a-z]|[\"'\u201c\u2018(\[])|[\u3002\uff01\uff1f]+|\n{1,}"
)
_CLAUSE = re.compile(
    # White space is tried from its first sign only: from each of many, it would take for ever.
    r"[,;:]\s+|(?<!\s)\s+(?:[-\u2013\u2014]\s+"
    r"|(?=(?:and|or|but|because|which|that|who|where|while|although|so)\b))",
    re.IGNORECASE,
)
_WORD = re.compile(r"\S+")


def sentences(text: str) -> list[tuple[int, int]]:
    """Return the (start, end) of each sentence that holds more than white space; linear time."""
    return list(_kept(text, _cut(text, 0, len(text), _END)))


def clauses(text: str) -> list[tuple[int, int]]:
    """Return the (start, end) of each clause: sentences, cut at punctuation and joining words."""
    return [
        part
        for start, end in sentences(text)
        for part in _kept(text, _cut(text, start, end, _CLAUSE))
    ]


def windows(text: str, width: int) -> list[tuple[int, int]]:
    """Return the (start, end) of every run of ``width`` words; the whole of a shorter text."""
    words = [match.span() for match in _WORD.finditer(text)]
    if not words:
        return []
    if len(words) <= width:
        return [(words[0][0], words[-1][1])]
    return [(words[at][0], words[at + width - 1][1]) for at in range(len(words) - width + 1)]


def _cut(text: str, start: int, end: int, where: re.Pattern[str]) -> Iterator[tuple[int, int]]:
    at = start
    for match in where.finditer(text, start, end):
        # What marks the end in scripts without spaces belongs to the sentence before it.
        stop = match.end() if match.group()[0] in "\u3002\uff01\uff1f" else match.start()
        yield at, stop
        at = match.end()
    yield at, end


def _kept(text: str, parts: Iterator[tuple[int, int]]) -> Iterator[tuple[int, int]]:
    for start, end in parts:
        piece = text[start:end]
        if piece.strip():
            lead = len(piece) - len(piece.lstrip())
            yield start + lead, start + len(piece.rstrip())

"""A text in parts that fit a window: sentences, and pieces of a sentence that is too long.

Nothing is left out here: the parts of a text hold all of its words, in order.
"""

from __future__ import annotations

from collections.abc import Callable
from typing import NamedTuple

from closecall.metrics.alignment.sentences import sentences

_NEAR = 0.25
"""How far from the middle, as a share of a text, a space is looked for to cut it at."""


class Part(NamedTuple):
    """Characters ``start`` up to ``end`` of a text, and how many tokens they are."""

    start: int
    end: int
    tokens: int

    def of(self, text: str) -> str:
        """Return the part's own text."""
        return text[self.start : self.end]


def sentence_parts(text: str, count: Callable[[str], int]) -> list[Part]:
    """Return the sentences of a text that hold more than white space, however long."""
    return [Part(start, end, count(text[start:end])) for start, end in sentences(text)]


def no_longer(text: str, parts: list[Part], most: int, count: Callable[[str], int]) -> list[Part]:
    """Return the parts, those of more than ``most`` tokens in pieces of at most so many.

    A part is cut in the middle, between words where there is a space near it, and the halves
    again. O(n log n) in the characters of what is cut.
    """
    if all(part.tokens <= most for part in parts):
        return parts
    found: list[Part] = []
    left = parts[::-1]
    while left:
        part = left.pop()
        if part.tokens <= most or part.end - part.start == 1:
            found.append(part)
            continue
        middle = _middle(text, part.start, part.end)
        for start, end in ((middle, part.end), (part.start, middle)):
            piece = text[start:end]
            start += len(piece) - len(piece.lstrip())  # noqa: PLW2901 - white space is nobody's
            end -= len(piece) - len(piece.rstrip())  # noqa: PLW2901 - same
            if start < end:
                left.append(Part(start, end, count(text[start:end])))
    return found


def _middle(text: str, start: int, end: int) -> int:
    """Return where to cut, strictly between: at the space nearest the middle, else there."""
    middle = (start + end) // 2
    reach = max(int(_NEAR * (end - start)), 1)
    after = text.find(" ", middle, min(middle + reach, end - 1))
    before = text.rfind(" ", max(middle - reach, start + 1), middle)
    spaces = [at for at in (before, after) if at > start]
    return min(spaces, key=lambda at: abs(at - middle), default=max(middle, start + 1))

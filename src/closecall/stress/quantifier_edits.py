"""``quantifier``: all turned into some, always into never, at least into at most."""

from __future__ import annotations

import re
from collections.abc import Iterator
from functools import cache

from closecall.metrics.guards.words import Language
from closecall.stress.choice import Chooser
from closecall.stress.edits import Edit, Piece, cased_like, edited
from closecall.stress.quantifier_rules import RULES

FAMILY = "quantifier"
_NEARLY = re.compile(
    r"(?:\bnearly|\balmost|\bvirtually|\bpractically|\bfast|\bpresque|\bcasi)\s+$", re.IGNORECASE
)


@cache
def _compiled(language: str) -> tuple[tuple[re.Pattern[str], str], ...]:
    return tuple(
        (re.compile(rf"(?<![\w'-])(?:{pattern})(?![\w'-])", re.IGNORECASE), after)
        for pattern, after in RULES.get(language, ())
    )


def quantifier_edits(text: str, language: Language | None, chooser: Chooser) -> Iterator[Edit]:
    """Yield the text with one quantifier turned into its contrary, in a drawn order."""
    pieces = [
        Piece(found.start(), found.end(), cased_like(after, found.group()))
        for pattern, after in _compiled(language or "en")
        for found in pattern.finditer(text)
        if not (_in_title(text, found) or _NEARLY.search(text[: found.start()]))
    ]
    for piece in chooser.mixed(sorted(set(pieces))):
        yield edited(text, FAMILY, piece)


def _in_title(text: str, found: re.Match[str]) -> bool:
    """Return whether a quantifier is part of a name: *Some Like It Hot*, *All Saints*."""
    if not found.group()[0].isupper():
        return False
    before = text[: found.start()].rstrip()
    begins = not before or before[-1] in ".!?:\n"
    after = re.match(r"\s+(\w)", text[found.end() :])
    return not begins or (after is not None and after.group(1).isupper())

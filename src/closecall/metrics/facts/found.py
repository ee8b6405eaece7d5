"""Looking for texts and patterns in a response, and what is shown of what was found."""

from __future__ import annotations

import re
from collections.abc import Sequence
from functools import lru_cache

from closecall.instrument import canonical_text
from closecall.metrics.facts.given import REGEX
from closecall.metrics.facts.patterns import Span, search
from closecall.records import JSON

SHOWN = 10
"""Finds, or misses, listed in details at most."""

_EXCERPT = 100


def spans(
    wanted: Sequence[str],
    text: str,
    *,
    syntax: str,
    ignore_case: bool,
    whole_words: bool = False,
) -> list[Span | None]:
    """Return where each text or pattern stands first in a canonical text, None where it does not.

    Raises
    ------
    PatternError
        See ``patterns.search``; a plain text never raises.
    """
    wanted = [canonical_text(each) for each in wanted]
    if syntax == REGEX:
        return search(wanted, text, ignore_case=ignore_case)
    flags = re.IGNORECASE if ignore_case else re.NOFLAG
    matches = (_literal(each, whole_words, flags).search(text) for each in wanted)
    return [None if match is None else Span(*match.span()) for match in matches]


@lru_cache(maxsize=1024)
def _literal(text: str, whole_words: bool, flags: int) -> re.Pattern[str]:  # noqa: FBT001
    """Return the pattern of a plain text: any white space for white space, nothing else special.

    Nothing in it can match in two ways, so it needs no time limit.
    """
    pattern = r"\s+".join(re.escape(word) for word in text.split())
    if whole_words:
        pattern = rf"(?<!\w){pattern}(?!\w)"
    return re.compile(pattern, flags)


def finds(wanted: Sequence[str], places: Sequence[Span | None], text: str) -> list[JSON]:
    """Return what was found, in order, the first ``SHOWN``: what for, the words, and where."""
    found: list[JSON] = [
        {
            "wanted": clipped(each),
            "found": clipped(text[place.start : place.end]),
            "start": place.start,
            "end": place.end,
        }
        for each, place in zip(wanted, places, strict=True)
        if place is not None
    ]
    return found[:SHOWN]


def misses(wanted: Sequence[str], places: Sequence[Span | None]) -> list[JSON]:
    """Return what was looked for in vain, the first ``SHOWN``."""
    pairs = zip(wanted, places, strict=True)
    return [clipped(each) for each, place in pairs if place is None][:SHOWN]


def clipped(text: str) -> str:
    """Return a text short enough to be shown."""
    return text if len(text) <= _EXCERPT else f"{text[:_EXCERPT]}..."

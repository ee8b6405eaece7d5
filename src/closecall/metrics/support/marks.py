"""Marks around what a text says: citations, the numbers of a list, headings.

The pair model learnt from texts without them and takes their digits for statements. They are
blanked rather than cut, so that every place in the text stays what it was.
"""

from __future__ import annotations

import re

_CITATION = re.compile(
    # After a word or the end of a sentence: [3], [^3], [1, 2], [1][2], [2-4], 【4†guide】.
    r"(?<=[^\s\[(=])[ \t]{0,3}"
    r"(?:\[\^?[1-9]\d{0,2}(?:[ \t]?[,;\u2013-][ \t]?\^?[1-9]\d{0,2}){0,20}\]"
    r"|\u3010[^\u3010\u3011\n]{1,60}\u3011)"
    r"(?=[\s.,;:!?)\[\u3010\"'\u201d\u2019*_]|$)"
)
_ITEM = re.compile(
    # "3." or "c)" at the beginning of a line; after a sentence "3." only, as "B." is an initial.
    r"(?:^[ \t>]{0,20}(?P<line>(?:\d{1,3}|[A-Za-z])[.)])"
    r"|(?<=[.!?:;])[ \t]{1,3}(?P<then>\d{1,3}[.)]))"
    r"(?=[ \t]{1,8}\S)",
    re.MULTILINE,
)
_HEADING = re.compile(r"#{1,6}\s.*|(\*\*|__)(?:(?!\1).)+\1\s*:?")


def unmarked(text: str) -> str:
    """Return a text with spaces for citations and for the numbers of a list; as long as before.

    An item's number is one only where the next or the one before it is there as well: "12." may
    be an answer. O(characters).

    >>> unmarked("Paid in five days [3].")
    'Paid in five days    .'
    >>> unmarked("1. Open it. 2. Close it.")
    '   Open it.    Close it.'
    >>> unmarked("12. No, 13.")
    '12. No, 13.'
    """
    if "[" in text or "\u3010" in text:
        text = _CITATION.sub(lambda match: " " * len(match.group()), text)
    items = list(_ITEM.finditer(text))
    values = [_value(match[match.lastgroup or 0]) for match in items]
    pieces: list[str] = []
    done = 0
    for at, match in enumerate(items):
        if any(0 <= near < len(items) and values[near] == _beside(values[at], near - at)
               for near in (at - 1, at + 1)):  # fmt: skip
            start, end = match.span(match.lastgroup or 0)
            pieces += (text[done:start], " " * (end - start))
            done = end
    return "".join((*pieces, text[done:]))


def heading(text: str) -> bool:
    """Return whether a sentence is a heading of Markdown: it announces, it states nothing."""
    return _HEADING.fullmatch(text.strip()) is not None


def plain(text: str) -> str:
    """Return a text as others are compared with it: without its white space and last full stop."""
    found = " ".join(text.split())
    return found.rstrip(".").rstrip() or found  # of dots alone nothing would be left


def _value(mark: str) -> tuple[str, int]:
    body, kind = mark[:-1], mark[-1]
    if body.isascii() and body.isdigit():
        return kind, int(body)
    return kind + ("A" if body.isupper() else "a"), ord(body)


def _beside(value: tuple[str, int], step: int) -> tuple[str, int]:
    return value[0], value[1] + step

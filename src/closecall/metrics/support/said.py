"""What the details of a support metric say in words, for every surface that shows a case."""

from __future__ import annotations

from collections.abc import Iterator, Mapping
from typing import TypeGuard

AGAINST = "against"
"""The member of the details that holds the part which counts most against a response."""

SHOWN = 120
"""Characters shown of a quotation."""


def said(details: Mapping[str, object]) -> Iterator[tuple[str, str]]:
    """Yield what is told, each with a name of one word; nothing for other metrics' details.

    The texts are as they came: whoever shows them spells out what a terminal would obey. In a
    run that kept no texts a place stands for its words.
    """
    value = details.get("weakestSentenceSupport")
    count = details.get("readings", details.get("sentences"))
    if _number(value) and _number(count) and count > 1:
        what = _quoted(details.get("weakestSentence"), details.get("weakestSentenceAt"))
        yield "sentence", f"{what} ({value:.2f}, the least supported of {count:,})"
    found = details.get(AGAINST)
    if isinstance(found, Mapping) and _number(found.get("without")):
        what = _quoted(found.get("text"), (found.get("start"), found.get("end")))
        yield AGAINST, f"{what} (without it: {found['without']:.2f})"
    for side in ("question", "reference", "response", "context"):
        read = details.get(f"{side}Sentences")
        if isinstance(read, Mapping) and _number(read.get("read")) and _number(read.get("of")):
            yield "read", f"{read['read']:,} of {read['of']:,} parts of the {side}"
    for side in ("passage", "reference"):
        left = details.get(f"unread{side.capitalize()}s")
        if isinstance(left, list) and left:
            which = f"{len(left):,} {side}{'' if len(left) == 1 else 's'}"
            yield "unread", f"{which}: not English, or without a word that the model knows"


def _quoted(text: object, place: object) -> str:
    if isinstance(text, str) and text.strip():
        return f"“{text if len(text) <= SHOWN else f'{text[: SHOWN - 1]}…'}”"
    if isinstance(place, list | tuple) and len(place) == 2 and all(map(_number, place)):  # noqa: PLR2004 - where it begins and ends
        return f"characters {place[0]:,} to {place[1]:,}"
    return "a part of it"


def _number(value: object) -> TypeGuard[int | float]:
    return isinstance(value, int | float) and not isinstance(value, bool)

"""``list_order``: the items of a list in another order.

Only where the items are plainly seen: the whole text is the list, or all its items in a sentence
have as many words. Lists with numbers are left alone, since their order may be the answer.
"""

from __future__ import annotations

import re
from collections.abc import Iterator

from closecall.metrics.guards.words import STOP, Language, fold, words
from closecall.stress.choice import Chooser
from closecall.stress.edits import Edit, Piece, edited

FAMILY = "list_order"
_AND = r"(?:and|or|und|oder|et|ou|y|o)"
_ITEM = r"[^\s,.;:!?()\d\"]+(?: [^\s,.;:!?()\d\"]+)"
_ORDERED = re.compile(
    r"\b(?:then|first|second|third|finally|respectively|followed|before|after|from|to|through|"
    r"between|order|zuerst|dann|danach|puis|ensuite|d'abord|luego|después|primero|entre|"
    r"zwischen)\b",
    re.IGNORECASE,
)
_VERBS = re.compile(
    r"\b(?:is|are|was|were|has|have|had|which|who|that|can|will|it|they|he|she|you|but|not|"
    r"ist|sind|war|est|sont|es|son)\b",
    re.IGNORECASE,
)
_LIST, _LONG, _SHORT = 3, 4, 2
"""Items of a list, at least; words of an item, at most, with *and* and without."""
_LINK = re.compile(rf",? {_AND} ")


def list_edits(text: str, language: Language | None, chooser: Chooser) -> Iterator[Edit]:
    """Yield the text with the items of its list in another order."""
    del language
    if _ORDERED.search(text):
        return
    piece = _whole(text, chooser) or _inside(text, chooser)
    if piece is not None:
        yield edited(text, FAMILY, piece)


def _whole(text: str, chooser: Chooser) -> Piece | None:
    """Reorder a text that is nothing but a list: *a, b and c*."""
    body = text.rstrip(" .")
    links = list(_LINK.finditer(body))
    if len(links) > 1 or re.search(r"[\d.;:!?()\n\"]", body) or _VERBS.search(body):
        return None
    if not links:
        items = body.split(", ")
        places = all(item[:1].isupper() for item in items)  # Lima, Ohio, USA
        if len(items) < _LIST or places or any(len(item.split()) > _SHORT for item in items):
            return None
        return Piece(0, len(body), ", ".join(_moved(items, chooser)))
    link = links[0]
    items = [*body[: link.start()].split(", "), body[link.end() :]]
    if any(not item.strip() or len(item.split()) > _LONG or "," in item for item in items):
        return None
    if len(items) < _LIST and not _two_things(items):
        return None
    *rest, last = _moved(items, chooser)
    return Piece(0, len(body), ", ".join(rest) + link.group() + last)


def _two_things(items: list[str]) -> bool:
    """Return whether two items are names of several words: no *law and order*."""
    return all(len(item.split()) > 1 and item[0].isupper() for item in items)


def _inside(text: str, chooser: Chooser) -> Piece | None:
    """Reorder a list in a sentence whose items are one word each, or all two words."""
    for extra in ("{0}", "{1}"):
        item = _ITEM + extra
        found = re.search(rf"(?<!\S)((?:{item}, )+{item}),? {_AND} ({item})(?=[.;:!?)]|$)", text)
        if found is None:
            continue
        link = _LINK.search(text, found.end(1))
        items = [*found.group(1).split(", "), found.group(2)]
        if link is None or len(items) < _LIST or any(map(_VERBS.search, items)):
            continue
        if not _begins(text, found.start()) or fold(items[0].split()[0]) in STOP:
            continue
        *rest, last = _moved(items, chooser)
        return Piece(found.start(), found.end(), ", ".join(rest) + link.group() + last)
    return None


def _begins(text: str, start: int) -> bool:
    """Return whether a list can begin here: no adjective before it belongs to its first item."""
    before = text[:start].rstrip()
    if not before or before[-1] in ":.;(\n":
        return True
    last = words(before[-40:])
    return bool(last) and last[-1].fold in STOP


def _moved(items: list[str], chooser: Chooser) -> list[str]:
    """Return the items turned round by at least one place."""
    by = 1 + chooser.below(len(items) - 1)
    return items[by:] + items[:by]

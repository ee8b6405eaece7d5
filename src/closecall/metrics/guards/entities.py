"""Names in a text, by their capital letters: people, places, works, organisations, acronyms.

No list of names and no model: a run of capitalised words is a name, unless only the start of its
sentence explains the capital. German writes every noun so; there only runs of two and acronyms
count.
"""

from __future__ import annotations

from collections.abc import Sequence
from typing import NamedTuple

from closecall.metrics.guards.aliases import canonical
from closecall.metrics.guards.words import SAME, SENTENCE, STOP, Language, Word, listed


class Name(NamedTuple):
    """A name: its folded words without titles and links, and where it stands.

    ``sure`` is False for one word that may be capitalised only because it begins a sentence.
    ``at`` and ``end`` are its places among the words of the text.
    """

    parts: tuple[str, ...]
    start: int
    stop: int
    at: int
    end: int
    acronym: bool = False
    sure: bool = True


_LINKS = listed("of the de la le du des von van der den di da del el al bin ibn and & y")
_INNER_LINKS = _LINKS - {"and", "the", "y", "la", "le"}
_TITLES = listed(
    "mr mrs ms dr prof professor sir lord lady king queen prince princess president senator pope "
    "saint st captain general colonel major the herr frau m mme don dona senor senora"
)
_NO_NAME = listed(
    "i i'm i've i'd i'll ok okay yes no january february march april may june july august "
    "september october november december jan feb mar apr jun jul aug sep sept oct nov dec "
    "am pm bc ad bce ce tv dvd cd uk_ a b c d e f g h j k l n o p q r s t u v w x y z "
    "ii iii iv vi vii viii ix xi xii"
)
_MOSTLY = 0.6
"""A text with more than this share of capitalised words says nothing by its capitals."""
_FEW, _SHOUT = 6, 3


def names(found: Sequence[Word], language: Language | None) -> list[Name]:
    """Return the names among the words of a text, in order."""
    if _shouted(found):
        return []
    out: list[Name] = []
    at = 0
    while at < len(found):
        if not _capital(found[at]):
            at += 1
            continue
        end = _run(found, at)
        name = _name(found, at, end, language)
        if name is not None:
            out.append(name)
        at = end
    return out


def _shouted(found: Sequence[Word]) -> bool:
    if len(found) > _SHOUT and all(word.text.isupper() for word in found):
        return True
    if len(found) <= _FEW:
        return False
    capitals = sum(1 for word in found if word.capital and word.fold not in STOP)
    matter = sum(1 for word in found if word.fold not in STOP and not word.text.isdecimal())
    return capitals > _MOSTLY * matter and matter > _FEW


def _capital(word: Word) -> bool:
    return word.capital and word.fold not in _NO_NAME and not _contracted(word)


def _contracted(word: Word) -> bool:
    head, apostrophe, _ = word.fold.partition("'")
    return bool(apostrophe) and head in STOP


def _run(found: Sequence[Word], at: int) -> int:
    """Return where a run of capitalised words ends; *of* and the like may stand inside."""
    end = at + 1
    while end < len(found) and found[end].after == SAME:
        if _capital(found[end]):
            end += 1
        elif (
            found[end].fold in _INNER_LINKS
            and end + 1 < len(found)
            and found[end + 1].after == SAME
            and _capital(found[end + 1])
        ):
            end += 2
        else:
            break
    return end


def _name(found: Sequence[Word], at: int, end: int, language: Language | None) -> Name | None:
    begins = found[at].after == SENTENCE
    # A function word at the start of a sentence, or of a title, is no part of a name.
    while at < end and (found[at].fold in STOP or found[at].fold in _TITLES):
        if found[at].text.isupper() and len(found[at].text) > 1 and found[at].fold in {"us", "it"}:
            break
        at += 1
        begins = False if at < end else begins
    if at >= end:
        return None
    run = found[at:end]
    parts = tuple(
        canonical(word.fold.removesuffix("'s"))
        for word in run
        if word.fold not in _LINKS and word.fold not in _TITLES and not word.text.isdecimal()
    )
    if not parts:
        return None
    acronym = len(run) == 1 and run[0].text.isupper() and len(run[0].text) > 1
    if language == "de" and len(parts) - begins <= 1 and not acronym:
        return None
    sure = acronym or not begins or len(parts) > 1
    joined = canonical(" ".join(parts))
    if joined != " ".join(parts):
        parts = (joined,)
    return Name(parts, run[0].start, run[-1].end, at, end, acronym, sure)

"""Whether a text is one that a model of English can read at all.

What such a model makes of another language is a number like any other, and says nothing. Told
from letters and, where these are Latin, from function words and accents. A text with fewer than
``FEWEST_VOTES`` of them is always taken for English, and so is one that may be names alone, as
``La Paz, Los Angeles and El Paso``. Names without capitals are words like any other.
"""

from __future__ import annotations

import re
import unicodedata
from functools import lru_cache

from closecall.metrics.guards.words import (
    SAME,
    SENTENCE,
    Language,
    Word,
    language_votes,
    listed,
    words,
)

NAMES = {"de": "German", "fr": "French", "es": "Spanish", "other": "another language"}

FEWEST_VOTES = 3
"""Function words of another language before a text is taken for one: a name may hold two."""

MARGIN = 2
"""So many times more of them than of English ones."""

FEWEST_IN_PROSE = 2
"""So many of them stand where no name has them; one that no name has at all counts twice."""

FEWEST_LETTERS = 2
"""Letters that are not Latin before they are taken for a script: one may be a symbol."""

_READ = 4000
"""Characters looked at, from the beginning."""

_NO_PROSE = re.compile(r"(?<!\S)(?:(?=\S*(?:/\S*/|\w\.\w|[=@\\]))|(?=\W?[-/~]\w))\S+\b")
"""Addresses, names of hosts and files, paths and flags: their parts are words elsewhere."""

_OF_NAMES = listed(
    "al alla alle als am au aux aan av af avec bij com con da das de dei del dell della delle "
    "dels dem den der des di die do dos du el em en et for fur gli hat hay het il in la las le "
    "les lo los med met mit na nel nella num och og ohne on op or os par para per plus por pour "
    "sans sin sur til um un una uno und van von voor zu"
)
"""Function words, folded, that names and titles hold in lower case, or that are English too."""


def foreign(text: str) -> str | None:
    """Return what a text is instead of English, in words; None where it may be English.

    O(1) in a long text: only its beginning is looked at.

    >>> foreign("Die Pumpe wird im Herbst nicht mit dem Wasser entleert.")
    'in German'
    >>> foreign("насос"), foreign("El Niño"), foreign("42")
    ('not in Latin letters', None, None)
    """
    return _foreign(text[:_READ])


@lru_cache(maxsize=256)
def _foreign(read: str) -> str | None:
    if not read.isascii() and _other_script(read):
        return "not in Latin letters"
    prose = _NO_PROSE.sub(" ", read)
    # A text in capitals shows its names no more than one without any.
    prose = prose.lower() if prose.isupper() else prose
    votes = language_votes(prose)
    english = votes.pop("en", 0)
    told = [name for name, n in votes.items() if n >= FEWEST_VOTES and n > MARGIN * english]
    if not told:
        return None
    found = _in_prose(words(prose))
    if max(found.get(name, 0) for name in told) < FEWEST_IN_PROSE:
        return None
    return f"in {NAMES[max(told, key=lambda name: votes[name])]}"


def _in_prose(found: list[Word]) -> dict[Language, int]:
    """Return how many function words are no part of a name, by language."""
    # The letters of other words count once: café, crème and smörgåsbord are English as well.
    lower = [word for word in found if not word.capital and not _told(word.fold)[0]]
    counts = {name: 1 for word in lower for name in language_votes(word.text)}
    run: list[Word] = []
    for word in found:
        if word.after != SAME:
            _count(run, counts)
            run = []
        run.append(word)
    _count(run, counts)
    return counts


def _count(run: list[Word], counts: dict[Language, int]) -> None:
    """Add those of a run of words with nothing but blanks between, as an item of a list is."""
    # A run's first word may be a name's article (los angeles), but for a sentence's own capital.
    led, leads = _beside_prose(run), reversed(_beside_prose(run[::-1]))
    for at, (word, left, right) in enumerate(zip(run, led, leads, strict=True)):
        languages, telling = _told(word.fold)
        if at == 0:
            counted = right and word.capital and word.after == SENTENCE
        else:
            counted = (left or right) and not word.capital
        weight = 2 if telling and not word.capital else int(counted)
        for name in languages:
            counts[name] = counts.get(name, 0) + weight


def _beside_prose(run: list[Word]) -> list[bool]:
    """Return which words follow one in lower case that no name has, function words skipped.

    None of "Penelope de la Cruz" does, read from either side.
    """
    beside: list[bool] = []
    now = False
    for word in run:
        beside.append(now)
        now = not word.capital and (now or _told(word.fold)[1])
    return beside


@lru_cache(maxsize=1 << 12)
def _told(folded: str) -> tuple[tuple[Language, ...], bool]:
    """Return the languages of a word, and whether no name has it in lower case."""
    languages = tuple(language_votes(folded)) if folded.isascii() else ()
    bare = folded.rstrip("'")
    return languages, len(bare) > 1 and bare not in _OF_NAMES and "en" not in languages


def _other_script(text: str) -> bool:
    letters = [char for char in text if char.isalpha()]
    other = sum(not _latin(char) for char in letters)
    return other >= FEWEST_LETTERS and 2 * other > len(letters)


@lru_cache(maxsize=1 << 12)
def _latin(char: str) -> bool:
    if char.isascii():
        return True
    # Roman numerals, superscripts and letters of formulas are at home in English texts.
    plain = unicodedata.normalize("NFKD", char)[0]
    return plain.isascii() or unicodedata.name(char, "").startswith("LATIN")

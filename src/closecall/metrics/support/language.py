"""Whether a text is one that a model of English can read at all.

What such a model makes of another language is a number like any other, and says nothing. Told
from function words and letters, so a few words in Latin letters are always taken for English.
"""

from __future__ import annotations

import re
import unicodedata
from functools import lru_cache

from closecall.metrics.guards.words import language_votes

NAMES = {"de": "German", "fr": "French", "es": "Spanish", "other": "another language"}

FEWEST_VOTES = 3
"""Function words of another language before a text is taken for one: a name may hold two."""

MARGIN = 2
"""So many times more of them than of English ones."""

FEWEST_LETTERS = 2
"""Letters that are not Latin before they are taken for a script: one may be a symbol."""

_READ = 4000
"""Characters looked at, from the beginning."""

_DOTTED = re.compile(r"\w+(?:\.\w+)+")
"""Names of hosts and files, whose endings are words of other languages (``com``)."""


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
    votes = language_votes(_DOTTED.sub(" ", read))
    english = votes.pop("en", 0)
    best = max(votes, key=lambda language: votes[language], default=None)
    if best is None or votes[best] < FEWEST_VOTES or votes[best] <= MARGIN * english:
        return None
    return f"in {NAMES[best]}"


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

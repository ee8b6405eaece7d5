"""How long a text is for a tokenizer that is not here: bounds from above and from below.

From above, for limits: a run of letters is a token for every two bytes of UTF-8, and every digit
and every sign is a token, as tokenizers that cut finest have it. English prose takes about half
as many. Rare scripts and long runs of random letters can pass the bound, and a server's refusal is
then what tells. From below, for what a server says it read: a token for every word, since no
tokenizer in use joins words.
"""

from __future__ import annotations

import re
from typing import NamedTuple

RULE = "letters 2 bytes a token, digits and signs 1"
"""The upper bound in words; where texts are cut by it, it is part of an identity."""

_UNIT = re.compile(r"[^\W\d_]+|[^ ]")
_WORD = re.compile(r"\S+\s*")
_SEEN = re.compile(r"\w")


class Part(NamedTuple):
    """A part of a text that is read at once, and its tokens by the upper bound."""

    text: str
    tokens: int


def most_tokens(text: str) -> int:
    """Return the upper bound on a text's tokens; see the module for the rule."""
    if text.isascii():
        return sum((len(unit) + 1) // 2 for unit in _UNIT.findall(text))
    return sum((_bytes(unit) + 1) // 2 for unit in _UNIT.findall(text))


def _bytes(text: str) -> int:
    return len(text.encode("utf-8", "surrogatepass"))


def least_tokens(text: str) -> int:
    """Return the lower bound on a text's tokens: its words that hold a letter or a digit."""
    return sum(1 for word in text.split() if _SEEN.search(word))


def parts(text: str, capacity: int, overlap: int) -> list[Part]:
    """Return a text in parts of at most ``capacity`` tokens by the upper bound.

    Cuts fall between words; a word that alone is too long is cut between characters. Neighbours
    share at most ``overlap`` tokens, in whole words, and every word is in one part at least.

    Parameters
    ----------
    text
        A text with something in it.
    capacity, overlap
        In tokens; ``overlap`` is less than ``capacity``.
    """
    units = [unit for word in _WORD.finditer(text) for unit in _cut(word.group(), capacity)]
    sizes = [most_tokens(unit) for unit in units]
    found: list[Part] = []
    start = 0
    while start < len(units):
        stop, total = start, 0
        while stop < len(units) and (stop == start or total + sizes[stop] <= capacity):
            total += sizes[stop]
            stop += 1
        found.append(Part("".join(units[start:stop]).rstrip(), total))
        if stop == len(units):
            break
        shared = 0
        following = stop
        # The word after the cut must fit beside what is shared, or nothing new would be read.
        room = min(overlap, capacity - sizes[stop])
        while following - 1 > start and shared + sizes[following - 1] <= room:
            following -= 1
            shared += sizes[following]
        start = following
    # A run of white space too long for a part makes parts with nothing in them.
    return [part for part in found if part.text]


def _cut(word: str, capacity: int) -> list[str]:
    """Return a word in pieces that fit; most words are one."""
    if most_tokens(word) <= capacity:
        return [word]
    pieces: list[str] = []
    start = 0
    size = 0
    in_letters = False
    for at, character in enumerate(word):
        letter = character.isalpha()
        # In half tokens; a run of an odd number of bytes is rounded up where it begins.
        own = _bytes(character) + (not (letter and in_letters))
        if size + own > 2 * capacity and at > start:
            pieces.append(word[start:at])
            start, size, own = at, 0, _bytes(character) + 1
        size += own
        in_letters = letter
    return [*pieces, word[start:]]

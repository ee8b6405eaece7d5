"""What the pair model is given to read: which texts stand together, and what of a long one.

The model was trained on texts put together by these very functions (``models/pair``); another way
to put them together is another instrument.
"""

from __future__ import annotations

from collections import Counter
from collections.abc import Callable, Sequence
from functools import lru_cache

from closecall.metrics.guards.words import is_content, stem, words

BETWEEN = " / "
"""Stands between references that are read together."""

REFERENCE_ROOM = 64
"""Tokens of references that are read together; a longer one is read alone."""


def first_text(question: str | None, other: str) -> str:
    """Return what is read first: the question, where there is one, then reference or context."""
    asked = (question or "").strip()
    return f"{asked} {other.strip()}" if asked else other.strip()


def reference_groups(
    references: Sequence[str], count: Callable[[str], int], room: int = REFERENCE_ROOM
) -> list[list[int]]:
    """Return which references are read together, by number, in their order.

    A name and its other spellings are one reference each; read one by one, each pair costs a
    pass, and none of them shows that the others would do as well. Blank ones are in no group.

    Parameters
    ----------
    references
        As they were given.
    count
        Tokens of a text, without special ones.
    room
        Tokens of a group at most, unless it is of one reference.
    """
    groups: list[list[int]] = []
    left = 0
    for number, text in enumerate(references):
        if not text.strip():
            continue
        size = count(text.strip()) + count(BETWEEN)
        if not groups or size > left:
            groups.append([])
            left = room
        groups[-1].append(number)
        left -= size
    return groups


def joined(references: Sequence[str], group: Sequence[int]) -> str:
    """Return the references of a group as one text."""
    return BETWEEN.join(references[number].strip() for number in group)


def excerpt(
    sentences: Sequence[str],
    lengths: Sequence[int],
    covered: str,
    room: int,
    passages: Sequence[int] | None = None,
) -> list[int]:
    """Return the sentences of a long text that cover another text's words best, in their order.

    Sentences are taken one by one: each time the one that adds most weight of words not covered
    yet, where a word found in fewer sentences weighs more; of equals, the earlier. When nothing is
    left to cover, neighbours of those taken fill the room, the one after first, as a sentence is
    read better beside those it stands with, then the rest from its beginning. Of several passages
    those come first that something was taken of, then what stands beside it, and nothing else.
    All sentences of one passage where they fit. O(sentences x taken).

    Parameters
    ----------
    sentences
        The long text, cut.
    lengths
        Tokens of each; one longer than the room is never taken.
    covered
        The text whose content words are looked for.
    room
        Tokens at most.
    passages
        Which passage each sentence is of; None: all are of one.
    """
    whole = passages is None or len(set(passages)) == 1
    if whole and sum(lengths) <= room:
        return list(range(len(sentences)))
    wanted = content(covered)
    held = [content(sentence) & wanted for sentence in sentences]
    seen = Counter(word for found in held for word in found)
    open_words = set(seen)
    taken: list[int] = []
    left = room

    def fits(number: int) -> bool:
        return number not in taken and lengths[number] <= left

    while open_words:
        gains = [
            (sum(1 / seen[word] for word in sorted(found & open_words)), -number)
            for number, found in enumerate(held)
            if fits(number)
        ]
        gain, place = max(gains, default=(0.0, 0))
        if gain <= 0:
            break
        taken.append(-place)
        left -= lengths[-place]
        open_words -= held[-place]
    beside = [one for number in taken for one in (number + 1, number - 1)]
    near = [number for number in beside if 0 <= number < len(sentences)]
    of = [0] * len(sentences) if passages is None else passages
    read = {of[number] for number in taken} or set(of)
    own = [number for number in (*near, *range(len(sentences))) if of[number] in read]
    for number in (*own, *near):
        if fits(number):
            taken.append(number)
            left -= lengths[number]
    return sorted(taken)


@lru_cache(maxsize=4096)  # sentences of one context are asked about by every sentence beside it
def content(text: str) -> frozenset[str]:
    """Return the stems of a text's content words."""
    return frozenset(stem(word.fold) for word in words(text) if is_content(word))

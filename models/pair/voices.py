"""Real sentences in the passive and in the active, and with who did it and to whom exchanged.

*A was written by B* is *B wrote A*, and neither *B was written by A* nor *A wrote B*. Only
sentences whose two parties a pattern can tell apart are taken.
"""

from __future__ import annotations

import re
from collections.abc import Sequence
from random import Random

from pair import edits
from pair import replacing as forms
from pair.denials import Denials
from pair.inflected import inflected, present_of
from pair.rows import Row

_WORD = r"[\w’'.-]+"  # noqa: RUF001
_PARTY = rf"(?:{_WORD} ){{0,6}}?{_WORD}"
_REST = (
    r"(?:,? (?:in|on|at|during|for|from|as|after|before|until|while|with|since|because|when|to|"
    r"under|through|into|against|and later|and then)\b.*)?"
)
_PASSIVE = re.compile(
    rf"(?P<one>(?:The |A |An |It|He|She|They|This |That |[A-Z]){_PARTY}|It|He|She|They) "
    rf"(?P<was>was|were) (?P<done>[a-z]+) by (?P<other>{_PARTY})(?P<rest>{_REST})\."
)
_ACTIVE = re.compile(
    rf"(?P<one>(?:The |[A-Z]){_PARTY}) (?P<did>[a-z]+) "
    rf"(?P<other>(?:the |a |an |[A-Z]){_PARTY}|[A-Z]{_WORD})(?P<rest>{_REST})\."
)
_TURNABLE = set(
    "write direct invent discover found build design paint compose produce sing perform create "
    "develop lead own release publish conquer defeat marry kill elect sign win record introduce "
    "organise organize invade attack buy sell steal destroy replace join host manage coach teach "
    "meet see support oppose accuse sue beat catch finance fund launch open close use adopt "
    "appoint assassinate murder play portray translate edit film train raise cross"
    " start establish propose prove describe name order command protect rescue save".split()
)
_PLURAL = re.compile(r" (?:[a-z-]*[^s]s|men|women|people|children)$| and |^They$")
_OBLIQUE = {"It": "it", "He": "him", "She": "her", "They": "them"}
_SUBJECTS = {"him": "He", "her": "She", "them": "They", "it": "It"}
_VAGUE = re.compile(r"(?i)\b(?:who|which|that|where|not|never|no|each|both|himself|herself|its|his"
                    r"|her|their|by|is|was|are|were|had|has|have|be)\b")  # fmt: skip

_MUTUAL = re.compile(
    r"(?i)\b(?:between|married|marry|marriage|wed|met|meet|both|together|along|with|versus|vs|against|same|"
    r"equal|similar|friends?|siblings?|brothers?|sisters?|twins?|cousins?|partners?|duo|co-\w+|"
    r"including|include|such|or|also|known|called|named|aka|i\.e|namely|like|is|are)\b|[(:/;]"
)
"""Where two names can change places and the sentence still be true."""


class Told:
    """Who did what to whom, when: ``did`` in the past, ``done`` as a participle."""

    def __init__(self, doer: str, did: str, done: str, to: str, rest: str) -> None:
        self.doer, self.did, self.done, self.to, self.rest = doer, did, done, to, rest

    def active(self, *, exchanged: bool = False) -> str:
        """Return *B wrote A*."""
        one, other = (self.to, self.doer) if exchanged else (self.doer, self.to)
        return f"{_first(one)} {self.did} {_within(other)}{self.rest}."

    def passive(self, *, exchanged: bool = False) -> str:
        """Return *A was written by B*."""
        one, other = (self.doer, self.to) if exchanged else (self.to, self.doer)
        was = "were" if _PLURAL.search(one) else "was"
        return f"{_first(one)} {was} {self.done} by {_within(other)}{self.rest}."


def told(text: str, denials: Denials) -> tuple[Told, str] | None:
    """Return who did what to whom in a sentence, and its voice; None where that is not clear."""
    match = _PASSIVE.fullmatch(text)
    if match and not any(_VAGUE.search(match[part]) for part in ("one", "other")):
        did = _past(match["done"], denials)
        if did:
            return Told(match["other"], did, match["done"], match["one"], match["rest"]), "passive"
    match = _ACTIVE.fullmatch(text)
    if match and not any(_VAGUE.search(match[part]) for part in ("one", "other")):
        base = denials.past_of(match["did"])
        done = inflected(base, "en") if base in _TURNABLE else None
        if done:
            return Told(match["one"], match["did"], done, match["other"], match["rest"]), "active"
    return None


def voices(
    pool: Sequence[tuple[str, str, str]], denials: Denials, rng: Random, most: int
) -> list[Row]:
    """Return at most so many rows: half of them right.

    ``pool`` holds a sentence, what it is looked up in (blank: itself) and its group.
    """
    made: list[Row] = []
    order = list(pool)
    rng.shuffle(order)
    for text, beside, group in order:
        found = told(text, denials)
        if found is None or len(made) >= most:
            continue
        who, voice = found
        active = voice == "active"
        same = who.passive() if active else who.active()
        wrong = [who.active(exchanged=True), who.passive(exchanged=True)]
        rng.shuffle(wrong)
        first = beside or text
        made.append(Row(first, same, True, f"voice {voice}", group))
        made.append(Row(first, wrong[0], False, f"voice {voice}", group))
        # From what was made as well, so that no voice belongs to one of the two texts.
        made.append(Row(same, text, True, f"voice {voice}", group))
        made.append(Row(same, wrong[1], False, f"voice {voice}", group))
    return made[:most]


def exchanged(pool: Sequence[tuple[str, str, str]], rng: Random, most: int) -> list[Row]:
    """Return at most so many rows, all wrong: two names of a sentence have changed places.

    ``pool`` is that of ``voices``. Sentences that say the same either way are left out.
    """
    made: list[Row] = []
    order = [found for found in pool if not _MUTUAL.search(found[0])]
    rng.shuffle(order)
    for text, beside, group in order:
        new = edits.changed_places(text, forms.names(text), rng)
        if new is not None and len(made) < most:
            made.append(Row(beside or text, new, False, "names exchanged", group))
    return made


def _past(done: str, denials: Denials) -> str | None:
    """Return the past tense of a participle."""
    if base := denials.past_of(done):
        return inflected(base, "ed")
    base = present_of(done)
    return inflected(base, "ed") if base != done else None


def _first(text: str) -> str:
    return forms.capital(_SUBJECTS.get(text, text))


def _within(text: str) -> str:
    return _OBLIQUE.get(text, forms.small(text))

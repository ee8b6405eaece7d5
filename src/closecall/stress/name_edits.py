"""``entity``: a name replaced by a name of the same sort from another group of cases.

There is no list of names: they come from the references of the other cases. Two names are of one
sort when they answer the same kind of question (*who*, *where*), or stand after the same little
word (*in*, *by*), and have as many words.
"""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from typing import NamedTuple

from closecall.metrics.guards.aliases import canonical
from closecall.metrics.guards.entities import Name, names
from closecall.metrics.guards.questions import asks_who_or_where
from closecall.metrics.guards.words import SAME, STOP, Language, Word, fold, listed, words
from closecall.stress.choice import Chooser
from closecall.stress.edits import Edit, Piece, edited
from closecall.stress.sources import Source

FAMILY = "entity"
_WORDS, _LETTERS = 4, 48
_TRIED = 40
"""Names tried for one place before it is given up."""
_PLACES = listed("in at from near where wo ou donde")
_PEOPLE = listed("by who whose whom wer wen qui quien quienes")
"""Before a name, or first in the question it answers: these say what it is the name of."""
_NO_NAME = listed(
    "nothing nowhere nobody none everything everywhere everyone somewhere unknown need "
    "monday tuesday wednesday thursday friday saturday sunday montag dienstag mittwoch donnerstag "
    "freitag samstag sonntag"
)
_OF_A_NAME = frozenset({"'s", "\u2019s"})

Sort = tuple[str, int, str]


class _Known(NamedTuple):
    written: str
    parts: frozenset[str]
    group: str


class NamePool:
    """The names of all references, by sort; makes the edits of ``entity``."""

    def __init__(self, sources: Sequence[Source]) -> None:
        self._sorts: dict[Sort, list[_Known]] = {}
        seen: set[tuple[Sort, str, str]] = set()
        for source in sources:
            for text in source.references:
                for name, sort in _found(text, source.question, source.language(text)):
                    written = _written(text, name)
                    known = _Known(written, frozenset(name.parts), source.group)
                    entry = (sort, written, source.group)
                    if entry not in seen and _fit(written):
                        seen.add(entry)
                        self._sorts.setdefault(sort, []).append(known)
        for known_ones in self._sorts.values():
            known_ones.sort()

    def edits(self, source: Source, text: str, chooser: Chooser) -> Iterator[Edit]:
        """Yield the text with one of its names replaced; names of the question stay."""
        language = source.language(text)
        asked = words(source.question or "")
        given = {word.fold.removesuffix("'s") for word in asked}
        taken = set(given)
        for reference in (*source.references, text):
            taken |= {word.fold.removesuffix("'s") for word in words(reference)} - STOP
        found = [pair for pair in _found(text, source.question, language)
                 if given.isdisjoint(pair[0].parts)]  # fmt: skip
        for name, sort in chooser.mixed(found):
            written = _written(text, name)
            # A name said twice would be half replaced.
            if text.count(written) > 1:
                continue
            other = self._other(sort, source.group, taken, chooser)
            if other is not None:
                yield edited(text, FAMILY, Piece(name.start, name.start + len(written), other))

    def _other(self, sort: Sort, group: str, taken: set[str], chooser: Chooser) -> str | None:
        known = self._sorts.get(sort, [])
        start = chooser.below(len(known)) if known else 0
        for step in range(min(_TRIED, len(known))):
            one = known[(start + step) % len(known)]
            own = {fold(word) for word in one.written.split()} | one.parts
            if one.group != group and taken.isdisjoint(own - STOP):
                return one.written
        return None


def _found(
    text: str, question: str | None, language: Language | None
) -> Iterator[tuple[Name, Sort]]:
    """Yield the names of a text and their sorts."""
    found = words(text)
    for name in names(found, language):
        alone = name.at == 0 and name.end == len(found)
        if not name.sure and not (alone and asks_who_or_where(question)):
            continue
        if not alone and _part_of_more(text, name):
            continue
        if not _NO_NAME.isdisjoint(name.parts):
            continue
        if len(name.parts) == 1 and not alone and text[: name.start].rstrip()[-1:] in ".:!?":
            continue
        size = min(len(name.parts), 3)
        yield name, (_place(found, name, question, alone=alone), size, _shape(name, found))


def _shape(name: Name, found: Sequence[Word]) -> str:
    """Return how a name of one word is made: an acronym, an adjective, a plural, or none."""
    last = found[name.end - 1].fold.removesuffix("'s")
    if len(name.parts) == 1 and canonical(last) != last:
        return "adjective"  # of a country, or its short name
    if name.acronym or len(name.parts) > 1:
        return "acronym" if name.acronym else ""
    ending = next((e for e in ("ans", "ish", "ese", "ian", "an", "ch") if last.endswith(e)), "")
    return ending or ("s" if last.endswith("s") else "")


def _part_of_more(text: str, name: Name) -> bool:
    """Return whether a name is glued to something: a number, a hyphen, a quotation mark."""
    before, after = text[: name.start], text[name.stop :]
    return bool(
        (before[-1:] and before[-1] in "-\"'“‘/#@") or (after[:1] and after[0] in "-\"'”’/@")  # noqa: RUF001
        or after[:2].strip()[:1].isdigit() or before[-2:].strip()[-1:].isdigit()
    )  # fmt: skip


def _place(found: Sequence[Word], name: Name, question: str | None, *, alone: bool) -> str:
    if alone:
        told = [word.fold for word in words((question or "")[:120])[:4]]
    else:
        told = [word.fold for word in found[max(0, name.at - 2) : name.at] if word.after == SAME]
        told = [word for word in told if word not in ("the", "a")][-1:]
    if not _PEOPLE.isdisjoint(told):
        return "person"
    if not _PLACES.isdisjoint(told):
        return "place"
    return "answer" if alone else "other"


def _written(text: str, name: Name) -> str:
    written = text[name.start : name.stop]
    return written[:-2] if written[-2:] in _OF_A_NAME else written


def _fit(written: str) -> bool:
    return (
        len(written) <= _LETTERS
        and len(written) > 1
        and len(written.split()) <= _WORDS
        and "\n" not in written
        and not any(char.isdigit() for char in written)
    )

"""``names``: is a name of the reference replaced by another in the response?

A name that is left out does not count: an answer need not repeat all that a reference names. One
that is missing while the response has another, in neither the reference nor the question, does.
Surnames, acronyms (*NFL*), adjectives of countries and one letter of difference are one name.
"""

from __future__ import annotations

from collections.abc import Iterable, Iterator, Sequence
from functools import cached_property, lru_cache
from itertools import pairwise
from typing import NamedTuple

from closecall.metrics.guards.aliases import canonical
from closecall.metrics.guards.base import GuardFinding, Span, kept, quoted
from closecall.metrics.guards.entities import Name, names
from closecall.metrics.guards.questions import asks_who_or_where
from closecall.metrics.guards.words import STOP, Language, Word, fold, language_of, words

_FUZZY, _LONGEST = 5, 40
"""Letters of a word that may be written with one letter more, less or other."""
_HEAD = 6
"""Letters that words of one root share."""
_RUN_TOGETHER = 8
_SHORT_TEXT = 20_000


class Compared(NamedTuple):
    """What became of the names of a reference.

    ``missing`` are not in the response and were not given by the question; ``rivals`` are names
    of the response that neither the reference nor the question has. ``swapped`` are pairs of the
    two with the same words beside them.
    """

    matched: tuple[Name, ...] = ()
    missing: tuple[Name, ...] = ()
    rivals: tuple[Name, ...] = ()
    swapped: tuple[tuple[Name, Name], ...] = ()


class Names:
    """The guard ``names``."""

    name = "names"
    every = True

    def check(self, reference: str, response: str, question: str | None = None) -> GuardFinding:
        """Return ``differ`` where a name is missing and another stands in its place."""
        found = compare(reference, response, question)
        ours, theirs = _replaced(found, question)
        if ours:
            spans = [_spans(ours), _spans(theirs)]
            said = f"the reference names {quoted(reference, spans[0])}"
            return GuardFinding(
                guard=self.name,
                state="differ",
                spans_reference=kept(spans[0]),
                spans_response=kept(spans[1]),
                words=f"{said}, the response {quoted(response, spans[1])}",
            )
        if not found.matched:
            return GuardFinding(
                guard=self.name, state="absent", words="the reference has no name to look for"
            )
        spans = [_spans(found.matched), []]
        return GuardFinding(
            guard=self.name,
            state="agree",
            spans_reference=kept(spans[0]),
            words=f"the response names {quoted(reference, spans[0])}",
        )


def _replaced(found: Compared, question: str | None) -> tuple[tuple[Name, ...], tuple[Name, ...]]:
    """Return the names of the reference that are replaced, and what they are replaced by."""
    if found.swapped:
        ours, theirs = zip(*found.swapped, strict=True)
        return ours, theirs
    if found.matched:
        return (), ()
    if asks_who_or_where(question):
        return (found.missing, found.rivals) if found.missing and found.rivals else ((), ())
    ours = tuple(name for name in found.missing if name.sure)
    theirs = tuple(name for name in found.rivals if name.sure)
    return (ours, theirs) if ours and theirs else ((), ())


def _spans(found: Iterable[Name]) -> list[Span]:
    return [(name.start, name.stop) for name in found]


def compare(reference: str, response: str, question: str | None = None) -> Compared:
    """Look for each name of a reference in a response; linear in the length of the texts."""
    language = language_of(reference, response, question)
    ours = _read(reference, language)
    if not ours.names:
        return Compared()
    theirs = _read(response, language)
    matched, missing = _split(ours.names, theirs)
    _, rivals = _split(theirs.names, ours)
    if missing or rivals:
        asked = _read(question or "", language)
        missing, rivals = _split(missing, asked)[1], _split(rivals, asked)[1]
    return Compared(
        tuple(matched),
        tuple(missing),
        tuple(rivals),
        tuple(_swapped(ours, missing, theirs, rivals)),
    )


def _split(found: Iterable[Name], text: _Text) -> tuple[list[Name], list[Name]]:
    """Return the names that stand in a text, and those that do not."""
    there: list[Name] = []
    absent: list[Name] = []
    for name in found:
        (there if text.has(name) else absent).append(name)
    return there, absent


class _Text:
    """A text's words and names, for finding a name that may be written in another way."""

    def __init__(self, text: str, language: Language | None) -> None:
        self.text = text
        self.found = words(text)
        self.names = names(self.found, language)

    # What nearly no comparison asks for is made when one does.

    @cached_property
    def words(self) -> set[str]:
        """Each word, by itself and joined with the next, in all of its forms."""
        folds = [word.fold.removesuffix("'s") for word in self.found]
        pairs = list(pairwise(folds))
        both = [canonical(name) for a, b in pairs if canonical(name := f"{a} {b}") != name]
        return {*folds, *map(canonical, folds), *(a + b for a, b in pairs), *both}

    @cached_property
    def initials(self) -> set[str]:
        """The first letters of each name of several words."""
        return {"".join(part[0] for part in n.parts) for n in self.names if len(n.parts) > 1}

    @cached_property
    def _long(self) -> list[str]:
        capitals = {word.fold for word in self.found if word.capital}
        return [word for word in capitals or self.words if _FUZZY <= len(word) <= _LONGEST]

    @cached_property
    def near(self) -> set[str]:
        """The longer words, and each with a letter left out."""
        return {form for word in self._long for form in _shortened(word)}

    @cached_property
    def heads(self) -> set[str]:
        """The first letters of the longer words."""
        return {word[:_HEAD] for word in self._long if len(word) >= _HEAD}

    @cached_property
    def firsts(self) -> dict[str, set[str]]:
        """The first words of the names that end in each last one."""
        found: dict[str, set[str]] = {}
        for name in self.names:
            if len(name.parts) > 1:
                found.setdefault(name.parts[-1], set()).add(name.parts[0])
        return found

    @cached_property
    def letters(self) -> str:
        """The text without what stands between its letters."""
        return "".join(filter(str.isalnum, fold(self.text)))

    def has(self, name: Name) -> bool:
        """Return whether a name stands here, in one way of writing it or another."""
        parts = name.parts
        if len(parts) == 1:
            return self._holds(parts[0]) or (name.acronym and parts[0] in self.initials)
        hits = [self._holds(part) for part in parts]
        if all(hits) or "".join(part[0] for part in parts) in self.words:
            return True
        if hits[-1] and not self._of_others(parts):
            return True  # the surname alone will do
        return 2 * sum(hits) > len(parts) or self._run_together(parts)

    def _holds(self, part: str) -> bool:
        """Return whether a word of a name stands here, give or take a letter or an ending."""
        if part in self.words or part.removesuffix("s") in self.words or part + "s" in self.words:
            return True
        if not _FUZZY <= len(part) <= _LONGEST:
            return False
        if len(part) >= _HEAD and part[:_HEAD] in self.heads:
            return True  # Eukarya, Eukaryota
        return part in self.near or not self.near.isdisjoint(_shortened(part))

    def _of_others(self, parts: Sequence[str]) -> bool:
        """Return whether a last name stands here with other first names only: *South Korea*."""
        firsts = self.firsts.get(parts[-1], set())
        return bool(firsts) and not any(
            first in parts or (1 in (len(first), len(parts[0])) and first[0] == parts[0][0])
            for first in firsts
        )

    def _run_together(self, parts: Sequence[str]) -> bool:
        """Return whether a name stands here without its blanks, as text from the web may have."""
        whole = "".join(parts)
        if len(whole) < _RUN_TOGETHER or len(self.text) > _SHORT_TEXT:
            return False
        return whole in self.letters


@lru_cache(maxsize=8)
def _read(text: str, language: Language | None) -> _Text:
    """Read a text once: its question and its references come again with the next answer."""
    return _Text(text, language)


def _shortened(word: str) -> list[str]:
    """Return a word, and it with one letter left out: words a letter apart share one of these."""
    return [word, *(word[:at] + word[at + 1 :] for at in range(len(word)))]


def _swapped(
    ours: _Text, missing: Sequence[Name], theirs: _Text, rivals: Sequence[Name]
) -> Iterator[tuple[Name, Name]]:
    """Yield names that stand between the same words, one in each text."""
    places: dict[tuple[str, ...], Name] = {}
    for rival in rivals:
        for place in _places(theirs.found, rival):
            places.setdefault(place, rival)
    for name in missing:
        for place in _places(ours.found, name):
            other = places.get(place)
            if other is not None and (name.sure or other.sure):
                yield name, other
                break


def _places(found: Sequence[Word], name: Name) -> Iterator[tuple[str, ...]]:
    """Yield the two words before a name and the two after, where one of them carries matter."""
    before = tuple(word.fold for word in found[max(0, name.at - 2) : name.at])
    after = tuple(word.fold for word in found[name.end : name.end + 2])
    if not STOP.issuperset(before):
        yield ("before", *before)
    if not STOP.issuperset(after):
        yield ("after", *after)

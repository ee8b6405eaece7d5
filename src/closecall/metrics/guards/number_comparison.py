"""The numbers of a reference beside those of a response: which are there, which are not."""

from __future__ import annotations

import re
from bisect import bisect_right
from collections.abc import Callable, Sequence
from functools import lru_cache
from typing import NamedTuple

from closecall.metrics.guards.base import Span
from closecall.metrics.guards.quantities import Quantity, Value
from closecall.metrics.guards.quantity_reader import CJK_DIGITS, quantities
from closecall.metrics.guards.questions import asks_who_or_where
from closecall.metrics.guards.same import Index, same
from closecall.metrics.guards.words import Language, Word, is_content, language_of, stem, words

_NONE = re.compile(
    r"\b(?:no|none|zero|nil|nobody|nothing|never|without|kein\w*|niemand|null|aucune?|rien"
    r"|ning[uú]n\w*|cero|z[eé]ro)\b|n't\b",
    re.IGNORECASE,
)
_EXAMPLE = re.compile(
    r"\b(?:for example|for instance|e\.\s?g\.|such as|zum Beispiel|z\.\s?B\.|par exemple|p\. ex\."
    r"|por ejemplo)|例如|比如|例えば",
    re.IGNORECASE,
)
_SENTENCE_END = re.compile(r"[.!?。！？](?=\s|$)|[。！？\n]")  # noqa: RUF001
_EARLIEST, _LATEST = 1000, 2100
"""Whole numbers between these may be years."""
_LONG = 25
"""Words that carry matter in a reference so long that a response need not repeat all of it."""
_AROUND = 6
_COVERED = 0.5
_FAR = 1 << 60


class Compared(NamedTuple):
    """What became of the numbers of a reference.

    ``matched`` pairs a number with where the response has it (None where it is said in other
    ways), ``contradicted`` with the number the response has instead, ``vague`` with what tells
    less of the same; ``missing`` have none of these.
    """

    matched: tuple[tuple[Quantity, Quantity | None], ...] = ()
    missing: tuple[Quantity, ...] = ()
    contradicted: tuple[tuple[Quantity, Quantity], ...] = ()
    vague: tuple[tuple[Quantity, Quantity], ...] = ()


def compare(reference: str, response: str, question: str | None = None) -> Compared:
    """Look for each number of a reference in a response; time n log n in the texts' length."""
    language = language_of(reference, question, response)
    read = _quantities(reference, language)
    # A Chinese numeral may be part of a word: it can meet a number, not ask for one.
    ours = [q for q in read if not (q.soft and reference[q.start] in CJK_DIGITS)]
    if not ours:
        return Compared()
    theirs = _quantities(response, language_of(response, question, reference))

    def asked() -> Sequence[Quantity]:
        return _quantities(question, language_of(question, reference)) if question else ()

    found = _Comparison(ours, theirs, asked, response).result()
    if asks_who_or_where(question):
        found = found._replace(missing=())
    if not (found.missing or found.contradicted):
        return found
    asides = _Asides(reference, response)
    return found._replace(
        missing=tuple(q for q in found.missing if not asides.holds(q)),
        contradicted=tuple(pair for pair in found.contradicted if not asides.holds(pair[0])),
    )


@lru_cache(maxsize=8)
def _quantities(text: str, language: Language | None) -> tuple[Quantity, ...]:
    """Read a text once: its question and its references come again with the next answer."""
    return tuple(quantities(text, language))


class _Asides:
    """Parts of a reference that a response need not repeat.

    Examples; and in a long reference what the response does not speak of at all.
    """

    def __init__(self, reference: str, response: str) -> None:
        self.examples: list[Span] = []
        for match in _EXAMPLE.finditer(reference):
            if self.examples and match.start() < self.examples[-1][1]:
                continue
            end = _SENTENCE_END.search(reference, match.end())
            self.examples.append((match.start(), end.start() if end else len(reference)))
        self.words: list[Word] = [word for word in words(reference) if is_content(word)]
        self.long = len(self.words) > _LONG
        self.starts = [word.start for word in self.words]
        self.said = {stem(word.fold) for word in words(response)} if self.long else set()

    def holds(self, quantity: Quantity) -> bool:
        """Return whether a quantity stands in such a part."""
        # Examples come in order and end in order: the last that begins before it decides.
        at = bisect_right(self.examples, (quantity.start, _FAR)) - 1
        if at >= 0 and quantity.start < self.examples[at][1]:
            return True
        if not self.long:
            return False
        middle = bisect_right(self.starts, quantity.start)
        near = self.words[max(0, middle - _AROUND) : middle + _AROUND]
        matter = [word for word in near if not word.text[0].isdecimal()]
        covered = sum(stem(word.fold) in self.said for word in matter)
        return covered < _COVERED * len(matter)


class _Comparison:
    """Quantities of a reference beside those of a response and a question.

    The question is read only where the response lacks a number.
    """

    def __init__(
        self,
        ours: Sequence[Quantity],
        theirs: Sequence[Quantity],
        asked: Callable[[], Sequence[Quantity]],
        response: str,
    ) -> None:
        self.ours, self.asked = ours, asked
        self.index = Index(theirs)
        self.theirs = self.index.found
        self.response = response
        self.used: set[int] = set()
        self.by_noun: dict[str, list[int]] = {}
        for at, quantity in enumerate(self.theirs):
            for noun in quantity.nouns:
                near = self.by_noun.setdefault(noun, [])
                if len(near) < Index.MOST:
                    near.append(at)
        self.letters: str | None = None

    def result(self) -> Compared:
        matched: list[tuple[Quantity, Quantity | None]] = []
        unmatched: list[Quantity] = []
        for ref in self.ours:
            hits = self.index.same(ref)
            if hits and self._of_another(ref, hits):
                unmatched.append(ref)
            elif hits:
                self.used.update(hits)
                matched.append((ref, self.theirs[hits[0]]))
            elif self._otherwise(ref):
                matched.append((ref, None))
            else:
                unmatched.append(ref)
        # What a response need not repeat is no reason to say that it agrees, where there is more.
        hard = [pair for pair in matched if not pair[0].soft]
        return self._open(unmatched)._replace(matched=tuple(hard or matched))

    def _of_another(self, ref: Quantity, hits: Sequence[int]) -> bool:
        """Return whether a number is there but counts something else: *three cats, two dogs*.

        Only where the response counts the same thing, and otherwise.
        """
        if not ref.nouns or ref.units:
            return False
        if any(self.theirs[at].nouns & ref.nouns or not self.theirs[at].nouns for at in hits):
            return False
        same_noun = {at for noun in ref.nouns for at in self.by_noun.get(noun, ())}
        return bool(same_noun) and not any(same(ref, self.theirs[at]) for at in same_noun)

    def _otherwise(self, ref: Quantity) -> bool:
        """Return whether the response says a quantity in a way that is no quantity."""
        if ref.kind == "amount" and all(value.low == value.high == 0 for value in ref.values):
            return bool(_NONE.search(self.response))
        if ref.kind == "code":
            if self.letters is None:
                self.letters = "".join(filter(str.isalnum, self.response.casefold()))
            return ref.code in self.letters
        return self._both_ends(ref)

    def _both_ends(self, ref: Quantity) -> bool:
        """Return whether the response has both ends of a range as numbers of their own."""
        if ref.period or not ref.values or ref.values[0].low == ref.values[0].high:
            return False
        low, high, step = ref.values[0]
        hits = [
            self.index.same(ref._replace(values=(Value(end, end, step),))) for end in (low, high)
        ]
        if all(hits):
            self.used.update(*hits)
        return all(hits)

    def _open(self, unmatched: Sequence[Quantity]) -> Compared:
        """Say what became of the numbers that the response does not have."""
        if not unmatched:
            return Compared()
        given = Index(self.asked())
        missing: list[Quantity] = []
        contradicted: list[tuple[Quantity, Quantity]] = []
        vague: list[tuple[Quantity, Quantity]] = []
        left = [
            q
            for at, q in enumerate(self.theirs)
            if at not in self.used and not given.same(q)  # what was asked is no answer
        ]
        rivals = _Rivals(left)
        for ref in unmatched:
            if given.same(ref):
                continue  # the question says it; the response need not
            less = self.index.vaguer(ref)
            rival = rivals.of(ref)
            if less is not None:
                vague.append((ref, less))
            elif rival is not None:
                contradicted.append((ref, rival))
            elif not ref.soft:
                missing.append(ref)
        return Compared((), tuple(missing), tuple(contradicted), tuple(vague))


class _Rivals:
    """Numbers of a response that the reference does not have: what may stand in place of one."""

    def __init__(self, left: Sequence[Quantity]) -> None:
        self.by_kind: dict[str, Quantity] = {}
        self.by_noun: dict[str, Quantity] = {}
        for quantity in left:
            for kind in _kinds(quantity):
                self.by_kind.setdefault(kind, quantity)
            if quantity.kind == "amount" and not quantity.units:
                for noun in quantity.nouns:
                    self.by_noun.setdefault(noun, quantity)

    def of(self, ref: Quantity) -> Quantity | None:
        for noun in sorted(ref.nouns) if not ref.units else ():
            if noun in self.by_noun:
                return self.by_noun[noun]
        if ref.soft and ref.kind != "code":
            return None
        found = (self.by_kind.get(kind) for kind in _kinds(ref))
        return next((rival for rival in found if rival is not None), None)


def _kinds(quantity: Quantity) -> list[str]:
    """Return the kinds of number one is; two of one kind can stand in each other's place."""
    if quantity.kind == "code":
        return ["code " + quantity.code.rstrip("0123456789")]
    if quantity.kind != "amount":
        return [quantity.kind]
    if quantity.units:
        return ["time" if unit[0] == "months" else unit[0] for unit in quantity.units]
    whole = [value.low for value in quantity.values]
    if quantity.period or all(_EARLIEST <= low <= _LATEST and low % 1 == 0 for low in whole):
        return ["date"] if not quantity.nouns or quantity.period else ["date", "count"]
    return ["ordinal" if quantity.ordinal else "count"]

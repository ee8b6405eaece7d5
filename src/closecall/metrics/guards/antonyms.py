"""``antonyms``: does the response say the opposite word where the reference says one? English.

*Prices rose* and *prices fell*; also *happy* and *unhappy*, *harmless* and *harmful*. Only in
clauses about the same, and with negation counted in: *not open* is *closed*.
"""

from __future__ import annotations

from collections.abc import Iterator
from functools import lru_cache

from closecall.metrics.guards.antonym_pairs import opposites, unaffixed
from closecall.metrics.guards.base import GuardFinding, Span, kept, quoted
from closecall.metrics.guards.polarity import Clause, Reading, Term, partners, read, terms_of
from closecall.metrics.guards.words import Language, language_of

_NEAR = 3
_SHARED = 0.5
_TINY = 2


class Antonyms:
    """The guard ``antonyms``."""

    name = "antonyms"
    every = False

    def check(self, reference: str, response: str, question: str | None = None) -> GuardFinding:
        """Return ``differ`` where a word of the reference is answered by its opposite."""
        language = language_of(reference, response, question)
        if language not in (None, "en"):
            return GuardFinding(
                guard=self.name, state="absent", words="opposites are known in English only"
            )
        if not _may_oppose(reference, response, language):
            return self._absent()
        ours, theirs = read(reference, language), read(response, language)
        differ: list[tuple[Term, Term]] = []
        agree: list[tuple[Term, Term]] = []
        for first, second in _pairs(ours, theirs):
            (differ if first.negated == second.negated else agree).append((first, second))
        found = differ or agree
        if not found:
            return self._absent()
        spans: list[list[Span]] = [[pair[side].span for pair in found] for side in (0, 1)]
        said = f"{quoted(reference, spans[0])} in the reference"
        if differ:
            words = f"{said}, the opposite {quoted(response, spans[1])} in the response"
        else:
            words = f"{said} is what {quoted(response, spans[1])} says with a negation"
        return GuardFinding(
            guard=self.name,
            state="differ" if differ else "agree",
            spans_reference=kept(spans[0]),
            spans_response=kept(spans[1]),
            words=words,
        )

    def _absent(self) -> GuardFinding:
        return GuardFinding(guard=self.name, state="absent", words="no two words are opposites")


def _may_oppose(reference: str, response: str, language: Language | None) -> bool:
    """Return whether opposites stand in the two texts at all; mostly they need not be read."""
    ours, against_ours = _stems(reference, language)
    theirs, against_theirs = _stems(response, language)
    return not (against_ours.isdisjoint(theirs) and against_theirs.isdisjoint(ours))


@lru_cache(maxsize=8)
def _stems(text: str, language: Language | None) -> tuple[frozenset[str], frozenset[str]]:
    """Return the stems of a text, and those of the words that are opposites of one of its own."""
    terms = terms_of(text, language)
    against = [_against(*term) for term in terms]
    return frozenset([name for name, _ in terms]), frozenset().union(*against)


@lru_cache(maxsize=1 << 14)
def _against(stemmed: str, folded: str) -> frozenset[str]:
    return opposites(stemmed).union(unaffixed(folded))


def _pairs(ours: Reading, theirs: Reading) -> Iterator[tuple[Term, Term]]:
    """Yield words and their opposites in clauses about the same."""
    for clause in ours.clauses:
        for at, shared in _near(clause, ours, theirs):
            second = theirs.clauses[at]
            sizes = (len(clause.by_stem), len(second.by_stem))
            enough = shared >= max(1, _SHARED * (min(sizes) - 1))
            if not (enough or max(sizes) <= _TINY):
                continue
            # A text that has both words somewhere contrasts them itself.
            yield from (
                (first, other)
                for first, other in _opposed(clause, second)
                if first.stem not in theirs.places and other.stem not in ours.places
            )


def _near(clause: Clause, ours: Reading, theirs: Reading) -> list[tuple[int, int]]:
    near = partners(clause, theirs)[:_NEAR]
    if not near and len(ours.clauses) == len(theirs.clauses) == 1:
        return [(0, 0)]
    return near


def _opposed(first: Clause, second: Clause) -> Iterator[tuple[Term, Term]]:
    ours, theirs = first.by_stem, second.by_stem
    negated = {root: term for term in second.terms for root in unaffixed(term.fold)}
    for name, term in ours.items():
        if name in theirs:
            continue
        others = [theirs[other] for other in opposites(name) if other in theirs]
        others += [theirs[root] for root in unaffixed(term.fold) if root in theirs]
        others += [negated[name]] if name in negated else []
        yield from ((term, other) for other in others if other.stem not in ours)

"""``negation``: is a statement of the reference negated in the response, or the other way round?

Only statements that both texts make are compared: a cue counts where the words it turns also
stand in the other text, in a clause about the same. *Yes* and *no* at the start are compared as
answers. English, German, French and Spanish; two negations cancel out.
"""

from __future__ import annotations

from collections.abc import Callable
from typing import NamedTuple

from closecall.metrics.guards.antonym_pairs import opposed
from closecall.metrics.guards.base import GuardFinding, Span, kept, quoted
from closecall.metrics.guards.polarity import (
    Clause,
    Cue,
    Reading,
    Term,
    may_negate,
    partners,
    read,
)
from closecall.metrics.guards.words import language_of

_NEAR = 3
"""Clauses of the other text looked at for one cue: those that share the most with its clause."""
_SHARED = 0.5
"""Share of the smaller clause's terms that must stand in both for the statements to match."""
_TINY = 2
"""Terms of clauses so short that one shared term is enough."""
_MANY, _MOSTLY = 3, 0.6
"""Terms, and share of the larger clause's, that must be shared where the negated word is not."""


class _Found(NamedTuple):
    """A cue of one text and what the other has: spans in the text of the cue, in the other."""

    cue: tuple[Span, ...]
    other: tuple[Span, ...]


class Negation:
    """The guard ``negation``."""

    name = "negation"
    every = False

    def check(self, reference: str, response: str, question: str | None = None) -> GuardFinding:
        """Return ``differ`` where exactly one of two matching statements is negated."""
        if not (may_negate(reference) or may_negate(response)):
            return self._absent()
        language = language_of(reference, response, question)
        ours, theirs = read(reference, language), read(response, language)
        answers = self._answers(ours, theirs)
        if answers is not None and answers.state == "differ":
            return answers

        def asked() -> Reading | None:
            return read(question, language) if question else None

        for_ours, against_ours = _compared(ours, theirs, asked)
        for_theirs, against_theirs = _compared(theirs, ours, asked)
        if against_ours or against_theirs:
            return GuardFinding(
                guard=self.name,
                state="differ",
                spans_reference=kept(_spans(against_ours, 0) + _spans(against_theirs, 1)),
                spans_response=kept(_spans(against_ours, 1) + _spans(against_theirs, 0)),
                words=_words(reference, response, against_ours, against_theirs),
            )
        if for_ours or for_theirs:
            return GuardFinding(
                guard=self.name,
                state="agree",
                spans_reference=kept(_spans(for_ours, 0) + _spans(for_theirs, 1)),
                spans_response=kept(_spans(for_ours, 1) + _spans(for_theirs, 0)),
                words="both negate the same",
            )
        return answers or self._absent()

    def _absent(self) -> GuardFinding:
        return GuardFinding(
            guard=self.name, state="absent", words="no negation in a statement that both make"
        )

    def _answers(self, ours: Reading, theirs: Reading) -> GuardFinding | None:
        if ours.answer is None or theirs.answer is None:
            return None
        same = ours.answer == theirs.answer
        said = {True: "yes", False: "no"}
        return GuardFinding(
            guard=self.name,
            state="agree" if same else "differ",
            spans_reference=(ours.answer_span,) if ours.answer_span else (),
            spans_response=(theirs.answer_span,) if theirs.answer_span else (),
            words=f"both answer {said[ours.answer]}"
            if same
            else f"the reference answers {said[ours.answer]}, the response {said[theirs.answer]}",
        )


def _compared(
    first: Reading, second: Reading, asked: Callable[[], Reading | None]
) -> tuple[list[_Found], list[_Found]]:
    """Return the cues of the first text that the second shares, and those it contradicts."""
    same: list[_Found] = []
    opposite: list[_Found] = []
    for clause in first.clauses:
        near = partners(clause, second)[:_NEAR] if clause.cues else []
        for cue in clause.cues:
            if not cue.scope:
                continue
            verdict, found = _judge(clause, cue, near, first, second)
            if verdict < 0 and _given(clause, cue, asked()):
                continue
            if verdict:
                (same if verdict > 0 else opposite).append(found)
    return same, opposite


def _given(clause: Clause, cue: Cue, asked: Reading | None) -> bool:
    """Return whether the question itself negates the same: *Why don't cats swim?*."""
    if asked is None:
        return False
    target = clause.terms[cue.scope[0]].stem
    return any(
        term.stem == target and term.negated
        for at in asked.places.get(target, ())
        for term in asked.clauses[at].terms
    )


def _judge(
    clause: Clause, cue: Cue, near: list[tuple[int, int]], own: Reading, other: Reading
) -> tuple[int, _Found]:
    """Return 1 where the other text negates the same, -1 where it affirms it, 0 for neither."""
    scope = [clause.terms[place] for place in cue.scope]
    target = scope[0]
    nothing = _Found((), ())
    if not target.negated or _also_affirmed(target, own):
        return 0, nothing
    against: Term | None = None
    for at, shared in near:
        second = other.clauses[at]
        by_stem = second.by_stem
        hits = [by_stem[term.stem] for term in scope if term.stem in by_stem]
        turned = next((term for term in hits if term.negated), None)
        turned = turned or _opposite(scope, second)
        if turned is not None:
            return 1, _Found((cue.span,), (turned.span,))
        sizes = (len(clause.by_stem), len(by_stem))
        if against is None:
            against = _affirmed(target, scope, by_stem, shared, sizes)
    if against is None:
        return 0, nothing
    return -1, _Found((cue.span, target.span), (against.span,))


def _affirmed(
    target: Term, scope: list[Term], by_stem: dict[str, Term], shared: int, sizes: tuple[int, int]
) -> Term | None:
    """Return the term of a clause that affirms what another negates, if the two say the same."""
    smaller, larger = min(sizes), max(sizes)
    if target.stem in by_stem:
        alike = shared >= _SHARED * smaller and (shared > 1 or larger <= _TINY)
        return by_stem[target.stem] if alike else None
    # Another verb, but all around it the same: "is not given by", "is provided by".
    hits = [by_stem[term.stem] for term in scope if term.stem in by_stem]
    alike = shared >= _MANY and shared >= _MOSTLY * larger and len(hits) > 0
    return hits[0] if alike and len(scope) > 1 else None


def _opposite(scope: list[Term], clause: Clause) -> Term | None:
    """Return a term that says the same as a negated one, as its opposite: *not open*, *closed*."""
    return next(
        (
            term
            for term in clause.terms
            for turned in scope
            if not term.negated and opposed(turned.fold, turned.stem, term.fold, term.stem)
        ),
        None,
    )


def _also_affirmed(target: Term, own: Reading) -> bool:
    """Return whether a text says the same word without negation too."""
    return any(
        term.stem == target.stem and not term.negated
        for at in own.places.get(target.stem, ())
        for term in own.clauses[at].terms
    )


def _spans(found: list[_Found], side: int) -> list[Span]:
    return [span for item in found for span in item[side]]


def _words(reference: str, response: str, ours: list[_Found], theirs: list[_Found]) -> str:
    text, other, found = (reference, "response", ours) if ours else (response, "reference", theirs)
    who = "reference" if ours else "response"
    first = found[0]
    return (
        f"the {who} negates {quoted(text, first.cue[1:])} ({quoted(text, first.cue[:1])}), "
        f"the {other} does not"
    )

"""``quantifiers``: how many, how often, at least or at most - is it the same in both?

*All* against *some* or *none*, *always* against *sometimes* or *never*, *most* against *few*, *at
least* against *at most*. Compared only where both texts say it of the same word in clauses about
the same. A text that says no such word is not compared: *dogs bark* may mean all or most. *Only*
that stands in one of two otherwise equal clauses counts. English, German, French, Spanish.
"""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from functools import cache, lru_cache
from typing import NamedTuple

from closecall.metrics.guards.base import GuardFinding, Span, kept, quoted
from closecall.metrics.guards.polarity import parts
from closecall.metrics.guards.words import (
    Language,
    Word,
    fold,
    is_content,
    language_of,
    listed,
    stem,
    words,
)

_CLASSES: dict[str, dict[Language, str]] = {
    "all": {
        "en": "all every each always everyone everybody everything everywhere both constantly "
        "invariably entirely",
        "de": "alle allen alles jeder jede jedes jeden immer stets beide sämtliche überall",
        "fr": "tous toutes chaque toujours tout toute partout",
        "es": "todos todas todo toda cada siempre ambos",
    },
    "most": {
        "en": "most mostly usually typically generally majority mainly predominantly",
        "de": "meisten meistens meist mehrheit üblicherweise überwiegend",
        "fr": "plupart majorité généralement habituellement",
        "es": "mayoría generalmente normalmente",
    },
    "some": {
        "en": "some sometimes occasionally someone somebody several",
        "de": "einige einigen manche manchmal gelegentlich mehrere",
        "fr": "certains certaines quelques parfois plusieurs",
        "es": "algunos algunas unos unas varios",
    },
    "many": {
        "en": "many numerous countless plenty often frequently",
        "de": "viele vielen zahlreiche oft häufig",
        "fr": "beaucoup nombreux nombreuses souvent",
        "es": "muchos muchas numerosos numerosas",
    },
    "few": {
        "en": "few rarely seldom hardly scarcely infrequently",
        "de": "wenige wenigen selten kaum",
        "fr": "rarement guère",
        "es": "pocos pocas raramente",
    },
    "none": {
        "en": "no none never nobody nothing neither nowhere",
        "de": "kein keine keinen keiner keinem nie niemals niemand nichts",
        "fr": "aucun aucune jamais personne rien",
        "es": "ningún ninguno ninguna nunca jamás nadie nada",
    },
    "only": {
        "en": "only solely exclusively",
        "de": "nur ausschließlich lediglich",
        "fr": "seulement uniquement",
        "es": "solo sólo solamente únicamente",
    },
}
_NOT: dict[Language, frozenset[str]] = {
    "en": frozenset({"not"}),
    "de": frozenset({"nicht"}),
    "fr": frozenset({"pas"}),
    "es": frozenset({"no"}),
}
_BOUNDS: dict[str, str] = {
    "up": "at_least|no_fewer_than|no_less_than|not_less_than|more_than|greater_than|minimum_of|"
    "a_minimum_of|upwards_of|mindestens|wenigstens|mehr_als|au_moins|plus_de|al_menos|"
    "por_lo_menos|mas_de|como_minimo",
    "down": "at_most|no_more_than|not_more_than|up_to|less_than|fewer_than|maximum_of|"
    "a_maximum_of|hochstens|maximal|weniger_als|bis_zu|au_plus|moins_de|au_maximum|"
    "como_maximo|a_lo_sumo|menos_de",
}
_LIMITING = listed(
    "only solely exclusively just merely alone but except unless until not no never without "
    "nur lediglich bloß ausschließlich allein außer nicht kein keine ohne "
    "seulement uniquement que sauf pas sans sólo solo solamente únicamente salvo no sin"
)
_CONTRARY = frozenset(
    frozenset(pair)
    for pair in (
        ("all", "none"), ("all", "few"), ("all", "some"), ("all", "most"), ("all", "not all"),
        ("most", "none"), ("most", "few"), ("some", "none"), ("not all", "none"),
        ("many", "none"), ("many", "few"), ("all", "many"),
        ("up", "down"),
    )
)  # fmt: skip
_LONGEST = 4
_REACH = 5
"""Words after a quantifier in which the word it is about is looked for."""
_ABOUT = 2
_NEAR = 16
_TINY = 2
_SAME = 0.75
"""Share of the words of the larger of two clauses that are otherwise the same."""


class Quantifier(NamedTuple):
    """A quantifier: its class, the stems it is about, its clause, and where it stands."""

    kind: str
    about: tuple[str, ...]
    clause: int
    span: Span


class _Reading(NamedTuple):
    found: tuple[Quantifier, ...]
    clauses: tuple[frozenset[str], ...]
    by_word: dict[str, list[Quantifier]]
    holding: dict[str, list[int]]
    spans: tuple[Span, ...]
    limited: frozenset[int]
    """Clauses that limit what they say, in another way than by *only* or by it."""


class Quantifiers:
    """The guard ``quantifiers``."""

    name = "quantifiers"
    every = False

    def check(self, reference: str, response: str, question: str | None = None) -> GuardFinding:
        """Return ``differ`` where the same is said of all in one text, of some in the other."""
        language = language_of(reference, response, question) or "en"
        if not (_may_quantify(reference, language) or _may_quantify(response, language)):
            return self._absent()
        ours, theirs = _read(reference, language), _read(response, language)
        agree: list[tuple[Span, Span]] = []
        differ: list[tuple[Span, Span]] = []
        for quantifier in ours.found:
            verdict = _judge(quantifier, ours, theirs)
            if verdict is not None:
                same, other = verdict
                (agree if same else differ).append((quantifier.span, other))
        differ += _only(ours, theirs)
        differ += [(a, b) for b, a in _only(theirs, ours)]
        found = differ or agree
        if not found:
            return self._absent()
        spans: tuple[list[Span], list[Span]] = ([a for a, _ in found], [b for _, b in found])
        first, second = quoted(reference, spans[0]), quoted(response, spans[1])
        return GuardFinding(
            guard=self.name,
            state="differ" if differ else "agree",
            spans_reference=kept(spans[0]),
            spans_response=kept(spans[1]),
            words=f"the reference says {first}, the response {second}"
            if differ
            else f"both say {first}",
        )

    def _absent(self) -> GuardFinding:
        return GuardFinding(
            guard=self.name, state="absent", words="no quantifier on the same in both"
        )


@cache
def _table(language: Language) -> dict[str, str]:
    return {
        fold(word): kind
        for kind, by_language in _CLASSES.items()
        for word in by_language.get(language, "").split()
    }


@cache
def _bounds() -> dict[tuple[str, ...], str]:
    return {
        tuple(phrase.split("_")): kind
        for kind, phrases in _BOUNDS.items()
        for phrase in phrases.split("|")
    }


@cache
def _bound_starts() -> frozenset[str]:
    return frozenset(phrase[0] for phrase in _bounds())


def _may_quantify(text: str, language: Language) -> bool:
    """Return whether a text has a quantifier at all; most have none, and need not be read."""
    table, starts, found = _table(language), _bound_starts(), words(text)
    return any(
        word.fold in table or (word.fold in starts and _bound_at(found, at)[1])
        for at, word in enumerate(found)
    )


@lru_cache(maxsize=8)
def _read(text: str, language: Language) -> _Reading:
    found: list[Quantifier] = []
    clauses: list[frozenset[str]] = []
    spans: list[Span] = []
    limited: set[int] = set()
    by_word: dict[str, list[Quantifier]] = {}
    holding: dict[str, list[int]] = {}
    for at, part in enumerate(parts(words(text))):
        for quantifier in _quantifiers(part, at, language):
            found.append(quantifier)
            for name in quantifier.about:
                near = by_word.setdefault(name, [])
                if len(near) < _NEAR:
                    near.append(quantifier)
        terms = frozenset(stem(word.fold, language) for word in part if is_content(word))
        clauses.append(terms)
        spans.append((part[0].start, part[-1].end))
        if any(word.fold in _LIMITING or word.fold.endswith("n't") for word in part):
            limited.add(at)
        for term in terms:
            places = holding.setdefault(term, [])
            if len(places) < _NEAR:
                places.append(at)
    return _Reading(
        tuple(found), tuple(clauses), by_word, holding, tuple(spans), frozenset(limited)
    )


def _quantifiers(part: Sequence[Word], clause: int, language: Language) -> Iterator[Quantifier]:
    table = _table(language)
    at = 0
    while at < len(part):
        length, kind = _bound_at(part, at)
        if not kind:
            kind = table.get(part[at].fold, "")
            length = 1
        if at and kind:
            superlative = part[at].fold == "most" and part[at - 1].fold == "the"
            kind = "" if superlative else _after_not(kind, part[at - 1].fold, language)
        if kind:
            about = _about(part, at + length, language, bound=kind in ("up", "down"))
            if about:
                span = (part[at].start, part[at + length - 1].end)
                yield Quantifier(kind, about, clause, span)
        at += length


def _after_not(kind: str, before: str, language: Language) -> str:
    """Return what a quantifier is after *not*: not all, not many; others are left out."""
    if before in _NOT.get(language, frozenset()):
        return {"all": "not all", "many": "few"}.get(kind, kind if kind in ("up", "down") else "")
    # "Didn't all" says none, or not all.
    return "" if before.endswith("n't") else kind


def _bound_at(part: Sequence[Word], at: int) -> tuple[int, str]:
    if part[at].fold not in _bound_starts():
        return 1, ""
    for length in range(_LONGEST, 0, -1):
        phrase = tuple(word.fold for word in part[at : at + length])
        kind = _bounds().get(phrase)
        if kind and len(phrase) == length:
            return length, kind
    return 1, ""


def _about(
    part: Sequence[Word], start: int, language: Language, *, bound: bool
) -> tuple[str, ...]:
    """Return the stems a quantifier is about: of the next words that carry matter."""
    found = [
        stem(word.fold, language)
        for word in part[start : start + _REACH]
        if is_content(word) or (bound and word.text.isdecimal())
    ]
    return tuple(found[: 1 if bound else _ABOUT])


def _judge(own: Quantifier, ours: _Reading, theirs: _Reading) -> tuple[bool, Span] | None:
    """Return whether a quantifier is the same in the other text, and where that one stands."""
    clause = ours.clauses[own.clause]
    against: Span | None = None
    for other in (other for name in own.about for other in theirs.by_word.get(name, ())):
        if not _alike(clause, theirs.clauses[other.clause]):
            continue
        if other.kind == own.kind:
            return True, other.span
        if frozenset((own.kind, other.kind)) in _CONTRARY and against is None:
            against = other.span
    return None if against is None else (False, against)


def _only(one: _Reading, other: _Reading) -> Iterator[tuple[Span, Span]]:
    """Yield *only* where the other text says the same clause without it."""
    for quantifier in one.found:
        if quantifier.kind != "only":
            continue
        if any(same.kind == "only" for same in other.by_word.get(quantifier.about[0], ())):
            continue
        clause = one.clauses[quantifier.clause]
        for at in other.holding.get(quantifier.about[0], ()):
            second = other.clauses[at]
            same = len(clause & second) >= _SAME * max(len(clause), len(second))
            if same and len(clause & second) > 1 and at not in other.limited:
                yield quantifier.span, other.spans[at]
                break


def _alike(first: frozenset[str], second: frozenset[str]) -> bool:
    shared = len(first & second)
    smaller, larger = sorted((len(first), len(second)))
    return shared >= max(1, smaller / 2) and (shared > 1 or larger <= _TINY)

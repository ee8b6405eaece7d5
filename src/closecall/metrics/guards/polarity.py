"""What a text affirms and what it negates: cues, their scope, and statements that match.

A text is cut into clauses. In each, a negation cue (*not*, *never*, *fails to*, *ohne*, *ne ...
pas*) turns the words in its scope: those after it up to the next break, in German and French also
the verb before it. Two cues on one word cancel out. ``Reading`` holds the result; ``partners``
finds the clauses of one text that speak of the same as a clause of another.
"""

from __future__ import annotations

from collections.abc import Sequence
from functools import lru_cache
from typing import NamedTuple

from closecall.metrics.guards.antonym_pairs import LIGHT
from closecall.metrics.guards.base import Span
from closecall.metrics.guards.words import (
    SAME,
    Language,
    Word,
    carries,
    language_of,
    listed,
    stem,
    words,
)


class Term(NamedTuple):
    """A word that carries matter: its stem, where it stands, and whether it is negated."""

    stem: str
    fold: str
    span: Span
    negated: bool


class Cue(NamedTuple):
    """A negation cue: where it stands and which terms of its clause it turns (their places)."""

    span: Span
    scope: tuple[int, ...]


class Clause(NamedTuple):
    """A piece of a sentence with one verb or so; ``by_stem`` has its last term of each stem."""

    terms: tuple[Term, ...]
    cues: tuple[Cue, ...]
    by_stem: dict[str, Term]


class Reading(NamedTuple):
    """A text as clauses; ``answer`` is True for a leading *yes*, False for a leading *no*."""

    clauses: tuple[Clause, ...]
    answer: bool | None
    answer_span: Span | None
    places: dict[str, tuple[int, ...]]
    """Of each stem, the clauses it stands in: the first ``MOST`` of them."""


MOST = 24
_LONGEST = 64
"""Words of a clause, at most; what has no punctuation is cut there."""
_SCOPE = 8
"""Words that carry matter in the scope of one cue, at most."""

_YES = listed("yes yeah yep ja oui si sí sim correct true")
_NO = listed("no nope nein non nee false incorrect")
_ANSWERS = _YES | _NO

_CUES: dict[Language, frozenset[str]] = {
    "en": listed(
        "not never no none nobody nothing nowhere neither nor without cannot hardly barely "
        "scarcely unable incapable cant dont doesnt didnt isnt arent wasnt werent wont wouldnt "
        "couldnt shouldnt hasnt havent hadnt lack lacks lacked lacking absent"
    ),
    "de": listed(
        "nicht kein keine keinen keinem keiner keines nie niemals niemand niemanden nichts "
        "nirgends nirgendwo ohne weder kaum keinerlei keineswegs"
    ),
    "fr": listed("n ne pas jamais aucun aucune rien personne sans ni guère nullement"),
    "es": listed("no nunca jamás ningún ninguno ninguna nadie nada sin ni tampoco"),
}
_ONE_NEGATION: frozenset[Language] = frozenset({"fr", "es"})
"""Languages in which several cues of a clause are one negation: *no vino nadie*."""
_NEEDS_TO = listed("fail fails failed failing failure refuse refuses refused refusing decline "
                      "declines declined unable unwilling")  # fmt: skip
_BEFORE_VERB = listed("avoid avoids avoided avoiding")
_PAIRS: frozenset[tuple[str, str]] = frozenset(
    {
        ("instead", "of"), ("rather", "than"), ("far", "from"), ("free", "from"),
        ("absence", "of"), ("lack", "of"), ("anything", "but"), ("no", "longer"),
        ("no", "more"), ("not", "longer"),
    }
)  # fmt: skip
# "Not only", "no doubt", "no matter": these negate nothing that follows.
_NO_CUE_BEFORE = listed(
    "only just merely solely simply doubt matter wonder problem necessarily least until till "
    "unless sooner later seulement uniquement solo solamente "
    # Of how many and how often speaks the guard on quantifiers.
    "all every everyone everybody everything always much many enough"
)
_BREAKS = listed(
    "but although though whereas while because however until unless yet if which who "
    "when where aber sondern obwohl während weil dass sobald "
    "mais quoique tandis parce "
    "pero sino aunque mientras porque"
)
_WITHOUT = listed("without ohne sans sin")
"""A preposition that negates what follows it, and ends the scope of a cue before it."""


@lru_cache(maxsize=8)
def read(text: str, language: Language | None = None) -> Reading:
    """Read a text once; later calls with the same one are free."""
    found = words(text)
    language = _own(text, language)
    clauses = [_clause(part, language, text) for part in parts(found)]
    answer, span = _answer(found)
    places: dict[str, list[int]] = {}
    for at, clause in enumerate(clauses):
        for name in clause.by_stem:
            held = places.setdefault(name, [])
            if len(held) < MOST:
                held.append(at)
    return Reading(
        tuple(clauses), answer, span, {name: tuple(held) for name, held in places.items()}
    )


def _own(text: str, language: Language | None) -> Language:
    return language or language_of(text) or "en"


def terms_of(text: str, language: Language | None = None) -> frozenset[tuple[str, str]]:
    """Return stem and fold of the terms that ``read`` finds in a text, without their clauses."""
    language = _own(text, language)
    return frozenset(
        [(stem(word.fold, language), word.fold) for word in words(text) if _matters(word.fold)]
    )


def may_negate(text: str) -> bool:
    """Return whether a text has a word that begins a cue, or answers *yes* or *no*.

    Of most texts that says enough, and they need not be read.
    """
    return any(_may_begin_cue(word.fold) or word.fold in _ANSWERS for word in words(text))


def parts(found: Sequence[Word]) -> list[list[Word]]:
    """Cut words into clauses: at punctuation, and before *but*, *although* and the like."""
    cut: list[list[Word]] = []
    part: list[Word] = []
    for word in found:
        if not cut or word.after != SAME or word.fold in _BREAKS or len(part) >= _LONGEST:
            part = []
            cut.append(part)
        part.append(word)
    return cut


def _answer(found: Sequence[Word]) -> tuple[bool | None, Span | None]:
    if not found:
        return None, None
    first = found[0]
    alone = len(found) == 1 or found[1].after != SAME
    if not alone:
        return None, None
    if first.fold in _YES:
        return True, (first.start, first.end)
    if first.fold in _NO:
        return False, (first.start, first.end)
    return None, None


def _clause(part: Sequence[Word], language: Language, text: str) -> Clause:
    contents = [at for at, word in enumerate(part) if _matters(word.fold)]
    cue_spans: list[tuple[int, int]] = []
    for at in [at for at, word in enumerate(part) if _may_begin_cue(word.fold)]:
        if cue_spans and at < cue_spans[-1][1]:
            continue
        length = _cue_at(part, at, language, text)
        if length:
            cue_spans.append((at, at + length))
    cues, turned = [], [0] * len(contents)
    if cue_spans:  # seldom
        order = {word_at: place for place, word_at in enumerate(contents)}
        for begin, end in cue_spans:
            scope = [order[n] for n in _scope(part, begin, end, contents, language)]
            for place in scope:
                turned[place] += 1
            cues.append(Cue((part[begin].start, part[end - 1].end), tuple(scope)))
    once = language in _ONE_NEGATION
    terms = tuple(
        [
            Term(
                stem(word.fold, language),
                word.fold,
                (word.start, word.end),
                (times > 0) if once else times % 2 == 1,
            )
            for word, times in zip([part[at] for at in contents], turned, strict=True)
        ]
    )
    return Clause(terms, tuple(cues), {term.stem: term for term in terms})


@lru_cache(maxsize=1 << 14)
def _may_begin_cue(fold: str) -> bool:
    return fold in _CUE_STARTS or fold.endswith("n't")


@lru_cache(maxsize=1 << 14)
def _matters(fold: str) -> bool:
    return (carries(fold) and fold not in _NEGATIVE) or fold in LIGHT


_NEGATIVE = frozenset().union(*_CUES.values()) | _NEEDS_TO
_CUE_STARTS = _NEGATIVE | _BEFORE_VERB | {first for first, _ in _PAIRS}


def _cue_at(part: Sequence[Word], at: int, language: Language, text: str) -> int:
    """Return how many words the cue at a place takes; 0 for none."""
    word = part[at].fold
    after = part[at + 1].fold if at + 1 < len(part) else ""
    if word.endswith("n't"):
        return 0 if after in _NO_CUE_BEFORE else 1
    if (word, after) in _PAIRS:
        than = at + 2 < len(part) and part[at + 2].fold == "than"
        return 0 if than and after == "more" else 2
    if word in _NEEDS_TO and after == "to" and language == "en":
        return 2
    if word in _BEFORE_VERB and language == "en":
        return 1
    if word not in _CUES.get(language, ()):
        return 0
    return _plain_cue(part, at, text)


def _plain_cue(part: Sequence[Word], at: int, text: str) -> int:
    word = part[at].fold
    after = part[at + 1].fold if at + 1 < len(part) else ""
    if after in _NO_CUE_BEFORE or (word in ("nothing", "none") and after in ("but", "other")):
        return 0
    if word in ("n", "ne"):
        # "Ne ... que" is only; "ne" waits for "pas" to count once.
        near = {other.fold for other in part[at + 1 : at + 6]}
        return 0 if "que" in near and not near & {"pas", "jamais"} else 1
    if word == "no":
        number = text[part[at].end : part[at].end + 3].strip(". #")[:1].isdigit()
        alone = at == 0 and len(part) == 1
        if number or alone:
            return 0
    if word == "personne" and not {"n", "ne"} & {o.fold for o in part[max(0, at - 4) : at + 3]}:
        return 0
    return 1


def _scope(
    part: Sequence[Word], begin: int, end: int, contents: Sequence[int], language: Language
) -> list[int]:
    """Return the places in the clause of the words a cue turns."""
    stop = next((at for at in range(end, len(part)) if part[at].fold in _WITHOUT), len(part))
    after = [at for at in contents if end <= at < stop][:_SCOPE]
    before = [at for at in contents if at < begin]
    if language == "de" and before and not _noun_negated(part[begin].fold):
        # "Das Gerät funktioniert nicht": the verb stands before.
        return [*before[-2:], *after]
    if language == "fr" and part[begin].fold in ("pas", "jamais", "rien") and before:
        return [before[-1], *after]
    return after


def _noun_negated(cue: str) -> bool:
    return cue.startswith("kein") or cue in ("ohne", "weder")


def partners(clause: Clause, other: Reading) -> list[tuple[int, int]]:
    """Return the clauses of another text by how many terms they share, most first."""
    shared: dict[int, int] = {}
    for name in clause.by_stem:
        for at in other.places.get(name, ()):
            shared[at] = shared.get(at, 0) + 1
    return sorted(shared.items(), key=lambda pair: (-pair[1], pair[0]))

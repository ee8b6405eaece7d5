"""``negation``: a statement negated, or its negation taken out; English here, others beside."""

from __future__ import annotations

import re
from collections.abc import Iterator, Sequence

from closecall.metrics.guards.polarity import parts
from closecall.metrics.guards.words import SENTENCE, Language, Word, listed, words
from closecall.stress.choice import Chooser
from closecall.stress.edits import Edit, Piece, cased_like, edited
from closecall.stress.negation_elsewhere import french, german, spanish

FAMILY = "negation"
_SUBORDINATE = listed(
    "if when while because although though since unless until whether as that which who whose "
    "where whom what how why once "
    "wenn weil dass während obwohl ob als wer was wie wo die der das "
    "si quand que qui parce comme où dont lorsque "
    "cuando porque aunque que quien como donde mientras"
)
"""Words after which a verb is not the one that makes the statement."""
_VERBS = listed("is are was were can could will would should must")
_HAVE = listed("has have had")
_CUES = listed("not never no none nobody nothing neither nor without cannot hardly rarely only")
_SHORT = listed("it's that's there's he's she's they're you're we're i'm")
_NEGATED = _VERBS | _HAVE | _SHORT
_PARTICIPLES = listed(
    "been made had become come gone done won lost found held led met set put cut sold told built "
    "left kept felt brought bought caught taught thought said paid laid sent spent stood run"
)
_NOT_AFTER = listed(
    "not only just merely also all every always both never no even at until least too either "
    "neither nor sometimes often usually mostly probably likely possibly to and or but"
)
"""After these and *not* a sentence says something else, or nothing."""
_KEEPS_NOT = listed(
    "only just merely simply necessarily at until till all every everyone everything always much "
    "many enough yet to so as than even least unless if because"
)
_NO_WITH = listed("one matter doubt other such more longer")
_NOT_BEFORE = listed("or if why whether but and")
_FORMS = {"cannot": "can", "can't": "can", "won't": "will", "shan't": "shall"}
_LEADS = {
    "yes": "no", "no": "yes", "ja": "nein", "nein": "ja", "oui": "non", "non": "oui", "sí": "no",
    "true": "false", "false": "true", "correct": "incorrect", "incorrect": "correct",
}  # fmt: skip

_LEADING = re.compile(r"\W*(\w+)\s*(?=[.,;:!\-\N{EN DASH}\N{EM DASH}]|$)")
_ANY = {"any": "some", "anything": "something", "anyone": "someone", "anybody": "somebody"}
_CONDITION = listed("if when unless until whether although though while")


def negation_edits(text: str, language: Language | None, chooser: Chooser) -> Iterator[Edit]:
    """Yield the text with one statement turned round, its first statement first.

    A *yes* or *no* before it is turned too. Questions, conditions and relative clauses are left
    alone, and so is a text without a verb that these rules know.
    """
    del chooser
    found = words(text)
    if not found or language == "other":
        return
    lead = _lead(text, language)
    if lead is not None:
        rest = [word for word in found if word.start >= lead.end]
        if not rest:
            yield edited(text, FAMILY, lead)
            return
        # What follows says why; only the statement next to the word is sure to belong to it.
        pieces = _turned(text, parts(rest)[0], language or "en")
        if pieces:
            yield edited(text, FAMILY, lead, *pieces)
        return
    for part in parts(found):
        aside = _asked(text, part) or _quoted(text, part)
        pieces = () if aside else _turned(text, part, language or "en")
        if pieces:
            yield edited(text, FAMILY, *pieces)


def _lead(text: str, language: Language | None) -> Piece | None:
    found = _LEADING.match(text)
    other = _LEADS.get(found.group(1).lower()) if found else None
    if found is None or other is None:
        return None
    if other == "yes" and language == "es":
        other = "sí"
    return Piece(found.start(1), found.end(1), cased_like(other, found.group(1)))


def _asked(text: str, part: Sequence[Word]) -> bool:
    """Return whether a clause belongs to a question."""
    end = re.compile(r"[.!?\n]").search(text, part[-1].end)
    return end is not None and end.group() == "?"


def _quoted(text: str, part: Sequence[Word]) -> bool:
    """Return whether a clause stands in brackets or quotation marks, as a title does."""
    before = text[: part[0].start]
    open_quotes = before.count('"') % 2 or before.count("\u201c") > before.count("\u201d")
    return bool(open_quotes) or before.count("(") > before.count(")")


def _turned(text: str, part: Sequence[Word], language: str) -> tuple[Piece, ...]:
    if language == "en":
        return _without(text, part) or _with(part)
    rule = {"de": german, "fr": french, "es": spanish}.get(language)
    if rule is None or part[0].fold in _SUBORDINATE - {"die", "der", "das"}:
        return ()
    return rule(text, part)


def _without(text: str, part: Sequence[Word]) -> tuple[Piece, ...]:
    """Return what takes the only negation out of a clause; nothing where it has another number."""
    folds = [word.fold for word in part]
    cues = [
        at
        for at, fold in enumerate(folds)
        if fold in ("not", "never", "no", "without", "cannot") or fold.endswith("n't")
    ]
    if len(cues) != 1 or any(fold in ("neither", "nor", "nobody", "nothing") for fold in folds):
        return ()
    at = cues[0]
    before = folds[at - 1] if at else ""
    after = folds[at + 1] if at + 1 < len(part) else ""
    if not after or after in _KEEPS_NOT or before in _NOT_BEFORE or _before_but(text, part):
        return ()
    if folds[0] in _CONDITION:
        return ()
    changed = _taken_out(text, part, at, after)
    return (*changed, *_some(part[at:])) if changed else ()


def _some(part: Sequence[Word]) -> list[Piece]:
    """Return *some* for each *any*, which only a negation goes with."""
    return [
        Piece(word.start, word.end, cased_like(_ANY[word.fold], word.text))
        for word in part
        if word.fold in _ANY
    ]


def _taken_out(text: str, part: Sequence[Word], at: int, after: str) -> tuple[Piece, ...]:
    """Return what takes the negation at a place out of a clause."""
    word, fold = part[at], part[at].fold
    if fold in ("not", "never"):
        blank = at and not text[part[at - 1].end : word.start].strip()
        return (Piece(part[at - 1].end, word.end, ""),) if blank else ()
    if fold == "no" and after == "longer" and at:
        return (Piece(word.start, part[at + 1].end, "still"),)
    if fold == "no":
        numbered = text[word.end :].lstrip(" .#")[:1].isdigit()
        form = "" if numbered or after in _NO_WITH else "some"
    else:
        short = _FORMS.get(fold, fold.removesuffix("n't")) if at else ""
        form = "with" if fold == "without" else short
    return (Piece(word.start, word.end, cased_like(form, word.text)),) if form else ()


def _before_but(text: str, part: Sequence[Word]) -> bool:
    """Return whether *but* follows: what *not this, but that* says is not turned by one word."""
    rest = words(text[part[-1].end : part[-1].end + 40])
    return bool(rest) and rest[0].fold in ("but", "rather", "instead")


def _with(part: Sequence[Word]) -> tuple[Piece, ...]:
    """Return what negates the main verb of a clause that holds no negation."""
    folds = [word.fold for word in part]
    if any(fold in _CUES or fold.endswith("n't") for fold in folds):
        return ()
    for at, fold in enumerate(folds[:-1]):
        if fold in _SUBORDINATE:
            break
        perhaps = at and folds[at - 1] in ("may", "might")  # what may not be may be
        if folds[at + 1] not in _NOT_AFTER and fold in _NEGATED and not perhaps:
            return _negated(part, at, folds[at + 1])
    return ()


def _negated(part: Sequence[Word], at: int, after: str) -> tuple[Piece, ...]:
    """Return what negates the verb at a place of a clause."""
    word = part[at]
    if word.fold in _VERBS:
        if not at and word.after == SENTENCE:
            return ()  # a question without its mark, or an order
        return (
            Piece(word.start, word.end, word.text + ("not" if word.fold == "can" else " not")),
        )
    if word.fold in _SHORT:
        return (Piece(word.end, word.end, " not"),)
    if after in ("a", "an"):
        return (Piece(part[at + 1].start, part[at + 1].end, "no"),)
    if after in _PARTICIPLES or after.endswith(("ed", "en", "wn")):
        return (Piece(part[at].end, part[at].end, " not"),)
    return ()

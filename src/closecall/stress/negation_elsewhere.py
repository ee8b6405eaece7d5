"""Negating a clause, or taking its negation out, in German, French and Spanish.

Few and safe patterns: a clause that none of them fits is left alone.
"""

from __future__ import annotations

import re
from collections.abc import Sequence

from closecall.metrics.guards.words import Word, listed
from closecall.stress.edits import Piece, cased_like

_DE_BE = listed("ist sind war waren")
_DE_MORE = listed(
    "wird werden wurde wurden hat haben hatte hatten kann können konnte konnten muss müssen darf "
    "dürfen soll sollen sollte sollten"
)
_DE_NO = listed("kein keine keinen keinem keiner keines")
_DE_A = listed("ein eine einen einem einer eines")
_DE_AFTER_BE = listed("der die das den dem des in im am aus von vom auf bei beim zu zum zur mit")
_DE_CUES = _DE_NO | listed("nicht nie niemals niemand nichts ohne weder kaum nur")

_FR_VERBS = listed(
    "est sont était étaient fut peut peuvent doit doivent a ont avait sera seront faut"
)
_FR_CUES = listed("ne n pas jamais aucun aucune rien personne sans ni que qu seulement")
_FR_CLITICS = listed("y en se s me te le la l les lui leur nous vous c")
_FR_SECOND = listed("pas jamais")
_VOWEL = re.compile(r"[aeiouyhàâéèêîôû]", re.IGNORECASE)

_ES_VERBS = listed(
    "es son era eran fue fueron está están puede pueden debe deben tiene tienen hay ha han será"
)
_ES_CUES = listed("no nunca jamás ningún ninguno ninguna nadie nada sin ni tampoco solo sólo")
_ES_CLITICS = listed("se lo la le los las les me te nos")


def german(text: str, part: Sequence[Word]) -> tuple[Piece, ...]:
    """Return what turns a German clause: *nicht* or *k-* put in or taken out."""
    del text
    folds = [word.fold for word in part]
    cues = [at for at, fold in enumerate(folds) if fold in _DE_CUES]
    if cues:
        return _german_without(part, cues[0]) if len(cues) == 1 else ()
    last = part[-1]
    for at in range(1, len(part) - 1):
        fold, after = folds[at], part[at + 1]
        if fold in _DE_BE and after.fold in _DE_A:
            return (Piece(after.start, after.end, "k" + after.text),)
        if fold in _DE_BE and after.fold in _DE_AFTER_BE:
            return (Piece(part[at].end, part[at].end, " nicht"),)
        verb_ends = last.text[0].islower() and last.fold.endswith(("en", "t", "ern", "eln"))
        if fold in _DE_MORE and after is not last and verb_ends:
            return (Piece(last.start, last.start, "nicht "),)
    return ()


def _german_without(part: Sequence[Word], at: int) -> tuple[Piece, ...]:
    word = part[at]
    if at + 1 < len(part) and part[at + 1].fold in ("nur", "mehr", "alle"):
        return ()
    if word.fold in _DE_NO:
        return (Piece(word.start, word.end, cased_like(word.fold[1:], word.text)),)
    return (Piece(part[at - 1].end, word.end, ""),) if word.fold == "nicht" and at else ()


def french(text: str, part: Sequence[Word]) -> tuple[Piece, ...]:
    """Return what turns a French clause: *ne ... pas* put in or taken out."""
    folds = [word.fold.rstrip("'") for word in part]
    cues = [at for at, fold in enumerate(folds) if fold in _FR_CUES]
    if cues:
        first, *rest = cues
        if len(rest) != 1 or folds[first] not in ("ne", "n") or folds[rest[0]] not in _FR_SECOND:
            return ()
        second = part[rest[0]]
        return (
            Piece(part[first].start, part[first + 1].start, ""),
            Piece(part[rest[0] - 1].end, second.end, ""),
        )
    for at, fold in enumerate(folds[:-1]):
        if (
            fold not in _FR_VERBS
            or part[at].text.lower() == "à"
            or not at
            or text[part[at].end : part[at].end + 1] == "-"
        ):
            continue
        before, verb = folds[at - 1], part[at]
        if before == "c":
            start = part[at - 1].start
            ce = cased_like("ce", part[at - 1].text[:1])
            return (Piece(start, verb.end, f"{ce} n'{verb.text} pas"),)
        if before in _FR_CLITICS or before in ("qui", "que", "dont"):
            continue
        ne = "n'" if _VOWEL.match(verb.text) else "ne "
        return (Piece(verb.start, verb.end, f"{ne}{verb.text} pas"),)
    return ()


def spanish(text: str, part: Sequence[Word]) -> tuple[Piece, ...]:
    """Return what turns a Spanish clause: *no* before the verb put in or taken out."""
    del text
    folds = [word.fold for word in part]
    cues = [at for at, fold in enumerate(folds) if fold in _ES_CUES]
    if cues:
        at = cues[0]
        if len(cues) > 1 or folds[at] != "no" or at + 1 >= len(part):
            return ()
        word, after = part[at], part[at + 1]
        return (Piece(word.start, after.end, cased_like(after.text, word.text)),)
    for at, fold in enumerate(folds[:-1]):
        if fold not in _ES_VERBS or (at and folds[at - 1] in ("que", "quien", "como")):
            continue
        start = at - 1 if at and folds[at - 1] in _ES_CLITICS else at
        word = part[start]
        if not start and word.text[0].isupper():
            return (Piece(word.start, word.end, "No " + word.text[0].lower() + word.text[1:]),)
        return (Piece(word.start, word.start, "no "),)
    return ()

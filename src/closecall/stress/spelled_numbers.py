"""Small numbers in words, written rather than read: *seven* for *four*, *sixty* for *twenty*."""

from __future__ import annotations

from functools import cache

from closecall.metrics.guards.words import Language, fold
from closecall.stress.choice import Chooser
from closecall.stress.edits import cased_like

_SMALL: dict[str, str] = {
    "en": "two three four five six seven eight nine ten eleven twelve",
    "de": "zwei drei vier fünf sechs sieben acht neun zehn elf zwölf",
    "fr": "deux trois quatre cinq six sept huit neuf dix onze douze",
    "es": "dos tres cuatro cinco seis siete ocho nueve diez once doce",
}
_TEENS = "thirteen fourteen fifteen sixteen seventeen eighteen nineteen"
_TENS = "twenty thirty forty fifty sixty seventy eighty ninety"
_ORDINALS = "third fourth fifth sixth seventh eighth ninth tenth eleventh twelfth"
_ONES = {"en": "one", "de": "eine", "fr": "un", "es": "un"}


@cache
def _rows(language: str) -> tuple[tuple[str, ...], ...]:
    rows = [_SMALL[language]]
    if language == "en":
        rows += [_TEENS, _TENS, _ORDINALS]
    return tuple(tuple(row.split()) for row in rows)


def other_word(
    written: str,
    language: Language | None,
    chooser: Chooser,
    *,
    several: bool = False,
    before: str = "",
) -> str | None:
    """Return another number word of the same sort, two apart at least; None for other words.

    ``several`` says that it is part of a longer number: there *one* can change too (*one million*
    to *four million*), and units stay below ten. ``before`` is the word before: *a* and *an* stay.
    """
    name = language or "en"
    if name not in _SMALL:
        return None
    folded = fold(written)
    if several and folded == _ONES[name]:
        return cased_like(chooser.one(_rows(name)[0][:8][2:]), written)
    for row in _rows(name):
        places = {fold(word): at for at, word in enumerate(row)}
        at = places.get(folded)
        if at is None:
            continue
        room = row[:8] if several and row == _rows(name)[0] else row
        choices = [word for other, word in enumerate(room) if abs(other - at) > 1]
        if before in ("a", "an"):
            choices = [word for word in choices if (word[0] == "e") == (before == "an")]
        return cased_like(chooser.one(choices), written) if choices else None
    return None

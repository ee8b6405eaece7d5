"""Numbers written as words, in English, German, French and Spanish.

``spelled`` reads the longest number that begins at a word: *two hundred and five*,
*dreiundzwanzig*, *quatre-vingt-dix-sept*, *mil doscientos*. Cardinals up to 10**15, ordinals, and
years said in pairs (*nineteen eighty-four*).
"""

from __future__ import annotations

from collections.abc import Sequence
from functools import cache, lru_cache
from typing import NamedTuple

from closecall.metrics.guards.words import Language, fold, listed


class Spelled(NamedTuple):
    """A number read from words: its value, how many words it took, and what kind it is."""

    value: int
    words: int
    ordinal: bool = False


class _Entry(NamedTuple):
    value: int
    size: str
    """``unit`` 1-9, ``teen`` 10-19, ``ten`` 20-90, ``hundred``, ``hundreds`` 100-900, ``scale``
    a thousand and up, ``whole`` any number that stands complete in one word."""
    ordinal: bool = False


_EN = "zero one two three four five six seven eight nine ten eleven twelve thirteen fourteen "
_EN += "fifteen sixteen seventeen eighteen nineteen"
_EN_TENS = "twenty thirty forty fifty sixty seventy eighty ninety"
_EN_ORDINALS = "first second third fourth fifth sixth seventh eighth ninth tenth eleventh twelfth "
_EN_ORDINALS += "thirteenth fourteenth fifteenth sixteenth seventeenth eighteenth nineteenth"
_EN_SCALES = {"thousand": 3, "million": 6, "billion": 9, "trillion": 12}

_DE = "null eins zwei drei vier fünf sechs sieben acht neun zehn elf zwölf dreizehn vierzehn "
_DE += "fünfzehn sechzehn siebzehn achtzehn neunzehn"
_DE_TENS = "zwanzig dreißig vierzig fünfzig sechzig siebzig achtzig neunzig"
_DE_ORDINALS = "erst zweit dritt viert fünft sechst siebt acht neunt zehnt elft zwölft"

_FR = "zéro un deux trois quatre cinq six sept huit neuf dix onze douze treize quatorze quinze "
_FR += "seize dix-sept dix-huit dix-neuf"
_FR_TENS = {"vingt": 20, "trente": 30, "quarante": 40, "cinquante": 50, "soixante": 60}
_FR_TENS |= {"septante": 70, "huitante": 80, "octante": 80, "nonante": 90}
_FR_ORDINALS = "premier deuxième troisième quatrième cinquième sixième septième huitième neuvième "
_FR_ORDINALS += "dixième onzième douzième"

_ES = "cero uno dos tres cuatro cinco seis siete ocho nueve diez once doce trece catorce quince "
_ES += "dieciséis diecisiete dieciocho diecinueve veinte veintiuno veintidós veintitrés "
_ES += "veinticuatro veinticinco veintiséis veintisiete veintiocho veintinueve"
_ES_TENS = "treinta cuarenta cincuenta sesenta setenta ochenta noventa"
_ES_HUNDREDS = "doscientos trescientos cuatrocientos quinientos seiscientos setecientos "
_ES_HUNDREDS += "ochocientos novecientos"
_ES_ORDINALS = "primer segund tercer cuart quint sext séptim octav noven décim"

_AND: dict[Language, frozenset[str]] = {
    "en": frozenset({"and"}),
    "de": frozenset({"und"}),
    "fr": frozenset({"et"}),
    "es": frozenset({"y"}),
}
_SMALL = 20
_HUNDRED = 100
_THOUSAND = 1000
_LETTERS = 60
"""Of a word that may be a number; the longest in German has 47."""
_REMEMBERED = 4096
_LONGEST = 12
"""Words of the longest number read: *nine hundred and ninety-nine thousand ...* cut there."""


@cache
def _table(language: Language) -> dict[str, _Entry]:
    make = {"en": _english, "de": _german, "fr": _french, "es": _spanish}[language]
    return {fold(word): entry for word, entry in make().items()}


def _size(value: int) -> str:
    return "unit" if value <= 9 else "teen" if value < _SMALL else "ten"  # noqa: PLR2004


def _english() -> dict[str, _Entry]:
    table = {word: _Entry(n, _size(n)) for n, word in enumerate(_EN.split())}
    table |= {word: _Entry(10 * n, "ten") for n, word in enumerate(_EN_TENS.split(), 2)}
    for n, word in enumerate(_EN_ORDINALS.split(), 1):
        table[word] = _Entry(n, _size(n), ordinal=True)
    for n, word in enumerate(_EN_TENS.split(), 2):
        table[word[:-1] + "ieth"] = _Entry(10 * n, "ten", ordinal=True)
    table["hundred"] = _Entry(100, "hundred")
    table["hundreds"] = _Entry(100, "hundred")
    table["hundredth"] = _Entry(100, "hundred", ordinal=True)
    for word, power in _EN_SCALES.items():
        table[word] = _Entry(10**power, "scale")
        table[word + "th"] = _Entry(10**power, "scale", ordinal=True)
    return table


def _german() -> dict[str, _Entry]:
    # Folded before they are joined to thousands of words, of which each is then plain.
    units, tens, stems = (
        list(map(fold, words.split())) for words in (_DE, _DE_TENS, _DE_ORDINALS)
    )
    below = [*units]
    for ten in tens:
        below.append(ten)
        below += [("ein" if n == 1 else units[n]) + "und" + ten for n in range(1, 10)]
    table = {word: _Entry(n, "whole") for n, word in enumerate(below)}
    table["zwo"] = _Entry(2, "whole")
    for hundreds, head in _german_hundreds(units):
        table[head] = _Entry(100 * hundreds, "whole")
        for n, word in enumerate(below[1:], 1):
            table[head + word] = table[head + "und" + word] = _Entry(100 * hundreds + n, "whole")
    stems += [below[n] + ("t" if n < _SMALL else "st") for n in range(len(stems) + 1, _HUNDRED)]
    for n, word in enumerate(stems, 1):
        for ending in ("e", "en", "er", "es", "em"):
            table[word + ending] = _Entry(n, "whole", ordinal=True)
    table["tausend"] = _Entry(1000, "scale")
    for word, power in (("million", 6), ("milliarde", 9), ("billion", 12)):
        for ending in ("", "n", "en"):
            table[word + ending] = _Entry(10**power, "scale")
    return table


def _german_hundreds(units: Sequence[str]) -> list[tuple[int, str]]:
    """Return how hundreds begin, up to nineteen hundred as in years."""
    heads = [(1, "hundert"), (1, "einhundert")]
    return heads + [(n, units[n] + "hundert") for n in range(2, 20) if n != 10]  # noqa: PLR2004


def _french() -> dict[str, _Entry]:
    simple = [word for word in _FR.split() if "-" not in word]
    table = {word: _Entry(n, _size(n)) for n, word in enumerate(simple)}
    table |= {word: _Entry(value, "ten") for word, value in _FR_TENS.items()}
    table["vingts"] = _Entry(20, "ten")
    table["une"] = _Entry(1, "unit")
    for n, word in enumerate(_FR_ORDINALS.split(), 1):
        table[word] = _Entry(n, _size(n), ordinal=True)
    for word, value in (("première", 1), ("second", 2), ("seconde", 2), ("vingtième", 20)):
        table[word] = _Entry(value, _size(value), ordinal=True)
    table["cent"] = table["cents"] = _Entry(100, "hundred")
    table["mille"] = _Entry(1000, "scale")
    for word, power in (("million", 6), ("milliard", 9), ("billion", 12)):
        table[word] = table[word + "s"] = _Entry(10**power, "scale")
    return table


def _spanish() -> dict[str, _Entry]:
    table = {word: _Entry(n, _size(n) if n < _SMALL else "whole") for n, word in
             enumerate(_ES.split())}  # fmt: skip
    table |= {word: _Entry(10 * n, "ten") for n, word in enumerate(_ES_TENS.split(), 3)}
    table["una"] = table["un"] = _Entry(1, "unit")
    table["veintiún"] = _Entry(21, "whole")
    for n, word in enumerate(_ES_HUNDREDS.split(), 2):
        table[word] = table[word[:-2] + "as"] = _Entry(100 * n, "hundreds")
    table["cien"] = table["ciento"] = _Entry(100, "hundreds")
    for n, word in enumerate(_ES_ORDINALS.split(), 1):
        endings = ("", "o", "a", "os", "as") if n in (1, 3) else ("o", "a", "os", "as")
        for ending in endings:
            table[word + ending] = _Entry(n, _size(n), ordinal=True)
    table["mil"] = _Entry(1000, "scale")
    for word, plural, power in (
        ("millón", "millones", 6),
        ("millardo", "millardos", 9),
        ("billón", "billones", 12),
    ):
        table[word] = table[plural] = _Entry(10**power, "scale")
    return table


def scale_of(word: str, language: Language | None) -> int | None:
    """Return what a word multiplies by after digits: *5 million*, *3 Mrd.*, *2 mil*.

    ``word`` is folded. *Billion* is 10**9 in English and 10**12 in German and French.
    """
    return _scale(word, language) if len(word) <= _LETTERS else None


@lru_cache(maxsize=_REMEMBERED)  # the words of all texts there are would fill the memory
def _scale(word: str, language: Language | None) -> int | None:
    short = {"mio": 6, "mln": 6, "mrd": 9, "mld": 9, "bn": 9, "tn": 12, "trn": 12, "mn": 6}
    if word in short:
        return int(10 ** short[word])
    own: Language = language if language in _AND else "en"
    languages: tuple[Language, ...] = (own, "de", "fr", "es", "en")
    for name in languages:
        entry = _table(name).get(word.removesuffix("s") if name == "en" else word)
        if entry and entry.size in ("scale", "hundred") and not entry.ordinal:
            # "cent" beside digits is the coin, and "second" and the like are no scales.
            return None if word in {"cent", "cents"} else entry.value
    return None


_ELSEWHERE = listed(
    "once elf sept cent cents neuf second seconde premier mil mille acht un uno six dos tres fin "
    "million billion sexto quinto octavo null"
)
"""Number words of one language that are common words of another."""


def spelled(folds: Sequence[str], at: int, language: Language | None) -> Spelled | None:
    """Return the longest number that begins at ``folds[at]``, or None.

    Where the language is not known, English is tried first, and of the others only words that
    mean nothing else elsewhere.
    """
    if not may_begin(folds[at], language):
        return None
    if language is not None:
        return _read(folds, at, language)
    found = _read(folds, at, "en")
    if found or folds[at] in _ELSEWHERE:
        return found
    others: tuple[Language, ...] = ("de", "fr", "es")
    return next(filter(None, (_read(folds, at, name) for name in others)), None)


def may_begin(word: str, language: Language | None) -> bool:
    """Return whether a number can begin with a folded word, as it can with next to none."""
    return language != "other" and len(word) <= _LETTERS and _begins(word, language)


@lru_cache(maxsize=_REMEMBERED)
def _begins(word: str, language: Language | None) -> bool:
    languages: tuple[Language, ...] = ("en", "de", "fr", "es")
    tried = languages if language is None else (language,)
    return any(_entry(word, name) is not None for name in tried)


class _Sum:
    """A number being added up word by word."""

    def __init__(self) -> None:
        self.total = 0
        self.group = 0
        self.last: str | None = None
        self.scale = 0
        self.ordinal = False

    def take(self, entry: _Entry, language: Language, *, joined: bool) -> bool:
        """Add one word; return whether it can follow those before."""
        if self.ordinal or (entry.size == "whole" and self.last not in (None, "scale")):
            return False
        if entry.size == "scale":
            return self._scale(entry)
        if entry.size == "hundred":
            return self._hundred(entry)
        if not self._fits(entry, language, joined=joined):
            return False
        score = self.group % _HUNDRED
        four_twenties = language == "fr" and entry.value == _SMALL and score == 4  # noqa: PLR2004
        self.group += 76 if four_twenties else entry.value
        self.last, self.ordinal = entry.size, entry.ordinal
        return True

    def _scale(self, entry: _Entry) -> bool:
        if self.scale and entry.value >= self.scale:
            if self.group or entry.value == self.scale:
                return False
            self.total *= entry.value  # mil millones
        else:
            self.total += (self.group or 1) * entry.value
        self.group, self.last, self.scale = 0, "scale", entry.value
        self.ordinal = entry.ordinal
        return True

    def _hundred(self, entry: _Entry) -> bool:
        if self.last not in (None, "unit", "teen", "scale") or self.group >= _HUNDRED:
            return False
        self.group = (self.group or 1) * _HUNDRED
        self.last, self.ordinal = "hundred", entry.ordinal
        return True

    def _fits(self, entry: _Entry, language: Language, *, joined: bool) -> bool:
        """Return whether a number below a hundred, or hundreds in one word, can come now."""
        if self.last in (None, "scale"):
            return True
        if self.last in ("hundred", "hundreds"):
            return entry.size in ("unit", "teen", "ten", "whole") and entry.value > 0
        return _below_hundred(self.last, self.group % _HUNDRED, entry, language, joined=joined)


def _below_hundred(
    last: str | None, so_far: int, entry: _Entry, language: Language, *, joined: bool
) -> bool:
    """Return whether a word continues a number below a hundred: twenty-five, soixante-dix."""
    unit = entry.size == "unit"
    if language == "fr":
        twenties = last == "unit" and so_far == 4 and entry.value == _SMALL  # noqa: PLR2004
        teens = last == "teen" and so_far % 10 == 0 and entry.value in (7, 8, 9)
        sixty = entry.size == "teen" and so_far in (60, 80)
        return twenties or teens or (last == "ten" and (unit or sixty))
    if last != "ten" or not unit:
        return False
    return joined if language == "es" else entry.value > 0


def _read(folds: Sequence[str], at: int, language: Language) -> Spelled | None:
    table = _table(language)
    found, used, joined = _Sum(), 0, False
    for step in range(_LONGEST):
        if at + step >= len(folds):
            break
        word = folds[at + step]
        entry = _entry(word, language)
        if entry is None:
            # "and" joins only what comes after a number: two hundred and five.
            if word in _AND[language] and used == step and _may_join(found.last, language):
                joined = True
                continue
            break
        if not found.take(entry, language, joined=joined):
            break
        used, joined = step + 1, False
    if not used:
        return None
    value = found.total + found.group
    year = _year_in_pairs(folds, at, table) if language == "en" and found.last != "scale" else None
    return year or Spelled(value, used, found.ordinal)


def _entry(word: str, language: Language) -> _Entry | None:
    found = _table(language).get(word)
    if found is None and language == "de" and len(word) <= _LETTERS:
        return _compound(word)
    return found


def _may_join(last: str | None, language: Language) -> bool:
    return last in (("ten", "teen") if language in ("fr", "es") else ("hundred", "scale"))


def _year_in_pairs(folds: Sequence[str], at: int, table: dict[str, _Entry]) -> Spelled | None:
    """Return a year said in two halves: nineteen eighty-four, twenty twenty, nineteen oh five."""
    first = table.get(folds[at])
    if first is None or not 10 <= first.value <= _SMALL or first.ordinal:  # noqa: PLR2004
        return None
    rest = list(folds[at + 1 : at + 3])
    if len(rest) == 2 and rest[0] in ("oh", "o"):  # noqa: PLR2004
        last = table.get(rest[1])
        return Spelled(first.value * 100 + last.value, 3) if last and last.size == "unit" else None
    second = table.get(rest[0]) if rest else None
    if second is None or second.size not in ("teen", "ten") or second.ordinal:
        return None
    unit = table.get(rest[1]) if second.size == "ten" and len(rest) > 1 else None
    if unit and unit.size == "unit" and unit.value and not unit.ordinal:
        return Spelled(first.value * 100 + second.value + unit.value, 3)
    return Spelled(first.value * 100 + second.value, 2)


@lru_cache(maxsize=_REMEMBERED)
def _compound(word: str) -> _Entry | None:
    """Read a German number of thousands in one word: zweitausenddreihundert."""
    head, found, tail = word.partition("tausend")
    if not found:
        return None
    table = _table("de")
    first = _Entry(1, "whole") if head in ("", "ein") else table.get(head)
    rest = (
        _Entry(0, "whole") if not tail else table.get(tail) or table.get(tail.removeprefix("und"))
    )
    if first is None or rest is None or first.ordinal or "scale" in (first.size, rest.size):
        return None
    return _Entry(first.value * _THOUSAND + rest.value, "whole", ordinal=rest.ordinal)

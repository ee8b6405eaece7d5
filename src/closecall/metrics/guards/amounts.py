"""Numbers with their scale, as they stand in a text: *2½*, *5 million*, *two thirds*, *a dozen*.

The first half of reading quantities; ``quantity_reader`` reads what stands around a number.
"""

from __future__ import annotations

from typing import NamedTuple

from closecall.metrics.guards.number_words import may_begin, scale_of, spelled
from closecall.metrics.guards.quantities import VULGAR, Token, Value, readings, tokens
from closecall.metrics.guards.units import CURRENCY_SIGNS, is_money, units_of
from closecall.metrics.guards.words import Language, listed


class Amount(NamedTuple):
    """A number with its scale; ``next`` is the token after it."""

    values: tuple[Value, ...]
    next: int
    ordinal: bool = False
    loose: bool = False
    soft: bool = False
    whole: bool = False
    """Whether it is one plain numeral: only such a one can be a year or an item of a list."""
    scale: float = 1.0


_ORDINAL_ENDINGS = listed("st nd rd th e er eme ème º ª o a ter te ten")
_SUFFIX = {"k": 1e3, "K": 1e3, "M": 1e6, "bn": 1e9, "B": 1e9, "T": 1e12, "m": 1e6, "b": 1e9}
_MONEY_ONLY = frozenset({"m", "b", "B", "T"})
_CHINESE = {"万": 1e4, "萬": 1e4, "亿": 1e8, "億": 1e8, "千": 1e3, "百": 1e2}
_HALVES = {
    word: 1 / below
    for below, words in (
        (2, "half halves halfte halb halbe moitie demi mitad medio media"),
        (3, "third thirds drittel tiers tercio tercios"),
        (4, "quarter quarters viertel cuarto cuartos"),
        (5, "fifth fifths"),
        (6, "sixths"),
        (8, "eighths"),
        (10, "tenth tenths"),
    )
    for word in listed(words)
}
_WHOLE_ALONE = listed("half halfte moitie mitad")
"""Fractions that are one without a number before them."""
_GROUPS = {"dozen": 12, "dozens": 12, "dutzend": 12, "douzaine": 12, "docena": 12}
_TIMES = {"once": 1, "twice": 2, "thrice": 3, "einmal": 1, "zweimal": 2, "dreimal": 3}
ONES = listed("one un une ein eine einen einem einer uno una a an eins")
ARTICLES = ONES - {"one", "eins", "uno"}
_OF = frozenset({"of", "de", "der"})
_FEW_WORDS = 6
_MOST_PARTS = 9
_PART = 3
"""Tokens of a fraction with a slash, and digits of the longest number in one."""


def may_count(word: str, language: Language | None) -> bool:
    """Return whether an amount can begin with a folded word."""
    own = word in _TIMES or word in ARTICLES or word in _WHOLE_ALONE
    return own or may_begin(word, language)


class AmountReader:
    """A text as tokens, and the number that begins at each."""

    def __init__(self, text: str, language: Language | None) -> None:
        self.text = text
        self.language = language
        self.tokens = tokens(text)
        self.folds = [token.fold for token in self.tokens]
        # A sentence in which no known function word stands is in another language: there, "ten"
        # and "six" may be anything.
        self.wordless = language == "other" or (language is None and len(self.tokens) > _FEW_WORDS)

    def amount(self, at: int) -> Amount | None:
        """Return the number that begins at a token; None where none does."""
        if at >= len(self.tokens):
            return None
        token = self.tokens[at]
        if token.kind == "n":
            return self._numeral(at)
        if token.kind == "f":
            above, below = VULGAR[token.text]
            return Amount((exact(above / below),), at + 1, loose=True)
        return self._spelled(at) if token.kind == "w" and not self.wordless else None

    def _numeral(self, at: int) -> Amount | None:
        token = self.tokens[at]
        values = readings(token.text, self.language)
        if not values:
            return None
        fraction = self._fraction(at, values)
        if fraction is not None:
            return fraction
        loose = any(value.step < 1 for value in values)
        following = self.after(at)
        if following is None or following.kind != "w":
            return Amount(values, at + 1, loose=loose, whole=not loose)
        if following.glued and following.fold in _ORDINAL_ENDINGS:
            return Amount(values, at + 2, ordinal=True)
        factor, used = self._scales(at)
        if used:
            return Amount(times(values, factor), at + 1 + used, loose=True, scale=factor)
        return Amount(values, at + 1, loose=loose, whole=not loose)

    def _scales(self, at: int) -> tuple[float, int]:
        """Return what the words after a numeral multiply it by, and how many they are."""
        factor, used = 1.0, 0
        first = self.tokens[at + 1]
        if first.glued:
            money = at > 0 and (self.tokens[at - 1].text in CURRENCY_SIGNS)
            if first.text in _SUFFIX and (money or first.text not in _MONEY_ONLY):
                return _SUFFIX[first.text], 1
            if first.text[0] in _CHINESE and len(first.text) == 1:
                return _CHINESE[first.text], 1
        for step in range(1, 4):
            if at + step >= len(self.tokens) or self.tokens[at + step].kind != "w":
                break
            scale = scale_of(self.folds[at + step], self.language)
            if scale is None:
                break
            factor, used = factor * scale, step
        return factor, used

    def _fraction(self, at: int, values: tuple[Value, ...]) -> Amount | None:
        """Read *2½*, *1/2* and *2 1/2*."""
        following = self.after(at)
        if following is None:
            return None
        whole = values[0].low
        if following.kind == "f":
            above, below = VULGAR[following.text]
            return Amount((exact(whole + above / below),), at + 2, loose=True)
        if not (following.text == "/" and following.glued):
            more = self._slashed(at + 1)
            if more and not following.glued and 0 < more[0] < 1:
                return Amount((exact(whole + more[0]),), at + 4, loose=True)
            return None
        own = self._slashed(at)
        return Amount((exact(own[0]),), at + 3, loose=True) if own else None

    def _slashed(self, at: int) -> tuple[float] | None:
        """Return the value of numerals around a slash, where it is a fraction of small numbers."""
        part = self.tokens[at : at + 3]
        if len(part) < _PART or part[1].text != "/" or not (part[1].glued and part[2].glued):
            return None
        if any(t.kind != "n" or not t.text.isdecimal() or len(t.text) > _PART for t in part[::2]):
            return None
        if at + 3 < len(self.tokens) and self.tokens[at + 3].text == "/":
            return None
        below = int(part[2].text)
        return (int(part[0].text) / below,) if below else None

    def _spelled(self, at: int) -> Amount | None:
        word = self.folds[at]
        if word in _TIMES and not (word == "once" and self.language != "en"):
            value = float(_TIMES[word])
            return Amount((exact(value),), at + 1, soft=value == 1)
        if word in ARTICLES:
            return self._after_article(at)
        if word in _WHOLE_ALONE:
            return self._half(at)
        found = spelled(self.folds, at, self.language)
        if found is None:
            return None
        end = at + found.words
        value = float(found.value)
        grouped = self._grouped(end, value)
        # Ordinals said in a word are seldom what a statement is about, nor is "one".
        soft = found.ordinal or (value == 1 and found.words == 1)
        return grouped or Amount((exact(value),), end, ordinal=found.ordinal, soft=soft)

    def _grouped(self, at: int, count: float) -> Amount | None:
        """Read what follows a number as its unit of counting: *two thirds*, *two dozen*."""
        word = self.folds[at] if at < len(self.folds) else ""
        if word in _HALVES and 0 < count <= _MOST_PARTS:
            return Amount((exact(count * _HALVES[word]),), at + 1, loose=True)
        return Amount((exact(count * _GROUPS[word]),), at + 1) if word in _GROUPS else None

    def _after_article(self, at: int) -> Amount | None:
        """Read *a hundred*, *a dozen*, *a third of*, *a half*, *an hour*; an article else."""
        if at + 1 >= len(self.folds):
            return None
        word = self.folds[at + 1]
        whole = _GROUPS.get(word) or scale_of(word, self.language)
        if whole:
            return Amount((exact(float(whole)),), at + 2, loose=True)
        if word in _HALVES and (word in _WHOLE_ALONE or self.is_any(at + 2, _OF)):
            half = word in _WHOLE_ALONE
            return Amount((exact(_HALVES[word]),), at + 2, loose=True, soft=half)
        units = units_of(word)
        if units and not any(map(is_money, units)) and word not in {"a", "s"}:
            return Amount((exact(1.0),), at + 1, soft=True)
        return None

    def _half(self, at: int) -> Amount | None:
        """Read *half*, *half a million*, *half a dozen*."""
        rest = at + 2 if self.is_any(at + 1, ONES) else at + 1
        if rest < len(self.folds):
            word = self.folds[rest]
            scale = scale_of(word, self.language) or _GROUPS.get(word)
            if scale:
                return Amount((exact(scale / 2),), rest + 1, loose=True)
            if units_of(word) and rest == at + 2:
                return Amount((exact(0.5),), rest, loose=True)
        return Amount((exact(0.5),), at + 1, loose=True, soft=True)

    def is_any(self, at: int, words: frozenset[str]) -> bool:
        """Return whether a token is one of these folded words."""
        return 0 <= at < len(self.folds) and self.folds[at] in words

    def is_sign(self, at: int, signs: str) -> bool:
        """Return whether a token is one of these signs."""
        return 0 <= at < len(self.tokens) and self.tokens[at].text in signs

    def after(self, at: int) -> Token | None:
        """Return the token after one, or None."""
        return self.tokens[at + 1] if at + 1 < len(self.tokens) else None


def exact(number: float) -> Value:
    """Return a number as a value told to its last digit, fractions to two places."""
    return Value(number, number, 1.0 if number % 1 == 0 else 0.01)


def times(values: tuple[Value, ...], factor: float) -> tuple[Value, ...]:
    """Return values multiplied by a scale."""
    return tuple(Value(v.low * factor, v.high * factor, v.step * factor) for v in values)

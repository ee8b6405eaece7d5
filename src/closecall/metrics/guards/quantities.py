"""Quantities in a text: how much, of which unit, and where they stand.

A text is cut into signs, words and numerals once; each number is then read with what stands
around it: the scale (*5 million*), the other end of a range, the unit, what it is per, and the
words counted. Nothing is decided here: see ``numbers`` for what makes two quantities the same.
"""

from __future__ import annotations

import re
from bisect import bisect_right
from typing import NamedTuple

from closecall.metrics.guards.dates import Date, Found, find_dates
from closecall.metrics.guards.words import Language, fold


class Value(NamedTuple):
    """A number, or a range of numbers, as written; ``step`` is the last place that is told."""

    low: float
    high: float
    step: float


class Token(NamedTuple):
    """A numeral (``n``), word (``w``), code (``c``), sign (``s``) or date (``d``) of a text."""

    kind: str
    text: str
    fold: str
    start: int
    end: int
    glued: bool
    found: Found | None = None


_MARK = r"\u0300-\u036f\u064b-\u065f\u0900-\u0903\u093a-\u094f\u0e31\u0e34-\u0e3a\u0e47-\u0e4e"
_SPACES = " \u00a0\u202f\u2009"
_LEX = re.compile(
    rf"""
    (?P<c>(?<![\w])(?!USD|EUR|GBP|CHF|Rs)(?:[A-Z]{{1,8}}-|[A-Za-zÀ-ɏΑ-ӿ]++)\d\w*+(?:-\d\w*+)*+)
    |(?P<n>(?:(?<![\d.,])[1-9]\d{{0,2}}+(?:[{_SPACES}]\d{{3}}(?!\d))++(?:[.,]\d++)?+)
       |\d++(?:[.,٫٬]\d++|['’_]\d{{3}}(?!\d))*+)
    |(?P<f>[¼½¾⅓⅔⅛⅜⅝⅞])
    |(?P<w>(?:[^\W\d_¼½¾⅓⅔⅛⅜⅝⅞][{_MARK}]*+)++(?:²|³)?+)
    |(?P<s>[$€£¥₹₽₩%٪°'’′"″/~≈−‐‑–—:;,.()\[\]!?。；：、．\#+=<>*-])
    """,  # noqa: RUF001 - apostrophes and spaces as people type them
    re.VERBOSE,
)

VULGAR = {"¼": (1, 4), "½": (1, 2), "¾": (3, 4), "⅓": (1, 3), "⅔": (2, 3), "⅛": (1, 8)}
VULGAR |= {"⅜": (3, 8), "⅝": (5, 8), "⅞": (7, 8)}


def tokens(text: str) -> list[Token]:
    """Return the tokens of a text; a date is one token, and hyphens inside words are none."""
    text = _repaired(text)
    dates = find_dates(text)
    starts = [found.start for found in dates]
    out: list[Token] = []
    last = -1
    for match in _LEX.finditer(text):
        start, end = match.span()
        index = bisect_right(starts, start) - 1 if starts else -1
        if index >= 0 and start < dates[index].end:
            found = dates[index]
            if last < found.end:
                piece = text[found.start : found.end]
                out.append(Token("d", piece, "", found.start, found.end, glued=False, found=found))
                last = found.end
            continue
        kind = match.lastgroup or "s"
        written = match.group()
        if kind == "s" and written in "-‐‑" and _joins(text, start, end):  # noqa: RUF001
            continue
        out.append(Token(kind, written, fold(written), start, end, glued=start == last))
        last = end
    return out


_DASH = " \N{EN DASH} "
_MOJIBAKE = (
    ("Â\u00a0", " \u00a0"),
    ("â€\N{EN DASH}", _DASH),
    ("â€\u201c", _DASH),
    ("â€\u201d", _DASH),
    ("Â°", " °"),
)
"""What a dash, a fixed blank and a degree become when UTF-8 is read as Windows-1252."""


def _repaired(text: str) -> str:
    """Return a text without the commonest traces of a wrong decoding, as long as before."""
    if "Â" in text or "â€" in text:
        for broken, whole in _MOJIBAKE:
            text = text.replace(broken, whole)
    return text


def _joins(text: str, start: int, end: int) -> bool:
    """Return whether a hyphen joins a number or word with a word, as in *31-member*."""
    return start > 0 and end < len(text) and text[start - 1].isalnum() and text[end].isalpha()


_DECIMAL_COMMA = frozenset({"de", "fr", "es"})
_GROUP = 3
_MOST_DIGITS = 15
"""Digits a float holds exactly; a longer numeral is a name, compared sign by sign."""


def readings(written: str, language: Language | None) -> tuple[Value, ...]:
    """Return what a numeral may mean, by where its commas and points stand.

    Both readings of *1.234* or *1,234* are returned where nothing says which language it is.
    Nothing is returned for a numeral that is no number: a version, an address, a long code.

    >>> readings("1.234,5", None)
    (Value(low=1234.5, high=1234.5, step=0.1),)
    >>> [value.low for value in readings("1,234", "en")], [value.low for value in
    ... readings("1,234", "de")]
    ([1234.0], [1.234])
    """
    plain = _western(written)
    if sum(map(str.isdigit, plain)) > _MOST_DIGITS:
        return ()
    signs = [sign for sign in plain if not sign.isdigit()]
    if not signs:
        return (_value(plain, ""),)
    parts = re.split(r"[.,]", plain)
    if len(set(signs)) > 1:
        # Both occur: the last one is the decimal, if it occurs once.
        if signs.count(signs[-1]) > 1 or len(set(signs[:-1])) > 1 or not _grouped(parts[:-1]):
            return ()
        return (_value("".join(parts[:-1]), parts[-1]),)
    if len(signs) > 1:
        return (_value("".join(parts), ""),) if _grouped(parts) else ()
    return _one_sign(signs[0], parts, language)


def _one_sign(sign: str, parts: list[str], language: Language | None) -> tuple[Value, ...]:
    decimal, whole = _value(parts[0], parts[1]), _value("".join(parts), "")
    if not _grouped(parts):
        return (decimal,)
    if language is None:
        return (whole, decimal) if sign == "," else (decimal, whole)
    comma = language in _DECIMAL_COMMA
    return (decimal,) if (sign == ",") == comma else (whole,)


def _western(written: str) -> str:
    if written.isdigit() and written.isascii():
        return written
    plain = re.sub(rf"[{_SPACES}'’_٬]", "", written).replace("٫", ".")  # noqa: RUF001
    return plain if plain.isascii() else "".join(map(_digit, plain))


def _digit(char: str) -> str:
    return str(int(char)) if char.isdecimal() else char


def _grouped(parts: list[str]) -> bool:
    """Return whether parts are thousands: 1-3 digits, then threes (or twos, then a three)."""
    first, *rest = parts
    if not 1 <= len(first) <= _GROUP or first.startswith("0") or not rest:
        return len(parts) == 1
    western = all(len(part) == _GROUP for part in rest)
    indian = len(rest[-1]) == _GROUP and all(len(part) == 2 for part in rest[:-1])  # noqa: PLR2004
    return western or indian


def _value(whole: str, decimals: str) -> Value:
    number = float(f"{whole or 0}.{decimals or 0}")
    return Value(number, number, float(10.0 ** -len(decimals)) if decimals else 1.0)


class Quantity(NamedTuple):
    """One quantity of a text; ``values`` are its readings.

    ``kind`` is ``amount``, ``date``, ``clock`` or ``code``. ``soft`` marks what a response need
    not repeat (*one*, *first*, *an hour*). ``loose`` marks what is rounded: it has decimals, a
    scale, or *about* before it. ``period`` marks a decade or century: any year in it is meant.
    """

    kind: str
    start: int
    end: int
    values: tuple[Value, ...] = ()
    units: tuple[tuple[str, float, float], ...] = ()
    per: tuple[tuple[str, float, float], ...] = ()
    nouns: frozenset[str] = frozenset()
    dates: tuple[Date, ...] = ()
    minutes: tuple[int, ...] = ()
    code: str = ""
    ordinal: bool = False
    soft: bool = False
    loose: bool = False
    period: bool = False

"""``date``: another year, month, day, decade, century or time of day."""

from __future__ import annotations

import re
from collections.abc import Iterator

from closecall.metrics.guards.dates import Date, Found, era_after, find_dates
from closecall.metrics.guards.quantities import Quantity, Token
from closecall.metrics.guards.quantities import tokens as tokens_of
from closecall.metrics.guards.words import Language, fold
from closecall.stress.choice import Chooser
from closecall.stress.edits import Edit, Piece, cased_like, edited
from closecall.stress.number_edits import english_ending, is_year
from closecall.stress.soundness import read_quantities

FAMILY = "date"
_MONTHS: tuple[tuple[str, ...], ...] = tuple(
    tuple(row.split())
    for row in (
        "january february march april may june july august september october november december",
        "jan feb mar apr may jun jul aug sep oct nov dec",
        "januar februar märz april mai juni juli august september oktober november dezember",
        "janvier février mars avril mai juin juillet août septembre octobre novembre décembre",
        "enero febrero marzo abril mayo junio julio agosto septiembre octubre noviembre diciembre",
    )
)
_FIRST: dict[str, int] = {"de": 2, "fr": 3, "es": 4}
"""The row of a language, for months that two languages spell alike."""
_APART = (-12, -9, -7, -4, -3, 3, 4, 7, 9)
_LATEST = 2025
"""No year is moved past this one from before it: a date to come gives itself away."""
_DASHES = frozenset("-/\N{EN DASH}\N{EM DASH}")
_LAST_DAY = 28
_DAYS = (31, 28, 31, 30, 31, 30, 31, 31, 30, 31, 30, 31)
_FAR = (-300, -200, -150)
"""Steps for a year that may be rounded: one of a whole half century, or before Christ."""
_NOON, _DAY = 12, 24
_CENTURIES = (2, 3, -2, -3)


def date_edits(text: str, language: Language | None, chooser: Chooser) -> Iterator[Edit]:
    """Yield the text with a part of one date changed, in a drawn order."""
    pieces: list[tuple[Piece, ...]] = []
    for found in find_dates(text):
        if found.dates:
            pieces += _parts(text, found, language, chooser)
        else:
            pieces += _clock(text, found, chooser)
    amounts = [q for q in read_quantities(text, language) if q.kind == "amount"]
    written = tokens_of(text) if amounts else []
    for quantity in amounts:
        pieces += _bare(text, quantity, written, chooser)
    for piece in chooser.mixed(pieces):
        yield edited(text, FAMILY, *piece)


def _parts(
    text: str, found: Found, language: Language | None, chooser: Chooser
) -> list[tuple[Piece, ...]]:
    """Return one change each of the year, the month and the day of a date."""
    date, piece = found.dates[0], text[found.start : found.end]
    out: list[tuple[Piece, ...]] = []
    if date.year is not None:
        year = re.search(rf"(?<!\d){abs(date.year)}(?!\d)", piece, re.ASCII)
        if year:
            new = str(other_year(abs(date.year), chooser, _steps(text, found.end, date.year)))
            out.append((_at(found, year, new),))
    month = re.search(r"[^\W\d_]{3,}", piece)
    if month and date.month is not None:
        name = other_month(month.group(), language, chooser, date.day or 1)
        if name is not None:
            out.append((_at(found, month, name),))
    if date.day is not None and (month or _iso(piece)):
        out += _day(found, piece, date, chooser)
    return out


def _iso(piece: str) -> bool:
    return re.match(r"\d{4}[-/.]", piece, re.ASCII) is not None


def _day(found: Found, piece: str, date: Date, chooser: Chooser) -> list[tuple[Piece, ...]]:
    places = list(re.finditer(rf"(?<!\d)0?{date.day}(?!\d)", piece, re.ASCII))
    if not places:
        return []
    place = places[-1] if _iso(piece) else places[0]
    day = chooser.one([n for n in range(2, _LAST_DAY + 1) if abs(n - (date.day or 0)) > 2])  # noqa: PLR2004 - beyond a time zone
    pieces = [
        _at(found, place, f"{day:02d}" if _iso(piece) or place.group()[0] == "0" else str(day))
    ]
    ending = re.compile(r"(?:st|nd|rd|th)\b").match(piece, place.end())
    if ending:
        pieces.append(_at(found, ending, english_ending(day)))
    if not ending and re.compile(r"er\b").match(piece, place.end()):
        return []
    return [tuple(pieces)]


def _at(found: Found, match: re.Match[str], after: str) -> Piece:
    return Piece(found.start + match.start(), found.start + match.end(), after)


def other_year(year: int, chooser: Chooser, choices: tuple[int, ...] = _APART) -> int:
    """Return a year three to twelve years off."""
    fits = [by for by in choices if (year > _LATEST or year + by <= _LATEST) and year + by > 0]
    return year + chooser.one(fits or [by for by in _APART if by < 0])


def other_month(
    name: str, language: Language | None, chooser: Chooser, day: int = 1
) -> str | None:
    """Return another month that has this day, spelled as this one is; None for an odd name."""
    folded = fold(name)
    first = _FIRST.get(language or "en", 0)
    for row in (_MONTHS[first], *_MONTHS):
        folds = [fold(month) for month in row]
        if folded in folds:
            at = folds.index(folded)
            fits = [n for n, days in enumerate(_DAYS) if 2 <= (n - at) % 12 <= 10 and day <= days]  # noqa: PLR2004 - months a time zone cannot explain
            return cased_like(row[chooser.one(fits)], name)
    return None


def _clock(text: str, found: Found, chooser: Chooser) -> list[tuple[Piece, ...]]:
    piece = text[found.start : found.end]
    hour = re.match(r"\d{1,2}", piece, re.ASCII)
    if hour is None:
        return []
    old = int(hour.group())
    last = _NOON if old <= _NOON else _DAY - 1
    new = chooser.one([n for n in range(1, last + 1) if 2 <= abs(n - old) <= 5])  # noqa: PLR2004 - hours that no time zone beside explains
    shown = f"{new:02d}" if hour.group().startswith("0") else str(new)
    return [(_at(found, hour, shown),)]


def _begins_years(quantity: Quantity, token: Token) -> bool:
    """Return whether a numeral is the first year of several: *1939-45*."""
    ranged = quantity.values[0].low != quantity.values[0].high
    return ranged and re.fullmatch(r"\d{4}", token.text, re.ASCII) is not None


def _steps(text: str, end: int, year: int) -> tuple[int, ...]:
    """Return by how much a year may be moved."""
    era = era_after(text, end)
    return _FAR if year % 50 == 0 or (era is not None and era[0] < 0) else _APART


def _bare(
    text: str, quantity: Quantity, found: list[Token], chooser: Chooser
) -> Iterator[tuple[Piece, ...]]:
    """Yield another year for a bare one, another decade, another century."""
    for at, token in enumerate(found):
        if not (token.kind == "n" and quantity.start <= token.start < quantity.end):
            continue
        before = found[at - 1].text if at and token.glued else ""
        after = found[at + 1] if at + 1 < len(found) else None
        dashed = after is not None and after.glued and after.text in _DASHES
        if quantity.period:
            yield from _period(token, after, chooser)
        elif is_year(quantity, token) or (dashed and _begins_years(quantity, token)):
            choices = _steps(text, token.end, int(token.text))
            if before in _DASHES and before:
                choices = tuple(by for by in _APART if by > 0)
            elif dashed:
                choices = tuple(by for by in _APART if by < 0)
            new = other_year(int(token.text), chooser, choices)
            yield (Piece(token.start, token.end, str(new)),)
        return


def _period(token: Token, after: Token | None, chooser: Chooser) -> Iterator[tuple[Piece, ...]]:
    if not token.text.isdigit() or not token.text.isascii():
        return
    number = int(token.text)
    if after is not None and after.glued and after.fold in {"s", "er", "ern"}:
        by = chooser.one((-30, -20) if number > 1980 else (-20, 20, 30))  # noqa: PLR2004 - as above
        new = number + by
        if number < 100:  # noqa: PLR2004 - 70s
            new %= 100
        yield (Piece(token.start, token.end, f"{new:0{len(token.text)}d}"),)
        return
    fits = [number + by for by in _CENTURIES if 1 <= number + by <= 21]  # noqa: PLR2004 - centuries so far
    if not fits:  # a century to come: none that has been is a step away
        return
    new = chooser.one(fits)
    pieces = [Piece(token.start, token.end, str(new))]
    if after is not None and after.glued and after.fold in {"st", "nd", "rd", "th"}:
        pieces.append(Piece(after.start, after.end, english_ending(new)))
    yield tuple(pieces)

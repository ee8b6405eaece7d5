"""Dates, months and times of day in their common spellings, in English, German, French, Spanish.

A date may leave its year, or its day, open. Numbers with slashes or dots may be day first or
month first: both readings are kept where both are possible.
"""

from __future__ import annotations

import re
from functools import cache
from typing import NamedTuple

from closecall.metrics.guards.words import fold, listed


class Date(NamedTuple):
    """A day, a month or a year; what is not said is None. A year before Christ is negative."""

    year: int | None
    month: int | None
    day: int | None


class Found(NamedTuple):
    """A date in a text, with its possible readings, or a time of day in minutes."""

    start: int
    end: int
    dates: tuple[Date, ...] = ()
    minutes: tuple[int, ...] = ()


_MONTHS = (
    "january jan januar jänner janvier enero ene",
    "february feb februar février févr fév febrero",
    "march mar märz mär mrz mars marzo",
    "april apr avril avr abril abr",
    "may mai mayo",
    "june jun juni juin junio",
    "july jul juli juillet juil julio",
    "august aug août agosto ago",
    "september sep sept septembre septiembre setiembre",
    "october oct oktober okt octobre octubre",
    "november nov novembre noviembre",
    "december dec dezember dez décembre déc diciembre dic",
)
_NEEDS_MORE = listed("may mar mars march ago jan jun mai dic dec sep sept oct nov fev")
"""Months that are other words too, or names: alone they are no month."""


@cache
def _month_numbers() -> dict[str, int]:
    return {fold(name): n for n, names in enumerate(_MONTHS, 1) for name in names.split()}


_NAME = "|".join(
    sorted(
        {form for names in _MONTHS for name in names.split() for form in (name, fold(name))},
        key=lambda name: (-len(name), name),
    )
)
_YEAR = r"(?:1\d{3}|20\d{2})(?!\d)"
_MONTH_DAY = rf"""
    (?P<m1>{_NAME})\.?\s{{1,3}}(?P<d1>\d{{1,2}})(?!\d|[.:]\d|\s?[%€$])(?:st|nd|rd|th)?
    (?:\s?,?\s{{1,3}}(?:of\s)?(?P<y1>\d{{3,4}})(?!\d))?
"""
_DAY_MONTH = rf"""
    (?P<d2>\d{{1,2}})(?:st|nd|rd|th|er|º|\.)?\s{{0,3}}(?:of\s|de\s|du\s)?(?P<m2>{_NAME})(?!\w)\.?
    (?:\s?,?\s{{1,3}}(?:de\s|del\s|of\s)?(?P<y2>\d{{3,4}})(?!\d))?
"""
_MONTH_YEAR = rf"(?P<m3>{_NAME})\.?,?\s{{1,3}}(?:de\s|del\s|of\s)?(?P<y3>{_YEAR})"
_ISO = r"(?P<y4>\d{4})[-/.](?P<m4>\d{1,2})[-/.](?P<d4>\d{1,2})(?!\d)"
_NUMERIC = r"(?P<a5>\d{1,2})(?P<s5>[./-])(?P<b5>\d{1,2})(?P=s5)(?P<y5>\d{4}|\d{2})(?![\d]|[./-]\d)"
_CJK = r"(?P<y6>\d{4})\s?年(?:\s?(?P<m6>\d{1,2})\s?月(?:\s?(?P<d6>\d{1,2})\s?日)?)?"
_DATE = re.compile(
    # The look ahead saves trying eighty month names where none can begin.
    rf"(?<![\w.,/-])(?=[\dadefjmnos])(?:{_ISO}|{_NUMERIC}|{_CJK}|{_MONTH_DAY}|{_DAY_MONTH}|{_MONTH_YEAR})",
    re.IGNORECASE | re.VERBOSE,
)
_MONTH_ALONE = re.compile(
    rf"(?<!\w)(?:in|of|by|since|until|during|from|im|seit|bis|en|de|desde|hasta|depuis)\s"
    rf"(?P<month>{_NAME})(?!\w)",
    re.IGNORECASE,
)
_CLOCK = re.compile(
    r"(?<![\w.,:/-])(?:"
    r"(?P<h1>[01]?\d|2[0-4])(?::|\s?h\s?)(?P<n1>[0-5]\d)(?![\d:]|[.,]\d|\s?m(?:in)?\b(?!\.))(?:\s?(?P<p1>[ap]\.?m\b\.?))?"
    r"|(?P<h2>1[0-2]|0?[1-9])(?:\.(?P<n2>[0-5]\d))?\s?(?P<p2>[ap]\.?\s?m\b\.?)"
    r"|(?P<h3>[01]?\d|2[0-4])(?:[.:](?P<n3>[0-5]\d))?\suhr\b"
    r")",
    re.IGNORECASE,
)
_NOON = re.compile(r"\b(?:at\s(?P<noon>noon|midday)|at\s(?P<midnight>midnight))\b", re.IGNORECASE)
_DIGIT = re.compile(r"\d")
_HALF_DAY = 12
_PIVOT = 69
"""A year of two digits up to this is after 2000."""


def find_dates(text: str) -> list[Found]:
    """Return the dates and times of a text, in order, none inside another."""
    found = [*_months(text), *_noons(text)]
    if _DIGIT.search(text):
        found = [*_dates(text), *found, *_clocks(text)]
    found.sort(key=lambda item: (item.start, -item.end))
    apart: list[Found] = []
    for item in found:
        if not apart or item.start >= apart[-1].end:
            apart.append(item)
    return apart


def _dates(text: str) -> list[Found]:
    found = []
    for match in _DATE.finditer(text):
        readings = tuple(date for date in _readings(match) if _possible(date))
        if readings:
            found.append(Found(match.start(), match.end(), readings))
    return found


def _readings(match: re.Match[str]) -> list[Date]:
    group = match.groupdict()
    if group["a5"]:
        first, second, year = int(group["a5"]), int(group["b5"]), _full_year(group["y5"])
        orders = [Date(year, second, first), Date(year, first, second)]
        # A dot is read day first everywhere.
        return orders[:1] if group["s5"] == "." else list(dict.fromkeys(orders))
    for form in ("1", "2", "3", "4", "6"):
        month, written = group["m" + form], group["y" + form]
        if month is None and written is None:
            continue
        day = group.get("d" + form)
        return [
            Date(
                int(written) if written else None,
                None if month is None else _month(month),
                int(day) if day else None,
            )
        ]
    return []


def _month(written: str) -> int:
    # 0 is no month: case-blind search also finds a few letters that only look alike.
    return int(written) if written.isdecimal() else _month_numbers().get(fold(written), 0)


def _full_year(written: str) -> int:
    year = int(written)
    if len(written) > 2:  # noqa: PLR2004
        return year
    return year + (2000 if year <= _PIVOT else 1900)


def _possible(date: Date) -> bool:
    return (date.month is None or 1 <= date.month <= 12) and (  # noqa: PLR2004
        date.day is None or 1 <= date.day <= 31  # noqa: PLR2004
    )


def _months(text: str) -> list[Found]:
    found = []
    for match in _MONTH_ALONE.finditer(text):
        name = match["month"]
        folded = fold(name)
        if folded in _NEEDS_MORE and not (name[0].isupper() and folded in {"may", "march"}):
            continue
        date = Date(None, _month(name), None)
        if _possible(date):
            found.append(Found(match.start("month"), match.end(), (date,)))
    return found


def _clocks(text: str) -> list[Found]:
    found = []
    for match in _CLOCK.finditer(text):
        group = match.groupdict()
        form = "1" if group["h1"] else "2" if group["h2"] else "3"
        hour, minute = int(group["h" + form]), int(group["n" + form] or 0)
        half = (group.get("p" + form) or "").lower()[:1]
        if half:
            hour = hour % _HALF_DAY + (_HALF_DAY if half == "p" else 0)
            readings: tuple[int, ...] = (60 * hour + minute,)
        elif form == "1" and 1 <= hour <= _HALF_DAY:
            # Neither am nor pm was said: either is meant.
            readings = tuple(60 * (hour % _HALF_DAY + plus) + minute for plus in (0, _HALF_DAY))
        else:
            readings = (60 * (hour % 24) + minute,)
        found.append(Found(match.start(), match.end(), minutes=readings))
    return found


def _noons(text: str) -> list[Found]:
    found = []
    for match in _NOON.finditer(text):
        name = "noon" if match["noon"] else "midnight"
        minutes = 720 if name == "noon" else 0
        found.append(Found(match.start(name), match.end(), minutes=(minutes,)))
    return found


def era_after(text: str, end: int) -> tuple[int, int] | None:
    """Return the sign of a year, 1 or -1, and where its era ends: *44 BC*; None without one."""
    match = _ERA_AFTER.match(text, end)
    if match is None:
        return None
    before = match["era"].lower().startswith(("b", "v", "av", "a. c", "a.c"))
    return (-1 if before else 1), match.end()


_ERA_AFTER = re.compile(
    r"\s?(?P<era>B\.?C\.?(?:E\.?)?(?!\w)|A\.?D\.?(?!\w)|C\.?E\.?(?!\w)|v\.\s?Chr\.?|n\.\s?Chr\.?"
    r"|av\.\s?J\.-C\.?|apr\.\s?J\.-C\.?|a\.\s?C\.|d\.\s?C\.)"
)

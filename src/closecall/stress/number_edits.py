"""``number``: a number changed so much that rounding cannot explain it."""

from __future__ import annotations

import re
from collections.abc import Iterator

from closecall.metrics.guards.amounts import AmountReader
from closecall.metrics.guards.entities import names
from closecall.metrics.guards.number_words import scale_of
from closecall.metrics.guards.quantities import Quantity, Token, readings
from closecall.metrics.guards.same import same
from closecall.metrics.guards.words import Language, words
from closecall.stress.choice import Chooser
from closecall.stress.edits import Edit, Piece, edited
from closecall.stress.soundness import read_quantities
from closecall.stress.spelled_numbers import other_word

FAMILY = "number"
_JOINING = frozenset("-/:.,#+" + "\N{EN DASH}\N{EM DASH}\N{MINUS SIGN}\N{HYPHEN}")
_ENDINGS = frozenset({"st", "nd", "rd", "th"})
_FEW, _HUNDRED = 12, 100
_FACTORS = (0.4, 0.6, 1.5, 1.8, 2.5)
_GROUPED_DECIMAL = re.compile(
    r"(?P<head>[0-9]{1,3}(?P<sign>[.,])[0-9]{3}(?:(?P=sign)[0-9]{3})*)(?!(?P=sign))(?P<tail>[.,][0-9]+)"
)
"""A numeral with thousands and decimals, as *1,250.50*."""
_EARLIEST, _LATEST = 1000, 2100
_LOWER_BOUND = re.compile(
    r"\b(?:more than|at least|over|above|mehr als|mindestens|plus de|au moins|más de|al menos)"
    r"\W*$",
    re.IGNORECASE,
)
_UPPER_BOUND = re.compile(
    r"\b(?:less than|fewer than|at most|up to|under|below|weniger als|höchstens|bis zu|moins de|"
    r"au plus|menos de|hasta)\W*$",
    re.IGNORECASE,
)


def number_edits(text: str, language: Language | None, chooser: Chooser) -> Iterator[Edit]:
    """Yield the text with one number changed, in a drawn order of its numbers.

    Left alone: years and dates, *one*, codes and versions, ranges, numbers in names (*Catch 22*,
    *One Direction*), and an amount that the text says twice (*5 km (3.1 miles)*).
    """
    found = read_quantities(text, language)
    if not any(quantity.kind == "amount" for quantity in found):
        return
    reader = AmountReader(text, language)
    taken = _in_names(text, language)
    for quantity in chooser.mixed([q for q in found if _may_change(q, found)]):
        places = [
            at
            for at, token in enumerate(reader.tokens)
            if quantity.start <= token.start < quantity.end
        ]
        numerals = [at for at in places if reader.tokens[at].kind == "n"]
        piece = (
            _numeral(reader, numerals[0], quantity, chooser, taken)
            if numerals
            else _word(reader, places, chooser, taken)
        )
        if piece is not None:
            yield edited(text, FAMILY, *piece)


def is_year(quantity: Quantity, token: Token) -> bool:
    """Return whether a numeral is a year: four digits, no unit, nothing counted after it."""
    return (
        not quantity.units
        and not quantity.nouns
        and token.text.isascii()
        and token.text.isdigit()
        and _EARLIEST <= int(token.text[:5]) <= _LATEST
    )


def _may_change(quantity: Quantity, found: tuple[Quantity, ...]) -> bool:
    if quantity.kind != "amount" or quantity.period or not quantity.values:
        return False
    if any(value.low != value.high for value in quantity.values[:1]):
        return False
    if quantity.soft and not quantity.ordinal:
        return False
    return not any(same(quantity, o) or same(o, quantity) for o in found if o is not quantity)


def _in_names(text: str, language: Language | None) -> set[int]:
    """Return where names begin and end."""
    return {at for n in names(words(text), language) if n.sure for at in (n.start, n.stop)}


def _numeral(
    reader: AmountReader, at: int, quantity: Quantity, chooser: Chooser, taken: set[int]
) -> tuple[Piece, ...] | None:
    token = reader.tokens[at]
    if is_year(quantity, token) or _joined(reader, at) or _beside_name(reader.text, token, taken):
        return None
    percent = any(unit[0] == "percent" for unit in quantity.units)
    up = only_up(reader.text[: token.start])
    new = other_numeral(token.text, reader.language, chooser, percent=percent, up=up)
    if new is None:
        return None
    after = reader.after(at)
    if after is not None and after.glued and after.fold in _ENDINGS:
        return (
            Piece(token.start, token.end, new),
            Piece(after.start, after.end, english_ending(int(new))),
        ) if new.isdigit() else None  # fmt: skip
    if quantity.ordinal and reader.language in ("fr", "es") and token.text == "1":
        return None
    return (Piece(token.start, token.end, new),)


def only_up(before: str) -> bool | None:
    """Return whether a number must grow to be wrong, after *more than*, or shrink; else None."""
    if _LOWER_BOUND.search(before):
        return True
    return False if _UPPER_BOUND.search(before) else None


def _joined(reader: AmountReader, at: int) -> bool:
    """Return whether a sign ties a numeral to another: a score, a range, a fraction, a version."""
    before = reader.tokens[at - 1] if at else None
    if reader.text[max(0, reader.tokens[at].start - 1) : reader.tokens[at].start] == "-":
        return True
    if before is not None and before.text in _JOINING and reader.tokens[at].glued:
        return True
    after = reader.after(at)
    beyond = reader.after(at + 1) if after is not None else None
    return (
        after is not None
        and after.glued
        and (after.kind == "f" or after.text in "-/:\N{EN DASH}\N{EM DASH}")
        and (after.kind == "f" or (beyond is not None and beyond.kind == "n"))
    )


def _beside_name(text: str, token: Token, taken: set[int]) -> bool:
    before = token.start - 1
    after = token.end + 1
    return (before in taken and text[before : before + 1] in " -") or (
        after in taken and text[after - 1 : after] in " -"
    )


def english_ending(number: int) -> str:
    """Return what makes an ordinal of a number: 21st, 12th."""
    if number % 100 in (11, 12, 13):
        return "th"
    return {1: "st", 2: "nd", 3: "rd"}.get(number % 10, "th")


def other_numeral(
    written: str,
    language: Language | None,
    chooser: Chooser,
    *,
    percent: bool = False,
    up: bool | None = None,
) -> str | None:
    """Return another number in the same spelling, None where it is no plain number.

    Small counts move by two at least, others by a third at least; digits after the point, zeros
    at the end and signs between thousands stay as they were. ``percent`` keeps it within 100;
    ``up`` says whether it must be a larger one, None that either will do.

    >>> other_numeral("12,500", "en", Chooser(1, "doc"))
    '7,500'
    """
    values = readings(written, language) if written.isascii() else ()
    if not values:
        return None
    both = _GROUPED_DECIMAL.fullmatch(written)
    if both:
        head = other_numeral(both.group("head"), None, chooser, percent=percent, up=up)
        return None if head is None else head + both.group("tail")
    if values[0].step < 1:
        return _decimal(written, values[0].low, chooser, percent=percent, up=up)
    number = int(values[0].low)
    sign = next((char for char in written if not char.isdigit()), "")
    grouped = re.fullmatch(rf"\d{{1,3}}(?:{re.escape(sign)}\d{{3}})+", written) if sign else True
    if not grouped or (written.startswith("0") and len(written) > 1):
        return None
    choices = [n for n in _others(number, percent=percent) if n not in (number, 1)]
    choices = [n for n in choices if up is None or (n > number) == up]
    if not choices:
        return None
    new = str(chooser.one(choices))
    return re.sub(r"(?<=\d)(?=(?:\d{3})+$)", lambda _: sign, new) if sign else new


def _others(number: int, *, percent: bool) -> list[int]:
    if number <= _FEW:
        near = [number + by for by in (2, 3, 4, -2, -3)]
        return [n for n in near if n > 1]
    if number <= _HUNDRED:
        up = number + max(number // 2, 3)
        return [n for n in (number // 2, up) if not (percent and n > _HUNDRED)]
    zeros = len(str(number)) - len(str(number).rstrip("0"))
    unit = 10**zeros
    return [n for n in (round(number * by / unit) * unit for by in _FACTORS) if n > 1]


def _decimal(
    written: str, value: float, chooser: Chooser, *, percent: bool, up: bool | None
) -> str | None:
    found = re.fullmatch(r"\d+([.,])(\d+)", written, re.ASCII)
    if found is None or not value:
        return None
    point, tail = found.groups()
    fits = [value * by for by in _FACTORS if up is None or (by > 1) == up]
    fits = [n for n in fits if not (percent and value <= _HUNDRED < n)]
    shown = [f"{n:.{len(tail)}f}" for n in fits]
    shown = [n for n in shown if float(n) and abs(float(n) - value) > 0.2 * value]
    return chooser.one(shown).replace(".", point) if shown else None


def _word(
    reader: AmountReader, places: list[int], chooser: Chooser, taken: set[int]
) -> tuple[Piece, ...] | None:
    """Change the first of the words of a number in words that can be changed."""
    for at in places:
        token = reader.tokens[at]
        if token.kind != "w":
            return None
        after = reader.after(at)
        several = after is not None and scale_of(after.fold, reader.language) is not None
        before = reader.folds[at - 1] if at else ""
        new = other_word(token.text, reader.language, chooser, several=several, before=before)
        if new is None:
            continue
        if _beside_name(reader.text, token, taken) or _in_title(reader, at):
            return None
        return (Piece(token.start, token.end, new),)
    return None


def _in_title(reader: AmountReader, at: int) -> bool:
    """Return whether a number word has its capital from a title: *Seven Samurai*."""
    token = reader.tokens[at]
    if not token.text[0].isupper():
        return False
    before = reader.text[: token.start].rstrip()
    after = reader.after(at)
    begins = not before or before[-1] in ".!?:\n"
    return not begins or (after is not None and after.kind == "w" and after.text[0].isupper())

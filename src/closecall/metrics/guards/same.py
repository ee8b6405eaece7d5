"""When two quantities are the same: the arithmetic behind ``numbers``, and an index to find them.

``same`` is not symmetric: a response may say more than its reference, not less.
"""

from __future__ import annotations

from bisect import bisect_left, bisect_right
from collections.abc import Iterator, Sequence
from itertools import product

from closecall.metrics.guards.dates import Date
from closecall.metrics.guards.quantities import Quantity, Value
from closecall.metrics.guards.units import DAY, MONTH_DAYS, Unit, is_money

_EXACT = 1e-9
_CONVERTED = 0.015
"""Relative room between units of two systems: people round what they convert."""
_HALF_DEGREE = 0.6
_EARLIEST, _LATEST = 1000, 2100
_PERCENT = 100.0
_CENTURY = 100.0


def same(reference: Quantity, response: Quantity) -> bool:
    """Return whether a quantity of a response is the one of the reference."""
    if "code" in (reference.kind, response.kind):
        return reference.code == response.code != ""
    if reference.kind == response.kind == "clock":
        return not set(reference.minutes).isdisjoint(response.minutes)
    if "clock" in (reference.kind, response.kind):
        return False
    if reference.kind == "date":
        return _same_date(reference, response)
    if response.kind == "date":
        return any(
            date.year is not None and _holds(reference, float(date.year))
            for date in response.dates
            if not reference.units
        )
    return _same_amount(reference, response)


def _same_date(reference: Quantity, response: Quantity) -> bool:
    if response.kind == "date":
        return any(_covers(a, b) for a, b in product(reference.dates, response.dates))
    # A bare number is a year.
    return any(
        date.month is None and date.year is not None and _holds(response, float(date.year))
        for date in reference.dates
    )


def _covers(reference: Date, response: Date) -> bool:
    """Return whether a response says all that the reference does of a day, and the same."""
    pairs = zip(reference, response, strict=True)
    return all(ours is None or ours == theirs for ours, theirs in pairs)


def vaguer(reference: Quantity, response: Quantity) -> bool:
    """Return whether a response tells the same with less detail, as the year of a day."""
    years = [date.year for date in reference.dates if date.year is not None]
    if response.kind == "date":
        return any(_covers(b, a) and b.year for a, b in product(reference.dates, response.dates))
    if response.kind != "amount" or response.units:
        return False
    if reference.kind == "date":
        return any(value.low <= year <= value.high for value in response.values for year in years)
    if not response.period or reference.units:
        return False
    pairs = product(reference.values, response.values)
    return any(b.low <= a.low and a.high <= b.high for a, b in pairs)


def _holds(amount: Quantity, year: float) -> bool:
    if amount.period:
        return any(value.low <= year <= value.high for value in amount.values)
    return any(year in (value.low, value.high) for value in amount.values)


def _same_amount(reference: Quantity, response: Quantity) -> bool:
    loose = reference.loose or response.loose
    pairs = list(product(reference.values, response.values))
    if reference.period or response.period:
        # The response may name a year of the reference's decade, not the decade of its year.
        return any(a.low <= b.low and b.high <= a.high for a, b in pairs)
    if _per_differs(reference, response):
        return False
    if not reference.units or not response.units:
        return any(_near(a, b, loose=loose) for a, b in pairs) or _as_percent(
            reference, response, pairs
        )
    return any(
        _same_in_units(a, Unit(*u), b, Unit(*v), loose=loose)
        for (a, b), (u, v) in product(pairs, product(reference.units, response.units))
    )


def _per_differs(reference: Quantity, response: Quantity) -> bool:
    """Return whether two amounts are for different times: *a day*, *a month*."""
    if not reference.per or not response.per:
        return False
    return all((a[0], a[1]) != (b[0], b[1]) for a, b in product(reference.per, response.per))


def _as_percent(
    reference: Quantity, response: Quantity, pairs: Sequence[tuple[Value, Value]]
) -> bool:
    first = any(unit[0] == "percent" for unit in reference.units)
    second = any(unit[0] == "percent" for unit in response.units)
    if first == second:
        return False
    return any(
        _near(_hundredth(a), b, loose=True) if first else _near(a, _hundredth(b), loose=True)
        for a, b in pairs
        if (b if first else a).high <= 1
    )


def _hundredth(value: Value) -> Value:
    return Value(value.low / _PERCENT, value.high / _PERCENT, value.step / _PERCENT)


def _near(a: Value, b: Value, *, loose: bool, room: float = 0.0) -> bool:
    """Return whether two values are equal, but for what the rounder of them leaves open.

    A range in the response is met by its end where the reference is one number.
    """
    step = max(a.step, b.step) / 2 if loose else 0.0
    width = step + _EXACT * max(abs(a.high), abs(b.high)) + room
    if a.low == a.high != b.low or (a.low == a.high and b.low != b.high):
        return abs(a.low - b.low) <= width or abs(a.high - b.high) <= width
    return abs(a.low - b.low) <= width and abs(a.high - b.high) <= width


def _same_in_units(a: Value, u: Unit, b: Value, v: Unit, *, loose: bool) -> bool:
    if u.dimension != v.dimension:
        if {u.dimension, v.dimension} == {"months", "time"}:
            return _months_are_days(a, u, b, v)
        return False
    if u == v:
        return _near(a, b, loose=loose)
    ours, theirs = _based(a, u), _based(b, v)
    if u.dimension == "temperature":
        return _near(ours, theirs, loose=True, room=_HALF_DEGREE - max(ours.step, theirs.step) / 2)
    if is_money(u) or _whole_ratio(u.factor, v.factor):
        return _near(ours, theirs, loose=loose)
    return _near(ours, theirs, loose=True, room=_CONVERTED * abs(ours.high))


def _based(value: Value, unit: Unit) -> Value:
    low, high = value.low * unit.factor + unit.offset, value.high * unit.factor + unit.offset
    return Value(low, high, value.step * unit.factor)


def _whole_ratio(a: float, b: float) -> bool:
    """Return whether one unit is a whole number of the other, as within one system."""
    ratio = max(a, b) / min(a, b)
    return abs(ratio - round(ratio)) <= 1e-6 * ratio


def _months_are_days(a: Value, u: Unit, b: Value, v: Unit) -> bool:
    (months, unit), (days, other) = (
        ((a, u), (b, v))
        if u.dimension == "months"
        else (
            (b, v),
            (a, u),
        )
    )
    count = _based(months, unit)
    spent = _based(days, other)
    fewest, most = MONTH_DAYS
    return count.low * fewest * DAY <= spent.low and spent.high <= count.high * most * DAY


class Index:
    """Quantities sorted by size in every unit they may be of, to look up those near another.

    Equal ones are kept once. ``found`` are the different ones, in the order of the text.
    """

    MOST = 32
    """Of more than this many near ones, the first are compared: a text that holds hundreds of
    nearly equal numbers costs no more than one that does not."""

    def __init__(self, found: Sequence[Quantity]) -> None:
        self.found = list(
            {_signature(quantity): quantity for quantity in reversed(found)}.values()
        )
        self.found.reverse()
        keys: dict[str, list[tuple[float, int]]] = {}
        for at, quantity in enumerate(self.found):
            for dimension, size in _sizes(quantity):
                keys.setdefault(dimension, []).append((size, at))
        self.keys = {dimension: sorted(sizes) for dimension, sizes in keys.items()}
        self.codes: dict[str, int] = {}
        for at, quantity in enumerate(self.found):
            if quantity.code:
                self.codes.setdefault(quantity.code, at)
        self.known: dict[object, list[int]] = {}

    def same(self, wanted: Quantity) -> list[int]:
        """Return the places of those that are the same as a quantity of a reference."""
        if wanted.kind == "code":
            return [self.codes[wanted.code]] if wanted.code in self.codes else []
        key = _signature(wanted)
        if key not in self.known:
            exact = [at for at in self._near(wanted, wide=False) if same(wanted, self.found[at])]
            self.known[key] = exact or [
                at for at in self._near(wanted, wide=True) if same(wanted, self.found[at])
            ]
        return self.known[key]

    def vaguer(self, wanted: Quantity) -> Quantity | None:
        """Return one that tells less of the same; see ``vaguer``."""
        if wanted.kind not in ("date", "amount"):
            return None
        near = (self.found[at] for at in self._near(wanted, wide=True))
        return next((found for found in near if vaguer(wanted, found)), None)

    def _near(self, wanted: Quantity, *, wide: bool) -> list[int]:
        hits: dict[int, None] = {}
        for dimension, low, high in _windows(wanted):
            sizes = self.keys.get(dimension)
            if not sizes:
                continue
            middle = (low + high) / 2
            bounds = (low, high) if wide or low == high else (middle, middle)
            start = bisect_left(sizes, (bounds[0] - _EXACT * abs(bounds[0]), -1))
            end = bisect_right(sizes, (bounds[1] + _EXACT * abs(bounds[1]), len(self.found)))
            for _, at in sizes[start : min(end, start + self.MOST)]:
                hits[at] = None
        return sorted(hits)


def _signature(quantity: Quantity) -> object:
    return quantity._replace(start=0, end=0)


def _sizes(quantity: Quantity) -> Iterator[tuple[str, float]]:
    for date in quantity.dates:
        if date.year is not None:
            yield "", float(date.year)
        yield "day", float(100 * (date.month or 0) + (date.day or 0))
    for minute in quantity.minutes:
        yield "clock", float(minute)
    for value in quantity.values:
        if quantity.period:
            yield "period", value.low
        for end in {value.low, value.high}:
            yield "", end
            for unit in quantity.units:
                yield unit[0], end * unit[1] + unit[2]


def _windows(wanted: Quantity) -> Iterator[tuple[str, float, float]]:
    for date in wanted.dates:
        if date.year is not None:
            yield "", float(date.year), float(date.year)
            yield "period", date.year - _CENTURY, date.year + 0.0
        if date.month is not None:
            yield (
                "day",
                100.0 * date.month + (date.day or 0),
                100.0 * date.month + (date.day or 31),
            )
    for minute in wanted.minutes:
        yield "clock", float(minute), float(minute)
    fewest, most = MONTH_DAYS
    for value in wanted.values:
        step = max(value.step, 1.0, _CONVERTED * max(abs(value.low), abs(value.high)))
        yield "", value.low - step, value.high + step
        yield "period", value.high - _CENTURY, value.low
        yield "percent", _PERCENT * value.low - 1, _PERCENT * value.high + 1
        for dimension, factor, offset in wanted.units:
            low, high = value.low * factor + offset, value.high * factor + offset
            room = step * factor + 2 * _CONVERTED * max(abs(low), abs(high))
            yield dimension, low - room, high + room
            if dimension == "percent":
                yield "", value.low / _PERCENT - 0.01, value.high / _PERCENT + 0.01
            if dimension == "months":
                yield "time", low * fewest * DAY, high * most * DAY
            if dimension == "time":
                yield "months", low / (most * DAY), high / (fewest * DAY)

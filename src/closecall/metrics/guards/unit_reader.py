"""Reads the unit after a number, and what it is per: *km/h*, *5 ft 10 in*, *$3 a month*."""

from __future__ import annotations

from closecall.metrics.guards.amounts import ARTICLES, AmountReader
from closecall.metrics.guards.quantities import Value
from closecall.metrics.guards.units import Unit, is_money, powered, units_of
from closecall.metrics.guards.words import listed

_PER = listed("per pro par por each every")
_AND = listed("and und et y")
_DEGREES = frozenset({"celsius", "fahrenheit"})
_PERCENT = {"por": "ciento", "pour": "cent", "per": "cent"}
_FEET, _INCHES = "'′", '"″'  # noqa: RUF001 - primes as people type them


class UnitReader(AmountReader):
    """Reads units after numbers."""

    def unit(self, at: int) -> tuple[tuple[Unit, ...], int]:
        """Return the readings of the unit at a token, and the token after it."""
        if at >= len(self.tokens):
            return (), at
        token = self.tokens[at]
        longer = self._degree(at) or self._joined(at) or self._of_two_words(at)
        if longer:
            return longer
        units = units_of(token.text, glued=token.glued)
        return (units, at + 1) if units else ((), at)

    def _degree(self, at: int) -> tuple[tuple[Unit, ...], int] | None:
        """Read *°C*."""
        following = self.after(at)
        if self.tokens[at].text != "°" or following is None or not following.glued:
            return None
        units = units_of("°" + following.text)
        return (units, at + 2) if units else None

    def _of_two_words(self, at: int) -> tuple[tuple[Unit, ...], int] | None:
        """Read *square miles*, *degrees Celsius*, *per cent*."""
        if self.tokens[at].kind != "w" or at + 1 >= len(self.tokens):
            return None
        word, second = self.folds[at], self.folds[at + 1]
        if _PERCENT.get(word) == second:
            return units_of("%"), at + 2
        units = units_of(second)
        raised = powered(self.tokens[at].text, units)
        if units and raised != units:
            return raised, at + 2
        if second in _DEGREES and units_of(word):
            return units, at + 2
        return None

    def _joined(self, at: int) -> tuple[tuple[Unit, ...], int] | None:
        """Read a unit written with a slash, and feet and inches: *km/h*, *6'2"*."""
        part = self.tokens[at : at + 3]
        if len(part) == 3 and part[1].text == "/" and part[1].glued and part[2].glued:  # noqa: PLR2004
            units = units_of(f"{part[0].text}/{part[2].text}")
            if units:
                return units, at + 3
        if part and part[0].glued and part[0].text in _FEET + _INCHES and self._tall(at):
            return units_of("ft" if part[0].text in "'′" else "inch"), at + 1  # noqa: RUF001
        return None

    def _tall(self, at: int) -> bool:
        """Return whether a prime is feet or inches and not the end of a quotation."""
        if self.tokens[at].text in "'′":  # noqa: RUF001
            return at + 1 < len(self.tokens) and self.tokens[at + 1].kind == "n"
        return at >= 3 and self.tokens[at - 2].text in "'′"  # noqa: PLR2004, RUF001

    def again(self, at: int) -> int:
        """Return the token after a currency that is said once more: *$5 USD*."""
        units, end = self.unit(at)
        return end if units and all(map(is_money, units)) else at

    def compound(
        self, values: tuple[Value, ...], units: tuple[Unit, ...], at: int
    ) -> tuple[tuple[Value, ...], tuple[Unit, ...], int]:
        """Add what follows in a smaller unit of the same kind: *5 ft 10 in*, *2 h 30 min*."""
        unit = units[0]
        if len(values) > 1 or unit.offset or len({u.dimension for u in units}) > 1:
            return values, units, at
        value, step, end = values[0].low * unit.factor, values[0].step * unit.factor, at
        factor = unit.factor
        while True:
            start = end
            if self.is_any(start, _AND) or self.is_sign(start, ","):
                start += 1
            more = self.amount(start)
            if more is None or more.soft or more.ordinal:
                break
            smaller, after = self._smaller(unit, more.next)
            same = [u for u in smaller if u.dimension == unit.dimension and u.factor < factor]
            if not same:
                break
            value += more.values[0].low * same[0].factor
            step, factor, end = more.values[0].step * same[0].factor, same[0].factor, after
        if end == at:
            return values, units, at
        value, step = value / factor, step / factor
        return (Value(value, value, step),), (Unit(unit.dimension, factor),), end

    def _smaller(self, unit: Unit, at: int) -> tuple[tuple[Unit, ...], int]:
        """Read a unit after a larger one: there *m* can be minutes, and *in* inches."""
        word = self.folds[at] if at < len(self.folds) else ""
        if unit.dimension == "time" and word == "m":
            return units_of("min"), at + 1
        if unit.dimension == "length" and word == "in":
            return units_of("inch"), at + 1
        return self.unit(at)

    def per(self, at: int) -> tuple[tuple[Unit, ...], int]:
        """Read what an amount is for: *per month*, */month*, *a day*."""
        if at + 1 >= len(self.tokens):
            return (), at
        if self.is_sign(at, "/") or self.folds[at] in _PER or self.folds[at] in ARTICLES:
            units = units_of(self.tokens[at + 1].text)
            if units and not is_money(units[0]):
                return units, at + 2
        return (), at

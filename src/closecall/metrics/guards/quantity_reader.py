"""Reads the quantities of a text: numbers with all that stands around them."""

from __future__ import annotations

import re
from functools import lru_cache

from closecall.metrics.guards.amounts import ARTICLES, Amount, exact, may_count, times
from closecall.metrics.guards.dates import era_after
from closecall.metrics.guards.quantities import Quantity, Token, Value
from closecall.metrics.guards.unit_reader import UnitReader
from closecall.metrics.guards.units import CURRENCY_SIGNS, Unit, is_money, units_of
from closecall.metrics.guards.words import STOP, Language, listed, stem

_ABOUT = listed(
    "about around approximately approx roughly nearly almost some circa ca over estimated more "
    "rund etwa ungefähr fast knapp environ presque près aproximadamente casi unos unas cerca"
)
_TO = listed("to bis a until through till and und et y")
_AND_LIKE = listed("and und et y a")
_BETWEEN = listed("between zwischen entre from von de")
_DASHES = "-‐‑–—~−"  # noqa: RUF001 - as people type them
_DECADES = {"twenties": 20, "thirties": 30, "forties": 40, "fifties": 50, "sixties": 60,
            "seventies": 70, "eighties": 80, "nineties": 90}  # fmt: skip
_CENTURY = listed("century centuries jahrhundert jahrhunderts siècle siglo")
_ROMAN = re.compile(r"(?=[IVXL])(?:X{0,3}|XL|L)(?:IX|IV|V?I{0,3})$")
_ROMAN_DIGITS = {"I": 1, "V": 5, "X": 10, "L": 50}
_NUMBERED = listed("no nr vol nos num fig eq ch sec p pp art")
_MONEY_CODES = listed("usd eur gbp chf cad aud jpy cny inr rs")
_MINUS = listed("minus menos moins")
_NOUNS = 2
_HUNDRED, _THOUSAND = 100, 1000
_EARLIEST, _LATEST = 1000, 2100
_LIST_NUMBER = 100
_LONGEST_CODE, _LONGEST_ROMAN = 40, 8
CJK_DIGITS = {"一": 1, "二": 2, "两": 2, "兩": 2, "三": 3, "四": 4, "五": 5, "六": 6, "七": 7,
               "八": 8, "九": 9, "十": 10}  # fmt: skip
_CJK_NUMBER = re.compile("[一二两兩三四五六七八九十]{1,3}")


def quantities(text: str, language: Language | None) -> list[Quantity]:
    """Return the quantities of a text in order; one pass over its tokens.

    Numbers of a list (``1.`` at the start of a line) and of footnotes (``[3]``) are left out.
    """
    return _Reader(text, language).read()


class _Reader(UnitReader):
    def read(self) -> list[Quantity]:
        found: list[Quantity] = []
        at = 0
        while at < len(self.tokens):
            quantity, following = (None, at + 1) if self._is_plain(at) else self._one(at)
            if quantity is not None:
                found.append(quantity)
            elif not self.tokens[at].text.isascii():
                found.extend(self._chinese(self.tokens[at]))
            at = max(following, at + 1)
        return found

    def _is_plain(self, at: int) -> bool:
        """Return whether a token is a word that no quantity begins with, as nearly all are."""
        token = self.tokens[at]
        if token.kind != "w" or token.text.isupper():
            return False
        return not _may_count(token.fold, self.language)

    def _one(self, at: int) -> tuple[Quantity | None, int]:
        token = self.tokens[at]
        if token.found is not None:
            return self._dated(token), at + 1
        if token.kind == "c":
            return self._code(token), at + 1
        amount = self.amount(at)
        if amount is None or self._mere_number(at, amount):
            return self._word(at)
        return self._around(at, amount)

    def _chinese(self, token: Token) -> list[Quantity]:
        """Read Chinese numerals inside a run of signs; soft, since they are parts of words too."""
        found = []
        for match in _CJK_NUMBER.finditer(token.text):
            value = 0
            for sign in match.group():
                digit = CJK_DIGITS[sign]
                value = (value or 1) * digit if digit == 10 else value + digit  # noqa: PLR2004
            start, end = token.start + match.start(), token.start + match.end()
            found.append(Quantity("amount", start, end, (exact(float(value)),), soft=True))
        return found

    def _dated(self, token: Token) -> Quantity | None:
        found = token.found
        if found is None:
            return None
        kind = "date" if found.dates else "clock"
        return Quantity(
            kind, token.start, token.end, dates=found.dates, minutes=found.minutes
        )  # fmt: skip

    def _code(self, token: Token) -> Quantity:
        code = "".join(char for char in token.fold if char.isalnum())[:_LONGEST_CODE]
        return Quantity("code", token.start, token.end, code=code, soft=True)

    def _word(self, at: int) -> tuple[Quantity | None, int]:
        """Read what is a quantity without being a number: the nineties, World War II."""
        token = self.tokens[at]
        decade = _DECADES.get(token.fold)
        if decade is not None:
            values = tuple(Value(y + decade, y + decade + 9, 1.0) for y in (1900, 1800, 2000))
            return self._made(at, at + 1, values, period=True), at + 1
        if token.kind == "w" and token.text.isupper() and token.text.isascii():
            return self._roman(at)
        return None, at + 1

    def _roman(self, at: int) -> tuple[Quantity | None, int]:
        """Read a Roman numeral, where a capitalised word or *century* stands beside it."""
        text = self.tokens[at].text
        if len(text) > _LONGEST_ROMAN or not _ROMAN.match(text):
            return None, at + 1
        value = _roman_value(text)
        follows = at + 1
        if follows < len(self.folds) and self.folds[follows] in {"e", "eme", "th"}:
            follows += 1
        if self.is_any(follows, _CENTURY) or self.is_any(at - 1, _CENTURY):
            end = follows + 1 if self.is_any(follows, _CENTURY) else at + 1
            return self._century(at, end, value), end
        before = self.tokens[at - 1] if at else None
        if before is None or before.kind != "w" or not before.text[0].isupper() or len(text) == 1:
            return None, at + 1
        made = self._made(at, at + 1, (exact(float(value)),), ordinal=True, soft=True)
        # What is numbered stands before it.
        return made._replace(nouns=frozenset({stem(before.fold, self.language)})), at + 1

    def _century(self, at: int, end: int, number: int) -> Quantity:
        years = Value(number * 100.0 - 100, number * 100.0, 1.0)
        era = era_after(self.text, self.tokens[end - 1].end)
        if era and era[0] < 0:
            years = Value(-years.high, -years.low, 1.0)
        # Some say "the 13th" where others say "the 13th century".
        return self._made(at, end, (years, exact(float(number))), period=True)

    def _made(self, at: int, end: int, values: tuple[Value, ...], **more: bool) -> Quantity:
        start, stop = self.tokens[at].start, self.tokens[end - 1].end
        return Quantity("amount", start, stop, values, **more)  # type: ignore[arg-type]

    def _mere_number(self, at: int, amount: Amount) -> bool:
        """Return whether a numeral only numbers an item of a list or a footnote."""
        token, following = self.tokens[at], self.after(at)
        if not amount.whole or token.kind != "n" or amount.values[0].low > _LIST_NUMBER:
            return False
        before = self.tokens[at - 1] if at else None
        if following is None or not following.glued:
            return False
        if following.text == "]" and before is not None and before.text == "[":
            return True
        starts = before is None or "\n" in self.text[before.end : token.start]
        if before is not None and before.text in "。；;.!?:：":  # noqa: RUF001
            starts = starts or not self.is_any(at - 2, _NUMBERED)
        more = at + 2 < len(self.tokens) and self.tokens[at + 2].kind != "n"
        return starts and following.text in ".)、．" and more  # noqa: RUF001

    def _around(self, at: int, amount: Amount) -> tuple[Quantity, int]:
        values, end, loose = amount.values, amount.next, amount.loose
        if amount.whole:
            dated = self._decade_or_era(at, amount)
            if dated is not None:
                return dated
        if amount.ordinal and self.is_any(end, _CENTURY):
            number = int(amount.values[0].low)
            return self._century(at, end + 1, number), end + 1
        ranged = self._range(at, amount)
        if ranged is not None:
            values, end = ranged
        money = self._money_before(at)
        if money or amount.ordinal:
            units = money  # the third day is no length of time
        else:
            units, end = self.unit(end)
        if self._negative(at):
            values = tuple(Value(-v.high, -v.low, v.step) for v in values)
        if money:
            end = self.again(end)
        if units and ranged is None:
            values, units, end = self.compound(values, units, end)
        per, end = self.per(end) if units or amount.whole else ((), end)
        about = any(self.is_any(at - back, _ABOUT) for back in (1, 2)) or self.is_sign(
            at - 1, "~≈"
        )
        if about:
            values = tuple(_rounded(v) for v in values)
        quantity = Quantity(
            "amount",
            self.tokens[at - 1 if money else at].start,
            self.tokens[min(end, len(self.tokens)) - 1].end,
            values,
            tuple(units),
            tuple(per),
            self._nouns(end),
            ordinal=amount.ordinal,
            soft=amount.soft and (not units or self.folds[at] in ARTICLES),
            loose=loose or about,
        )
        return quantity, end

    def _decade_or_era(self, at: int, amount: Amount) -> tuple[Quantity, int] | None:
        value = amount.values[0].low
        following = self.after(at)
        glued = following is not None and following.glued
        if glued and following is not None and following.text in "'’":  # noqa: RUF001
            following = self.after(at + 1)
        tens = value % 10 == 0
        if following is not None and following.glued and following.fold in {"s", "er", "ern"}:
            if tens and _EARLIEST <= value <= _LATEST:
                years: tuple[Value, ...] = (Value(value, value + 9, 1.0),)
            elif tens and 10 <= value < _HUNDRED:  # noqa: PLR2004
                years = tuple(Value(c + value, c + value + 9, 1.0) for c in (1900, 1800, 2000))
            else:
                return None
            end = at + (2 if following is self.after(at) else 3)
            return self._made(at, end, years, period=True), end
        era = era_after(self.text, self.tokens[amount.next - 1].end)
        if era is None:
            return None
        sign, stop = era
        end = amount.next
        while end < len(self.tokens) and self.tokens[end].start < stop:
            end += 1
        return self._made(at, end, (exact(sign * value),)), end

    def _range(self, at: int, amount: Amount) -> tuple[tuple[Value, ...], int] | None:
        """Read the other end: *5-10*, *5 to 10*, *between 5 and 10*, *1939-45*."""
        link = self.after(amount.next - 1)
        if link is None or amount.ordinal:
            return None
        dash = link.text in _DASHES
        word = link.fold in _TO
        if not (dash or word):
            return None
        if link.fold in _AND_LIKE and not self.is_any(at - 1, _BETWEEN):
            return None
        start = amount.next + 1
        other = self.amount(start + 1 if self.is_sign(start, CURRENCY_SIGNS) else start)
        if other is None or other.ordinal or other.soft:
            return None
        low, high = amount.values[0], other.values[0]
        if dash and amount.whole and low.low >= _EARLIEST and high.low < _HUNDRED:
            high = exact(low.low - low.low % _HUNDRED + high.low)
        if amount.scale == 1 and other.scale > 1 and low.low < _THOUSAND:
            low = times((low,), other.scale)[0]  # 5-10 million
        if not low.low < high.high:
            return None
        return (Value(low.low, high.high, min(low.step, high.step)),), other.next

    def _money_before(self, at: int) -> tuple[Unit, ...]:
        if not at:
            return ()
        before = self.tokens[at - 1]
        if before.text in CURRENCY_SIGNS or before.fold in _MONEY_CODES:
            return tuple(filter(is_money, units_of(before.text)))
        return ()

    def _nouns(self, at: int) -> frozenset[str]:
        """Return the stems of the first words that are counted."""
        found: list[str] = []
        for token in self.tokens[at : at + _NOUNS + 1]:
            if token.kind != "w" or token.fold in STOP:
                break
            found.append(stem(token.fold, self.language))
        return frozenset(found[:_NOUNS])

    def _negative(self, at: int) -> bool:
        if not at:
            return False
        before = self.tokens[at - 1]
        if before.fold in _MINUS:
            return True
        if before.text not in "-−–" or not self.tokens[at].glued:  # noqa: RUF001
            return False
        return not before.glued


@lru_cache(maxsize=1 << 14)
def _may_count(fold: str, language: Language | None) -> bool:
    return fold in _DECADES or may_count(fold, language)


def _rounded(value: Value) -> Value:
    """Return a value told to its last digit that is not zero: *about 5,000* is told to 1,000."""
    step = value.step
    number = max(abs(value.low), abs(value.high))
    while step and number and step < number and number % (step * 10) == 0:
        step *= 10
    return value._replace(step=step)


def _roman_value(numeral: str) -> int:
    digits = [_ROMAN_DIGITS[sign] for sign in numeral]
    pairs = zip(digits, [*digits[1:], 0], strict=True)
    return sum(-digit if digit < after else digit for digit, after in pairs)

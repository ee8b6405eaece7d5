"""What a run may spend: tokens, or money."""

from __future__ import annotations

import re
from decimal import Decimal

import msgspec

from closecall.errors import UsageError
from closecall.runs.prices import EXACT

_TOKENS = re.compile(r"[0-9]+(?:_[0-9]+)*")
_MONEY = re.compile(r"([0-9]+(?:_[0-9]+)*(?:\.[0-9]{1,9})?) ?([A-Za-z]{3})")
_MOST_DIGITS = 15


class Budget(msgspec.Struct, frozen=True, kw_only=True):
    """So many tokens read and written together, or so much money; one of the two is None."""

    tokens: int | None = None
    money: Decimal | None = None
    currency: str = ""

    def __str__(self) -> str:
        if self.money is None:
            return f"{self.tokens:,} token{'s' * (self.tokens != 1)}"
        return f"{self.money:,f} {self.currency}"

    @property
    def spelt(self) -> str:
        """As ``read_budget`` takes it."""
        if self.money is None:
            return str(self.tokens)
        return f"{self.money:f} {self.currency}"

    @property
    def limit(self) -> Decimal:
        """The number of whichever it is."""
        return Decimal(self.tokens or 0) if self.money is None else self.money

    def left(self, spent: Decimal) -> Decimal:
        """Return how much is left; never less than 0."""
        return max(EXACT.subtract(self.limit, spent), Decimal(0))


def read_budget(given: str | int | Budget, name: str = "--budget") -> Budget:
    """Return a budget from its spelling.

    >>> read_budget("200_000")
    Budget(tokens=200000, money=None, currency='')
    >>> str(read_budget("1.50 USD"))
    '1.50 USD'

    Raises
    ------
    UsageError
        It is neither a whole number of tokens nor an amount with its currency, or not above 0.
    """
    if isinstance(given, Budget):
        return given
    text = str(given).strip() if not isinstance(given, bool | float) else ""
    money = _MONEY.fullmatch(text)
    fits = len(text) <= 2 * _MOST_DIGITS
    if fits and money:
        found = Budget(money=Decimal(money[1].replace("_", "")), currency=money[2].upper())
    elif fits and _TOKENS.fullmatch(text):
        found = Budget(tokens=int(text.replace("_", "")))
    else:
        raise UsageError(
            f"{name} takes tokens as a whole number, such as 200_000, or money as an amount with "
            f"its currency, such as 1.50USD; got {given!r:.40}"
        )
    if not found.limit > 0:
        raise UsageError(f"{name} must be more than 0, got {given!r:.40}")
    return found

"""What a provider charges, from a project's own table: closecall knows no price by itself.

::

    # closecall.toml                       # pyproject.toml: [tool.closecall.prices."..."]
    [prices."gpt-4o-mini"]
    input = 0.15                           # per million tokens
    output = 0.60
    currency = "USD"

    [prices."openai:text-embedding-3-small"]
    input = 0.02
    currency = "USD"

A table is for a model, or for a model of one provider, which counts first. Amounts are exact
decimals (``decimal.Decimal``): nothing is rounded before it is shown, and then half up to four
places.
"""

from __future__ import annotations

import re
from collections.abc import Mapping, Sequence
from decimal import ROUND_HALF_UP, Context, Decimal, InvalidOperation
from typing import Any

import msgspec

from closecall.errors import ConfigurationError

PER = 6
"""Prices are per 10 to this power tokens."""
PLACES = Decimal("0.0001")
MOST = Decimal(1_000_000)
MOST_DECIMALS = 9
MOST_PRICES = 1000

EXACT = Context(prec=100)
"""Wide enough for any sum of products here: nothing in it is ever rounded."""

_MEMBERS = ("input", "output", "currency")
_CURRENCY = re.compile(r"[A-Z]{3}")


class Price(msgspec.Struct, frozen=True, kw_only=True):
    """What a million tokens of one model cost: read (``input``) and written (``output``)."""

    model: str
    input: Decimal
    output: Decimal | None = None


class Prices(msgspec.Struct, frozen=True, kw_only=True):
    """The prices of several models, all in one currency (``USD``, ``EUR``, ...)."""

    currency: str = ""
    prices: tuple[Price, ...] = ()

    def of(self, provider: str, model: str) -> Price | None:
        """Return what a model costs: ``PROVIDER:MODEL`` if that is there, else ``MODEL``."""
        by = {one.model: one for one in self.prices}
        return by.get(f"{provider}:{model}") or by.get(model)


def cost(price: Price, prompt: int, completion: int) -> Decimal | None:
    """Return what tokens cost, exactly; None where what was written has no price.

    >>> cost(Price(model="m", input=Decimal("0.15"), output=Decimal("0.6")), 1000, 10)
    Decimal('0.000156')
    """
    if completion and price.output is None:
        return None
    read = EXACT.multiply(price.input, Decimal(prompt))
    written = EXACT.multiply(price.output or Decimal(0), Decimal(completion))
    return EXACT.scaleb(EXACT.add(read, written), -PER).normalize(EXACT)


def total(amounts: Sequence[Decimal]) -> Decimal:
    """Return an exact sum."""
    found = Decimal(0)
    for amount in amounts:
        found = EXACT.add(found, amount)
    return found.normalize(EXACT)


def shown(amount: Decimal, currency: str) -> str:
    """Return an amount for a person, half up to four places; what is less is said to be.

    >>> shown(Decimal("1.23456"), "USD")
    '1.2346 USD'
    >>> shown(Decimal("0.00001"), "USD")
    '< 0.0001 USD'
    """
    if 0 < amount < PLACES:
        return f"< {PLACES} {currency}"
    return f"{amount.quantize(PLACES, ROUND_HALF_UP, EXACT):,} {currency}"


def read_prices(given: Any, place: str = "prices") -> Prices:
    """Return prices from a table of tables, as a TOML file or Python has it.

    Parameters
    ----------
    given
        By model or ``PROVIDER:MODEL``, each a table with ``input``, ``output`` and ``currency``;
        a ``currency`` beside them holds for those that name none. ``Prices`` pass as they are.
    place
        Begins every message.

    Raises
    ------
    ConfigurationError
        Something is not allowed; the message names the key and what is.
    """
    if isinstance(given, Prices):
        return given
    if not isinstance(given, Mapping):
        raise ConfigurationError(
            f'{place}: expected tables such as [prices."MODEL"], got {type(given).__name__}'
        )
    tables = {name: table for name, table in given.items() if name != "currency"}
    if len(tables) > MOST_PRICES:
        raise ConfigurationError(f"{place}: at most {MOST_PRICES} prices, got {len(tables)}")
    usual = given.get("currency")
    if usual is not None:
        usual = _currency(usual, f"{place}: currency")
    found, first = [], ("", "")
    for name, table in tables.items():
        at = f'{place}: prices."{name}"'
        if not isinstance(name, str) or not name.strip() or not name.isprintable():
            raise ConfigurationError(f"{place}: a price is for a model, got the name {name!r:.80}")
        price, own = _price(name, table, usual, at)
        if first[1] and own != first[1]:
            raise ConfigurationError(
                f"{at}.currency: all prices must be in one currency, and this is in {own} while "
                f'that of "{first[0]}" is in {first[1]}'
            )
        first = first if first[1] else (name, own)
        found.append(price)
    return Prices(currency=first[1], prices=tuple(found))


def _price(name: str, table: Any, usual: str | None, at: str) -> tuple[Price, str]:
    if not isinstance(table, Mapping):
        raise ConfigurationError(
            f"{at}: expected a table with {', '.join(_MEMBERS)}, got {type(table).__name__}"
        )
    unknown = next((member for member in table if member not in _MEMBERS), None)
    if unknown is not None:
        raise ConfigurationError(
            f"{at}: a price has no {unknown!r:.80}; it has {', '.join(_MEMBERS)}"
        )
    if "input" not in table:
        raise ConfigurationError(f"{at}.input is missing: the price of a million tokens read")
    own = table.get("currency", usual)
    if own is None:
        raise ConfigurationError(f'{at}.currency is missing: three letters, such as "USD"')
    price = Price(
        model=name,
        input=_amount(table["input"], f"{at}.input"),
        output=None if "output" not in table else _amount(table["output"], f"{at}.output"),
    )
    return price, _currency(own, f"{at}.currency")


def _currency(value: Any, at: str) -> str:
    if not isinstance(value, str) or not _CURRENCY.fullmatch(value):
        raise ConfigurationError(
            f'{at} must be three capital letters, such as "USD", got {value!r:.80}'
        )
    return value


def _amount(value: Any, at: str) -> Decimal:
    """Return an amount as it is spelt: a float stands for the shortest decimal that is it."""
    fits = isinstance(value, int | float | Decimal) and not isinstance(value, bool)
    try:
        number = Decimal(str(value)) if fits or isinstance(value, str) else Decimal("NaN")
    except InvalidOperation:
        number = Decimal("NaN")
    if not number.is_finite() or not 0 <= number <= MOST:
        raise ConfigurationError(
            f"{at} must be a number from 0 to {MOST:,}, the price of a million tokens; got "
            f"{value if isinstance(value, Decimal) else repr(value)!s:.80}"
        )
    exponent = number.as_tuple().exponent
    if not isinstance(exponent, int) or exponent < -MOST_DECIMALS:
        raise ConfigurationError(
            f"{at} may have {MOST_DECIMALS} decimals at most, got {value!s:.80}"
        )
    return number

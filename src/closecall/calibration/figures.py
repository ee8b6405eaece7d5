"""Counts, rates and intervals in words: the count first, and no more digits than it carries."""

from __future__ import annotations

from decimal import ROUND_CEILING, ROUND_HALF_EVEN, Decimal
from fractions import Fraction

from closecall.calibration.binomial import complement
from closecall.calibration.records import Interval, Rate, typed

MANY = 1000
"""From so many rows on a percentage gets a third digit."""


def percent(share: float, n: int) -> str:
    """Return a share of ``n`` rows with the digits that so many rows support, and a % sign.

    Never 0% of a share above 0, never 100% of one below 1.

    >>> percent(7 / 118, 118), percent(41 / 294, 294), percent(0.1234, 5000), percent(0.0, 30)
    ('5.9%', '14%', '12.3%', '0%')
    """
    return _percent(share, 3 if n >= MANY else 2, ROUND_HALF_EVEN)


def at_most(share: float) -> str:
    """Return a share to two digits for "at most ...": rounded up, never down.

    >>> at_most(0.0481), at_most(0.05), at_most(0.0)
    ('4.9%', '5%', '0%')
    """
    return _percent(share, 2, ROUND_CEILING)


def limit(share: float) -> str:
    """Return a share that somebody chose, with all its digits."""
    return f"{100 * share:.10g}%"


def sure(delta: float) -> str:
    """Return the confidence 1 - ``delta``; one of many digits rounded down to what ``delta`` has.

    >>> sure(0.05), sure(0.025), sure(0.05 / 3)
    ('95%', '97.5%', '98.3%')
    """
    whole = limit(complement(delta))
    if len(whole) <= len("99.99%"):
        return whole
    return f"{100 - Decimal(at_most(delta).removesuffix('%'))}%"


_SLACK = 1 + Fraction(1, 10**12)


def about(count: int, n: int) -> str:
    """Return ``about 8 in 10`` for ``count`` of ``n``, in words that need no reckoning; n >= 1.

    >>> about(76, 91), about(2, 91), about(0, 91), about(91, 91)
    ('about 8 in 10', 'about 1 in 45', 'none', 'all')
    """
    if count in {0, n}:
        return "all" if count else "none"
    if 10 * count < n:
        return f"about {one_in(count / n)}"
    return f"about {min(max(round(Fraction(10 * count, n)), 1), 9)} in 10"


def span(interval: Interval, n: int) -> str:
    """Return ``2.4-12%``, the two ends of an interval."""
    low, high = percent(interval.low, n), percent(interval.high, n)
    return f"{low.removesuffix('%')}-{high}" if high[0] != ">" else f"{low} to {high}"


def count_of(rate: Rate) -> str:
    """Return ``7 of 118 = 5.9% (95% interval 2.4-12%)``."""
    return f"{rate.count:,} of {rate.n:,} = {share_of(rate)}"


def share_of(rate: Rate) -> str:
    """Return ``5.9% (95% interval 2.4-12%)``: what follows the counts."""
    return (
        f"{percent(rate.value, rate.n)} "
        f"({100 * rate.interval.level:g}% interval {span(rate.interval, rate.n)})"
    )


def one_in(share: float | None) -> str:
    """Return ``1 in 58`` for a share, rounded so that it never sounds rarer than it is.

    >>> one_in(1 / 58.9), one_in(1 / 3), one_in(8 / 23), one_in(0.0), one_in(None)
    ('1 in 58', '1 in 3', '35%', '0', 'none')
    """
    if share is None:
        return "none"
    if share <= 0:
        return "0"
    # The last float digit is not the answers' doing: 1 / 49 must come back as 1 in 49.
    odds = _SLACK / typed(share) // 1
    if odds < 3:  # noqa: PLR2004 - 35% would become 1 in 2, much more than it is
        return at_most(share)
    return f"1 in {odds:,}"


def plain(value: float) -> str:
    """Return a score or a cutoff as it is compared: all its digits, no more."""
    return f"{value:.10g}"


def _percent(share: float, digits: int, rounding: str) -> str:
    # In decimals and without the last float digits: 0.1 + 0.2 is 30% here, not a hair more.
    value = 100 * Decimal(f"{share:.12g}")
    if not value:
        return "0%"
    places = max(0, digits - 1 - value.adjusted())
    rounded = _to(value, places, rounding)
    if places and rounded.adjusted() > value.adjusted():  # 9.96 is 10, not 10.0
        rounded = _to(value, places - 1, rounding)
    if rounded >= 100 > value:  # noqa: PLR2004 - of a hundred; not all, so not 100%
        return ">99%"
    text = f"{rounded:f}"
    return (
        f"{text.rstrip('0').rstrip('.') if rounding == ROUND_CEILING and '.' in text else text}%"
    )


def _to(value: Decimal, places: int, rounding: str) -> Decimal:
    return value.quantize(Decimal(1).scaleb(-places), rounding=rounding)

"""Checks on a cutoff a person typed, and how a value stands to it."""

from __future__ import annotations

import math

from closecall.errors import UsageError

PERCENT = 100.0
UNIT = 1.0


def checked_cutoff(metric: str, cutoff: object, low: float, high: float) -> float:
    """Return the cutoff as a float, or refuse one that no value could meet or miss."""
    if isinstance(cutoff, bool) or not isinstance(cutoff, (int, float)) or not _finite(cutoff):
        raise UsageError(f"{metric}: the cutoff must be a finite number, got {cutoff!r}")
    if high == PERCENT and 0 < cutoff < 1:
        raise UsageError(
            f"{metric}: this metric is on 0 to 100, so a cutoff of {cutoff:g} would accept nearly "
            f"everything; did you mean {cutoff * PERCENT:g}?"
        )
    if low <= cutoff <= high:
        return float(cutoff)
    hint = f"; did you mean {cutoff / PERCENT:g}?" if UNIT == high < cutoff <= PERCENT else ""
    raise UsageError(
        f"{metric}: the cutoff must be within {low:g} to {high:g}, got {cutoff:g}{hint}"
    )


def _finite(number: float) -> bool:
    try:
        return math.isfinite(number)
    except OverflowError:  # an integer no float can hold
        return False


def shown(value: float, cutoff: float | None, decimals: int) -> str:
    """Return the value with ``decimals``, or more where fewer would hide its side of the cutoff.

    >>> shown(69.96, 70, 1), shown(70.04, 70, 1)
    ('69.96', '70.0')
    """
    for digits in range(decimals, decimals + 7):
        text = f"{value:.{digits}f}"
        if cutoff is None or (float(text) >= cutoff) == (value >= cutoff):
            return text
    return repr(value)


def relation(value: float, cutoff: float) -> str:
    """Return ``value >= cutoff`` or ``value < cutoff`` with enough digits to show the order.

    >>> relation(79.66, 80)
    '79.66 < 80.00'
    >>> relation(79.9996, 80)
    '79.9996 < 80.0000'
    """
    sign = ">=" if value >= cutoff else "<"
    for decimals in range(2, 7):
        left, right = f"{value:.{decimals}f}", f"{cutoff:.{decimals}f}"
        apart = float(left) != float(right) and (float(left) > float(right)) == (value > cutoff)
        if apart or (value == cutoff and float(left) == value):
            return f"{left} {sign} {right}"
    return f"{value!r} {sign} {cutoff!r}"

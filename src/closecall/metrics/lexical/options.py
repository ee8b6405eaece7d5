"""Options of a metric as people type them, checked, and the id they make."""

from __future__ import annotations

import math
from collections.abc import Iterable, Mapping

from closecall.errors import UsageError
from closecall.records import JSON


def one_of(metric: str, name: str, value: object, allowed: Iterable[str]) -> str:
    """Return the value if it is among those allowed, else raise ``UsageError``."""
    allowed = tuple(allowed)
    if not isinstance(value, str) or value not in allowed:
        raise UsageError(
            f"{metric}: {name} must be one of {', '.join(allowed)}; got {_typed(value)}"
        )
    return value


def switch(metric: str, name: str, value: object) -> bool:
    """Return the value if it is true or false, else raise ``UsageError``."""
    if not isinstance(value, bool):
        raise UsageError(f"{metric}: {name} must be true or false, got {value!r}")
    return value


def whole_number(metric: str, name: str, value: object, low: int, high: int) -> int:
    """Return a whole number from ``low`` to ``high``, also from its digits, else refuse it."""
    if isinstance(value, str) and value.isascii() and value.isdigit():
        value = int(value[:9])
    if isinstance(value, bool) or not isinstance(value, int) or not low <= value <= high:
        raise UsageError(
            f"{metric}: {name} must be a whole number from {low} to {high}, got {_typed(value)}"
        )
    return value


def positive(metric: str, name: str, value: object, high: float) -> float:
    """Return a number above 0 and at most ``high``, also from its spelling, else refuse it."""
    number = math.nan
    if isinstance(value, str | int | float) and not isinstance(value, bool):
        try:
            number = float(value)
        except (ValueError, OverflowError):
            number = math.nan
    if not 0 < number <= high:
        raise UsageError(
            f"{metric}: {name} must be a number above 0, at most {high:g}; got {_typed(value)}"
        )
    return number


def metric_id(name: str, options: Mapping[str, JSON], defaults: Mapping[str, JSON]) -> str:
    """Return the name with the options that are not the defaults.

    >>> metric_id("gleu", {"references": "pooled", "tokenizer": "words"}, {"tokenizer": "words"})
    'gleu:references=pooled'
    """
    changed = {key: value for key, value in options.items() if value != defaults.get(key)}
    return name + "".join(f":{key}={_spelled(value)}" for key, value in changed.items())


def _spelled(value: JSON) -> str:
    if isinstance(value, float):
        return str(int(value)) if value.is_integer() else repr(value)
    return str(value).lower() if isinstance(value, bool) else str(value)


def _typed(value: object) -> str:
    return value if isinstance(value, str) and value.isprintable() and value else repr(value)

"""Conditions on metadata: ``{"lang": "de", "year": {"gte": 2020}, "kind": ["faq", "news"]}``.

A row passes when every field named meets its condition:

- a value: equal (1 equals 1.0; true equals only true);
- a list: equal to one of its values;
- ``{"eq", "ne", "gt", "gte", "lt", "lte", "in", "not_in", "exists"}``: each of those given. Order
  compares numbers with numbers and texts with texts (by code point); other pairs do not pass.

A field that is absent, or null, passes only ``{"exists": false}``. A field that holds a list
passes where one of its values does, and ``ne`` and ``not_in`` where none of them is equal.
"""

from __future__ import annotations

from collections.abc import Callable, Mapping
from typing import Any, TypeAlias

from closecall.errors import UsageError

Where: TypeAlias = Mapping[str, Any]
Test: TypeAlias = Callable[[Mapping[str, Any]], bool]

_Condition: TypeAlias = Callable[[Any], bool]
_MOST = 10_000
_MOST_BITS = 1024


def compiled(where: Where) -> Test:
    """Return the function that tells whether metadata passes.

    Raises
    ------
    UsageError
        A condition that is none of the above; the message names the field.
    """
    if not isinstance(where, Mapping):
        raise UsageError(f'where: expected an object such as {{"lang": "de"}}, got {where!r:.60}')
    conditions = [
        (_field(field), condition)
        for field, given in where.items()
        for condition in _conditions(_field(field), given)
    ]
    return lambda metadata: all(condition(metadata.get(field)) for field, condition in conditions)


def _field(field: object) -> str:
    if not isinstance(field, str):
        raise UsageError(f"where: a field's name is a text, got {field!r:.60}")
    return field


def _conditions(field: str, given: Any) -> list[_Condition]:
    if isinstance(given, Mapping):
        if not given:
            raise UsageError(f"where: {field}: no condition; use one of {', '.join(_OPERATORS)}")
        return [_operated(field, name, value) for name, value in given.items()]
    return [_operated(field, "in" if _is_list(given) else "eq", given)]


def _operated(field: str, name: Any, value: Any) -> _Condition:
    if name not in _OPERATORS:
        raise UsageError(
            f"where: {field}: no condition {name!r:.60}; there are {', '.join(_OPERATORS)}"
        )
    return _OPERATORS[name](f"where: {field}: {name}", value)


def _equal(place: str, value: Any) -> _Condition:
    _scalar(place, value)
    return _any_of(lambda found: _same(found, value))


def _unequal(place: str, value: Any) -> _Condition:
    equal = _equal(place, value)
    return lambda found: found is not None and not equal(found)


def _among(place: str, values: Any) -> _Condition:
    if not _is_list(values) or len(values) > _MOST:
        raise UsageError(f"{place}: expected a list of at most {_MOST:,} values")
    for value in values:
        _scalar(place, value)
    numbers = {value for value in values if _is_number(value)}
    texts = {value for value in values if isinstance(value, str)}
    switches = {value for value in values if isinstance(value, bool)}

    def test(found: Any) -> bool:
        if isinstance(found, bool):
            return found in switches
        if _is_number(found):
            return found in numbers
        return isinstance(found, str) and found in texts

    return _any_of(test)


def _not_among(place: str, values: Any) -> _Condition:
    among = _among(place, values)
    return lambda found: found is not None and not among(found)


def _exists(place: str, value: Any) -> _Condition:
    if not isinstance(value, bool):
        raise UsageError(f"{place} must be true or false, got {value!r:.60}")
    return lambda found: (found is not None) is value


def _ordered(compare: Callable[[Any, Any], bool]) -> Callable[[str, Any], _Condition]:
    def made(place: str, value: Any) -> _Condition:
        if not isinstance(value, str) and not _is_given_number(value):
            raise UsageError(f"{place}: expected a number or a text, got {_shown(value)}")
        kind = _is_number if _is_number(value) else _is_text
        return _any_of(lambda found: kind(found) and compare(found, value))

    return made


def _any_of(test: _Condition) -> _Condition:
    return lambda found: any(map(test, found)) if isinstance(found, list) else test(found)


def _same(found: Any, value: Any) -> bool:
    return isinstance(found, bool) is isinstance(value, bool) and found == value


def _scalar(place: str, value: Any) -> None:
    if not isinstance(value, str | bool) and not _is_given_number(value):
        raise UsageError(
            f"{place}: expected a text, a finite number, true or false, got {_shown(value)}"
        )


def _is_number(value: Any) -> bool:
    # NaN and the infinities are no JSON; an int may be too large for a float.
    return (
        isinstance(value, int | float)
        and not isinstance(value, bool)
        and (isinstance(value, int) or abs(value) < float("inf"))
    )


def _is_given_number(value: Any) -> bool:
    # Python spells no number of more than 4,300 digits, and a condition is kept as it is spelt.
    return _is_number(value) and not (isinstance(value, int) and value.bit_length() > _MOST_BITS)


def _shown(value: Any) -> str:
    return "too large a number" if isinstance(value, int) else f"{value!r:.60}"


def _is_text(value: Any) -> bool:
    return isinstance(value, str)


def _is_list(value: Any) -> bool:
    return isinstance(value, list | tuple)


_OPERATORS: dict[str, Callable[[str, Any], _Condition]] = {
    "eq": _equal,
    "ne": _unequal,
    "gt": _ordered(lambda found, value: bool(found > value)),
    "gte": _ordered(lambda found, value: bool(found >= value)),
    "lt": _ordered(lambda found, value: bool(found < value)),
    "lte": _ordered(lambda found, value: bool(found <= value)),
    "in": _among,
    "not_in": _not_among,
    "exists": _exists,
}

"""``--where``: conditions on metadata as they are typed."""

from __future__ import annotations

import json
import re
from collections.abc import Sequence
from typing import Any

import click

EXAMPLE = "lang=de, year>=2020, lang!=fr, or a JSON object"
_OPERATORS = {"=": "in", "!=": "not_in", ">=": "gte", "<=": "lte", ">": "gt", "<": "lt"}
_LISTS = ("in", "not_in")
_TYPED = re.compile(r"\s*([^=!<>]+?)\s*(!=|>=|<=|=|>|<)\s*(.*?)\s*", re.DOTALL)
_NUMBER = re.compile(r"-?(?:0|[1-9][0-9]{0,14})(?:\.[0-9]{1,15})?")


def parse_where(given: Sequence[str]) -> dict[str, Any] | None:
    """Return the conditions of ``closecall.index.filters``; None where there are none.

    A field given twice with ``=`` passes with either value, and with ``!=`` with neither. A
    number that is typed stands for the number and for the text that spells it, but in an order
    for the number alone.

    Raises
    ------
    click.UsageError
        One cannot be read, or two contradict each other.
    """
    found: dict[str, dict[str, Any]] = {}
    for text in given:
        for field, operator, value in _conditions(text):
            conditions = found.setdefault(field, {})
            if operator in _LISTS:
                conditions.setdefault(operator, []).extend(value)
            elif operator in conditions:
                raise click.UsageError(f"--where {text}: {field} has that condition already")
            else:
                conditions[operator] = value
    return dict(found) or None


def _conditions(text: str) -> list[tuple[str, str, Any]]:
    if text.lstrip().startswith("{"):
        return _object(text)
    match = _TYPED.fullmatch(text)
    if match is None or not match[3]:
        raise click.UsageError(f"--where takes {EXAMPLE}; got {text!r}")
    field, operator, value = match[1], _OPERATORS[match[2]], match[3]
    if value[0] in "=<>!":  # == or =>: as a value it would pass nothing, without a word
        raise click.UsageError(
            f"--where {text!r}: {match[2]}{value[0]} is no condition; use =, !=, >=, <=, > or "
            "<, or for a value that begins so, a JSON object"
        )
    if operator in _LISTS:
        return [(field, operator, _spellings(value))]
    return [(field, operator, _value(value))]


def _object(text: str) -> list[tuple[str, str, Any]]:
    try:
        given = json.loads(text)
    except (ValueError, RecursionError) as error:
        raise click.UsageError(f"--where {text!r}: not a JSON object: {error}") from None
    if not isinstance(given, dict):
        raise click.UsageError(f"--where takes {EXAMPLE}; got {text!r}")
    found: list[tuple[str, str, Any]] = []
    for field, condition in given.items():
        if isinstance(condition, dict):
            if not condition:
                raise click.UsageError(f"--where {text}: {field} has no condition")
            for name in _LISTS:
                if not isinstance(condition.get(name, []), list):
                    raise click.UsageError(f"--where {text}: {field}: {name} takes a list")
            found += [(field, name, value) for name, value in condition.items()]
        else:
            found.append((field, "in", condition if isinstance(condition, list) else [condition]))
    return found


def _spellings(text: str) -> list[Any]:
    """Return what a typed value may stand for in a file."""
    value = _value(text)
    words = {"true": True, "false": False}
    if text in words:
        return [words[text], text]
    return [value] if value is text else [value, text]


def _value(text: str) -> Any:
    if not _NUMBER.fullmatch(text):
        return text
    return float(text) if "." in text else int(text)

"""TOML from anybody: what the standard library's reader cannot stand is refused before.

``tomllib`` takes time that grows with the square of a key's parts (a line of 80 KB can take a
minute), and raises whatever Python does with a number of too many digits.
"""

from __future__ import annotations

import re
import tomllib
from collections.abc import Callable
from decimal import DecimalException
from typing import Any

MAX_PARTS = 64
"""Parts of a key, as in ``a.b.c``; that many words with dots between them are refused anywhere."""

_WHOLE = range(-(1 << 63), 1 << 63)
"""Whole numbers as TOML has them."""

_PART = r"""(?:[A-Za-z0-9_-]++|"(?:[^"\\\n]|\\.)*+"|'[^'\n]*+')[ \t]*+"""
_MANY_PARTS = re.compile(rf"(?<![A-Za-z0-9_-])(?:{_PART}\.[ \t]*+){{{MAX_PARTS}}}")


class RefusedTomlError(tomllib.TOMLDecodeError):
    """TOML that is not read, be it right or wrong."""

    def __init__(self, message: str) -> None:
        # Past the constructor above, which since 3.14 wants a place in the text as well.
        ValueError.__init__(self, message)


def read_toml(text: str, *, parse_float: Callable[[str], Any] = float) -> dict[str, Any]:
    """Return what a TOML text holds.

    Raises
    ------
    tomllib.TOMLDecodeError
        It is none, is nested too deep, or holds a number or a key that nobody needs.
    """
    if found := _MANY_PARTS.search(text):
        line = text.count("\n", 0, found.start()) + 1
        raise RefusedTomlError(f"a key has more than {MAX_PARTS} parts (line {line})")
    try:
        held = tomllib.loads(text, parse_float=parse_float)
    except tomllib.TOMLDecodeError:
        raise
    except RecursionError as error:
        raise RefusedTomlError("it is nested too deep") from error
    except (ValueError, DecimalException) as error:
        raise RefusedTomlError("it holds a number too long to read") from error
    _require_whole_numbers(held)
    return held


def _require_whole_numbers(held: dict[str, Any]) -> None:
    todo: list[Any] = [held]
    while todo:
        one = todo.pop()
        if isinstance(one, dict):
            todo.extend(one.values())
        elif isinstance(one, list):
            todo.extend(one)
        elif isinstance(one, int) and one not in _WHOLE:
            raise RefusedTomlError("it holds a whole number of more than 64 bits")

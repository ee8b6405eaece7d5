"""Options that stand after an embedder's name, like those of an address: ``NAME?a=1&b=2``."""

from __future__ import annotations

import os
from collections.abc import Collection
from urllib.parse import parse_qsl

from closecall.errors import UsageError

_MOST = 20
_MOST_DIGITS = 18


def split_spec(
    spec: str, options: Collection[str], *, example: str, kind: str = ""
) -> tuple[str, dict[str, str]]:
    """Return the name and the options written after it, each still a text.

    Options follow a question mark and are parted by ``&``. A folder whose own name has a question
    mark is taken by its whole name.

    Parameters
    ----------
    spec
        What stands after the embedder's kind.
    options
        The names that are allowed.
    example
        A whole spec, for messages.
    kind
        What stands before the colon, for messages; empty for a model's own name.

    Raises
    ------
    UsageError
        If an option is unknown, given twice or not written as ``name=value``.
    """
    name, mark, query = spec.partition("?")
    if mark and os.path.isdir(spec):  # noqa: PTH112 - False for any text, however long
        name, query = spec, ""
    shown = f"{kind}:{spec}" if kind else spec
    found: dict[str, str] = {}
    for option, value in _pairs(query, shown, example):
        if option not in options:
            raise UsageError(
                f"{shown}: no option {option!r}; there are {', '.join(options)}, as in {example}"
            )
        if option in found:
            raise UsageError(f"{shown}: {option} is given twice")
        found[option] = value
    return name.strip(), found


def whole_number(option: str, text: str) -> int:
    """Return the number a text spells.

    Raises
    ------
    UsageError
        If it is not a whole number from 1.
    """
    digits = text.isascii() and text.isdigit() and len(text) <= _MOST_DIGITS
    if not digits or int(text) < 1:
        raise UsageError(f"{option} must be a whole number from 1, got {text!r:.40}")
    return int(text)


def _pairs(query: str, shown: str, example: str) -> list[tuple[str, str]]:
    if not query:
        return []
    try:
        return parse_qsl(query, keep_blank_values=True, strict_parsing=True, max_num_fields=_MOST)
    except ValueError as error:
        raise UsageError(
            f"{shown}: after the question mark stand options as name=value, parted by &, as in "
            f"{example}"
        ) from error

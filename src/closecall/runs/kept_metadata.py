"""What a run folder keeps of a case's metadata: what is short, so that a report can slice by it.

A value is kept whole or not at all: half a text would be another value. What is left out is named.
"""

from __future__ import annotations

import math
from collections.abc import Iterator, Mapping
from typing import Any, NamedTuple

from closecall.records import JSON
from closecall.runs.wire import MAX_INTEGER

MOST_VALUE = 200
"""Characters of one value, and of a name."""

MOST_CASE = 2_000
"""Characters of the metadata of one case, names included."""

MOST_DEPTH = 3
"""Levels of objects in objects."""

NAMED = 20
"""Fields left out that are named; the others are counted."""


_NULL = len("None")


class KeptMetadata(NamedTuple):
    """The metadata that is kept, and the dotted paths of what is not."""

    kept: dict[str, JSON]
    left_out: tuple[str, ...]


def keep_metadata(metadata: Mapping[str, JSON]) -> KeptMetadata:
    """Return texts, numbers, switches and short lists of them, in the order given.

    What is kept of what was kept is the same.

    >>> keep_metadata({"slice": {"model": "a1"}, "talk": "x" * 300})
    KeptMetadata(kept={'slice': {'model': 'a1'}}, left_out=('talk',))
    """
    if not metadata:
        return KeptMetadata({}, ())
    left_out: list[str] = []
    kept, _ = _short(metadata, "", MOST_CASE, 1, left_out)
    return KeptMetadata(kept, tuple(left_out))


def scalars(metadata: Mapping[str, JSON]) -> Iterator[tuple[str, str]]:
    """Yield the dotted path and the spelling of every kept value that is no list, no null."""
    return _scalars(keep_metadata(metadata).kept, "")


def _scalars(kept: dict[str, JSON], within: str) -> Iterator[tuple[str, str]]:
    for name, value in kept.items():
        path = within + name
        if type(value) is str:
            if value and not value.isspace():
                yield path, value
        elif isinstance(value, dict):
            yield from _scalars(value, path and f"{path}.")
        elif isinstance(value, bool):
            yield path, "true" if value else "false"
        elif isinstance(value, int | float) or (isinstance(value, str) and value.strip()):
            yield path, str(value)


def left_out_json(left_out: tuple[str, ...]) -> dict[str, Any]:
    """Return what a line says of the fields that are not kept."""
    return {"fields": len(left_out), "first": [path[:MOST_VALUE] for path in left_out[:NAMED]]}


def _short(
    metadata: Mapping[str, JSON], path: str, room: int, depth: int, left_out: list[str]
) -> tuple[dict[str, JSON], int]:
    kept: dict[str, JSON] = {}
    for name, value in metadata.items():
        if (type(value) is str or value is None) and type(name) is str:  # as most are
            length, own = _NULL if value is None else len(value), len(name)
            if length <= MOST_VALUE and own <= MOST_VALUE and length + own <= room:
                kept[name] = value
                room -= length + own
                continue
        place = f"{path}.{name}" if path else str(name)
        if not isinstance(name, str) or len(name) > MOST_VALUE:
            left_out.append(place)
        elif value is not None and _is_object(value) and value and depth < MOST_DEPTH:
            inner, rest = _short(value, place, room - len(name), depth + 1, left_out)
            if inner:
                kept[name], room = inner, rest
        else:
            size = _size(value)
            cost = MOST_VALUE + 1 if size is None else size
            if cost > MOST_VALUE or cost + len(name) > room:
                left_out.append(place)
            else:
                kept[name] = list(value) if isinstance(value, tuple) else value
                room -= cost + len(name)
    return kept, room


def _is_object(value: object) -> bool:
    return isinstance(value, dict | Mapping)  # the plain type first: it is told at once


def _size(value: JSON) -> int | None:
    """Return about how many characters a value takes; None of what no line can hold."""
    if isinstance(value, str):
        return len(value)
    if value is None or isinstance(value, bool | int | float):
        return len(str(value)) if _is_plain(value) else None
    if isinstance(value, Mapping):
        return None if value else 2
    if isinstance(value, list | tuple) and len(value) <= MOST_VALUE:
        sizes = [
            _size(one) if not isinstance(one, list | tuple | Mapping) else None for one in value
        ]
        return None if None in sizes else sum(filter(None, sizes)) + 2
    return None


def _is_plain(number: float | None) -> bool:
    """Whether a number is one that a line may hold."""
    if isinstance(number, int):
        return abs(number) <= MAX_INTEGER
    return number is None or math.isfinite(number)

"""Where two requests part: the first field that differs, in words."""

from __future__ import annotations

from typing import Any

from closecall.cassettes.spelling import spelt
from closecall.records import JSON

AROUND = 24
"""Characters shown before and after the first that differs."""

_SHOWN = 80


def first_difference(recorded: JSON, asked: JSON, path: str = "") -> str:
    """Return ``path: ... recorded, ... asked`` for the first field that differs.

    Members of objects are compared by name, items of lists in order. Empty if nothing differs.

    Examples
    --------
    >>> first_difference({"role": "text"}, {"role": "query"})
    'role: character 1: "text" recorded, "query" asked'
    >>> first_difference({"n": [1, 2]}, {"n": [1]})
    'n[1]: 2 recorded, nothing asked'
    """
    if isinstance(recorded, dict) and isinstance(asked, dict):
        return _in_object(recorded, asked, path)
    if isinstance(recorded, list) and isinstance(asked, list):
        return _in_list(recorded, asked, path)
    if recorded == asked and isinstance(recorded, bool) is isinstance(asked, bool):
        return ""
    where = f"{path}: " if path else ""
    if isinstance(recorded, str) and isinstance(asked, str):
        return f"{where}{_in_text(recorded, asked)}"
    return f"{where}{_shown(recorded)} recorded, {_shown(asked)} asked"


_ABSENT: Any = object()


def _in_object(recorded: dict[str, JSON], asked: dict[str, JSON], path: str) -> str:
    for name in sorted(recorded.keys() | asked.keys()):
        inner = f"{path}.{name}" if path else name
        one, other = recorded.get(name, _ABSENT), asked.get(name, _ABSENT)
        if one is _ABSENT or other is _ABSENT:
            return f"{inner}: {_shown(one)} recorded, {_shown(other)} asked"
        if found := first_difference(one, other, inner):
            return found
    return ""


def _in_list(recorded: list[JSON], asked: list[JSON], path: str) -> str:
    for at in range(max(len(recorded), len(asked))):
        one = recorded[at] if at < len(recorded) else _ABSENT
        other = asked[at] if at < len(asked) else _ABSENT
        if one is _ABSENT or other is _ABSENT:
            return f"{path}[{at}]: {_shown(one)} recorded, {_shown(other)} asked"
        if found := first_difference(one, other, f"{path}[{at}]"):
            return found
    return ""


def _in_text(recorded: str, asked: str) -> str:
    at = next(
        (n for n, (one, other) in enumerate(zip(recorded, asked, strict=False)) if one != other),
        min(len(recorded), len(asked)),
    )
    one, other = _around(recorded, at), _around(asked, at)
    return f"character {at + 1}: {one} recorded, {other} asked"


def _around(text: str, at: int) -> str:
    start, end = max(0, at - AROUND), at + AROUND
    cut = f"{'…' if start else ''}{text[start:end]}{'…' if end < len(text) else ''}"
    return spelt(cut)


def _shown(value: JSON) -> str:
    if value is _ABSENT:
        return "nothing"
    text = spelt(value)
    return text if len(text) <= _SHOWN else f"{text[:_SHOWN]}…"

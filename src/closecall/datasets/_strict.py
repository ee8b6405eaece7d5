"""JSON as the standard has it: no key twice, no NaN, no half characters, no bottomless nesting.

A fast path that accepts only what it is sure of, and a slow one that says what is wrong.
"""

from __future__ import annotations

import json
import math
from typing import Any

import msgspec

from closecall.records import is_whole_text

Flaws = tuple[tuple[str, str], ...]
"""(field, message) pairs."""

MAX_DEPTH = 64

TOO_DEEP = f"nested deeper than {MAX_DEPTH} levels"

_decode = msgspec.json.Decoder().decode


def decode_row(line: bytes, *, check: bool = True) -> tuple[dict[str, Any] | None, Flaws]:
    """Return the object on a line, or what is wrong with it.

    Every key is followed by a colon, which has a quote or white space before it. So the colons,
    or failing that those after a quote or white space, are at least as many as the keys written;
    when just that many keys came out, none was lost to a repetition. ``check=False`` leaves
    that out.
    """
    try:
        row = _decode(line)
    except (msgspec.DecodeError, RecursionError, UnicodeDecodeError, ValueError):
        return careful_row(line)
    if row.__class__ is not dict:
        return None, not_an_object(row)
    if check:
        keys = _keys(row, 1)
        if keys < 0:
            return None, (("", TOO_DEEP),)
        if line.count(b":") != keys and keys != (
            line.count(b'":') + line.count(b" :") + line.count(b"\t:") + line.count(b"\r:")
        ):
            return careful_row(line)
    return row, ()


def careful_row(line: bytes) -> tuple[dict[str, Any] | None, Flaws]:
    """Like ``decode_row`` for a line that needs a second look."""
    try:
        text = line.decode("utf-8")
    except UnicodeDecodeError as error:
        return None, (("", not_utf8(error)),)
    try:
        row = parse(text.strip(" \t\r\n"))
    except json.JSONDecodeError as error:
        return None, (
            ("", f"not valid JSON: {syntax(error)} at column {error.colno}{_hint(text)}"),
        )
    except (RecursionError, ValueError) as error:
        return None, (("", too_much(error)),)
    if not isinstance(row, dict):
        return None, not_an_object(row)
    if found := flaws_of(row):
        # Where a parser gives up no field is known, and how deep that is differs among Pythons.
        return None, (("", TOO_DEEP),) if found[0][1] == TOO_DEEP else found
    return row, ()


class Flawed(dict[str, Any]):
    """An object with keys that stand in it twice."""

    repeated: tuple[str, ...] = ()


def parse(text: str) -> Any:
    """Return the value of a JSON text, for ``flaws_of`` to look through.

    NaN and infinities come as such floats, objects with repeated keys as ``Flawed``.

    Raises
    ------
    json.JSONDecodeError, ValueError, RecursionError
        The text is not JSON, or too much of it.
    """
    return json.loads(text, object_pairs_hook=_object)


def _object(items: list[tuple[str, Any]]) -> dict[str, Any]:
    found = dict(items)
    if len(found) == len(items):
        return found
    seen: set[str] = set()
    repeated = dict.fromkeys(key for key, _ in items if key in seen or seen.add(key))  # type: ignore[func-returns-value]
    flawed = Flawed(found)
    flawed.repeated = tuple(repeated)
    return flawed


def flaws_of(value: Any, *, python: bool = False) -> Flaws:
    """Return what no case may hold: repeated keys, NaN, half characters, too deep a nesting.

    With ``python`` also values JSON cannot write, for rows that come from Python.
    """
    # An explicit stack: the value may be nested as deeply as memory allows.
    stack: list[tuple[Any, str, int]] = [(value, "", 0)]
    while stack:
        item, field, level = stack.pop()
        if level > MAX_DEPTH:
            return ((field, TOO_DEEP),)
        if isinstance(item, dict):
            if flaws := _key_flaws(item, field):
                return flaws
            stack.extend((inner, field or key, level + 1) for key, inner in item.items())
        elif isinstance(item, (list, tuple)):
            stack.extend((inner, field, level + 1) for inner in item)
        elif message := _scalar_flaw(item, python=python):
            return ((field, message),)
    return ()


def _key_flaws(item: dict[Any, Any], field: str) -> Flaws:
    if isinstance(item, Flawed):
        return tuple(
            (key, "the key stands twice in one object; keep one") for key in item.repeated
        )
    for key in item:
        if not isinstance(key, str):
            return ((field, f"expected text keys, got {type(key).__name__}"),)
        if not is_whole_text(key):
            return ((field, HALF_CHARACTER),)
    return ()


def _scalar_flaw(item: Any, *, python: bool) -> str:
    if isinstance(item, str):
        return "" if is_whole_text(item) else HALF_CHARACTER
    if isinstance(item, float):
        if math.isfinite(item):
            return ""
        return f"{_NAMES[repr(float(item))]} is not JSON; write null where there is no value"
    if python and not isinstance(item, (int, type(None))):
        return f"expected a value JSON can write, got {type(item).__name__}"
    return ""


_NAMES = {"nan": "NaN", "inf": "Infinity", "-inf": "-Infinity"}

HALF_CHARACTER = (
    "holds half a character (a surrogate such as \\ud83d without its other half), usually a text "
    "cut inside an emoji; remove it"
)


def not_an_object(value: Any) -> Flaws:
    """Return the flaw of a row that is not an object."""
    from closecall.datasets._values import kind

    return (("", f'expected an object such as {{"input": "..."}}, got {kind(value)}'),)


def not_utf8(error: UnicodeDecodeError) -> str:
    """Return where a text stops being UTF-8 and what to do about it."""
    return (
        f"byte {error.start + 1} of the line (0x{error.object[error.start]:02X}) is not UTF-8; "
        'save the file as UTF-8 (in Excel: save as "CSV UTF-8"), or if it is Windows text convert '
        "it: iconv -f WINDOWS-1252 -t UTF-8 FILE > NEW"
    )


def too_much(error: Exception) -> str:
    """Return the sentence for JSON the parser gives up on."""
    if isinstance(error, RecursionError):
        return TOO_DEEP
    return "holds a number too long to read"


def _keys(value: Any, level: int) -> int:
    """Return how many keys the objects in a value have together, -1 when nested too deeply."""
    is_object = value.__class__ is dict
    count = len(value) if is_object else 0
    for item in value.values() if is_object else value:
        kind_of = item.__class__
        if kind_of is dict or kind_of is list:
            inner = _keys(item, level + 1) if level < MAX_DEPTH else -1
            if inner < 0:
                return -1
            count += inner
    return count


def syntax(error: json.JSONDecodeError) -> str:
    """Return what the parser says, for the middle of a sentence."""
    message = error.msg.removesuffix(" at")
    return message[:1].lower() + message[1:]


def _hint(text: str) -> str:
    start = text.lstrip()
    if start.startswith("{'"):
        return "; it looks like a Python dict: write it with json.dumps"
    if not start.startswith(("{", "[", '"')):
        return "; each line is one JSON object"
    return ""

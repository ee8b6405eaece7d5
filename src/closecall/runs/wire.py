"""How JSON is spelled and read in a run folder: strict both ways, and the same bytes every time.

What is written is UTF-8 without a byte-order mark, members in the order the caller gave them, the
shortest spelling of each float, LF line ends. No NaN, no infinity, no lone surrogate.
What is read may come from anywhere, so every rule is checked and every size is bounded.
"""

from __future__ import annotations

import codecs
import json
import math
import re
from collections import Counter
from collections.abc import Mapping
from types import NoneType
from typing import Any

from closecall.errors import UsageError

Document = dict[str, Any]

SCHEMA_VERSION = "1.0"
MAX_DEPTH = 64
"""Levels of nesting; the top object is level 1."""
MAX_LINE = 4 * 1024 * 1024
"""Bytes of one line (without its LF), and of one JSON document."""
MAX_SEAL = 40 * 1024 * 1024
MAX_LINES = 1_000_000
MAX_FILE = 1024 * 1024 * 1024
MAX_FILES = 100_000
MAX_INTEGER = 2**53 - 1

_LONE_SURROGATE = re.compile("[\ud800-\udfff]")
_VISIBLE_HANDLER = "closecall.visible-surrogates"
_LONG_NUMBER = 16


def _escape_surrogates(error: UnicodeError) -> tuple[str, int]:
    """Put a JSON-escaped backslash before each surrogate's number: it reads back as text."""
    if not isinstance(error, UnicodeEncodeError):
        raise error
    bad = error.object[error.start : error.end]
    return "".join(f"\\\\u{ord(c):04x}" for c in bad), error.end


codecs.register_error(_VISIBLE_HANDLER, _escape_surrogates)


def visible(text: str) -> str:
    r"""Return the text with each lone surrogate spelled out, as the six characters ``\udc80``.

    A lone surrogate is half a character and no file may hold it. The spelling is for people; it
    cannot be told from a text that held those six characters to begin with.
    """
    return text if text.isascii() else _LONE_SURROGATE.sub(lambda m: f"\\u{ord(m[0]):04x}", text)


def dump_line(value: Mapping[str, Any]) -> bytes:
    """Return one line: compact JSON and an LF, lone surrogates spelled out as in ``visible``.

    Raises
    ------
    UsageError
        A member is no JSON value, not finite, an integer beyond 2^53 - 1, or nested too deep.
    """
    _require_json(value, "", 1)
    return spelled(value).encode("utf-8", errors=_VISIBLE_HANDLER) + b"\n"


_LINE = json.JSONEncoder(ensure_ascii=False, allow_nan=False, separators=(",", ":"))


def spelled(value: Mapping[str, Any]) -> str:
    """Return the JSON of a value that is known to be sound, as it stands in a line."""
    return _LINE.encode(value)


def dump_document(value: Mapping[str, Any]) -> bytes:
    """Return a whole file: JSON indented by two, a last LF; otherwise as ``dump_line``."""
    _require_json(value, "", 1)
    text = json.dumps(value, ensure_ascii=False, allow_nan=False, indent=2)
    return text.encode("utf-8", errors=_VISIBLE_HANDLER) + b"\n"


def _require_json(value: object, where: str, depth: int) -> None:
    if value is None or isinstance(value, str | bool):
        return
    if isinstance(value, int):
        if abs(value) > MAX_INTEGER:
            raise UsageError(f"{where}: {value} is beyond 2^53 - 1; write it as text")
    elif isinstance(value, float):
        if not math.isfinite(value):
            raise UsageError(f"{where}: a number must be finite, got {value}")
    elif isinstance(value, _NESTED):
        if depth > MAX_DEPTH:
            raise UsageError(f"{where}: nested more than {MAX_DEPTH} levels deep")
        _require_children(value, where, depth)
    else:
        raise UsageError(f"{where}: {type(value).__name__} is not a JSON value")


def _require_children(
    value: Mapping[Any, Any] | list[Any] | tuple[Any, ...], where: str, depth: int
) -> None:
    if isinstance(value, dict | Mapping):
        for name, child in value.items():
            if not isinstance(name, str):
                raise UsageError(f"{where}: a member's name must be text, got {name!r}")
            if not _is_plain(child):
                _require_json(child, f"{where}.{name}" if where else name, depth + 1)
    else:
        for index, child in enumerate(value):
            if not _is_plain(child):
                _require_json(child, f"{where}[{index}]", depth + 1)


_NESTED = (dict, list, tuple, Mapping)  # the plain types first: they are told apart at once
_ALWAYS_SOUND = frozenset({str, bool, NoneType})


def _is_plain(value: object) -> bool:
    """Whether a value is sound at first sight, as most are; only an error needs its place."""
    if type(value) in _ALWAYS_SOUND:
        return True
    return isinstance(value, float) and math.isfinite(value)


def parse(data: bytes) -> Document:
    """Read one JSON object, refusing what a run folder may not hold.

    Raises
    ------
    ValueError
        With a short reason, without the place: not UTF-8, a byte-order mark, no object, a member
        twice, a number that is not finite as a double, a lone surrogate, nested too deep.
    """
    if data.startswith(codecs.BOM_UTF8):
        raise ValueError("starts with a byte-order mark")
    try:
        value = _DECODER.decode(data.decode("utf-8"))
    except UnicodeDecodeError as error:
        raise ValueError(f"not UTF-8 at byte {error.start}") from error
    except json.JSONDecodeError as error:
        raise ValueError(f"not JSON: {error.msg} at character {error.pos}") from error
    except RecursionError as error:
        raise ValueError(f"nested more than {MAX_DEPTH} levels deep") from error
    if not isinstance(value, dict):
        raise ValueError("not a JSON object")  # noqa: TRY004 - one exception type for all of it
    # Both walks can only find something where the bytes give a reason to look.
    if b"\\u" in data or data.count(b"{") + data.count(b"[") > MAX_DEPTH:
        _require_sound(value, 1)
    return value


def _require_sound(value: object, depth: int) -> None:
    if isinstance(value, str):
        if _LONE_SURROGATE.search(value):
            raise ValueError("a lone surrogate in a text")
    elif isinstance(value, dict | list):
        if depth > MAX_DEPTH:
            raise ValueError(f"nested more than {MAX_DEPTH} levels deep")
        for child in [*value, *value.values()] if isinstance(value, dict) else value:
            _require_sound(child, depth + 1)


def _members_once(pairs: list[tuple[str, Any]]) -> Document:
    members = dict(pairs)
    if len(members) != len(pairs):
        twice = Counter(name for name, _ in pairs).most_common(1)[0][0]
        raise ValueError(f"the member {twice[:100]!r} stands twice in one object")
    return members


def _no_constant(name: str) -> float:
    raise ValueError(f"{name} is not a number JSON knows")


def _finite(text: str) -> float:
    number = float(text)
    if not math.isfinite(number):
        raise ValueError(f"the number {text[:30]} is too large for a double")
    return number


def _integer(text: str) -> int:
    if len(text) > _LONG_NUMBER:
        _finite(text)
    return int(text)


_DECODER = json.JSONDecoder(
    object_pairs_hook=_members_once,
    parse_constant=_no_constant,
    parse_float=_finite,
    parse_int=_integer,
)

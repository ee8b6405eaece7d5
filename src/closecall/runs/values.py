"""The small values of a run folder: ids, references, times, reasons, digests of a case's place."""

from __future__ import annotations

import datetime as dt
import hashlib
import re
import unicodedata
from collections.abc import Mapping, Sequence
from typing import Any

from closecall.errors import UsageError
from closecall.runs.wire import visible

ID = re.compile(r"[A-Za-z0-9._:-]{1,128}")
REF = re.compile(r"[a-z][a-z0-9-]{0,31}:[!-~]{1,256}")
EXACT_VERSION = re.compile(r"(?![Ll][Aa][Tt][Ee][Ss][Tt]\Z)[!-~]{1,128}")
SHA256_URI = re.compile(r"sha256:[0-9a-f]{64}")

MAX_CASE_ID = 256
MAX_PATH = 1024
MAX_REASON = 4096

_CONTROL = re.compile("[\x00-\x1f\x7f-\x9f]")
_CONTROL_IN_PROSE = re.compile("[\x00-\x08\x0b-\x1f\x7f-\x9f]")  # tab and LF may stay
_REF_NAME = 256
_REF_KEPT = 239
_HASHED_TAIL = 16
_TIME = re.compile(
    r"(?P<second>(?!0000)[0-9]{4}-[0-9]{2}-[0-9]{2}"
    r"T(?:[01][0-9]|2[0-3]):[0-9]{2}:[0-9]{2})"
    r"(?:\.(?P<fraction>[0-9]{1,9}))?Z"
)


def result_id(run_id: str, case_id: str, path: str, trial: int | None = None) -> str:
    """Return the id of one result: the same run, case, path and trial give the same id."""
    joined = f"{run_id}\x1f{case_id}\x1f{path}\x1f{'' if trial is None else trial}"
    return "r_" + hashlib.sha256(visible(joined).encode("utf-8")).hexdigest()[:32]


def encode_ref(kind: str, free_text: str) -> str:
    """Return ``kind:name`` for any text, spelled so that two writers agree.

    Printable ASCII stays, every other byte of the UTF-8 spelling (and ``%``) becomes ``%XX``. A
    name too long is cut and ends in ``~`` and 16 hexadecimal digits of its SHA-256.
    """
    data = visible(free_text).encode("utf-8")
    name = "".join(chr(b) if 0x21 <= b <= 0x7E and b != 0x25 else f"%{b:02X}" for b in data)  # noqa: PLR2004
    if name in {"", "-"}:
        name = "%2D" if name else "-"
    if len(name) > _REF_NAME:
        name = f"{name[:_REF_KEPT]}~{hashlib.sha256(data).hexdigest()[:_HASHED_TAIL]}"
    ref = f"{kind}:{name}"
    if not REF.fullmatch(ref):
        raise UsageError(f"{kind!r} cannot be the kind of a reference: lower-case letters first")
    return ref


def case_id(name: str) -> str:
    r"""Return the id under which results of this case are filed.

    A name of 1 to 256 characters without control characters stands as it is. In any other,
    control characters and lone surrogates are spelled out (``\u0009``), what is too long is cut,
    and ``~`` with 16 hexadecimal digits of the name's SHA-256 keeps different names apart.
    """
    if 1 <= len(name) <= MAX_CASE_ID and not _CONTROL.search(name) and visible(name) == name:
        return name
    spelled = visible(_CONTROL.sub(lambda m: f"\\u{ord(m[0]):04x}", name))
    whole = hashlib.sha256(name.encode("utf-8", errors="surrogatepass")).hexdigest()
    return f"{spelled[: MAX_CASE_ID - 1 - _HASHED_TAIL]}~{whole[:_HASHED_TAIL]}"


def require_plain(text: str, name: str, most: int) -> str:
    """Return the text if it can name a case or a path, else raise ``UsageError``."""
    if not 1 <= len(text) <= most or _CONTROL.search(text) or visible(text) != text:
        raise UsageError(
            f"{name} must be 1 to {most} characters, none of them a control character, "
            f"got {text[:60]!r}"
        )
    return text


def require_match(pattern: re.Pattern[str], text: object, name: str) -> None:
    """Raise ``UsageError`` unless the whole text matches."""
    if not isinstance(text, str) or not pattern.fullmatch(text):
        raise UsageError(f"{name} must match {pattern.pattern}, got {text!r}")


def clip_reason(text: str, most: int = MAX_REASON) -> str:
    r"""Return a reason fit to print and to file: never blank, at most ``most`` code points.

    Control characters other than tab and LF are spelled out (``\u001b``), CRLF and CR become LF.
    A longer text is cut at a space near the end and says so with its full length.
    """
    text = text.replace("\r\n", "\n").replace("\r", "\n")
    text = visible(_CONTROL_IN_PROSE.sub(lambda m: f"\\u{ord(m[0]):04x}", text)).strip()
    if not text:
        raise UsageError("an absence needs a reason")
    if len(text) <= most:
        return text
    tail = f" [... cut, {len(text)} characters in all]"
    room = most - len(tail)
    space = max(text.rfind(" ", room - 200, room), text.rfind("\n", room - 200, room))
    kept = text[: space if space > 0 else room]
    # A cut may not part a letter from its accents, or an emoji from what joins it.
    while space <= 0 and kept and _joins_next(text[len(kept)], kept[-1]):
        kept = kept[:-1]
    return kept.rstrip() + tail


def _joins_next(following: str, last: str) -> bool:
    joiner = "\u200d"
    return bool(unicodedata.combining(following)) or joiner in {following, last}


def now_utc() -> str:
    """Return this moment in UTC, to the microsecond: ``2026-10-12T09:15:00.000000Z``."""
    return dt.datetime.now(dt.UTC).strftime("%Y-%m-%dT%H:%M:%S.%fZ")


def time_key(time: str) -> tuple[str, str]:
    """Return what orders times at their full written precision; ``UsageError`` if it is none."""
    match = _TIME.fullmatch(time) if isinstance(time, str) else None
    if match is None:
        raise UsageError(f"a time must look like 2026-10-12T09:15:00.250Z, got {time!r}")
    try:
        dt.datetime.fromisoformat(match["second"])
    except ValueError as error:
        raise UsageError(f"there is no such time: {time}") from error
    return match["second"], (match["fraction"] or "").ljust(9, "0")


def later(first: str, second: str) -> str:
    """Return the later time, so that a clock set back never puts an end before its start."""
    return first if time_key(first) >= time_key(second) else second


def ordered(
    members: Mapping[str, Any],
    names: Sequence[str],
    where: str,
    required: Sequence[str] = (),
) -> dict[str, Any]:
    """Return the members in the order of ``names``, so that equal facts give equal bytes.

    None stands for a member left out.

    Raises
    ------
    UsageError
        A member outside ``names``, or a required one that is missing.
    """
    unknown = sorted(set(members) - set(names))
    if unknown:
        raise UsageError(f"{where} has no member {unknown[0]!r}; it has {', '.join(names)}")
    kept = {name: members[name] for name in names if members.get(name) is not None}
    missing = [name for name in required if name not in kept]
    if missing:
        raise UsageError(f"{where} needs {', '.join(missing)}")
    return kept

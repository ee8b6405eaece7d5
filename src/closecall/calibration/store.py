"""A calibration to a file and back.

Written to a temporary name and moved into place, so a file is there whole or not at all. The
digest inside covers all the rest: a file that was edited by hand is refused, because the numbers
in it would no longer be what was measured. So is one whose digest was made to fit: its cutoff
must be the one that its own labels give.
"""

from __future__ import annotations

import hashlib
import json
import os
from pathlib import Path
from typing import Any

import msgspec

from closecall.atomic import whole_file
from closecall.calibration.artefact import SCHEMA, Calibration
from closecall.calibration.trust import flaws
from closecall.datasets._strict import decode_row
from closecall.errors import CalibrationFileError, ClosecallError
from closecall.instrument import canonical_json
from closecall.plain import read_plain
from closecall.records import is_whole_text

MAX_BYTES = 1 << 30
"""Largest file that is read."""

SHOWN = 80
"""Characters of a file's content that a message shows."""

_COLUMNS = frozenset({"sample", "canaries", "slices", "audit"})
"""Members whose parts stand one a line; the rest is spread out for people to read."""


def sealed(calibration: Calibration) -> Calibration:
    """Return the calibration as a file gives it back, with the digest of everything else in it.

    A cost of 5 becomes 5.0, so that reading and writing change nothing; half a character, which a
    file name may hold and no file can, is spelt out.
    """
    document = msgspec.to_builtins(calibration)
    if not is_whole_text(_text(document)):
        document = _spelt(document)
    made = msgspec.convert(document, Calibration)
    return msgspec.structs.replace(made, digest=_digest(msgspec.to_builtins(made)))


def save_calibration(calibration: Calibration, path: str | os.PathLike[str]) -> None:
    """Write the file; the same calibration gives the same bytes.

    Raises
    ------
    UsageError
        It cannot be written there.
    """
    document = msgspec.to_builtins(sealed(calibration))
    lines = ",\n".join(f"  {_text(key)}: {_member(key, value)}" for key, value in document.items())
    with whole_file(path) as file:
        file.write(f"{{\n{lines}\n}}\n")


def load_calibration(path: str | os.PathLike[str]) -> Calibration:
    """Read the file.

    Raises
    ------
    CalibrationFileError
        There is none, it is not a calibration, of another version of the format, or was edited,
        or its parts contradict each other; the message names the file and the member.

    Notes
    -----
    The cutoff is chosen again from the stored labels, O(n log n); see ``trust``. A judge's head is
    not fitted again, since a file holds no features: its numbers are checked against their ranges
    and the rest of the file, so whoever makes a file chooses what its judge says.
    """
    place = Path(path)
    try:
        data = read_plain(place, MAX_BYTES)
    except (OSError, ValueError) as error:  # the latter of a NUL in the name
        said = getattr(error, "strerror", None) or error
        raise CalibrationFileError(f"{place}: {said}") from error
    document, flaws = decode_row(data)
    if document is None:
        field, message = flaws[0]
        # A reader of rows says so; in the file of a calibration there are none.
        told = message.removesuffix("; each line is one JSON object")
        told = told.replace(' such as {"input": "..."}', "")
        raise CalibrationFileError(
            f"{place}: {_short(field) + ': ' if field else ''}{told}; --calibration takes what "
            "closecall calibrate LABELLED -o cutoff.json writes"
        )
    schema = document.get("schema")
    if schema != SCHEMA:
        raise CalibrationFileError(
            f"{place}: schema: expected {SCHEMA!r}, got {_short(repr(schema))}; "
            "make the file again with: closecall calibrate"
        )
    if isinstance(document.get("digest"), str) and document["digest"] != _digest(document):
        raise CalibrationFileError(
            f"{place}: edited after it was written: its digest does not fit what it holds; "
            "make it again with: closecall calibrate"
        )
    try:
        found = msgspec.convert(document, Calibration)
    except (msgspec.ValidationError, ValueError, ArithmeticError) as error:
        raise CalibrationFileError(f"{place}: not a calibration: {_told(error)}") from error
    if flaw := _flaw(found):
        raise CalibrationFileError(
            f"{place}: {flaw}; it was edited after it was written, or made by a version that "
            "chose otherwise: make it again with: closecall calibrate"
        )
    return found


def _flaw(calibration: Calibration) -> str | None:
    """Return the first thing in which the parts of a calibration contradict each other."""
    try:
        return next(flaws(calibration), None)
    # Members that are each allowed and together are nonsense fail wherever they are worked with.
    except (ClosecallError, ArithmeticError, LookupError, TypeError, ValueError) as error:
        return f"goal, sample or rule: no cutoff can be made of them: {_told(error)}"


def _told(error: Exception) -> str:
    """Return the message with what it quotes from the file cut short; its end names the member."""
    said, at, member = str(error).rpartition(" - at `")
    said, member = (said, member) if at else (member, "")
    # All that msgspec quotes is a value that is not among those allowed.
    if said.startswith("Invalid "):
        said = _short(said)
    return f"{said[: 4 * SHOWN]}{at}{_short(member)}"


def _short(text: str) -> str:
    return text if len(text) <= SHOWN else f"{text[:SHOWN]}…"


def _digest(document: dict[str, Any]) -> str:
    rest = {key: value for key, value in document.items() if key != "digest"}
    return hashlib.sha256(canonical_json(rest)).hexdigest()


def _spelt(value: Any) -> Any:
    r"""Return a JSON value with each half character as text, such as ``\udcff``."""
    if isinstance(value, str):
        return value.encode("utf-8", errors="backslashreplace").decode("utf-8")
    if isinstance(value, dict):
        return {_spelt(key): _spelt(inner) for key, inner in value.items()}
    if isinstance(value, list | tuple):
        return [_spelt(inner) for inner in value]
    return value


def _member(key: str, value: Any) -> str:
    if key in _COLUMNS and isinstance(value, dict):
        parts = ",\n".join(f"    {_text(name)}: {_text(part)}" for name, part in value.items())
        return f"{{\n{parts}\n  }}"
    return json.dumps(value, ensure_ascii=False, allow_nan=False, indent=2).replace("\n", "\n  ")


def _text(value: Any) -> str:
    return json.dumps(value, ensure_ascii=False, allow_nan=False)

"""Gates from a project's own files: ``closecall.toml`` and ``pyproject.toml``.

::

    # closecall.toml                          # pyproject.toml: the same under tool.closecall
    gates = [
        "mean(answer_alignment) >= 0.6",
        { name = "few refusals", rule = "fail_rate(refusal) <= 5%", mode = "surely" },
    ]

or by name, in a table::

    [gates]
    relevance = "mean(answer_alignment) >= 0.6"
    refusals = { rule = "fail_rate(refusal) <= 5%", mode = "surely" }
"""

from __future__ import annotations

import os
import tomllib
from collections.abc import Iterator
from pathlib import Path
from typing import Any

from closecall.errors import ConfigurationError, UsageError
from closecall.gates.evaluate import MAX_GATES
from closecall.gates.parsing import parse_gate
from closecall.runs.gate_rule import Gate

OWN = "closecall.toml"
SHARED = "pyproject.toml"
MAX_BYTES = 1024 * 1024
MODES = ("point", "surely")
"""Whether the value or the whole interval is compared."""

_MEMBERS = ("name", "rule", "mode")


def find_gates(start: str | os.PathLike[str] = ".") -> list[Gate]:
    """Return the gates of the nearest file that has any, from ``start`` upward.

    The search ends at the folder that holds ``.git``, or at the root. No file or no gates in it
    is an empty list.

    Raises
    ------
    ConfigurationError
        A file cannot be read, both files of one folder have gates, or a gate is wrong; the
        message begins with file and line.
    """
    folder = Path(start).absolute()
    for place in (folder, *folder.parents):
        found = [
            (path, section)
            for path, section in ((place / OWN, ()), (place / SHARED, ("tool", "closecall")))
            if _gates_in(path, section) is not None
        ]
        if len(found) > 1:
            raise ConfigurationError(
                f"{place / OWN} and {place / SHARED} both have gates; keep them in one of the two"
            )
        if found:
            return load_gates(*found[0])
        if (place / ".git").exists():
            break
    return []


def load_gates(path: Path, section: tuple[str, ...] = ()) -> list[Gate]:
    """Return the gates of one file; see ``find_gates``."""
    given = _gates_in(path, section)
    text = _text(path)
    made = [_gate(path, text, *one) for one in _entries(path, given)]
    if len(made) > MAX_GATES:
        raise ConfigurationError(f"{path}: at most {MAX_GATES} gates, got {len(made)}")
    return made


def _gates_in(path: Path, section: tuple[str, ...]) -> Any:
    """Return what stands under ``gates``, None where there is no such thing."""
    if not path.is_file():
        return None
    try:
        held: Any = tomllib.loads(_text(path))
    except tomllib.TOMLDecodeError as error:
        raise ConfigurationError(f"{path}: is no TOML: {error}") from error
    except RecursionError as error:
        raise ConfigurationError(f"{path}: is nested too deep") from error
    for name in section:
        held = held.get(name)
        if not isinstance(held, dict):
            return None
    return held.get("gates")


def _text(path: Path) -> str:
    try:
        with path.open("rb") as file:
            data = file.read(MAX_BYTES + 1)
    except OSError as error:
        raise ConfigurationError(f"{path}: cannot be read: {error.strerror or error}") from error
    if len(data) > MAX_BYTES:
        raise ConfigurationError(f"{path}: is larger than {MAX_BYTES:,} bytes")
    try:
        return data.decode("utf-8")
    except UnicodeDecodeError as error:
        raise ConfigurationError(f"{path}: is not UTF-8: {error.reason}") from error


def _entries(path: Path, given: Any) -> Iterator[tuple[str, Any]]:
    """Yield each gate's name, where it has one, and what was written of it."""
    if isinstance(given, dict):
        yield from given.items()
    elif isinstance(given, list):
        yield from (("", one) for one in given)
    else:
        raise ConfigurationError(
            f"{path}{_line(_text(path), 'gates')}: gates must be a list of rules or a table of "
            f"name = rule, got {type(given).__name__}"
        )


def _gate(path: Path, text: str, name: str, written: Any) -> Gate:
    facts = {"rule": written} if isinstance(written, str) else written
    marked = facts.get("rule") if isinstance(facts, dict) else None
    place = f"{path}{_line(text, marked if isinstance(marked, str) else name or 'gates')}"
    if not isinstance(facts, dict) or not isinstance(marked, str):
        raise ConfigurationError(
            f"{place}: a gate is a rule, or a table with rule and, if wanted, name and mode; got "
            f"{written!r:.80}"
        )
    unknown = [member for member in facts if member not in _MEMBERS]
    if unknown:
        raise ConfigurationError(
            f"{place}: a gate has no {unknown[0]!r}; it has {', '.join(_MEMBERS)}"
        )
    called = facts.get("name", name)
    if not isinstance(called, str) or (called and not called.isprintable()):
        raise ConfigurationError(f"{place}: name must be a text of one line, got {called!r:.80}")
    mode = facts.get("mode", MODES[0])
    if mode not in MODES:
        raise ConfigurationError(f"{place}: mode must be {' or '.join(MODES)}, got {mode!r:.80}")
    try:
        return parse_gate(marked, surely=mode == MODES[1], name=called, place=place)
    except UsageError as error:
        raise ConfigurationError(f"{place}: {error}") from None


def _line(text: str, wanted: str) -> str:
    """Return ``:17`` for the line on which something is first written, as far as it can be told.

    A rule with escapes in it is not found as it stands; then nothing is said.
    """
    lines = text.splitlines()
    found = next((at for at, line in enumerate(lines, 1) if _there(line, wanted)), None)
    return "" if found is None else f":{found}"


def _there(line: str, wanted: str) -> bool:
    return bool(wanted) and wanted in line and not line.lstrip().startswith("#")

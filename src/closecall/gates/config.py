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
from collections.abc import Iterator
from pathlib import Path
from typing import Any

from closecall.errors import ConfigurationError, UsageError
from closecall.gates.evaluate import MAX_GATES
from closecall.gates.parsing import parse_gate
from closecall.runs.gate_rule import Gate
from closecall.runs.project_file import find_member, member_of, text_of

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
    found = find_member("gates", start)
    return [] if found is None else load_gates(*found)


def load_gates(path: Path, section: tuple[str, ...] = ()) -> list[Gate]:
    """Return the gates of one file; see ``find_gates``."""
    given = member_of(path, section, "gates")
    text = text_of(path)
    made = [_gate(path, text, *one) for one in _entries(path, given)]
    if len(made) > MAX_GATES:
        raise ConfigurationError(f"{path}: at most {MAX_GATES} gates, got {len(made)}")
    return made


def _entries(path: Path, given: Any) -> Iterator[tuple[str, Any]]:
    """Yield each gate's name, where it has one, and what was written of it."""
    if isinstance(given, dict):
        yield from given.items()
    elif isinstance(given, list):
        yield from (("", one) for one in given)
    else:
        raise ConfigurationError(
            f"{path}{_line(text_of(path), 'gates')}: gates must be a list of rules or a table of "
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

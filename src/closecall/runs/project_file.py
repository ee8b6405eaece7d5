"""A project's own files, ``closecall.toml`` and ``pyproject.toml``, and what they hold."""

from __future__ import annotations

import os
import tomllib
from collections.abc import Callable
from pathlib import Path
from typing import Any

from closecall.errors import ConfigurationError
from closecall.plain import read_plain
from closecall.there import exists
from closecall.toml import read_toml

OWN, SHARED = "closecall.toml", "pyproject.toml"
MEMBERS = ("gates", "prices")
"""What is read of either file."""
_NEAR = 0.75
"""How alike a name and a member are, from 0 to 1, for the name to be a slip of it."""
MAX_BYTES = 1024 * 1024


def find_member(
    member: str, start: str | os.PathLike[str] = "."
) -> tuple[Path, tuple[str, ...]] | None:
    """Return the nearest file that has this member, and the section it stands in.

    The search goes from ``start`` upward and ends at the folder that holds ``.git``, or at the
    root. No file, or nothing of that name in it: None.

    Raises
    ------
    ConfigurationError
        A file cannot be read, both files of one folder have the member, or one has a name so
        near to a member's that it must be a slip: gates that are overlooked stop nothing.
    """
    folder = Path(start).absolute()
    for place in (folder, *folder.parents):
        own, shared = place / OWN, place / SHARED
        found = [
            (path, section)
            for path, section in ((own, ()), (shared, ("tool", "closecall")))
            if _held(path, section).get(member) is not None
        ]
        if len(found) > 1:
            raise ConfigurationError(
                f"{own} and {shared} both have {member}; keep them in one of the two"
            )
        if found:
            return found[0]
        if exists(place / ".git"):
            break
    return None


def member_of(
    path: Path,
    section: tuple[str, ...],
    member: str,
    *,
    parse_float: Callable[[str], Any] = float,
) -> Any:
    """Return what stands under a name in a section, None where there is no such thing.

    Raises
    ------
    ConfigurationError
        The file cannot be read, is too large, or is no TOML.
    """
    return _section(path, section, parse_float).get(member)


def _held(path: Path, section: tuple[str, ...]) -> dict[str, Any]:
    """Return a section without slips in its names; empty where there is none."""
    held = _section(path, section, float)
    for name in sorted(held.keys() - set(MEMBERS)):
        from difflib import get_close_matches

        near = get_close_matches(name.lower(), MEMBERS, 1, _NEAR)
        if near:
            raise ConfigurationError(
                f"{path}: {name!r} is not read; did you mean {near[0]!r}? It may hold "
                f"{' and '.join(MEMBERS)}"
            )
    return held


def _section(
    path: Path, section: tuple[str, ...], parse_float: Callable[[str], Any]
) -> dict[str, Any]:
    # A link that leads nowhere is no absence: what it was to hold is not lost without a word.
    if not os.path.lexists(path):
        return {}
    try:
        held: Any = read_toml(text_of(path), parse_float=parse_float)
    except tomllib.TOMLDecodeError as error:
        raise ConfigurationError(f"{path}: is no TOML: {error}") from error
    for name in section:
        held = held.get(name)
        if not isinstance(held, dict):
            return {}
    found: dict[str, Any] = held
    return found


def text_of(path: Path) -> str:
    """Return a file's text, of at most ``MAX_BYTES``.

    Raises
    ------
    ConfigurationError
        It cannot be read, is larger, or is not UTF-8.
    """
    try:
        data = read_plain(path, MAX_BYTES)
    except OSError as error:
        raise ConfigurationError(f"{path}: cannot be read: {error.strerror or error}") from error
    try:
        return data.decode("utf-8")
    except UnicodeDecodeError as error:
        raise ConfigurationError(f"{path}: is not UTF-8: {error.reason}") from error

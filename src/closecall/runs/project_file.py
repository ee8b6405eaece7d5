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
        A file cannot be read, or both files of one folder have the member.
    """
    folder = Path(start).absolute()
    for place in (folder, *folder.parents):
        own, shared = place / OWN, place / SHARED
        found = [
            (path, section)
            for path, section in ((own, ()), (shared, ("tool", "closecall")))
            if member_of(path, section, member) is not None
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
    # A link that leads nowhere is no absence: what it was to hold is not lost without a word.
    if not os.path.lexists(path):
        return None
    try:
        held: Any = read_toml(text_of(path), parse_float=parse_float)
    except tomllib.TOMLDecodeError as error:
        raise ConfigurationError(f"{path}: is no TOML: {error}") from error
    for name in section:
        held = held.get(name)
        if not isinstance(held, dict):
            return None
    return held.get(member)


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

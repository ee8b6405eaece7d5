"""What every kind of report does with a table of its formats: find one by suffix or by name."""

from __future__ import annotations

from collections.abc import Mapping
from importlib import import_module
from pathlib import Path
from typing import Any

from closecall.errors import UsageError


def by_suffix(path: Path, suffixes: Mapping[str, str], formats: Mapping[str, str]) -> str:
    """Return the name of the format a file's suffix stands for.

    Raises
    ------
    UsageError
        It stands for none; the message lists ``suffixes`` and the names in ``formats``.
    """
    found = suffixes.get(path.suffix.lower())
    if found is None:
        raise UsageError(
            f"{path}: no format for this suffix; use one of {', '.join(suffixes)} or name the "
            f"format: --format {'|'.join(formats)}"
        )
    return found


def writer_of(name: str, formats: Mapping[str, str], package: str) -> Any:
    """Return ``write`` of the module in ``package`` that ``formats`` has under a name.

    Raises
    ------
    UsageError
        There is no such name.
    """
    if name not in formats:
        raise UsageError(f"there is no format {name!r}; formats: {', '.join(formats)}")
    return import_module(f"{package}.{formats[name]}").write

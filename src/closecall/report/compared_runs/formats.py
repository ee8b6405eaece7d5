"""Formats of a comparison by name and by file suffix."""

from __future__ import annotations

from collections.abc import Callable
from importlib import import_module
from pathlib import Path
from typing import IO

from closecall.atomic import whole_file
from closecall.errors import UsageError
from closecall.runs.comparing.records import RunComparison

FORMATS = {"table": "table", "json": "json_report", "markdown": "markdown", "html": "html"}
"""Name to module in this package; each has ``write(found, out)``."""

SUFFIXES = {
    ".txt": "table",
    ".json": "json",
    ".md": "markdown",
    ".markdown": "markdown",
    ".html": "html",
    ".htm": "html",
}


def format_of(path: Path) -> str:
    """Return the format a file's suffix stands for."""
    found = SUFFIXES.get(path.suffix.lower())
    if found is None:
        raise UsageError(
            f"{path}: no format for this suffix; use one of {', '.join(SUFFIXES)} or name the "
            f"format: --format {'|'.join(FORMATS)}"
        )
    return found


def write(found: RunComparison, name: str, out: IO[str]) -> None:
    """Write the comparison in this format."""
    if name not in FORMATS:
        raise UsageError(f"there is no format {name!r}; formats: {', '.join(FORMATS)}")
    writer: Callable[[RunComparison, IO[str]], None] = import_module(
        f"closecall.report.compared_runs.{FORMATS[name]}"
    ).write
    writer(found, out)


def save(found: RunComparison, name: str, path: Path) -> None:
    """Write the comparison to a file: whole or not at all."""
    with whole_file(path) as out:
        write(found, name, out)

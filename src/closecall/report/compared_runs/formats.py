"""Formats of a comparison by name and by file suffix."""

from __future__ import annotations

from collections.abc import Callable
from pathlib import Path
from typing import IO

from closecall.atomic import whole_file
from closecall.report.by_name import by_suffix, writer_of
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
    return by_suffix(path, SUFFIXES, FORMATS)


def write(found: RunComparison, name: str, out: IO[str]) -> None:
    """Write the comparison in this format."""
    writer: Callable[[RunComparison, IO[str]], None] = writer_of(
        name, FORMATS, "closecall.report.compared_runs"
    )
    writer(found, out)


def save(found: RunComparison, name: str, path: Path) -> None:
    """Write the comparison to a file: whole or not at all."""
    with whole_file(path) as out:
        write(found, name, out)

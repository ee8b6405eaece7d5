"""Report formats by name and by file suffix."""

from __future__ import annotations

import os
from collections.abc import Callable
from pathlib import Path
from typing import IO

from closecall.atomic import whole_file
from closecall.report.by_name import by_suffix, writer_of
from closecall.runs.record import Run

FORMATS = {
    "table": "table",
    "json": "json_report",
    "jsonl": "jsonl_report",
    "csv": "csv_report",
    "markdown": "markdown",
    "junit": "junit",
    "html": "html.page",
}
"""Name to module in this package; each has ``write(run, out)``."""

SUFFIXES = {
    ".txt": "table",
    ".json": "json",
    ".jsonl": "jsonl",
    ".csv": "csv",
    ".md": "markdown",
    ".markdown": "markdown",
    ".xml": "junit",
    ".html": "html",
    ".htm": "html",
}


def format_of(path: Path) -> str:
    """Return the format a file's suffix stands for."""
    return by_suffix(path, SUFFIXES, FORMATS)


def write(run: Run, name: str, out: IO[str]) -> None:
    """Write the report in this format."""
    writer: Callable[[Run, IO[str]], None] = writer_of(name, FORMATS, "closecall.report")
    writer(run, out)


def save_report(run: Run, path: str | os.PathLike[str], name: str | None = None) -> None:
    """Write the report to a file, in the format of its suffix or the one named.

    Raises
    ------
    UsageError
        No such format, or the place cannot be written.
    """
    target = Path(path)
    save(run, name or format_of(target), target)


def save(run: Run, name: str, path: Path) -> None:
    """Write the report to a file: whole or not at all.

    A link is followed; a pipe or a device (``/dev/null``) is written to, never replaced.

    Raises
    ------
    UsageError
        The place cannot be written.
    """
    with whole_file(path) as out:
        write(run, name, out)

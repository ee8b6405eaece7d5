"""Lines as wide as the terminal, what belongs to a line set in under it."""

from __future__ import annotations

import os
import shutil
import textwrap
from collections.abc import Iterable, Iterator
from typing import IO

from closecall.report.words import visible

MIN_WIDTH = 24
PLAIN_WIDTH = 100
COMMAND = "closecall "
"""What a line to copy begins with."""


def columns(out: IO[str]) -> int:
    """Return how wide to write: as the terminal is; a file gets ``COLUMNS`` or 100 columns."""
    if out.isatty():
        return max(shutil.get_terminal_size((PLAIN_WIDTH, 24)).columns, MIN_WIDTH)
    wanted = os.environ.get("COLUMNS", "")
    return max(int(wanted), MIN_WIDTH) if wanted.isascii() and wanted.isdigit() else PLAIN_WIDTH


def wrapped(lines: Iterable[str], width: int) -> Iterator[str]:
    """Yield the lines wrapped, control characters spelt out; spaces before a line stay.

    A word is never cut, and a line that is a command stays whole: it must be there to copy.
    """
    for line in lines:
        text = visible(line).rstrip()
        if text.lstrip().startswith(COMMAND):
            yield text
            continue
        before = text[: len(text) - len(text.lstrip(" "))]
        yield from textwrap.wrap(
            text,
            max(width - 1, MIN_WIDTH),
            subsequent_indent=f"{before}    ",
            break_long_words=False,
            break_on_hyphens=False,
        ) or [""]

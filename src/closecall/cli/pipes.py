"""Standard output whose reader may leave before everything was said."""

from __future__ import annotations

import os
from collections.abc import Iterator
from contextlib import contextmanager
from typing import IO


@contextmanager
def may_close(out: IO[str]) -> Iterator[None]:
    """Write to ``out`` within; a reader that leaves early (head, less) is no error.

    What is written after that goes nowhere, so the exit code stays the command's own.
    """
    try:
        yield
        out.flush()
    except BrokenPipeError:
        _to_nowhere(out)


def settle(out: IO[str]) -> None:
    """Drop what cannot be written, which has been said: Python would end with 120 for it."""
    try:
        out.flush()
    except OSError:
        _to_nowhere(out)


def _to_nowhere(out: IO[str]) -> None:
    nowhere = os.open(os.devnull, os.O_WRONLY)
    os.dup2(nowhere, out.fileno())
    os.close(nowhere)

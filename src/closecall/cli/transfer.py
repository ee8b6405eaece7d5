"""Progress of bytes on standard error: a bar on a terminal, plain lines elsewhere."""

from __future__ import annotations

import sys
import time
from types import TracebackType
from typing import Any, Self

LINE_SECONDS = 15.0
"""A plain line at most this often."""

_MEGABYTE = 1e6


class Transfer:
    """Call it with (done, total) in bytes; use it as a context manager."""

    def __init__(self, name: str, *, quiet: bool = False) -> None:
        self._name = name
        self._quiet = quiet
        self._next = 0.0
        self._bar: Any = None
        self._task: Any = None

    def __enter__(self) -> Self:
        self._next = time.monotonic() + LINE_SECONDS / 5
        return self

    def __exit__(
        self,
        kind: type[BaseException] | None,
        error: BaseException | None,
        trace: TracebackType | None,
    ) -> None:
        if self._bar is not None:
            self._bar.stop()

    def __call__(self, done: int, total: int) -> None:
        """Say how far the transfer is."""
        if self._quiet:
            return
        if sys.stderr.isatty():
            self._draw(done, total)
        elif time.monotonic() >= self._next and done < total:
            self._next = time.monotonic() + LINE_SECONDS
            sys.stderr.write(
                f"closecall: {self._name}: {done / _MEGABYTE:,.0f} of "
                f"{total / _MEGABYTE:,.0f} MB\n"
            )
            sys.stderr.flush()

    def _draw(self, done: int, total: int) -> None:
        if self._bar is None:
            from rich.console import Console
            from rich.progress import (
                BarColumn,
                DownloadColumn,
                Progress,
                TimeRemainingColumn,
                TransferSpeedColumn,
            )

            self._bar = Progress(
                BarColumn(),
                DownloadColumn(),
                TransferSpeedColumn(),
                TimeRemainingColumn(),
                console=Console(file=sys.stderr),
                transient=True,
            )
            self._bar.start()
            self._task = self._bar.add_task("", total=total)
        self._bar.update(self._task, completed=done, total=total)

"""Progress on standard error: a bar on a terminal, plain lines elsewhere."""

from __future__ import annotations

import sys
import time
from types import TracebackType
from typing import Any, Self

QUIET_SECONDS = 2.0
"""Nothing is said of work that ends sooner."""

LINE_SECONDS = 15.0
"""A plain line at most this often."""


class Progress:
    """Call it with (done, total); use it as a context manager.

    ``unit`` is what is counted.
    """

    def __init__(self, *, quiet: bool = False, unit: str = "cases") -> None:
        self._quiet = quiet
        self._unit = unit
        self._started = 0.0
        self._next = 0.0
        self._first: int | None = None
        self._bar: Any = None
        self._task: Any = None

    def __enter__(self) -> Self:
        return self

    def __exit__(
        self,
        kind: type[BaseException] | None,
        error: BaseException | None,
        trace: TracebackType | None,
    ) -> None:
        self.stop()

    def stop(self) -> None:
        """Take the bar off the screen; twice does no harm."""
        if self._bar is not None:
            self._bar.stop()

    def __call__(self, done: int, total: int) -> None:
        """Say how far the work is."""
        now = time.monotonic()
        if self._quiet:
            return
        if self._first is None:
            # What a resumed run had done before counts neither for the rate nor the time left.
            self._started, self._first = now, done
            self._next = now + QUIET_SECONDS
        if sys.stderr.isatty():
            self._draw(done, total, now)
        elif done < total and now >= self._next:
            self._next = now + LINE_SECONDS
            sys.stderr.write(f"closecall: {self._line(done, total, now)}\n")
            sys.stderr.flush()

    def _line(self, done: int, total: int, now: float) -> str:
        rate = (done - (self._first or 0)) / max(now - self._started, 1e-9)
        left = f", {_span((total - done) / rate)} left" if rate else ""
        return f"{done:,} / {total:,} {self._unit}, {rate:,.0f} a second{left}"

    def _draw(self, done: int, total: int, now: float) -> None:
        if self._bar is None:
            if now - self._started < QUIET_SECONDS / 4:
                return
            from rich.console import Console
            from rich.progress import BarColumn, Progress, TextColumn

            self._bar = Progress(
                BarColumn(),
                TextColumn("{task.description}"),
                console=Console(file=sys.stderr),
                transient=True,
            )
            self._bar.start()
            self._task = self._bar.add_task("", total=total)
        self._bar.update(
            self._task, completed=done, total=total, description=self._line(done, total, now)
        )


def _span(seconds: float) -> str:
    whole = round(seconds)
    if whole < 60:  # noqa: PLR2004 - a minute
        return f"{whole} s"
    minutes, rest = divmod(whole, 60)
    return f"{minutes} min {rest} s" if minutes < 60 else f"{minutes // 60} h {minutes % 60} min"  # noqa: PLR2004

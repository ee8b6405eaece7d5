"""SIGTERM, by which CI and containers cancel a job, ends a pytest run in order, as Ctrl-C does.

pytest itself is gone in that moment, and with it all that its tests measured.
"""

from __future__ import annotations

import signal
import threading
from collections.abc import Iterator
from contextlib import contextmanager
from types import FrameType

import pytest


class Termination:
    """Ends a run when SIGTERM comes; a second one ends the process at once."""

    def __init__(self) -> None:
        self._holding = 0
        self._came = False

    def catch(self) -> None:
        """Begin, unless somebody else handles the signal or this is no main thread."""
        if _is_main() and signal.getsignal(signal.SIGTERM) is signal.SIG_DFL:
            signal.signal(signal.SIGTERM, self._end)

    def give_back(self) -> None:
        """Let the signal end the process again, where it is still ours."""
        if _is_main() and signal.getsignal(signal.SIGTERM) == self._end:
            signal.signal(signal.SIGTERM, signal.SIG_DFL)

    @contextmanager
    def later(self) -> Iterator[None]:
        """Let what is within come to its end first: half of it would be lost.

        An import, too, may swallow what a signal raises, where it tries what is not there.
        """
        if not _is_main():
            yield
            return
        self._holding += 1
        try:
            yield
        finally:
            self._holding -= 1
        if self._came and not self._holding:
            self._came = False
            _exit()

    def _end(self, number: int, _frame: FrameType | None) -> None:
        signal.signal(number, signal.SIG_DFL)
        if self._holding:
            self._came = True
        else:
            _exit()


def _is_main() -> bool:
    return threading.current_thread() is threading.main_thread()


def _exit() -> None:
    # With any other exit code pytest would leave out what plugins have to say at the end.
    pytest.exit("ended by SIGTERM", returncode=pytest.ExitCode.INTERRUPTED)

"""SIGTERM, by which service managers, containers and CI end a process, is as good as Ctrl-C."""

from __future__ import annotations

import _thread
import signal
import sys
import threading
from collections.abc import Iterator
from contextlib import contextmanager
from types import FrameType
from typing import Any

_LATER = 0.01
"""Seconds after which an interruption that was lost comes again."""


class TerminatedError(KeyboardInterrupt):
    """SIGTERM came; whatever tidies up or says how to go on after Ctrl-C does so now."""


def interruption_in(error: BaseException) -> KeyboardInterrupt | None:
    """Return what interrupted the work, where an error came of that: a library's failed import."""
    at: BaseException | None = error
    seen: set[int] = set()
    while at is not None and id(at) not in seen:
        if isinstance(at, KeyboardInterrupt):
            return at
        seen.add(id(at))
        at = at.__cause__ or at.__context__
    return None


@contextmanager
def terminable() -> Iterator[None]:
    """Raise ``TerminatedError`` within when SIGTERM comes; a second one ends the process at once.

    An interruption that comes while Python tidies up an object would be printed and forgotten; it
    is raised once more. Nothing is done where somebody else handles the signal or Python handles
    none: outside of the main thread.
    """
    here = threading.current_thread() is threading.main_thread()
    if not here or signal.getsignal(signal.SIGTERM) is not signal.SIG_DFL:
        yield
        return
    before = sys.unraisablehook

    def again(lost: Any) -> None:
        if not isinstance(lost.exc_value, KeyboardInterrupt):
            before(lost)
            return
        number = signal.SIGINT
        if isinstance(lost.exc_value, TerminatedError):
            number = signal.SIGTERM
            signal.signal(number, _end)
        # Not here, where it would be lost as well.
        later = threading.Timer(_LATER, _send, (number,))
        later.daemon = True
        later.start()

    signal.signal(signal.SIGTERM, _end)
    sys.unraisablehook = again
    try:
        yield
    finally:
        sys.unraisablehook = before
        if signal.getsignal(signal.SIGTERM) is _end:
            _give_back(signal.SIGTERM)


def _send(number: signal.Signals) -> None:
    """Send a signal to the main thread, so that it wakes if it waits."""
    main = threading.main_thread().ident
    if hasattr(signal, "pthread_kill") and main and callable(signal.getsignal(number)):
        signal.pthread_kill(main, number)
    else:
        _thread.interrupt_main(number)


def _give_back(number: int) -> None:
    """Let a signal end the process again; one that comes meanwhile does, and Python says nothing.

    Python prints an error of its own where a handler goes while its signal comes.
    """
    mask = getattr(signal, "pthread_sigmask", None)
    if mask is None:
        signal.signal(number, signal.SIG_DFL)
        return
    before = mask(signal.SIG_BLOCK, ())
    try:
        mask(signal.SIG_BLOCK, {number})
        signal.signal(number, signal.SIG_DFL)
    finally:
        mask(signal.SIG_SETMASK, before)


def _end(number: int, frame: FrameType | None) -> None:
    del frame
    _give_back(number)
    raise TerminatedError

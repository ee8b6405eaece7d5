"""Processes that are fed a text and read to their end, within bounds of time and size."""

from __future__ import annotations

import contextlib
import os
import signal
import subprocess
import threading
import time
from collections.abc import Sequence
from types import TracebackType
from typing import IO, Any, NamedTuple, Self

from closecall.errors import ConfigurationError

MOST_BYTES = 4 * 1024 * 1024
"""Of an answer; a program that prints without end is stopped there."""

_CHUNK = 64 * 1024
_TAIL_BYTES = 4096
_LOOK_S = 0.1
_LAST_S = 1.0


class Said(NamedTuple):
    """What a process left: its exit code (a signal is negative), what it printed, or why neither.

    ``err`` is the end of its standard error.
    """

    code: int
    out: bytes = b""
    err: bytes = b""
    problem: str = ""


class Processes:
    """Runs one command again and again, from several threads; leaving it kills what still runs.

    Parameters
    ----------
    argv
        The program and its arguments; no shell.
    timeout_s
        Seconds a process may take.
    """

    def __init__(self, argv: Sequence[str], timeout_s: float) -> None:
        self._argv = list(argv)
        self._timeout_s = timeout_s
        self._lock = threading.Lock()
        self._running: set[subprocess.Popen[bytes]] = set()
        self._closed = False

    def __enter__(self) -> Self:
        return self

    def __exit__(
        self,
        kind: type[BaseException] | None,
        error: BaseException | None,
        trace: TracebackType | None,
    ) -> None:
        with self._lock:
            self._closed = True
            running = list(self._running)
        for process in running:
            _kill(process)

    def run(self, text: bytes) -> Said:
        """Start the command, give it the text, and return what it says.

        Raises
        ------
        ConfigurationError
            It cannot be started.
        """
        with self._lock:
            if self._closed:
                return Said(0, problem="the work was stopped")
            process = self._start()
            self._running.add(process)
        try:
            return self._read(process, text)
        finally:
            with self._lock:
                self._running.discard(process)

    def _start(self) -> subprocess.Popen[bytes]:
        # What a Python program prints is UTF-8 then on every system.
        environ = {"PYTHONIOENCODING": "utf-8"} | os.environ
        own: dict[str, Any] = {"start_new_session": True} if os.name == "posix" else {}
        try:
            return subprocess.Popen(
                self._argv,
                stdin=subprocess.PIPE,
                stdout=subprocess.PIPE,
                stderr=subprocess.PIPE,
                env=environ,
                **own,
            )
        except OSError as error:
            why = error.strerror or str(error)
            raise ConfigurationError(
                f"the subject's command {self._argv[0]!r:.80} cannot be started ({why})"
            ) from error

    def _read(self, process: subprocess.Popen[bytes], text: bytes) -> Said:
        until = time.monotonic() + self._timeout_s
        out = _Reader(process.stdout, MOST_BYTES)
        err = _Reader(process.stderr, None)
        feeder = threading.Thread(target=_feed, args=(process.stdin, text), daemon=True)
        feeder.start()
        problem = ""
        while out.alive or process.poll() is None:
            late = time.monotonic() > until
            if late or out.passed:
                problem = f"the command was not done after {self._timeout_s:g} s" if late else ""
                _kill(process)
                break
            out.join(_LOOK_S)
            if not out.alive:
                with contextlib.suppress(subprocess.TimeoutExpired):
                    process.wait(_LOOK_S)
        code = process.wait()
        # Something it started may hold its standard error open, and is not waited for.
        err.join(_LAST_S)
        if out.passed:
            problem = f"the command printed more than {MOST_BYTES} bytes"
        return Said(code, bytes(out.kept), bytes(err.kept), problem)


class _Reader:
    """Reads a pipe to its end in a thread; keeps the first ``most`` bytes, or the last few."""

    def __init__(self, pipe: IO[bytes] | None, most: int | None) -> None:
        self.kept = bytearray()
        self.passed = False
        self._pipe = pipe
        self._most = most
        self._thread = threading.Thread(target=self._run, daemon=True)
        self._thread.start()

    @property
    def alive(self) -> bool:
        return self._thread.is_alive()

    def join(self, seconds: float) -> None:
        self._thread.join(seconds)

    def _run(self) -> None:
        if self._pipe is None:
            return
        with contextlib.suppress(OSError, ValueError), self._pipe:
            while part := os.read(self._pipe.fileno(), _CHUNK):
                self.kept += part
                if self._most is None:
                    del self.kept[:-_TAIL_BYTES]
                elif len(self.kept) > self._most:
                    self.passed = True
                    return


def _feed(pipe: IO[bytes] | None, text: bytes) -> None:
    # A program need not read what it is given.
    with contextlib.suppress(OSError, ValueError):
        if pipe is not None:
            with pipe:
                pipe.write(text)


def _kill(process: subprocess.Popen[bytes]) -> None:
    """End a process and those it started."""
    with contextlib.suppress(OSError):
        if os.name == "posix":
            # It leads a group of its own, of the same number.
            os.killpg(process.pid, signal.SIGKILL)
        else:
            process.kill()

"""Reads in a process of its own, so that what kills the reader is counted and ends nothing.

Libraries in C, C++ and Rust can die of their input: a signal, an abort, a panic. ``apart`` sends
a read to a process that is kept from one read to the next and begun anew when it dies. It may
take ``ROOM`` more memory than it had when it was ready, so a bomb ends it and not the machine.
"""

from __future__ import annotations

import atexit
import importlib
import json
import os
import resource
import subprocess
import sys
import time
from collections.abc import Callable
from contextlib import suppress
from pathlib import Path
from typing import IO, Any

from closecall.errors import ClosecallError

ROOM = 3 << 30
"""Bytes of address space a read may add; the libraries' own threads reserve a part of it."""

_HERE = Path(__file__).resolve().parent.parent


class DiedError(Exception):
    """The process that read is dead, or raised what is not closecall's."""


def _pipe(stream: IO[str] | None) -> IO[str]:
    if stream is None:  # pragma: no cover - both are asked for
        raise DiedError("the process has no pipes")
    return stream


class _Worker:
    def __init__(self) -> None:
        self._process: subprocess.Popen[str] | None = None
        self.used = True

    def ask(self, module: str, name: str, folder: Path) -> dict[str, str]:
        process = self._process or self._begin()
        try:
            _pipe(process.stdin).write(json.dumps([module, name, str(folder)]) + "\n")
            _pipe(process.stdin).flush()
            line = _pipe(process.stdout).readline()
        except BrokenPipeError:
            line = ""
        except BaseException:  # the alarm: whatever it does now, it is not waited for
            self.end()
            raise
        if line:
            found: dict[str, str] = json.loads(line)
            return found
        code = process.wait()
        self.end()
        how = f"signal {-code}" if code < 0 else f"exit code {code}"
        return {"end": "crash", "said": f"the process died of {how}"}

    def _begin(self) -> subprocess.Popen[str]:
        path = os.pathsep.join([str(_HERE), *filter(None, [os.environ.get("PYTHONPATH")])])
        self._process = subprocess.Popen(
            [sys.executable, "-m", "trials.worker"],
            stdin=subprocess.PIPE, stdout=subprocess.PIPE, stderr=subprocess.DEVNULL, text=True,
            env={**os.environ, "PYTHONPATH": path},
        )  # fmt: skip
        return self._process

    def end(self) -> None:
        process, self._process = self._process, None
        if process is None:
            return
        process.kill()
        process.wait()
        for pipe in (process.stdin, process.stdout):
            with suppress(BrokenPipeError):  # of what was written and never read
                _pipe(pipe).close()


_WORKER = _Worker()
atexit.register(_WORKER.end)


def end() -> None:
    """End the process that reads; the next read begins a new one."""
    _WORKER.end()


def read_here() -> None:
    """Have this process read from now on: a fuzzer sees no line that another one reaches."""
    _WORKER.end()
    _WORKER.used = False


def dies(folder: Path) -> None:
    """Die of a file, as a library in C may."""
    del folder
    os.abort()


def swells(folder: Path) -> None:
    """Take more memory than there is for a read."""
    del folder
    bytearray(2 * ROOM)


def waits(folder: Path) -> None:
    """Wait for what never comes."""
    del folder
    time.sleep(3600)


def talks(folder: Path) -> None:
    """Print, as libraries do."""
    print(f"reading {folder}", flush=True)
    os.write(1, b"and more\n")


def lives(folder: Path) -> None:
    """Read nothing."""
    del folder


def apart(read: Callable[[Path], None]) -> Callable[[Path], None]:
    """Return the same read, done by the other process; ``read`` stands at a module's top."""

    def asked(folder: Path) -> None:
        if not _WORKER.used:
            read(folder)
            return
        found = _WORKER.ask(read.__module__, read.__name__, folder)
        if found["end"] == "refused":
            raise ClosecallError(found["said"])
        if found["end"] == "crash":
            raise DiedError(found["said"])

    return asked


def _serve(asked: IO[str], told: IO[str]) -> None:
    for line in asked:
        module, name, folder = json.loads(line)
        told.write(json.dumps(_answer(module, name, Path(folder))) + "\n")
        told.flush()


def _answer(module: str, name: str, folder: Path) -> dict[str, str]:
    try:
        read: Any = getattr(importlib.import_module(module), name)
        read(folder)
    except ClosecallError as error:
        return {"end": "refused", "said": str(error)}
    except KeyboardInterrupt:
        raise
    except BaseException as error:  # noqa: BLE001 - a panic of Rust is no Exception
        return {"end": "crash", "said": f"{type(error).__name__}: {error}"[:500]}
    return {"end": "read", "said": ""}


def _bounded() -> None:
    """Let this process take so much memory and no more."""
    if sys.platform == "linux":
        pages = int(Path("/proc/self/statm").read_text(encoding="ascii").split()[0])
        most = pages * os.sysconf("SC_PAGE_SIZE") + ROOM
        resource.setrlimit(resource.RLIMIT_AS, (most, most))
    resource.setrlimit(resource.RLIMIT_CORE, (0, 0))


if __name__ == "__main__":
    # What a library prints must not stand between the answers.
    told = os.fdopen(os.dup(1), "w", encoding="utf-8")
    os.dup2(2, 1)
    _bounded()
    _serve(sys.stdin, told)

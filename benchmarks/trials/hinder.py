"""What is taken from a process, and a disk that is too small."""

from __future__ import annotations

import contextlib
import errno
import os
import signal
import subprocess
import time
from collections.abc import Callable, Iterator, Mapping
from pathlib import Path
from typing import Any

HINDERED = (
    "lock", "rename", "link", "fsync", "short", "interrupted", "clock", "memory", "size", "files",
    "user",
)  # fmt: skip
"""``lock``, ``rename``, ``link``, ``fsync``: the name of the error that each of these raises.
``short``: a write takes that many bytes. ``interrupted``: every other write is. ``clock``: seconds
that the clock goes back each time it is looked at. ``memory``, ``size``, ``files``: the limits on
address space, a file's bytes, open files. ``user``: the number of the user it becomes."""


def hinder(what: Mapping[str, Any]) -> None:
    """Take things away from this process."""
    for name in ("rename", "link", "fsync"):
        if name in what:
            _failing(name, getattr(errno, what[name]), what.get("only", ""))
    if "lock" in what:
        import fcntl

        fcntl.flock = fcntl.lockf = _raising(getattr(errno, what["lock"]))  # type: ignore[assignment]
    if "short" in what or "interrupted" in what:
        _slow_writes(what.get("short"))
    if "clock" in what:
        _backwards(what["clock"])
    _limits(what)
    if "user" in what and os.geteuid() == 0:
        os.setgroups([])
        os.setgid(what["user"])
        os.setuid(what["user"])


def _raising(number: int) -> Callable[..., Any]:
    def fails(*_: object, **__: object) -> None:
        raise OSError(number, os.strerror(number))

    return fails


def _failing(name: str, number: int, only: str) -> None:
    """Make a call of ``os`` fail; where ``only`` is given, for paths that hold that text."""
    for called in (name, "replace") if name == "rename" else (name,):
        real = getattr(os, called)

        def fails(*args: Any, _real: Callable[..., Any] = real, **more: Any) -> Any:
            if only and not any(only in str(arg) for arg in args):
                return _real(*args, **more)
            raise OSError(number, os.strerror(number))

        setattr(os, called, fails)


def _slow_writes(most: int | None) -> None:
    real = os.write
    turn = iter(range(10**9))

    def write(descriptor: int, data: Any) -> int:
        if most is None and next(turn) % 2 == 0:
            # What a handler that raised leaves of a call that was begun; Python itself goes on.
            return real(descriptor, bytes(data)[: max(1, len(data) // 3)])
        return real(descriptor, bytes(data)[: most or len(data)])

    os.write = write


def _backwards(seconds: float) -> None:
    """Let every look at the clock show an earlier time than the one before."""
    import datetime as dt

    real, begun = time.time, time.time()
    looks = iter(range(10**9))

    def now() -> float:
        return begun - seconds * next(looks)

    class Backwards(dt.datetime):
        @classmethod
        def now(cls, tz: dt.tzinfo | None = None) -> Any:  # type: ignore[override]
            return dt.datetime.fromtimestamp(now(), tz)

        @classmethod
        def utcnow(cls) -> Any:
            return dt.datetime.fromtimestamp(now(), dt.UTC).replace(tzinfo=None)

    del real
    time.time = now
    time.time_ns = lambda: int(now() * 1e9)
    dt.datetime = Backwards  # type: ignore[misc]


def _limits(what: Mapping[str, Any]) -> None:
    import resource

    kinds = {
        "memory": resource.RLIMIT_AS,
        "size": resource.RLIMIT_FSIZE,
        "files": resource.RLIMIT_NOFILE,
    }
    for name, kind in kinds.items():
        if name in what:
            _, most = resource.getrlimit(kind)
            resource.setrlimit(kind, (what[name], most))
    if "size" in what:
        signal.signal(signal.SIGXFSZ, signal.SIG_IGN)


@contextlib.contextmanager
def small_disk(place: Path, size: int) -> Iterator[bool]:
    """Mount a file system of so many bytes at a folder; False where that is not permitted."""
    place.mkdir(parents=True, exist_ok=True)
    mount = ["mount", "-t", "tmpfs", "-o", f"size={size},mode=0777", "tmpfs", str(place)]
    try:
        done = subprocess.run(mount, capture_output=True, check=False).returncode == 0
    except OSError:
        done = False
    try:
        yield done
    finally:
        if done:
            subprocess.run(["umount", "-l", str(place)], capture_output=True, check=False)

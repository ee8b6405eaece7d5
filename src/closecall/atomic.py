"""Files that are there whole or not at all."""

from __future__ import annotations

import errno
import os
import stat
import tempfile
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path
from typing import IO, Any

from closecall.errors import UsageError
from closecall.there import exists, is_file, resolved

PREFIX = ".closecall-"
"""Begins the names of files that are being written."""


@contextmanager
def whole_file(path: str | os.PathLike[str]) -> Iterator[IO[str]]:
    """Open a UTF-8 text that takes the place of ``path`` once the block ends without an error.

    Missing folders are made; a link is followed, so that what it points at is replaced; a pipe or
    a device (``/dev/null``) is written to, never replaced. A file that is replaced passes its
    permissions on, and one that may not be written is left alone. Line ends are written as given.

    Raises
    ------
    UsageError
        It cannot be written there.
    """
    with _whole(path, "w", encoding="utf-8", newline="") as file:
        yield file


@contextmanager
def whole_bytes(path: str | os.PathLike[str]) -> Iterator[IO[bytes]]:
    """Open a file of bytes, as ``whole_file`` does a text."""
    with _whole(path, "wb") as file:
        yield file


@contextmanager
def _whole(path: str | os.PathLike[str], mode: str, **text: str) -> Iterator[IO[Any]]:
    temporary = None
    try:
        # Before links are followed: a pipe of the shell's has no name that leads to it.
        if _is_stream(Path(path)):
            with open(path, mode, **text) as file:  # type: ignore[call-overload] # noqa: PTH123
                yield file
            return
        target = _resolved(path)
        permissions = _mode(target)
        target.parent.mkdir(parents=True, exist_ok=True)
        handle, temporary = tempfile.mkstemp(dir=target.parent, prefix=PREFIX)
        with os.fdopen(handle, mode, **text) as file:  # type: ignore[call-overload]
            yield file
            file.flush()
            os.fsync(file.fileno())
        Path(temporary).chmod(permissions)
        Path(temporary).replace(target)
        temporary = None
    except OSError as error:
        raise UsageError(f"cannot write {path}: {error.strerror or error}") from error
    finally:
        if temporary is not None:
            Path(temporary).unlink(missing_ok=True)


def _is_stream(path: Path) -> bool:
    """Whether something is there that is written to and not replaced."""
    return exists(path) and not is_file(path)


def _resolved(path: str | os.PathLike[str]) -> Path:
    try:
        return resolved(path)
    except ValueError as error:  # a NUL in the name
        raise OSError(str(error)) from error


def _mode(target: Path) -> int:
    """Return the permissions for a file: those it has, or those a new one gets."""
    if not exists(target):
        return new_file_mode()
    if not os.access(target, os.W_OK):
        raise PermissionError(errno.EACCES, os.strerror(errno.EACCES))
    return stat.S_IMODE(target.stat().st_mode)


def new_file_mode() -> int:
    """Return the permissions that a new file gets, which one made by ``tempfile`` lacks."""
    mask = os.umask(0o077)
    os.umask(mask)
    return 0o666 & ~mask

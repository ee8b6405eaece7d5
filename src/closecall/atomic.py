"""Files that are there whole or not at all."""

from __future__ import annotations

import errno
import os
import stat
import tempfile
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path
from typing import IO

from closecall.errors import UsageError


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
    temporary = None
    try:
        # Before links are followed: a pipe of the shell's has no name that leads to it.
        if _is_stream(Path(path)):
            with Path(path).open("w", encoding="utf-8", newline="") as file:
                yield file
            return
        target = _resolved(path)
        mode = _mode(target)
        target.parent.mkdir(parents=True, exist_ok=True)
        handle, temporary = tempfile.mkstemp(dir=target.parent, prefix=".closecall-")
        with os.fdopen(handle, "w", encoding="utf-8", newline="") as file:
            yield file
            file.flush()
            os.fsync(file.fileno())
        Path(temporary).chmod(mode)
        Path(temporary).replace(target)
        temporary = None
    except OSError as error:
        raise UsageError(f"cannot write {path}: {error.strerror or error}") from error
    finally:
        if temporary is not None:
            Path(temporary).unlink(missing_ok=True)


def _is_stream(path: Path) -> bool:
    """Whether something is there that is written to and not replaced."""
    try:
        return path.exists() and not path.is_file()
    except (ValueError, RuntimeError):
        return False


def _resolved(path: str | os.PathLike[str]) -> Path:
    try:
        return Path(path).resolve()
    except RuntimeError as error:  # links that lead in a circle
        raise OSError(errno.ELOOP, os.strerror(errno.ELOOP)) from error
    except ValueError as error:  # a NUL in the name
        raise OSError(str(error)) from error


def _mode(target: Path) -> int:
    """Return the permissions for a file: those it has, or those a new one gets."""
    if not target.exists():
        return 0o666 & ~_umask()
    if not os.access(target, os.W_OK):
        raise PermissionError(errno.EACCES, os.strerror(errno.EACCES))
    return stat.S_IMODE(target.stat().st_mode)


def _umask() -> int:
    mask = os.umask(0o077)
    os.umask(mask)
    return mask

"""What lies at a path, told alike by every Python.

Since 3.14 ``Path.is_file``, ``is_dir`` and ``exists`` take what may not be looked at for absent,
and since 3.13 ``Path.resolve`` says nothing of links that lead in a circle. Here both are errors.
"""

from __future__ import annotations

import errno
import os
import stat
from pathlib import Path

_ABSENT = frozenset({errno.ENOENT, errno.ENOTDIR, errno.EBADF, errno.ELOOP})

_ABSENT_ON_WINDOWS = frozenset({21, 123, 1921})
"""A drive that is not ready, a name that none can have, links that lead in a circle."""


def is_file(path: str | os.PathLike[str]) -> bool:
    """Whether a file is there; a link is followed.

    Raises
    ------
    OSError
        It cannot be told, for example because a folder above may not be entered.
    """
    mode = _mode(path)
    return mode is not None and stat.S_ISREG(mode)


def is_dir(path: str | os.PathLike[str]) -> bool:
    """Whether a folder is there; links and errors as with ``is_file``."""
    mode = _mode(path)
    return mode is not None and stat.S_ISDIR(mode)


def exists(path: str | os.PathLike[str]) -> bool:
    """Whether anything is there; links and errors as with ``is_file``."""
    return _mode(path) is not None


def resolved(path: str | os.PathLike[str]) -> Path:
    """Return the whole path without links; what it names need not exist.

    Raises
    ------
    OSError
        The links lead in a circle.
    ValueError
        The name holds a NUL.
    """
    try:
        target = Path(path).resolve()
    except RuntimeError as error:  # how Python up to 3.12 says it
        raise _circle(path) from error
    try:
        ring = stat.S_ISLNK(target.lstat().st_mode)
    except OSError as error:
        ring = error.errno == errno.ELOOP
    if ring:
        raise _circle(path)
    return target


def _mode(path: str | os.PathLike[str]) -> int | None:
    """Return what ``stat`` says of the kind, None where nothing is."""
    try:
        return os.stat(path).st_mode  # noqa: PTH116 - any path, without making one
    except OSError as error:
        if error.errno in _ABSENT or getattr(error, "winerror", None) in _ABSENT_ON_WINDOWS:
            return None
        raise
    except ValueError:  # a NUL in the name
        return None


def _circle(path: str | os.PathLike[str]) -> OSError:
    return OSError(errno.ELOOP, os.strerror(errno.ELOOP), str(path))

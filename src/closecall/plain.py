"""Files that are files: a pipe or a device under a file's name is refused, not waited for."""

from __future__ import annotations

import errno
import os
import stat
from io import BufferedReader

# A pipe that nobody writes to would be waited for until the end of time.
_FLAGS = (
    os.O_RDONLY
    | getattr(os, "O_NONBLOCK", 0)
    | getattr(os, "O_CLOEXEC", 0)
    | getattr(os, "O_BINARY", 0)
)


class NotPlainError(OSError):
    """It is there and is not read; the words alone, as callers name the file."""

    def __str__(self) -> str:
        return str(self.strerror)


def open_plain(path: str | os.PathLike[str]) -> BufferedReader:
    """Open a file to be read; a link is followed.

    Raises
    ------
    OSError
        It cannot be opened, or is a folder, a pipe, a device or a socket.
    ValueError
        The name holds a NUL.
    """
    descriptor = os.open(path, _FLAGS)
    try:
        # Of what was opened, not of the name: nothing can be put in its place in between.
        _require_plain(os.fstat(descriptor).st_mode, str(path))
        return os.fdopen(descriptor, "rb")
    except BaseException:
        os.close(descriptor)
        raise


def read_plain(path: str | os.PathLike[str], most: int | None = None) -> bytes:
    """Return a file's bytes.

    Parameters
    ----------
    path
        The file; a link is followed.
    most
        Bytes of the largest that is read; None: any.

    Raises
    ------
    OSError
        As ``open_plain``; or it is larger.
    ValueError
        The name holds a NUL.
    """
    with open_plain(path) as file:
        if most is None:
            return file.read()
        # One byte more than there is, not than there may be: so much memory is taken at once.
        data = file.read(min(os.fstat(file.fileno()).st_size, most) + 1)
        if len(data) > most:
            raise NotPlainError(errno.EFBIG, f"more than {most:,} bytes, too large", str(path))
        return data


def _require_plain(kind: int, path: str) -> None:
    if stat.S_ISDIR(kind):
        raise IsADirectoryError(errno.EISDIR, os.strerror(errno.EISDIR), path)
    if not stat.S_ISREG(kind):
        raise NotPlainError(errno.EINVAL, "not a file but a pipe or a device", path)

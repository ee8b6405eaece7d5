"""One writer a file: a lock that the system drops when its process dies, however it dies."""

from __future__ import annotations

import contextlib
import errno
import os
import sys

_BUSY = frozenset({errno.EACCES, errno.EAGAIN, errno.EDEADLK})


class BusyError(Exception):
    """Another open file holds the lock."""


if sys.platform == "win32":  # pragma: no cover
    import msvcrt

    # Locked bytes cannot be read by others, so the byte lies far beyond any file's end.
    _FAR = 1 << 40

    def lock(descriptor: int) -> None:
        """Take the lock or raise ``BusyError``; other ``OSError`` when files cannot be locked."""
        os.lseek(descriptor, _FAR, os.SEEK_SET)
        try:
            msvcrt.locking(descriptor, msvcrt.LK_NBLCK, 1)
        except OSError as error:
            if error.errno in _BUSY:
                raise BusyError from error
            raise

    def unlock(descriptor: int) -> None:
        """Give the lock back."""
        os.lseek(descriptor, _FAR, os.SEEK_SET)
        with contextlib.suppress(OSError):
            msvcrt.locking(descriptor, msvcrt.LK_UNLCK, 1)

else:
    import fcntl

    def lock(descriptor: int) -> None:
        """Take the lock or raise ``BusyError``; other ``OSError`` when files cannot be locked."""
        try:
            fcntl.flock(descriptor, fcntl.LOCK_EX | fcntl.LOCK_NB)
        except OSError as error:
            if error.errno in _BUSY:
                raise BusyError from error
            raise

    def unlock(descriptor: int) -> None:
        """Give the lock back."""
        with contextlib.suppress(OSError):
            fcntl.flock(descriptor, fcntl.LOCK_UN)

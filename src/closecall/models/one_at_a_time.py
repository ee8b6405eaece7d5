"""One process a folder: a lock that the system drops when its process dies, however it dies."""

from __future__ import annotations

import os
import sys
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path

from closecall.errors import ModelError

if sys.platform == "win32":  # pragma: no cover
    import msvcrt

    def _take(descriptor: int) -> None:
        msvcrt.locking(descriptor, msvcrt.LK_NBLCK, 1)

else:
    import fcntl

    def _take(descriptor: int) -> None:
        fcntl.flock(descriptor, fcntl.LOCK_EX | fcntl.LOCK_NB)


@contextmanager
def one_at_a_time(path: Path) -> Iterator[None]:
    """Hold the lock file at ``path`` for the block.

    The file stays: to remove it while another process opens it would let both in.

    Raises
    ------
    ModelError
        If another process holds it, or it cannot be made.
    """
    try:
        path.parent.mkdir(parents=True, exist_ok=True)
        descriptor = os.open(path, os.O_RDWR | os.O_CREAT, 0o600)
    except OSError as error:
        raise ModelError(f"{path}: cannot be written: {error.strerror or error}") from error
    try:
        try:
            _take(descriptor)
        except OSError:
            raise ModelError(
                f"{path.stem}: another process is fetching it; wait for that one to end"
            ) from None
        yield
    finally:
        os.close(descriptor)

"""One process a folder: a lock that the system drops when its process dies, however it dies."""

from __future__ import annotations

import os
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path

from closecall.errors import ModelError
from closecall.storage import locking


@contextmanager
def one_at_a_time(path: Path) -> Iterator[None]:
    """Hold the lock file at ``path`` for the block.

    The file stays: to remove it while another process opens it would let both in.

    Raises
    ------
    ModelError
        If another process holds it, or it cannot be made or locked.
    """
    try:
        path.parent.mkdir(parents=True, exist_ok=True)
        descriptor = os.open(path, os.O_RDWR | os.O_CREAT, 0o600)
    except OSError as error:
        raise ModelError(f"{path}: cannot be written: {error.strerror or error}") from error
    try:
        try:
            locking.lock(descriptor)
        except locking.BusyError:
            raise ModelError(
                f"{path.stem}: another process is fetching it; wait for that one to end"
            ) from None
        except OSError as error:
            raise ModelError(
                f"{path}: cannot be locked: {error.strerror or error}. Keep models on a file "
                "system that can lock, with CLOSECALL_MODELS_DIR"
            ) from error
        yield
    finally:
        os.close(descriptor)

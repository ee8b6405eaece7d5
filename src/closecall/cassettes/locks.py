"""One writer a file: a lock that the system drops when its process dies, however it dies."""

from __future__ import annotations

import os
from pathlib import Path

from closecall.errors import CassetteError
from closecall.storage import locking


def open_locked(path: Path) -> int:
    """Open a file that only grows, making it if need be, and hold its lock until it is closed.

    Raises
    ------
    CassetteError
        Another process holds the lock, or the file cannot be opened for writing or locked.
    """
    flags = os.O_RDWR | os.O_APPEND | os.O_CREAT
    for name in ("O_BINARY", "O_NOFOLLOW", "O_CLOEXEC"):
        flags |= getattr(os, name, 0)
    try:
        path.parent.mkdir(parents=True, exist_ok=True)
        while True:
            descriptor = os.open(path, flags, 0o644)
            if _locked(descriptor, path):
                return descriptor
            os.close(descriptor)
    except OSError as error:
        raise CassetteError(f"{path}: cannot be written: {error.strerror or error}") from error


def _locked(descriptor: int, path: Path) -> bool:
    """Lock an open file; False where its name has been taken from it by the last holder."""
    try:
        locking.lock(descriptor)
    except locking.BusyError:
        os.close(descriptor)
        raise CassetteError(
            f"{path}: another process is recording this scenario; wait for that one to end, or "
            "record under another scenario"
        ) from None
    except OSError as error:
        os.close(descriptor)
        raise CassetteError(
            f"{path}: cannot be locked: {error.strerror or error}; keep the recordings on a file "
            "system that can lock"
        ) from error
    try:
        return os.path.samestat(os.fstat(descriptor), path.stat())
    except FileNotFoundError:
        return False

"""The contract of a store, and the names it takes."""

from __future__ import annotations

import os
import re
from pathlib import Path
from typing import BinaryIO, Protocol

from closecall.errors import UsageError


def forbidden(system: str) -> re.Pattern[str]:
    """Return what no name holds on a system (``os.name``).

    On Windows a colon stands after a drive, or before a stream of a file: both lead elsewhere.
    """
    return re.compile(r"[\x00-\x1f\x7f\\?#:]" if system == "nt" else r"[\x00-\x1f\x7f\\?#]")


_FORBIDDEN = forbidden(os.name)


class Store(Protocol):
    """Objects by name, such as ``parts/one.parquet``; a name never leads out of the place.

    Everything raises ``StorageError`` where the place cannot be reached or refuses, and
    ``UsageError`` for a name that leads elsewhere.
    """

    @property
    def place(self) -> str:
        """Where it is, for people; it holds no secret."""
        ...

    def names(self, under: str = "") -> list[str]:
        """Return the names of all objects, of all depths, sorted; of those below ``under``."""
        ...

    def exists(self, name: str) -> bool:
        """Whether there is such an object."""
        ...

    def size(self, name: str) -> int:
        """Return its bytes."""
        ...

    def read(self, name: str) -> bytes:
        """Return all of it."""
        ...

    def open(self, name: str) -> BinaryIO:
        """Open it for reading; one can seek in it, and only what is read is fetched."""
        ...

    def write(self, name: str, data: bytes | Path) -> None:
        """Put an object there, in place of one of that name: whole, or not at all."""
        ...

    def create(self, name: str, data: bytes) -> bool:
        """Put an object there if there is none of that name; False where there is.

        Of several that try at once, one is told True. Where a connection was lost, who wrote is
        told by the bytes, so each should write others.
        """
        ...

    def remove(self, name: str) -> None:
        """Take an object away; one that is not there is no error."""
        ...


def checked(name: str) -> str:
    """Return a name that leads nowhere else.

    Raises
    ------
    UsageError
        It is empty, absolute, climbs, or holds a character that no store takes.
    """
    parts = name.split("/")
    if _FORBIDDEN.search(name) or any(part in {"", ".", ".."} for part in parts):
        raise UsageError(f"{name!r} is no name in a store: parts with / between, none empty or ..")
    return name

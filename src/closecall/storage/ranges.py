"""An object of a store as a file that can be sought in: only what is read is fetched."""

from __future__ import annotations

import io
from collections.abc import Callable
from typing import TYPE_CHECKING, Any

if TYPE_CHECKING:
    from _typeshed import WriteableBuffer

PIECE = 8 * 1024 * 1024
"""Bytes of one request; at most so many are fetched twice when a connection is lost."""
BUFFER = 256 * 1024
"""Bytes read ahead by small reads; a larger read is one request of its own."""


class RangeFile(io.RawIOBase):
    """Reads of one object by ranges.

    Parameters
    ----------
    size
        Its bytes.
    fetch
        ``fetch(start, stop)`` returns exactly those bytes of the object as it was when it was
        opened, or raises.
    """

    def __init__(self, size: int, fetch: Callable[[int, int], bytes]) -> None:
        super().__init__()
        self.size, self._fetch, self._at = size, fetch, 0

    def readable(self) -> bool:
        """Whether it can be read: it can."""
        return True

    def seekable(self) -> bool:
        """Whether one can seek in it: one can."""
        return True

    def tell(self) -> int:
        """Return where the next read begins."""
        return self._at

    def seek(self, offset: int, whence: int = io.SEEK_SET) -> int:
        """Go to an offset from the start, from here, or from the end."""
        base = {io.SEEK_SET: 0, io.SEEK_CUR: self._at, io.SEEK_END: self.size}[whence]
        if base + offset < 0:
            raise ValueError(f"there is no offset {base + offset}")
        self._at = base + offset
        return self._at

    def readinto(self, buffer: WriteableBuffer) -> int:
        """Fill a buffer as far as the object goes."""
        view = memoryview(buffer).cast("B")
        stop = min(self.size, self._at + len(view))
        if self.closed:
            raise ValueError("the file is closed")
        if stop <= self._at:
            return 0
        data = self._fetch(self._at, stop)
        view[: len(data)] = data
        self._at = stop
        return len(data)

    def readall(self) -> bytes:
        """Return all that is left, by requests as large as those of a fetch."""
        pieces = []
        while piece := self.read(PIECE):
            pieces.append(piece)
        return b"".join(pieces)


def buffered(raw: RangeFile) -> Any:
    """Return it with a small buffer, so that short reads are not requests each."""
    return io.BufferedReader(raw, BUFFER)

"""How long and how large one exchange may be, whatever a server sends.

The client bounds each read and not their sum, and it reads the reply of a request that failed to
its end: a server that sends a header a byte at a time, or 1xx replies or an error without an end,
would hold a request for ever. So what the client reads from the network passes here, where bytes
and seconds of the exchange under way are counted, whether they are headers, body or neither.
"""

from __future__ import annotations

import threading
import time
from typing import Any

HEAD_BYTES = 256 * 1024
"""Bytes that an exchange may have beside the longest body: headers, sizes of chunks, trailers."""


class PastBoundsError(Exception):
    """An exchange is over its bytes or seconds; ``late`` says which."""

    def __init__(self, reason: str, *, late: bool) -> None:
        super().__init__(reason)
        self.late = late


class Bounds(threading.local):
    """The exchange that this thread is in: one thread sends and reads one at a time."""

    def __init__(self) -> None:
        self._until = float("inf")
        self._left = float("inf")
        self._said = (0, 0.0)

    @property
    def limit(self) -> int:
        """The bytes of the longest body of this exchange."""
        return self._said[0]

    def begin(self, limit: int, left_s: float) -> None:
        """Begin an exchange of at most so many bytes of body and so many seconds."""
        self._said = (limit, left_s)
        self._until = time.monotonic() + left_s
        self._left = limit + HEAD_BYTES

    def end(self) -> None:
        """End it: what is read without an exchange is not bounded."""
        self._until = self._left = float("inf")

    def wait(self, timeout: float | None) -> float | None:
        """Return how long the next read may wait."""
        left = self._until - time.monotonic()
        if left <= 0:
            raise PastBoundsError(
                f"its reply was not whole after {self._said[1]:.0f} s", late=True
            )
        if left == float("inf"):
            return timeout
        return left if timeout is None else min(timeout, left)

    def count(self, size: int) -> None:
        """Count bytes that were read."""
        self._left -= size
        if self._left < 0:
            raise PastBoundsError(f"its reply passes {self._said[0]} bytes", late=False)


def bound(client: Any, bounds: Bounds) -> None:
    """Have all that a client reads from the network counted by these bounds.

    Parameters
    ----------
    client
        The HTTP client, before its first request.
    bounds
        What counts.
    """
    for transport in (client._transport, *client._mounts.values()):  # noqa: SLF001 - no other way
        pool = getattr(transport, "_pool", None)
        if pool is not None:
            pool._network_backend = _Backend(pool._network_backend, bounds)  # noqa: SLF001


class _Backend:
    """Opens connections whose streams are bounded; all else is the backend's behind it."""

    def __init__(self, behind: Any, bounds: Bounds) -> None:
        self._behind = behind
        self._bounds = bounds

    def __getattr__(self, name: str) -> Any:
        return getattr(self._behind, name)

    def connect_tcp(self, *args: Any, **given: Any) -> _Stream:
        return _Stream(self._behind.connect_tcp(*args, **given), self._bounds)


class _Stream:
    """A connection's stream; all but reading is the stream's behind it."""

    def __init__(self, behind: Any, bounds: Bounds) -> None:
        self._behind = behind
        self._bounds = bounds

    def __getattr__(self, name: str) -> Any:
        return getattr(self._behind, name)

    def start_tls(self, *args: Any, **given: Any) -> _Stream:
        return _Stream(self._behind.start_tls(*args, **given), self._bounds)

    def read(self, max_bytes: int, timeout: float | None = None) -> bytes:
        wait = self._bounds.wait(timeout)
        try:
            data: bytes = self._behind.read(max_bytes, timeout=wait)
        except Exception:
            self._bounds.wait(timeout)  # where it ended for the exchange's time, that is said
            raise
        self._bounds.count(len(data))
        return data

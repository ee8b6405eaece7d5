"""The head of a reply, read within a bound of time and of bytes; so is what stands between parts.

``http.client`` gives up after so many seconds without a byte, and reads as many interim replies
(``100 Continue``) and trailers as come: a server that sends a byte now and then, or one of these
after another, would never be given up.
"""

from __future__ import annotations

import contextlib
import http.client
import io
import socket
import time
import urllib.request
from collections.abc import Callable
from typing import Any

from closecall.errors import ModelError

HEAD_S = 60.0
"""Seconds for the whole head of a reply, interim replies included."""

HEAD_BYTES = 1_000_000
"""Most bytes of a reply's head, interim replies included."""


class _Bounded(io.RawIOBase):
    """A connection's bytes; ``bound`` sets the bounds, ``settled`` or closing it ends them."""

    def __init__(self, raw: io.RawIOBase, sock: socket.socket) -> None:
        super().__init__()
        self._raw = raw
        self._sock = sock
        self._usual = sock.gettimeout()
        self._until: float | None = None
        self._left = 0
        self.bound()

    def readable(self) -> bool:
        return True

    def readinto(self, buffer: Any) -> int | None:
        if self._until is not None:
            left = self._until - time.monotonic()
            if left <= 0:
                raise TimeoutError
            if self._left <= 0:
                raise ModelError(
                    f"the head of an answer does not end within {HEAD_BYTES:,} bytes: what "
                    "answered is no hub, or something between it and this machine is broken"
                )
            self._sock.settimeout(left if self._usual is None else min(left, self._usual))
        came = self._raw.readinto(buffer)
        self._left -= came or 0
        return came

    def bound(self) -> None:
        self._until = time.monotonic() + HEAD_S
        self._left = HEAD_BYTES

    def settled(self) -> None:
        self._until = None
        with contextlib.suppress(OSError):  # closed already
            self._sock.settimeout(self._usual)

    def close(self) -> None:
        if not self.closed:
            self.settled()
            self._raw.close()
        super().close()


class _Reply(http.client.HTTPResponse):
    """A reply whose head is bounded; its body is as ever. A proxy's answer is one, too."""

    def __init__(self, sock: socket.socket, *args: Any, **options: Any) -> None:
        super().__init__(sock, *args, **options)
        self._bounded = _Bounded(self.fp.detach(), sock)
        self.fp = io.BufferedReader(self._bounded)

    def begin(self) -> None:
        super().begin()
        self._bounded.settled()

    def _read_next_chunk_size(self) -> int:
        """Return the size of the next part; one below 0 would be read as without end."""
        self._bounded.bound()
        size: int = super()._read_next_chunk_size()  # type: ignore[misc]
        self._bounded.settled()
        if size < 0:
            raise ValueError("a part of negative size")
        return size

    def _read_and_discard_trailer(self) -> None:
        self._bounded.bound()
        super()._read_and_discard_trailer()  # type: ignore[misc]
        self._bounded.settled()


class _Heads(urllib.request.AbstractHTTPHandler):
    """Has ``_Reply`` made of what comes."""

    def do_open(self, http_class: Callable[..., Any], req: Any, **options: Any) -> Any:
        def connection(*args: Any, **more: Any) -> Any:
            made = http_class(*args, **more)
            made.response_class = _Reply
            return made

        return super().do_open(connection, req, **options)


class HTTPHandler(_Heads, urllib.request.HTTPHandler):
    """Opens ``http:`` addresses; the heads of replies are bounded."""


class HTTPSHandler(_Heads, urllib.request.HTTPSHandler):
    """Opens ``https:`` addresses; the heads of replies are bounded."""

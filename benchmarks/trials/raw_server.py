"""A server on the loopback that answers each request with bytes as they are given to it."""

from __future__ import annotations

import contextlib
import json
import socket
import threading
from collections.abc import Callable, Mapping
from typing import Any, NamedTuple


class Asked(NamedTuple):
    """One request: which one it is, counted from 1, and the JSON of its body."""

    number: int
    body: Mapping[str, Any]


class RawServer:
    """Reads requests and writes what ``answer`` makes of each, then closes the line."""

    def __init__(self, answer: Callable[[Asked], bytes]) -> None:
        self.answer = answer
        self.count = 0
        self._lock = threading.Lock()
        self._line = socket.create_server(("127.0.0.1", 0), backlog=128)
        self.url = f"http://127.0.0.1:{self._line.getsockname()[1]}/v1"
        threading.Thread(target=self._serve, daemon=True).start()

    def close(self) -> None:
        """Take no more requests."""
        self._line.close()

    def _serve(self) -> None:
        while True:
            try:
                line, _ = self._line.accept()
            except OSError:
                return
            threading.Thread(target=self._reply, args=(line,), daemon=True).start()

    def _reply(self, line: socket.socket) -> None:
        with line, contextlib.suppress(OSError, ValueError):
            line.settimeout(20)
            data = b""
            while b"\r\n\r\n" not in data:
                more = line.recv(65536)
                if not more:
                    return
                data += more
            head, _, body = data.partition(b"\r\n\r\n")
            length = int(head.lower().partition(b"content-length:")[2].split(b"\r\n")[0] or 0)
            while len(body) < length:
                more = line.recv(65536)
                if not more:
                    return
                body += more
            with self._lock:
                self.count += 1
                number = self.count
            line.sendall(self.answer(Asked(number, json.loads(body))))
            line.shutdown(socket.SHUT_WR)
            while line.recv(65536):
                pass


def whole(
    body: bytes, head: bytes = b"HTTP/1.1 200 OK\r\ncontent-type: application/json\r\n"
) -> bytes:
    """Return a sound reply with this body."""
    return head + b"content-length: %d\r\nconnection: close\r\n\r\n" % len(body) + body

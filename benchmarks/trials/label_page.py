"""Requests of every shape to the label page: it answers or hangs up, and keeps what is signed.

A request is a template: ``{host}``, ``{cookie}``, ``{form}``, ``{base}`` and ``{step}`` stand for
what the page's own script would send. Whatever becomes of it on the way, a label may be kept only
where the cookie, the origin, the host and the secret of the form all still stand in its bytes.
"""

from __future__ import annotations

import atexit
import json
import random
import re
import socket
import sys
import tempfile
import threading
from pathlib import Path
from typing import Any

from closecall.labelling.web import serving
from closecall.labelling.web.desk import Desk

from . import helpers
from .counts import Counts, Say

STATUSES = {200, 303, 400, 403, 404, 409, 411, 413, 414, 421, 422, 431, 501, 505}
REQUESTS = 20_000
STALLED = 200

PRESS = (
    b"POST {base}press HTTP/1.1\r\nHost: {host}\r\nCookie: {cookie}\r\nOrigin: http://{host}\r\n"
    b"Content-Type: application/json\r\nX-Closecall-Form: {form}\r\n"
    b"Content-Length: {length}\r\n\r\n"
)
BODY = b'{"key": "note", "step": {step}, "note": "late again"}'
STATE = b"GET {base}state HTTP/1.1\r\nHost: {host}\r\nCookie: {cookie}\r\n\r\n"
PAGE = b"GET {base} HTTP/1.1\r\nHost: {host}\r\nCookie: {cookie}\r\nAccept: text/html\r\n\r\n"
ASSET = b"GET {base}label.js HTTP/1.1\r\nHost: {host}\r\nCookie: {cookie}\r\n\r\n"
LINK = b"GET /?token=guessed HTTP/1.1\r\nHost: {host}\r\n\r\n"


class BrokenError(AssertionError):
    """The page did what it must never do."""


class _Server(serving.Server):
    """Keeps what it would print of an error, so that a trial finds it."""

    odd: tuple[str, ...] = ()

    def handle_error(self, request: Any, client_address: Any) -> None:
        error = sys.exc_info()[1]
        if not isinstance(error, OSError):
            self.odd += (f"{type(error).__name__}: {error}",)


class LabelPage:
    """A sitting on twelve cases, its server, and a browser that was let in."""

    def __init__(self) -> None:
        helpers.use("labelling")
        from label_helpers import Table, row

        self._folder = tempfile.TemporaryDirectory()
        self._table = Table(Path(self._folder.name), [row(at) for at in range(12)])
        self._server = _Server(Desk(self._table.sit()), 0)
        self._thread = threading.Thread(
            target=self._server.serve_forever, kwargs={"poll_interval": 0.05}, daemon=True
        )
        self._thread.start()
        self.port = self._server.server_address[1]
        link = self._server.gate.link.partition(f":{self.port}")[2]
        host = f"127.0.0.1:{self.port}"
        entered = self.ask(f"GET {link} HTTP/1.1\r\nHost: {host}\r\n\r\n".encode())
        cookie = re.search(rb"Set-Cookie: ([^;]+)", entered)
        if cookie is None:
            raise BrokenError("the link does not work")
        self.own = {
            b"host": host.encode(), b"base": self._server.gate.base.encode(),
            b"cookie": cookie[1], b"form": self._server.gate.form.encode(),
        }  # fmt: skip
        self.step = 0
        self.step = self.look()["step"]

    def close(self) -> None:
        """End the server and forget the labels."""
        self._server.shutdown()
        self._server.server_close()
        self._thread.join()
        self._table.close()
        self._folder.cleanup()

    def filled(self, template: bytes) -> bytes:
        """Return a template with what the page's script would put there."""
        for name, value in self.own.items():
            template = template.replace(b"{" + name + b"}", value)
        template = template.replace(b"{step}", str(self.step).encode())
        body = re.split(rb"\r?\n\r?\n", template, maxsplit=1)[-1]
        return template.replace(b"{length}", str(len(body)).encode())

    def ask(self, sent: bytes, *, end: bool = True) -> bytes:
        """Send bytes as they are; return all that comes back, nothing where the line was cut."""
        said = b""
        with socket.create_connection(("127.0.0.1", self.port), timeout=60) as line:
            try:
                line.sendall(sent)
                if end:
                    line.shutdown(socket.SHUT_WR)
                while more := line.recv(65536):
                    said += more
            except TimeoutError:
                raise
            except OSError:
                pass  # it hung up, which it may before it has heard all
        return said

    def look(self) -> dict[str, Any]:
        """Return what the page shows, as its script gets it."""
        said = self.ask(self.filled(STATE))
        if not said.startswith(b"HTTP/1.0 200 "):
            raise BrokenError(f"a sound request got {said[:80]!r}")
        found: dict[str, Any] = json.loads(said.partition(b"\r\n\r\n")[2])
        return found

    def tried(self, template: bytes) -> int:
        """Send a request; return the reply's status, 0 where the line was cut without one.

        Raises
        ------
        BrokenError
            The reply, or what was kept of it, is not as promised.
        """
        sent = self.filled(template)
        said = self.ask(sent)
        if self._server.odd:
            odd, self._server.odd = self._server.odd, ()
            raise BrokenError("; ".join(odd))
        status = self._checked(said) if said else 0
        step = self.look()["step"]
        if step != self.step:
            before, self.step = self.step, step
            origin = b"http://" + self.own[b"host"]
            needed = (origin, self.own[b"cookie"], self.own[b"form"], self.own[b"base"])
            if step != before + 1 or not all(one in sent for one in needed):
                raise BrokenError(f"{step - before} labels were kept of {sent[:2000]!r}")
        return status

    @staticmethod
    def _checked(said: bytes) -> int:
        head, _, text = said.partition(b"\r\n\r\n")
        first = re.match(rb"HTTP/1\.0 (\d{3}) [A-Za-z -]+(\r\n|$)", head)
        if first is None or int(first[1]) not in STATUSES:
            raise BrokenError(f"the reply begins with {said[:80]!r}")
        lacking = [n for n in serving.HEADERS if f"\r\n{n}: ".encode() not in head]
        if lacking:
            raise BrokenError(f"the reply to it lacks {', '.join(lacking)}")
        if b"Traceback" in text or b"closecall/labelling" in text:
            raise BrokenError("the reply shows the inside")
        return int(first[1])


_METHODS = (
    b"GET", b"POST", b"HEAD", b"OPTIONS", b"TRACE", b"PUT", b"DELETE", b"CONNECT", b"PATCH",
    b"get", b"__init__", b"", b"G" * 300, b"\x00", "GÉT".encode(),
)  # fmt: skip
_PATHS = (
    b"{base}press", b"{base}press", b"{base}state", b"{base}", b"{base}label.js", b"/", b"*",
    b"{base}../../../etc/passwd", b"{base}%2e%2e/serving.py", b"{base}label.js%00.html", b"//[",
    b"http://[", b"http://{host}{base}state", b"http://evil.example{base}press", b"{base}\\..\\x",
    b"/?token=" + b"a" * 4000, b"/?" + b"token=1&" * 50, b"{base}state?a=1;b=2#x", b"/%", b"?",
    b"",
    b"/" * 70_000, b"{base}press HTTP/1.1\r\nHost: {host}\r\n\r\nGET {base}state", b"/\xff\xfe",
    b"javascript:alert(1)", b"/?token=\x00", b"{base}press/", b"{base}assets/", b"\t/",
)  # fmt: skip
_VERSIONS = (
    b"HTTP/1.1", b"HTTP/1.1", b"HTTP/1.1", b"HTTP/1.0", b"HTTP/0.9", b"HTTP/2.0", b"HTTP/9.9",
    b"HTTP/1.", b"HTTP/-1.1", b"HTTP/1.1.1", b"HTTP/" + b"9" * 5000 + b".1", b"", b"ICY/1.0",
)  # fmt: skip
_SIGNED = (
    b"Host: {host}", b"Cookie: {cookie}", b"Origin: http://{host}",
    b"Content-Type: application/json", b"X-Closecall-Form: {form}", b"Content-Length: {length}",
)  # fmt: skip
_HEADERS = (
    b"Host: evil.example", b"Host: {host}:1", b"Host:", b"host : {host}", b"Origin: null",
    b"Origin: http://evil.example", b"Origin: HTTP://{host}", b"Cookie: x={form}", b"Cookie: =;;=",
    b'Cookie: {cookie}; a="' + b"\\" * 3000, b"Cookie: closecall-label=", b"X-Closecall-Form:",
    b"X-Closecall-Form: \xff\xfe", b"Content-Length: -1", b"Content-Length: 0x10",
    b"Content-Length: +5", b"Content-Length: 5, 5", b"Content-Length: " + b"9" * 5000,
    b"Content-Length: \xd9\xa3", b"Transfer-Encoding: chunked", b"Transfer-Encoding: xchunked",
    b"transfer-encoding: identity", b"Content-Type: text/plain",
    b"Content-Type: application/json;x",
    b"Expect: 100-continue", b"Upgrade: websocket\r\nConnection: Upgrade\r\nSec-WebSocket-Key: x",
    b"Sec-Fetch-Site: cross-site", b"Connection: keep-alive", b"X: " + b"a" * 70_000, b"no colon",
    b" folded", b"\tfolded: more", b"A\x00B: c", b"Referer: http://evil.example/", b": empty",
    b"X-HTTP-Method-Override: POST", b"Forwarded: host={host}", b"X-Forwarded-Host: evil.example",
    b"Range: bytes=0-1", b"Accept-Encoding: gzip;q=1e400",
)  # fmt: skip
_BODIES = (
    b"", b"{}", b"null", b"[" * 50_000, b'{"key":' * 8000, b'{"key": "undo", "step": 1}',
    b'{"key": "accept", "step": 1e999}', b'{"key": "note", "step": {step}, "note": "\\ud800"}',
    b'{"key": "note", "step": {step}, "note": "\x00\x1b[2J"}', b"\xff\xfe{\x00}", b"NaN",
    b'{"key": "note", "step": {step}, "note": "' + b"w" * 60_000 + b'"}', b"a" * 70_000,
    b'{"step": {step}, "step": 0, "key": "accept"}', b"5\r\nhello\r\n0\r\n\r\n",
    b"POST {base}press HTTP/1.1\r\nHost: {host}\r\n\r\n" + BODY,
)  # fmt: skip


def made(chance: random.Random) -> bytes:
    """Return one request: most nearly sound, some of nothing but parts that do not belong."""
    if chance.random() < 0.05:
        return chance.randbytes(chance.choice((1, 40, 3000)))
    headers = list(_SIGNED)
    for _ in range(chance.choice((0, 0, 1, 1, 2, 4))):
        way = chance.random()
        if way < 0.35 and headers:
            headers.pop(chance.randrange(len(headers)))
        else:
            headers.insert(chance.randint(0, len(headers)), chance.choice(_HEADERS))
    if chance.random() < 0.02:
        headers += [b"X-More: 1"] * 150
    near = chance.random() < 0.6
    first = b" ".join((
        b"POST" if near else chance.choice(_METHODS),
        b"{base}press" if near else chance.choice(_PATHS),
        b"HTTP/1.1" if near else chance.choice(_VERSIONS),
    ))  # fmt: skip
    end = chance.choices((b"\r\n", b"\n", b"\r"), (14, 3, 1))[0]
    body = BODY if chance.random() < 0.6 else chance.choice(_BODIES)
    sent = end.join((first, *headers, b"", b"")) + body
    if chance.random() < 0.2:
        at = chance.randrange(len(sent))
        sent = (
            sent[:at]
            + chance.choice((b"", b"\x00", b"\r\n", chance.randbytes(3)))
            + sent[at + 1 :]
        )
    return sent * 2 if chance.random() < 0.05 else sent


def run(*, seed: int, scale: float, say: Say = lambda _: None) -> list[Counts]:
    """Send requests of every shape; then let clients stall, and see that others are served."""
    page = LabelPage()
    try:
        return [
            _requests(page, seed, max(20, int(REQUESTS * scale)), say),
            _stalled(page, max(serving.MOST_AT_ONCE + 8, int(STALLED * scale))),
        ]
    finally:
        page.close()


def _requests(page: LabelPage, seed: int, count: int, say: Say) -> Counts:
    failures, statuses, kept = [], {"hung up": 0}, page.step
    for number in range(count):
        chance = random.Random(f"label page {seed} {number}")
        try:
            status = page.tried(made(chance))
        except (BrokenError, OSError, ValueError) as error:
            failures.append(f"label page, seed {seed}, number {number}: {error!s:.300}")
            continue
        name = str(status or "hung up")
        statuses[name] = statuses.get(name, 0) + 1
        if (number + 1) % 1000 == 0:
            say(f"label page: {number + 1} of {count} requests")
    also = dict(sorted(statuses.items())) | {"labels kept": page.step - kept}
    return Counts(
        "requests to the label page", count, count - len(failures), tuple(failures), also
    )


def _stalled(page: LabelPage, count: int) -> Counts:
    """Have clients connect, send a part of a request and stop; each time, ask as the browser."""
    lines: list[socket.socket] = []
    failures = []
    parts = (b"", b"GET / HT", b"POST {base}press HTTP/1.1\r\nHost: {host}\r\nX: ")
    try:
        for number in range(count):
            line = socket.create_connection(("127.0.0.1", page.port), timeout=60)
            lines.append(line)
            line.sendall(page.filled(parts[number % 3]))
            try:
                page.look()
            except (BrokenError, OSError, ValueError) as error:
                failures.append(f"with {number + 1} stalled clients: {error!s:.300}")
    finally:
        for line in lines:
            line.close()
    return Counts(
        "label page beside stalled clients", count, count - len(failures), tuple(failures)
    )


_kept: list[LabelPage] = []


def shared() -> LabelPage:
    """Return a page that many short trials share; a new one every 500 labels."""
    if _kept and _kept[0].step > 500:
        _kept.pop().close()
    if not _kept:
        _kept.append(LabelPage())
        atexit.register(lambda: _kept and _kept.pop().close())
    return _kept[0]

"""The server of the page: on 127.0.0.1 only, a handful of routes, nothing of the disk."""

from __future__ import annotations

import sys
import threading
from collections.abc import Callable
from http.server import BaseHTTPRequestHandler, ThreadingHTTPServer
from importlib.resources import files
from socket import SHUT_RDWR, socket
from socketserver import TCPServer
from typing import Any, ClassVar
from urllib.parse import parse_qs, urlsplit

import msgspec

from closecall.errors import UsageError
from closecall.labelling.session import Session
from closecall.labelling.web.desk import Desk, Press
from closecall.labelling.web.guarding import Gate

LOOPBACK = "127.0.0.1"
MOST_BODY = 65_536
"""Bytes of a request's body: a note and what is around it."""

MOST_AT_ONCE = 32
"""Requests answered side by side. For one more, the one that has kept the server waiting longest
without showing the cookie is cut off; where there is none, the new one is."""

ROOM = 1.0
"""Seconds to wait for the place of whoever is cut off."""

SILENCE = 10.0
"""Seconds a client may keep the server waiting for its next bytes."""

LONGEST = 30.0
"""Seconds from connecting to the end of the reply."""

HEADERS = {
    "Content-Security-Policy": "default-src 'none'; script-src 'self'; style-src 'self'; "
    "connect-src 'self'; img-src data:; base-uri 'none'; form-action 'none'; "
    "frame-ancestors 'none'",
    "X-Content-Type-Options": "nosniff",
    "X-Frame-Options": "DENY",
    "Referrer-Policy": "no-referrer",
    "Cross-Origin-Opener-Policy": "same-origin",
    "Cross-Origin-Resource-Policy": "same-origin",
    "Cache-Control": "no-store",
    "Connection": "close",
}
ASSETS = {
    "": ("label.html", "text/html; charset=utf-8"),
    "label.css": ("label.css", "text/css; charset=utf-8"),
    "label.js": ("label.js", "text/javascript; charset=utf-8"),
}
USED = (
    "This link was used already, or is not the one that was printed. Go on in the tab that it "
    "opened; or end closecall label with Ctrl-C and start it again: every label is kept."
)

ONCE = ("Host", "Origin", "Content-Length", "Content-Type", "X-Closecall-Form")
"""Headers of which a second one would let two readers take a request for different ones."""

_encode = msgspec.json.Encoder().encode
_presses = msgspec.json.Decoder(Press)


class Server(ThreadingHTTPServer):
    """Serves one desk to one browser."""

    daemon_threads = True
    allow_reuse_address = sys.platform != "win32"
    request_queue_size = MOST_AT_ONCE

    def __init__(self, desk: Desk, port: int) -> None:
        super().__init__((LOOPBACK, port), Handler)
        self.desk = desk
        self.gate = Gate(self.server_address[1])
        self._places = threading.BoundedSemaphore(MOST_AT_ONCE)
        self._lock = threading.Lock()
        self._strangers: dict[socket, None] = {}  # the longest here first

    def server_bind(self) -> None:
        """Bind without asking for the machine's name, which may ask the network."""
        TCPServer.server_bind(self)
        self.server_name, self.server_port = LOOPBACK, self.server_address[1]

    def process_request(self, request: Any, client_address: Any) -> None:
        """Answer in a thread of its own, while there are places."""
        if not self._places.acquire(blocking=False) and not self._make_room():
            self.shutdown_request(request)
            return
        with self._lock:
            self._strangers[request] = None
        try:
            super().process_request(request, client_address)
        except RuntimeError:  # no thread can be started
            self._leave(request)
            self.shutdown_request(request)

    def known(self, request: socket) -> None:
        """Note that a connection is the browser's own, and not to be cut off for another."""
        with self._lock:
            self._strangers.pop(request, None)

    def _make_room(self) -> bool:
        """Cut off the stranger who is here longest; return whether there is a place now."""
        with self._lock:
            longest = next(iter(self._strangers), None)
            if longest is not None:
                del self._strangers[longest]
        if longest is None:
            return False
        _cut(longest)
        return self._places.acquire(timeout=ROOM)

    def _leave(self, request: socket) -> None:
        self.known(request)
        self._places.release()

    def process_request_thread(self, request: Any, client_address: Any) -> None:
        """Answer, and cut off whoever takes too long over it."""
        timer = threading.Timer(LONGEST, _cut, [request])
        timer.daemon = True
        timer.start()
        try:
            super().process_request_thread(request, client_address)
        finally:
            timer.cancel()
            self._leave(request)

    def handle_error(self, request: Any, client_address: Any) -> None:
        """Say nothing of clients that leave in the middle; anything else is worth a line."""
        error = sys.exc_info()[1]
        if not isinstance(error, OSError):
            super().handle_error(request, client_address)


class Handler(BaseHTTPRequestHandler):
    """One request."""

    server: Server
    timeout: ClassVar[float] = SILENCE
    server_version = "closecall"
    sys_version = ""
    default_request_version = "HTTP/1.0"  # of 0.9, replies have no headers

    def parse_request(self) -> bool:
        """Read the head; refuse what two readers would not read alike."""
        if not super().parse_request():
            return False
        twice = any(len(self.headers.get_all(name, ())) > 1 for name in ONCE)
        if twice or self.headers.defects or self.request_version == "HTTP/0.9":
            self.send_error(400)
            return False
        return True

    def do_GET(self) -> None:
        """Answer the link, the page, its two assets and its state."""
        gate = self.server.gate
        try:
            where = urlsplit(self.path)
            token = parse_qs(where.query, max_num_fields=5).get("token", [""])[0]
        except ValueError:
            self._refuse(400, "That is no address of this server.")
            return
        if not gate.right_host(self.headers):
            self._refuse(421, "This server answers only to the address that was printed.")
        elif where.path == "/":
            self._enter(token)
        elif not where.path.startswith(gate.base):
            self._refuse(404, "There is nothing here.")
        elif not self._known():
            self._refuse(403, USED)
        elif (name := where.path.removeprefix(gate.base)) == "state":
            self._answer(200, {**self.server.desk.look(), "form": gate.form})
        elif name in ASSETS:
            asset, kind = ASSETS[name]
            self._send(200, (files(__package__) / "assets" / asset).read_bytes(), kind)
        else:
            self._refuse(404, "There is nothing here.")

    def do_POST(self) -> None:
        """Answer a key, and the end."""
        gate = self.server.gate
        if not gate.right_host(self.headers):
            self._refuse(421, "This server answers only to the address that was printed.")
        elif not self._known() or not gate.may_change(self.headers):
            self._refuse(403, "Only the page itself may do that.")
        elif self.path == f"{gate.base}press":
            self._press()
        elif self.path == f"{gate.base}quit":
            self._send(200, b"{}", "application/json")
            threading.Thread(target=self.server.shutdown, daemon=True).start()
        else:
            self._refuse(404, "There is nothing here.")

    def _known(self) -> bool:
        known = self.server.gate.knows(self.headers)
        if known:
            self.server.known(self.connection)
        return known

    def _enter(self, token: str) -> None:
        cookie = self.server.gate.enter(token)
        if cookie is None:
            self._refuse(403, USED)
            return
        self.send_response(303)
        self.send_header("Location", self.server.gate.base)
        self.send_header("Set-Cookie", cookie)
        self._finish(b"", "text/plain; charset=utf-8")

    def _press(self) -> None:
        length = self.headers.get("Content-Length", "")
        if "Transfer-Encoding" in self.headers or not (length.isascii() and length.isdigit()):
            self._refuse(411, "Say how long the request is.")
            return
        if len(length) > len(str(MOST_BODY)) or int(length) > MOST_BODY:
            self._refuse(413, f"A request has at most {MOST_BODY} bytes.")
            return
        body = self.rfile.read(int(length))
        if len(body) < int(length):
            self._refuse(400, "That request is shorter than it says.")
            return
        try:
            press = _presses.decode(body)
        except (msgspec.DecodeError, UnicodeDecodeError) as error:
            self._refuse(400, f"That is no key: {error}")
            return
        reply = self.server.desk.press(press)
        self._answer(reply.status, {**reply.state, "form": self.server.gate.form})

    def _answer(self, status: int, value: dict[str, Any]) -> None:
        self._send(status, _encode(value), "application/json")

    def _refuse(self, status: int, why: str) -> None:
        self._send(status, f"{why}\n".encode(), "text/plain; charset=utf-8")

    def _send(self, status: int, body: bytes, kind: str) -> None:
        self.send_response(status)
        self._finish(body, kind)

    def _finish(self, body: bytes, kind: str) -> None:
        for name, value in HEADERS.items():
            self.send_header(name, value)
        self.send_header("Content-Type", kind)
        self.send_header("Content-Length", str(len(body)))
        self.end_headers()
        if self.command != "HEAD":
            self.wfile.write(body)

    def send_error(
        self, code: int, message: str | None = None, explain: str | None = None
    ) -> None:
        """Answer what cannot be read as a request without repeating any of it."""
        del message, explain
        self.close_connection = True
        self.request_version = self.default_request_version
        self._refuse(code, "That request is not one this server answers.")

    def log_message(self, format: str, *args: Any) -> None:  # noqa: A002 - its name there
        """Log nothing: a path may hold the token."""


def serve(
    session: Session, *, port: int, say: Callable[[str], None], open_browser: bool = False
) -> None:
    """Serve the page until Ctrl-C or the page's q; returns when the last key is kept.

    Raises
    ------
    UsageError
        The port is taken or not allowed.
    """
    desk = Desk(session)
    try:
        server = Server(desk, port)
    except OSError as error:
        raise UsageError(
            f"--port {port}: {error.strerror or error}; --port 0 takes a free one"
        ) from error
    try:
        say("Label in a browser on this machine; the link works once:")
        say(f"  {server.gate.link}")
        say("Ctrl-C here, or q there, ends it. Every key is kept at once.")
        sys.stdout.flush()
        if open_browser:
            _open(server.gate.link, say)
        server.serve_forever(poll_interval=0.2)
    except KeyboardInterrupt:
        say("")
    finally:
        desk.close()
        server.server_close()


def _open(link: str, say: Callable[[str], None]) -> None:
    import webbrowser

    if not webbrowser.open(link):
        say("No browser could be opened: copy the link.")


def _cut(request: socket) -> None:
    try:
        request.shutdown(SHUT_RDWR)
    except OSError:
        return

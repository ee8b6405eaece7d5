"""Who may talk to the page's server: one browser, let in by a link that works once.

A page of another site can make a browser send requests to 127.0.0.1, and a name that it points
there (DNS rebinding) makes them look like its own. So the host must be spelt as printed, the
cookie is of this path and never sent across sites, and what changes anything names its origin
and repeats a secret that only the page itself was told.
"""

from __future__ import annotations

import secrets
from email.message import Message
from http.cookies import CookieError, SimpleCookie
from threading import Lock


class Gate:
    """The secrets of one server and the checks of its requests; made for a bound port.

    ``base`` is the path below which everything lies but the link: a cookie of that path does
    not reach other servers of this machine, whose port cookies do not tell apart.
    """

    def __init__(self, port: int) -> None:
        self.hosts = (f"127.0.0.1:{port}", f"localhost:{port}")
        self.base = f"/{secrets.token_hex(8)}/"
        self.form = secrets.token_urlsafe(32)
        self._token: str | None = secrets.token_urlsafe(32)
        self._cookie = secrets.token_urlsafe(32)
        self._name = f"closecall-label-{port}"
        self._lock = Lock()
        self.link = f"http://127.0.0.1:{port}/?token={self._token}"

    def right_host(self, headers: Message) -> bool:
        """Whether the host is this server, spelt as it was printed."""
        return headers.get("Host") in self.hosts

    def enter(self, token: str) -> str | None:
        """Return the cookie to set for the token of the link; None for a wrong or a used one."""
        with self._lock:
            if self._token is None or not _same(token, self._token):
                return None
            self._token = None
        return f"{self._name}={self._cookie}; Path={self.base}; HttpOnly; SameSite=Strict"

    def knows(self, headers: Message) -> bool:
        """Whether the request carries the cookie, and is not one that another site made."""
        if headers.get("Sec-Fetch-Site", "same-origin") not in {"same-origin", "none"}:
            return False
        try:
            jar = SimpleCookie(headers.get("Cookie", ""))
        except CookieError:
            return False
        found = jar.get(self._name)
        return found is not None and _same(found.value, self._cookie)

    def may_change(self, headers: Message) -> bool:
        """Whether a request that changes something comes from the page itself."""
        origin = headers.get("Origin")
        return (
            origin == f"http://{headers.get('Host')}"
            and headers.get("Content-Type", "").partition(";")[0].strip() == "application/json"
            and _same(headers.get("X-Closecall-Form", ""), self.form)
        )


def _same(given: str, wanted: str) -> bool:
    return secrets.compare_digest(given.encode("utf-8", "replace"), wanted.encode())

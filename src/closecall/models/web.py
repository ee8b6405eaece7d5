"""GET over HTTPS for fetching models, and nothing else that a web client can do.

Proxies come from the usual variables; certificates from ``REQUESTS_CA_BUNDLE`` or
``CURL_CA_BUNDLE``, which take the place of the system's as they do elsewhere, else from
``SSL_CERT_FILE`` and ``SSL_CERT_DIR``, else from the system. They are always checked. Redirects
are followed one by one here: each has to be HTTPS again, and a token goes to the place it was
meant for and to no other.
"""

from __future__ import annotations

import http.client
import ipaddress
import os
import ssl
import urllib.error
import urllib.request
from collections.abc import Mapping
from pathlib import Path
from typing import Any, NamedTuple
from urllib.parse import SplitResult, urljoin, urlsplit

from closecall._version import __version__
from closecall.errors import ConfigurationError, ModelError
from closecall.models.heads import HTTPHandler, HTTPSHandler
from closecall.offline import require_online
from closecall.there import exists, is_dir

REPLACING = ("REQUESTS_CA_BUNDLE", "CURL_CA_BUNDLE")
SYSTEM = "SSL_CERT_FILE"
CA_VARIABLES = (*REPLACING, SYSTEM, "SSL_CERT_DIR")

TIMEOUT_S = 30.0
"""Seconds without a byte after which a connection is given up."""

_MOST_HOPS = 5
_REDIRECTS = (301, 302, 303, 307, 308)
_HTTP_PORT, _HTTPS_PORT = 80, 443


class Passing(Exception):  # noqa: N818 - not an error yet: it may pass
    """Something went wrong that may be gone in a moment; ``after`` seconds if the server says."""

    def __init__(self, reason: str, after: float | None = None) -> None:
        super().__init__(reason)
        self.after = after


class Origin(NamedTuple):
    """Scheme, host and port: what a token belongs to."""

    scheme: str
    host: str
    port: int


class Web:
    """Opens addresses one at a time.

    Parameters
    ----------
    what
        What the network is wanted for, as the start of a sentence.
    token
        Sent to ``home`` only; empty for none.
    home
        The place the token belongs to.
    timeout
        Seconds without a byte after which a connection is given up.
    environ
        Where certificates and ``CLOSECALL_OFFLINE`` are looked up.
    """

    def __init__(
        self,
        what: str,
        token: str,
        home: Origin,
        *,
        timeout: float = TIMEOUT_S,
        environ: Mapping[str, str] = os.environ,
    ) -> None:
        self._what = what
        self._token = token
        self._home = home
        self._timeout = timeout
        self._environ = environ
        self._openers: dict[bool, urllib.request.OpenerDirector] = {}

    def get(self, url: str, headers: Mapping[str, str] | None = None) -> http.client.HTTPResponse:
        """Return the reply, whatever its status, once no redirect is left; the caller closes it.

        Raises
        ------
        Passing
            If the place cannot be reached now.
        ModelError
            If its certificate is not trusted, or a redirect leads where none may.
        ConfigurationError
            If the network is forbidden, or a file of certificates cannot be read.
        """
        for _ in range(_MOST_HOPS + 1):
            parts, origin = _checked(url, self._home)
            reply = self._open(url, origin, headers or {})
            if reply.status not in _REDIRECTS:
                return reply
            target = reply.headers.get("Location", "")
            reply.close()
            if not target:
                raise ModelError(f"{parts.hostname}: a redirect that names no place")
            try:
                url = urljoin(url, target)
            except ValueError as error:
                raise ModelError(f"{parts.hostname}: a redirect to no address: {error}") from None
        raise ModelError(f"{self._home.host}: more than {_MOST_HOPS} redirects, one to the next")

    def hidden(self, text: str) -> str:
        """Return a server's words on one short line, without the token."""
        if self._token:
            text = text.replace(self._token, "[token]")
        return " ".join(text.split())[:200]

    def _open(
        self, url: str, origin: Origin, headers: Mapping[str, str]
    ) -> http.client.HTTPResponse:
        here = is_loopback(origin.host)
        if not here:
            require_online(self._what, self._environ)
        request = urllib.request.Request(url, method="GET")  # noqa: S310 - its scheme was checked
        for name, value in headers.items():
            request.add_header(name, value)
        request.add_header("User-Agent", f"closecall/{__version__}")
        request.add_header("Accept-Encoding", "identity")
        if self._token and origin == self._home:
            request.add_unredirected_header("Authorization", f"Bearer {self._token}")
        try:
            reply = self._opener(here=here).open(request, timeout=self._timeout)
        except (urllib.error.URLError, http.client.HTTPException, OSError, ValueError) as error:
            raise _translated(error, origin.host) from None
        if not isinstance(reply, http.client.HTTPResponse):  # pragma: no cover - no other handler
            raise ModelError(f"{origin.host}: no HTTP reply")
        return reply

    def _opener(self, *, here: bool) -> urllib.request.OpenerDirector:
        """Return what opens addresses; a proxy is not asked for this machine."""
        if here not in self._openers:
            opener = urllib.request.OpenerDirector()
            handlers: list[Any] = [
                urllib.request.ProxyHandler({} if here else None),
                HTTPHandler(),
                HTTPSHandler(context=trusted(self._environ)),
                urllib.request.UnknownHandler(),
            ]
            # No handler of errors or redirects: every reply comes back as it is.
            for handler in handlers:
                opener.add_handler(handler)
            self._openers[here] = opener
        return self._openers[here]


def origin_of(url: str) -> Origin:
    """Return scheme, host and port of an address, the usual port where none is named.

    Raises
    ------
    ValueError
        If it has no host or its port is no port.
    """
    parts = urlsplit(url)
    if not parts.hostname:
        raise ValueError("no host")
    usual = _HTTPS_PORT if parts.scheme == "https" else _HTTP_PORT
    return Origin(parts.scheme, parts.hostname.rstrip("."), parts.port or usual)


def is_loopback(host: str) -> bool:
    """Return whether a host is this machine."""
    if host == "localhost":
        return True
    try:
        return ipaddress.ip_address(host).is_loopback
    except ValueError:
        return False


def trusted(environ: Mapping[str, str] = os.environ) -> ssl.SSLContext:
    """Return the certificates that are trusted; see above for where they come from.

    Raises
    ------
    ConfigurationError
        If a variable names something that is not there or holds no certificate.
    """
    own = next((name for name in REPLACING if environ.get(name)), "")
    if own:
        return _only(own, environ[own])
    if environ.get(SYSTEM):
        _only(SYSTEM, environ[SYSTEM])
    return ssl.create_default_context()  # which reads the SSL_ variables itself


def _only(name: str, value: str) -> ssl.SSLContext:
    """Return what trusts the certificates in a file or folder and no other."""
    path = Path(value)
    # Python would go on without a file that is not there, and every connection would fail.
    if not exists(path):
        raise ConfigurationError(f"{name}: there is nothing at {value}")
    try:
        if is_dir(path):
            return ssl.create_default_context(capath=value)
        return ssl.create_default_context(cafile=value)
    except (OSError, ssl.SSLError) as error:
        raise ConfigurationError(f"{name}: {value} holds no certificates: {error}") from None


def _checked(url: str, home: Origin) -> tuple[SplitResult, Origin]:
    """Refuse an address that is neither HTTPS nor, where all of this is, on this machine."""
    try:
        parts, origin = urlsplit(url), origin_of(url)
    except ValueError as error:
        raise ModelError(f"{home.host}: a redirect to no address: {error}") from None
    plain = home.scheme == "http" and is_loopback(home.host) and is_loopback(origin.host)
    if origin.scheme != "https" and not (origin.scheme == "http" and plain):
        raise ModelError(
            f"{home.host}: a redirect to {origin.scheme}://{origin.host}; only https is followed"
        )
    if parts.username is not None or parts.password is not None:
        raise ModelError(f"{home.host}: a redirect to an address with a password in it")
    return parts, origin


def _translated(error: Exception, host: str) -> Exception:
    reason = error.reason if isinstance(error, urllib.error.URLError) else error
    if isinstance(reason, ssl.SSLCertVerificationError):
        return ModelError(
            f"{host}: its certificate is not trusted ({reason.verify_message}). Where a proxy "
            "opens TLS, name the file of its certificate in SSL_CERT_FILE or REQUESTS_CA_BUNDLE"
        )
    if isinstance(error, ValueError):  # its words may hold the password of a proxy
        return ModelError(
            f"{host}: this address, or that of a proxy (HTTPS_PROXY, HTTP_PROXY), cannot be one"
        )
    if isinstance(reason, TimeoutError):
        return Passing(f"{host}: no answer in time")
    if isinstance(reason, OSError) and reason.strerror:
        return Passing(f"{host}: {reason.strerror}")
    return Passing(f"{host}: {reason if str(reason) else type(reason).__name__}")

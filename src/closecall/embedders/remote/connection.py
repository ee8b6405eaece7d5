"""The one place that talks to the official client, and where its exceptions end.

The client is given everything: what it would take from the environment by itself (keys, headers,
organisation, addresses) belongs to one provider and may not reach another. Only the headers
listed here leave, so nothing tells of this machine. No exception of the client escapes or stays
reachable from one that does: its request holds the key.
"""

from __future__ import annotations

import contextlib
import threading
import time
from collections.abc import Callable, Sequence
from contextlib import AbstractContextManager
from importlib.util import find_spec
from typing import Any, TypeAlias
from urllib.parse import quote, urlsplit

from closecall._version import __version__
from closecall.embedders.remote.bounding import Bounds, bound
from closecall.embedders.remote.packed import unpacked
from closecall.embedders.remote.problems import Kind, Problem, problem_of
from closecall.embedders.remote.redaction import redact
from closecall.embedders.remote.retry import Patience
from closecall.embedders.remote.settings import Settings
from closecall.errors import MissingExtraError
from closecall.offline import require_online

_KEPT = {
    "host",
    "accept",
    "accept-encoding",
    "connection",
    "content-type",
    "content-length",
    "transfer-encoding",
    # The client looks at this one when the reply has come.
    "x-stainless-raw-response",
}
_CONNECT_S = 10.0
Ask: TypeAlias = Callable[[Any, Any], AbstractContextManager[Any]]
# A row as decimal text takes some 25 bytes a number; no model is wider than 20,000.
_ROW_BYTES = 512 * 1024
_REPLY_BYTES = 1024 * 1024


class Connection:
    """Sends requests to one provider. Making one loads and sends nothing.

    Safe to use from several threads.

    Parameters
    ----------
    settings, patience
        Which provider, and how long one attempt may take.
    wall
        Seconds since 1970, for dates a server names.

    Raises
    ------
    MissingExtraError
        The client is not installed.
    """

    def __init__(self, settings: Settings, patience: Patience, wall: Callable[[], float]) -> None:
        if find_spec("openai") is None:
            raise MissingExtraError(
                f"{settings.use.doing} with {settings.provider.tag}", "remote", ["openai"]
            )
        self.settings = settings
        self._patience = patience
        self._wall = wall
        self._lock = threading.Lock()
        self._made: Any = None
        self._bounds = Bounds()

    def post(
        self, texts: Sequence[str], encoding: str, left_s: float, stopped: Callable[[], bool]
    ) -> bytes | Problem:
        """Return the body of the reply to one request, or why there is none.

        Parameters
        ----------
        texts
            What to embed, none of them blank.
        encoding
            ``base64`` or ``float``.
        left_s
            Seconds the request may take in all; a server that sends slowly is cut off then.
        stopped
            Says whether the reading of a reply is to end.

        Raises
        ------
        ConfigurationError
            The network is forbidden.
        """
        extra: dict[str, Any] = {}
        if self.settings.dimensions is not None:
            extra["dimensions"] = self.settings.dimensions

        def ask(client: Any, timeout: Any) -> Any:
            return client.embeddings.with_streaming_response.create(
                input=list(texts),
                model=self.settings.model,
                encoding_format=encoding,
                timeout=timeout,
                **extra,
            )

        return self.exchange(ask, _REPLY_BYTES + len(texts) * _ROW_BYTES, left_s, stopped)

    def exchange(
        self, ask: Ask, limit: int, left_s: float, stopped: Callable[[], bool]
    ) -> bytes | Problem:
        """Return the body of the reply to a request of any kind, or why there is none.

        Parameters
        ----------
        ask
            Sends the request with the client and the timeout it is given.
        limit
            Bytes of the longest reply that is read.
        left_s, stopped
            As of ``post``.

        Raises
        ------
        ConfigurationError
            The network is forbidden.
        """
        settings = self.settings
        if not settings.loopback:
            require_online(
                f"{settings.use.doing} with {settings.provider.tag} ({settings.host})",
                instead=settings.use.instead,
            )
        client = self._client()
        problem: Problem
        self._bounds.begin(limit, left_s)
        try:
            return self._read(client, ask, limit, left_s, stopped)
        except Exception as error:  # noqa: BLE001 - whatever it is, it may hold the key
            problem = self._problem(error)
        finally:
            self._bounds.end()
        # Outside the handler, so that what is raised later has no context that leads to it.
        return problem

    def close(self) -> None:
        """Close the connections there are; a later request opens new ones."""
        with self._lock:
            made, self._made = self._made, None
        if made is not None:
            made.close()

    def __del__(self) -> None:
        with contextlib.suppress(Exception):
            self.close()

    def _problem(self, error: Exception) -> Problem:
        try:
            return problem_of(error, self.settings, self._wall())
        except Exception as odd:  # noqa: BLE001 - as above; a server may say anything
            return Problem(Kind.OVER, f"its reply cannot be understood ({type(odd).__name__})")

    def _client(self) -> Any:
        with self._lock:
            if self._made is None:
                self._made = self._make()
            return self._made

    def _make(self) -> Any:
        from openai import AzureOpenAI, DefaultHttpxClient, OpenAI

        settings = self.settings
        http = DefaultHttpxClient(
            # A redirect would carry texts to a place nobody named.
            follow_redirects=False,
            # A proxy is not to be asked for this machine, whatever the environment says of it.
            mounts={f"all://{_bracketed(urlsplit(settings.endpoint).hostname or '')}": None}
            if settings.loopback
            else None,
            event_hooks={
                "request": [_only_ours(settings)],
                "response": [unpacked(self._bounds), _unheard(settings)],
            },
        )
        bound(http, self._bounds)
        given: dict[str, Any] = {
            "api_key": settings.key.reveal(),
            "organization": settings.organization,
            "project": settings.project,
            "max_retries": 0,
            "http_client": http,
        }
        if settings.provider.azure:
            return AzureOpenAI(
                azure_endpoint=settings.endpoint,
                azure_deployment=quote(settings.model, safe=""),
                api_version=settings.api_version,
                **given,
            )
        return OpenAI(base_url=settings.endpoint, **given)

    def _read(
        self,
        client: Any,
        ask: Ask,
        limit: int,
        left_s: float,
        stopped: Callable[[], bool],
    ) -> bytes | Problem:
        from openai import Timeout

        until = time.monotonic() + left_s
        one = max(0.1, min(self._patience.timeout_s, left_s))
        body = bytearray()
        with ask(client, Timeout(one, connect=min(one, _CONNECT_S))) as response:
            for part in response.iter_bytes():
                body += part
                if len(body) > limit:
                    return Problem(Kind.OVER, f"its reply passes {limit} bytes")
                if time.monotonic() > until:
                    return Problem(
                        Kind.OVER, f"its reply was not whole after {left_s:.0f} s", late=True
                    )
                if stopped():
                    return Problem(Kind.OVER, "the work was stopped")
        return bytes(body)


def _bracketed(host: str) -> str:
    return f"[{host}]" if ":" in host else host


def _only_ours(settings: Settings) -> Callable[[Any], None]:
    """Return what takes every header away that is not ours, and puts the key where it belongs."""

    def prepare(request: Any) -> None:
        headers = request.headers
        for name in list(headers):
            if name.lower() not in _KEPT:
                del headers[name]
        headers["user-agent"] = f"closecall/{__version__}"
        headers["accept-encoding"] = "identity"
        if settings.provider.azure:
            headers["api-key"] = settings.key.reveal()
        else:
            headers["authorization"] = f"Bearer {settings.key.reveal()}"
        if settings.organization:
            headers["openai-organization"] = settings.organization
        if settings.project:
            headers["openai-project"] = settings.project

    return prepare


def _unheard(settings: Settings) -> Callable[[Any], None]:
    """Return what takes the key out of a reply's headers before the client logs them."""

    def prepare(response: Any) -> None:
        headers = response.headers
        for name in list(headers):
            said = redact(headers[name], settings.key)
            if said != headers[name]:
                headers[name] = said

    return prepare

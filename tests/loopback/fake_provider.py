"""A provider on 127.0.0.1 that behaves as the real ones do, in the parts that hurt people.

Each style knows its paths, its way to pass a key, its error bodies and its limits. A test may
script replies: a function gets what was received and returns a ``Said``, or None for the usual.
"""

import base64
import contextlib
import hashlib
import json
import socket
import ssl
import threading
import time
from collections.abc import Callable
from http.server import BaseHTTPRequestHandler, ThreadingHTTPServer
from typing import NamedTuple
from urllib.parse import parse_qs, unquote, urlsplit

import numpy as np

STYLES = ("openai", "azure", "foundry", "bitdeer", "openai-compatible", "ollama")
KEY = "qk4-A1b2C3d4E5f6G7h8-never-print-me"


class Received(NamedTuple):
    """One request; ``number`` counts from 1."""

    number: int
    path: str
    query: dict
    headers: dict
    body: dict

    @property
    def texts(self):
        given = self.body.get("input")
        return [given] if isinstance(given, str) else given


class Said(NamedTuple):
    """A reply; ``drip`` is the pause after each piece of ``step`` bytes; ``cut`` ends the line early."""

    status: int = 200
    body: object = None
    headers: tuple = ()
    drip: float = 0.0
    step: int = 64
    cut: int | None = None
    raw: bytes | None = None


def vector(text, dims):
    """The vector of a text, unit length, float32."""
    seed = int.from_bytes(hashlib.sha256(text.encode()).digest()[:8])
    drawn = np.random.default_rng(seed).standard_normal(dims)
    return (drawn / np.linalg.norm(drawn)).astype(np.float32)


def words(text):
    return len(text.split())


def entry(index, values, encoding="float"):
    """One entry of ``data``."""
    if encoding == "base64":
        shown = base64.b64encode(np.asarray(values, "<f4").tobytes()).decode()
    else:
        shown = [float(one) for one in values]
    return {"object": "embedding", "index": index, "embedding": shown}


def error(message, *, status=400, kind="invalid_request_error", param=None, code=None, headers=()):
    """An error with OpenAI's body."""
    body = {"error": {"message": message, "type": kind, "param": param, "code": code}}
    return Said(status, body, headers)


class FakeProvider:
    """A server of one style; use it as a context.

    ``requests`` holds what came, in order. ``window`` is where the server cuts a text without a
    word, in words; ``limit`` the most texts of a request.
    """

    def __init__(
        self, style="openai", *, dims=8, model="served-model", window=None, limit=2048, most=None,
        certificate=None,
    ):  # fmt: skip
        self.style = style
        self.dims = dims
        self.model = model
        self.window = window
        self.limit = limit
        self.most = most
        self.certificate = certificate
        self.encodings = ("float", "base64")
        self.usage = True
        self.script: Callable[[Received], Said | None] = lambda received: None
        self.requests: list[Received] = []
        self._lock = threading.Lock()

    def __enter__(self):
        provider = self

        class Handler(BaseHTTPRequestHandler):
            protocol_version = "HTTP/1.1"

            def do_POST(self):
                provider._serve(self)

            def log_message(self, *args):
                pass

        self._server = ThreadingHTTPServer(("127.0.0.1", 0), Handler)
        if self.certificate is not None:
            context = ssl.SSLContext(ssl.PROTOCOL_TLS_SERVER)
            context.load_cert_chain(self.certificate)
            self._server.socket = context.wrap_socket(self._server.socket, server_side=True)
        self._server.daemon_threads = True
        self._server.handle_error = lambda *args: None
        self._thread = threading.Thread(
            target=self._server.serve_forever, args=(0.01,), daemon=True
        )
        self._thread.start()
        return self

    def __exit__(self, *problem):
        self._server.shutdown()
        self._server.server_close()
        self._thread.join()

    def came(self, count):
        """Wait until so many requests were read: who gives up on one may be ahead of the server."""
        until = time.monotonic() + 60
        while len(self.requests) < count and time.monotonic() < until:
            time.sleep(0.01)

    @property
    def host(self):
        return f"127.0.0.1:{self._server.server_port}"

    @property
    def root(self):
        return f"http{'s' if self.certificate else ''}://{self.host}"

    @property
    def url(self):
        return f"{self.root}/v1"

    @property
    def asked(self):
        """The texts of each request after the first, which finds out what the server is."""
        return [one.texts for one in self.requests[1:]]

    def environment(self):
        """The variables that lead to this server."""
        return {
            "openai": {
                "OPENAI_BASE_URL": self.url,
                "OPENAI_API_KEY": KEY,
                "OPENAI_EMBEDDING_MODEL": "asked-model",
            },
            "azure": {
                "AZURE_OPENAI_ENDPOINT": self.root,
                "AZURE_OPENAI_API_KEY": KEY,
                "AZURE_OPENAI_EMBEDDING_DEPLOYMENT": "our deployment".replace(" ", "-"),
            },
            "foundry": {
                "FOUNDRY_ENDPOINT": self.root,
                "FOUNDRY_API_KEY": KEY,
                "FOUNDRY_EMBEDDING_MODEL": "our-deployment",
            },
            "bitdeer": {
                "BITDEER_ENDPOINT": self.url,
                "BITDEER_API_KEY": KEY,
                "BITDEER_EMBEDDING_MODEL": "asked-model",
            },
            "openai-compatible": {
                "OPENAI_COMPATIBLE_ENDPOINT": self.url,
                "OPENAI_COMPATIBLE_EMBEDDING_MODEL": "asked-model",
            },
            "ollama": {"OLLAMA_HOST": self.host, "OLLAMA_EMBEDDING_MODEL": "asked-model"},
        }[self.style]

    def usual(self, received):
        """The reply where nothing is scripted."""
        refused = self._refusal(received)
        if refused is not None:
            return refused
        encoding = received.body.get("encoding_format", "float")
        dims = received.body.get("dimensions", self.dims)
        return self.reply(received, encoding=encoding, dims=dims)

    def reply(self, received, *, encoding="float", dims=None, **changes):
        """A sound reply, with members of it replaced by ``changes``."""
        read = [" ".join(t.split()[: self.window]) if self.window else t for t in received.texts]
        data = [entry(at, vector(t, dims or self.dims), encoding) for at, t in enumerate(read)]
        used = sum(words(text) + 1 for text in read)
        if self.window:
            used = sum(min(words(text) + 1, self.window) for text in received.texts)
        body = {"object": "list", "data": data, "model": self.model}
        if self.usage:
            body["usage"] = {"prompt_tokens": used, "total_tokens": used}
        return Said(200, body | changes)

    def _refusal(self, received):
        if self.style in {"azure", "foundry"}:
            return self._azure_refusal(received) or self._bad_input(received)
        if received.path != "/v1/embeddings":
            return Said(404, {"error": {"message": f"no {received.path}", "code": None}})
        if self.style in {"openai", "bitdeer"} and (
            received.headers.get("authorization") != f"Bearer {KEY}"
        ):
            sent = received.headers.get("authorization", "").removeprefix("Bearer ")
            return error(
                f"Incorrect API key provided: {sent}.", status=401, code="invalid_api_key"
            )
        return self._bad_input(received)

    def _azure_refusal(self, received):
        if received.headers.get("api-key") != KEY:
            return Said(401, {"error": {"code": "401", "message": "Access denied."}})
        if "api-version" not in received.query:
            return Said(404, {"error": {"code": "404", "message": "Resource not found"}})
        if unquote(received.path) != "/openai/deployments/our-deployment/embeddings":
            return Said(
                404,
                {"error": {"code": "DeploymentNotFound", "message": "It does not exist."}},
            )
        return None

    def _bad_input(self, received):
        texts = received.texts
        if received.body.get("encoding_format", "float") not in self.encodings:
            return error("unsupported encoding", param="encoding_format")
        if not texts or any(not isinstance(text, str) or not text for text in texts):
            return error("'$.input' is invalid.", param="input")
        if len(texts) > self.limit:
            if self.style == "openai-compatible":
                what = f"batch size {len(texts)} > maximum allowed batch size {self.limit}"
                return Said(413, {"error": what, "error_type": "Validation"})
            return error(f"array too long: {len(texts)}", param="input")
        if self.most and any(words(text) > self.most for text in texts):
            return error(f"maximum context length is {self.most} tokens.", param="input")
        return None

    def _serve(self, handler):
        size = int(handler.headers.get("content-length", 0))
        try:
            body = json.loads(handler.rfile.read(size) or b"{}")
        except ValueError:
            body = {}
        url = urlsplit(handler.path)
        with self._lock:
            received = Received(
                len(self.requests) + 1,
                url.path,
                {name: values[0] for name, values in parse_qs(url.query).items()},
                {name.lower(): value for name, value in handler.headers.items()},
                body,
            )
            self.requests.append(received)
        said = self.script(received) or self.usual(received)
        with contextlib.suppress(ConnectionError):
            self._send(handler, said)

    def _send(self, handler, said):
        content = said.raw
        if content is None:
            # NaN is written as Python servers write it, which is no JSON.
            content = json.dumps(said.body).encode()
        handler.send_response(said.status)
        for name, value in said.headers:
            handler.send_header(name, value)
        if not any(name.lower() == "content-type" for name, _ in said.headers):
            handler.send_header("content-type", "application/json")
        handler.send_header("content-length", str(len(content)))
        handler.end_headers()
        content = content if said.cut is None else content[: said.cut]
        if not said.drip:
            handler.wfile.write(content)
        else:
            for at in range(0, len(content), said.step):
                handler.wfile.write(content[at : at + said.step])
                handler.wfile.flush()
                time.sleep(said.drip)
        if said.cut is not None:
            handler.close_connection = True
            handler.connection.shutdown(socket.SHUT_RDWR)

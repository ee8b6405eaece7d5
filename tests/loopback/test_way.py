"""The way to a provider: proxies and certificates, as the environment names them."""

import socket
import socketserver
import ssl
import threading
from pathlib import Path

import numpy as np
import pytest
from fake_provider import KEY, vector

from closecall.embedders.remote.embedder import RemoteEmbedder
from closecall.embedders.remote.providers import provider_named
from closecall.embedders.remote.settings import read_settings
from closecall.errors import ConfigurationError

pytestmark = pytest.mark.loopback

CERTIFICATE = Path(__file__).parent / "localhost.pem"
"""Made for these tests, for 127.0.0.1, with its key; it vouches for nothing else."""


@pytest.fixture
def proxy(monkeypatch):
    """A proxy that refuses everything; it yields the first line of each request."""
    lines = []

    class Handler(socketserver.StreamRequestHandler):
        def handle(self):
            head = []
            while (line := self.rfile.readline().strip()) != b"":
                head.append(line.decode())
            lines.append(head)
            self.wfile.write(b"HTTP/1.1 502 Bad Gateway\r\ncontent-length: 0\r\n\r\n")

    with socketserver.ThreadingTCPServer(("127.0.0.1", 0), Handler) as server:
        threading.Thread(target=server.serve_forever, args=(0.01,), daemon=True).start()
        for name in ("HTTP_PROXY", "HTTPS_PROXY", "ALL_PROXY"):
            monkeypatch.setenv(name, f"http://127.0.0.1:{server.server_address[1]}")
            monkeypatch.delenv(name.lower(), raising=False)
        for name in ("NO_PROXY", "no_proxy"):
            monkeypatch.delenv(name, raising=False)
        yield lines
        server.shutdown()


def test_a_proxy_is_asked_for_other_hosts_and_sees_no_key(proxy, time):
    environ = {"OPENAI_API_KEY": KEY}
    embedder = RemoteEmbedder(
        read_settings(provider_named("openai"), "", environ), clock=time.clock
    )
    with pytest.raises(ConfigurationError, match="no whole reply from api"):
        embedder.load()
    embedder.close()
    assert [head[0] for head in proxy] == ["CONNECT api.openai.com:443 HTTP/1.1"] * 3
    assert KEY not in str(proxy)


@pytest.mark.parametrize("style", ["ollama", "azure"])
def test_a_proxy_is_not_asked_for_this_machine(style, proxy, serve, connect):
    np.testing.assert_array_equal(connect(serve(style)).embed(["one"]), [vector("one", 8)])
    assert proxy == []


def test_a_proxy_is_not_asked_for_this_machine_by_its_other_address(proxy, time):
    with socket.socket(socket.AF_INET6) as unused:
        unused.bind(("::1", 0))
        host = f"[::1]:{unused.getsockname()[1]}"
        settings = read_settings(provider_named("ollama"), "m", {"OLLAMA_HOST": host})
        embedder = RemoteEmbedder(settings, clock=time.clock)
        with pytest.raises(ConfigurationError, match="is Ollama running"):
            embedder.load()
        embedder.close()
    assert proxy == []


def test_a_certificate_nobody_vouches_for_is_refused_at_once(serve, connect, time):
    provider = serve("openai", certificate=CERTIFICATE)
    with pytest.raises(ConfigurationError, match="SSL_CERT_FILE"):
        connect(provider).load()
    assert provider.requests == []
    assert time.waits == []


def test_a_certificate_named_in_the_environment_is_trusted(serve, connect, monkeypatch):
    monkeypatch.setenv("SSL_CERT_FILE", str(CERTIFICATE))
    assert ssl.create_default_context().cert_store_stats()["x509_ca"] == 1
    provider = serve("openai", certificate=CERTIFICATE)
    np.testing.assert_array_equal(connect(provider).embed(["one"]), [vector("one", 8)])

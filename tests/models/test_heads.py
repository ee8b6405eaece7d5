"""Heads of replies that do not end: byte by byte, or one interim reply after another."""

import contextlib
import socketserver
import ssl
import threading
import time
import types

import fake_certificate
import pytest

from closecall.errors import ModelError
from closecall.models import heads
from closecall.models.hub import Hub
from closecall.models.web import CA_VARIABLES, Passing

pytestmark = pytest.mark.loopback

LISTING = b'{"sha": "' + b"0" * 40 + b'", "siblings": []}'


def dribble(send):
    """A head, a header at a time, that never ends; each comes well before the usual timeout."""
    send(b"HTTP/1.1 200 OK\r\nX-A: ")
    for _ in range(200):
        send(b"a")
        time.sleep(0.02)


def interim_now_and_then(send):
    for _ in range(200):
        send(b"HTTP/1.1 100 Continue\r\n\r\n")
        time.sleep(0.02)


def interim_without_end(send):
    for _ in range(500):
        send(b"HTTP/1.1 100 Continue\r\nX-A: b\r\n\r\n" * 100)


class Server(socketserver.ThreadingTCPServer):
    daemon_threads = True
    tls = None
    said = None


class Handler(socketserver.StreamRequestHandler):
    def handle(self):
        with contextlib.suppress(OSError):  # whoever asked has given up
            connection = self.request
            if self.server.tls is not None:
                connection = self.server.tls.wrap_socket(connection, server_side=True)
            with connection:
                connection.recv(65_536)
                self.server.said(connection.sendall)


@pytest.fixture
def server(monkeypatch):
    for name in ("HF_TOKEN", *CA_VARIABLES):
        monkeypatch.delenv(name, raising=False)
    with Server(("127.0.0.1", 0), Handler) as made:
        threading.Thread(target=made.serve_forever, args=(0.01,), daemon=True).start()
        monkeypatch.setenv("HF_ENDPOINT", f"http://127.0.0.1:{made.server_address[1]}")
        yield made
        made.shutdown()


@pytest.fixture
def hasty(monkeypatch):
    """Give heads up soon: where none is to come whole, as a busy machine holds up any."""
    monkeypatch.setattr(heads, "HEAD_S", 0.5)


@pytest.fixture
def secured(server, tmp_path, monkeypatch):
    server.tls, certificate = fake_certificate.serving(tmp_path)
    monkeypatch.setenv("SSL_CERT_FILE", str(certificate))
    monkeypatch.setenv("HF_ENDPOINT", f"https://127.0.0.1:{server.server_address[1]}")
    assert isinstance(server.tls, ssl.SSLContext)
    return server


def asked():
    return Hub("pulling").repository("acme/tiny")


@pytest.mark.usefixtures("hasty")
@pytest.mark.parametrize("said", [dribble, interim_now_and_then])
def test_a_head_that_takes_too_long_is_given_up_and_may_be_tried_again(server, said):
    server.said = said
    with pytest.raises(Passing, match=r"127.0.0.1: no answer in time"):
        asked()


@pytest.mark.usefixtures("hasty")
def test_a_head_that_takes_too_long_over_tls_is_given_up(secured):
    secured.said = dribble
    with pytest.raises(Passing, match=r"127.0.0.1: no answer in time"):
        asked()


@pytest.mark.usefixtures("hasty")
def test_a_proxy_s_head_that_takes_too_long_is_given_up(server, monkeypatch):
    for name in ("HTTPS_PROXY", "https_proxy"):
        monkeypatch.setenv(name, f"http://127.0.0.1:{server.server_address[1]}")
    monkeypatch.setenv("HF_ENDPOINT", "https://hub.example")
    server.said = dribble
    with pytest.raises(Passing, match=r"hub.example: no answer in time"):
        asked()


def test_interim_replies_without_end_are_refused(server):
    server.said = interim_without_end
    with pytest.raises(ModelError, match=r"head of an answer does not end within 1,000,000 bytes"):
        asked()


@pytest.mark.parametrize("place", ["server", "secured"])
def test_a_body_may_take_longer_than_a_head(place, request, monkeypatch):
    now, head_read, read = [0.0], threading.Event(), threading.Semaphore(0)
    settled, readinto = heads._Bounded.settled, heads._Bounded.readinto

    def tell(bounded):
        settled(bounded)
        head_read.set()

    def count(bounded, buffer):
        came = readinto(bounded, buffer)
        read.release()
        return came

    def slow_body(send):
        send(b"HTTP/1.1 100 Continue\r\n\r\nHTTP/1.1 200 OK\r\n")
        send(b"Content-Length: %d\r\n\r\n" % len(LISTING))
        assert head_read.wait(60)
        while read.acquire(blocking=False):
            pass
        for at in range(0, len(LISTING), 10):
            now[0] += heads.HEAD_S
            send(LISTING[at : at + 10])
            read.acquire(timeout=60)

    monkeypatch.setattr(heads._Bounded, "settled", tell)
    monkeypatch.setattr(heads._Bounded, "readinto", count)
    monkeypatch.setattr(heads, "time", types.SimpleNamespace(monotonic=lambda: now[0]))
    request.getfixturevalue(place).said = slow_body
    assert asked().commit == "0" * 40


def parts(*then):
    """A body in parts: the listing, and then what follows it, a piece every 20 ms."""

    def said(send):
        head = b"HTTP/1.1 200 OK\r\nTransfer-Encoding: chunked\r\n\r\n"
        send(head + b"%x\r\n" % len(LISTING) + LISTING + b"\r\n")
        for piece in then:
            send(piece)
            time.sleep(0.02)

    return said


def test_a_body_in_parts_is_read(server):
    server.said = parts(b"0\r\n", b"X-A: b\r\n", b"\r\n")
    assert asked().commit == "0" * 40


@pytest.mark.parametrize(
    "then",
    [(b"0\r\n", *[b"X-A: b\r\n"] * 3000), (b"5;a", *[b"a"] * 3000)],
    ids=["trailers", "a part's size"],
)
def test_what_follows_a_part_without_end_is_given_up(server, then, monkeypatch):
    monkeypatch.setattr(heads, "HEAD_S", 2.0)
    server.said = parts(*then)
    begun = time.monotonic()
    with pytest.raises(Passing, match="broke off"):
        asked()
    assert time.monotonic() - begun < 30  # all of it takes a minute


def test_trailers_without_end_that_come_fast_are_refused(server):
    server.said = parts(b"0\r\n", *[b"X-A: b\r\n" * 10_000] * 40)
    with pytest.raises(ModelError, match=r"does not end within 1,000,000 bytes"):
        asked()


def test_a_part_of_negative_size_is_none(server):
    server.said = parts(b"-5\r\n", *[b"x" * 60_000] * 5)
    with pytest.raises(Passing, match="broke off"):
        asked()

"""A server that sends what no server should: every request ends, with a reason, in bounded room."""

import contextlib
import gzip
import json
import socket
import threading
import tracemalloc

import pytest

from closecall.chat.base import ChatFailure, ChatReply, ChatRequest, Message
from closecall.chat.remote import RemoteChat
from closecall.chat.settings import chat_settings
from closecall.embedders.remote.embedder import RemoteEmbedder
from closecall.embedders.remote.providers import provider_named
from closecall.embedders.remote.retry import Patience
from closecall.embedders.remote.settings import read_settings
from closecall.errors import ConfigurationError

pytestmark = pytest.mark.loopback

SOUND = {"data": [{"index": 0, "embedding": [0.5, 0.25]}], "model": "m"}
HEAD = b"HTTP/1.1 200 OK\r\ncontent-type: application/json\r\n"
ERROR = b"HTTP/1.1 500 No\r\ncontent-type: application/json\r\n"
BODY = json.dumps(SOUND).encode()
TURN = json.dumps({"choices": [{"message": {"content": "fine"}}]}).encode()
MOST = 16 * 1024 * 1024


def whole(body, head=HEAD):
    return head + b"content-length: %d\r\n\r\n" % len(body) + body


class Raw:
    """A server that reads a request and then lets a function write to the line."""

    def __init__(self, write):
        self._write = write
        self._line = socket.create_server(("127.0.0.1", 0))
        self.asked = 0
        self.wrote = 0
        self.stop = threading.Event()
        self._thread = threading.Thread(target=self._serve, daemon=True)
        self._thread.start()

    @property
    def url(self):
        return f"http://127.0.0.1:{self._line.getsockname()[1]}/v1"

    def send(self, line, data):
        line.sendall(data)
        self.wrote += len(data)
        return not self.stop.is_set() and self.wrote < 4 * MOST

    def close(self):
        self.stop.set()
        self._line.close()

    def _serve(self):
        while True:
            try:
                line, _ = self._line.accept()
            except OSError:
                return
            threading.Thread(target=self._answer, args=(line,), daemon=True).start()

    def _answer(self, line):
        with line, contextlib.suppress(OSError):
            line.settimeout(20)
            head = b""
            while b"\r\n\r\n" not in head:
                if not (more := line.recv(65536)):
                    return  # it has given up already
                head += more
            self.asked += 1
            self._write(self, line)
            line.shutdown(socket.SHUT_WR)
            while line.recv(65536):
                pass


def endlessly(before, piece):
    def write(server, line):
        line.sendall(before)
        while server.send(line, piece):
            pass

    return write


def drop_by_drop(before, piece):
    def write(server, line):
        line.sendall(before)
        while server.send(line, piece):
            if server.stop.wait(0.02):
                return

    return write


def once(data):
    return lambda server, line: line.sendall(data)


def packed(body, times=1, head=HEAD):
    for _ in range(times):
        body = gzip.compress(body)
    return whole(body, head + b"content-encoding: %s\r\n" % b", ".join([b"gzip"] * times))


BOMB = packed(b" " * 40_000_000)
ENDLESS = {
    "headers": endlessly(HEAD, b"x-more: 1\r\n" * 1000),
    "one header": endlessly(HEAD + b"x-more: ", b"1" * 60_000),
    "the first line": endlessly(b"HTTP/1.1 200 ", b"O" * 60_000),
    "1xx replies": endlessly(b"", b"HTTP/1.1 100 Continue\r\n\r\n" * 1000),
    "a body": endlessly(HEAD + b"\r\n", b" " * 60_000),
    "chunks": endlessly(HEAD + b"transfer-encoding: chunked\r\n\r\n", b"1\r\n \r\n" * 9000),
    "an error": endlessly(ERROR + b"\r\n", b" " * 60_000),
    "a refusal": endlessly(ERROR.replace(b"500", b"400") + b"\r\n", b"<" * 60_000),
    "trailers": endlessly(
        HEAD + b"transfer-encoding: chunked\r\n\r\n0\r\n", b"x-more: 1\r\n" * 1000
    ),
}
DRIPS = {
    "headers": drop_by_drop(HEAD, b"x"),
    "1xx replies": drop_by_drop(b"", b"HTTP/1.1 102 Processing\r\n\r\n"),
    "a body": drop_by_drop(HEAD + b"\r\n", b" "),
    "an error": drop_by_drop(ERROR + b"\r\n", b" "),
    "the size of a chunk": drop_by_drop(HEAD + b"transfer-encoding: chunked\r\n\r\n1;more=", b"x"),
    "trailers": drop_by_drop(HEAD + b"transfer-encoding: chunked\r\n\r\n0\r\n", b"x"),
}
RUBBISH = {
    "a bomb": once(BOMB),
    "a bomb in a bomb": once(packed(b" " * 40_000_000, 2)),
    "a bomb as an error": once(packed(b" " * 40_000_000, head=ERROR)),
    "packed with another tool": once(whole(b"x", HEAD + b"content-encoding: compress\r\n")),
    "TLS": once(b"\x15\x03\x01\x00\x02\x02\x28"),
    "another protocol": once(b"SSH-2.0-OpenSSH_9.6\r\n"),
    "HTTP of no version": once(b"HTTP/9.9 200 OK\r\n\r\n"),
    "no status": once(b"HTTP/1.1 abc OK\r\n\r\n"),
    "a status of its own": once(whole(b"", b"HTTP/1.1 999 Odd\r\n")),
    "an upgrade": once(b"HTTP/1.1 101 Switching\r\nupgrade: websocket\r\n\r\n\x81\x05hello"),
    "two lengths": once(HEAD + b"content-length: 3\r\ncontent-length: 900\r\n\r\n" + BODY),
    "a length below nothing": once(HEAD + b"content-length: -1\r\n\r\n" + BODY),
    "a length of 5,000 digits": once(HEAD + b"content-length: " + b"9" * 5000 + b"\r\n\r\n"),
    "a length past the end": once(HEAD + b"content-length: 99999\r\n\r\n" + BODY),
    "a length and chunks": once(
        HEAD + b"content-length: 5\r\ntransfer-encoding: chunked\r\n\r\n3\r\n{}\n\r\n0\r\n\r\n"
    ),
    "a chunk that lies": once(HEAD + b"transfer-encoding: chunked\r\n\r\nffffffff\r\n{}"),
    "a chunk of no size": once(HEAD + b"transfer-encoding: chunked\r\n\r\nzz\r\n{}\r\n0\r\n\r\n"),
    "bytes in a header": once(whole(b"{}", HEAD + b"x-odd: \xff\xfe\x00\r\n")),
    "a redirect": once(whole(b"", b"HTTP/1.1 302 Go\r\nlocation: http://192.0.2.1/\r\n")),
    "a redirect to nowhere": once(whole(b"", b"HTTP/1.1 301 Go\r\nlocation: http://[\r\n")),
    "HTML": once(whole(b"<html><script>alert(1)</script>", HEAD)),
    "UTF-16": once(whole('{"data": []}'.encode("utf-16"), HEAD)),
    "a charset nobody has": once(
        whole(b"\xff", ERROR.replace(b"json", b"json; charset=klingon"))
    ),
    "depth": once(whole(b"[" * 900_000, HEAD)),
    "depth as an error": once(whole(b'{"error":' * 100_000, ERROR)),
    "some depth as an error": once(whole(b'{"error":' * 900 + b"1" + b"}" * 900, ERROR)),
    "lists in an error": once(
        whole(b'{"error":{"message":' + b"[" * 900 + b"]" * 900 + b"}}", ERROR)
    ),
    "a number of 5,000 digits": once(whole(b'{"data": ' + b"9" * 5000 + b"}", HEAD)),
    "half a character in an error": once(whole(rb'{"error": {"message": "\ud800"}}', ERROR)),
    "a wait of nearly for ever": once(whole(b"{}", ERROR.replace(b"500", b"429") + b"retry-after: 1e300\r\n")),
    "a date beyond dates": once(
        whole(b"{}", ERROR.replace(b"500", b"429") + b"retry-after: Fri, 99 Foo 99999 1:1:1\r\n")
    ),
    "a line that closes": once(b""),
}  # fmt: skip


@pytest.fixture
def asked(monkeypatch):
    """Ask for one vector or one reply; return why there is none, and the server."""
    made = []

    def call(write, *, chat, deadline_s=20.0):
        monkeypatch.setattr("closecall.chat.remote._REPLY_BYTES", 300_000)
        monkeypatch.setattr("closecall.embedders.remote.connection._REPLY_BYTES", 300_000)
        monkeypatch.setattr("closecall.embedders.remote.connection._ROW_BYTES", 0)
        server = Raw(write)
        made.append(server)
        tag = "OPENAI_COMPATIBLE"
        environ = {
            f"{tag}_ENDPOINT": server.url,
            f"{tag}_MODEL": "m",
            f"{tag}_EMBEDDING_MODEL": "m",
        }
        patience = Patience(attempts=1, deadline_s=deadline_s, timeout_s=deadline_s)
        provider = provider_named("openai-compatible")
        try:
            if chat:
                one = RemoteChat(
                    chat_settings("openai-compatible", environ=environ), patience=patience
                )
                made.append(one)
                said = one.complete(
                    [ChatRequest(messages=(Message(role="user", content="hello"),))]
                )[0]
            else:
                one = RemoteEmbedder(read_settings(provider, environ=environ), patience=patience)
                made.append(one)
                said = one.instrument
        except ConfigurationError as error:
            return str(error), server
        return said.reason if isinstance(said, ChatFailure) else said, server

    yield call
    for one in made:
        one.close()


@pytest.mark.parametrize("chat", [False, True], ids=["vectors", "chat"])
@pytest.mark.parametrize("kind", ENDLESS)
def test_what_has_no_end_is_not_read_to_it(kind, chat, asked):
    reason, server = asked(ENDLESS[kind], chat=chat)
    assert isinstance(reason, str)
    assert server.wrote < MOST
    assert server.asked <= 3


@pytest.mark.parametrize("chat", [False, True], ids=["vectors", "chat"])
@pytest.mark.parametrize("kind", DRIPS)
def test_what_comes_a_byte_at_a_time_ends_at_the_deadline(kind, chat, asked):
    reason, _ = asked(DRIPS[kind], chat=chat, deadline_s=1.0)
    assert "not whole after" in reason


@pytest.mark.parametrize(
    ("kind", "chat"), [(kind, bool(at % 2)) for at, kind in enumerate(RUBBISH)]
)
def test_rubbish_is_a_reason_of_few_words(kind, chat, asked):
    reason, _ = asked(RUBBISH[kind], chat=chat)
    assert isinstance(reason, str)
    assert reason.isprintable()
    assert len(reason) < 600


@pytest.mark.parametrize("kind", [kind for kind in RUBBISH if "bomb" in kind])
def test_a_bomb_takes_no_room(kind, asked):
    asked(once(b""), chat=True)  # what is loaded once is no bomb's
    tracemalloc.start()
    try:
        reason, _ = asked(RUBBISH[kind], chat=True)
        _, peak = tracemalloc.get_traced_memory()
    finally:
        tracemalloc.stop()
    assert ("not asked for" if kind == "a bomb in a bomb" else "passes 300000 bytes") in reason
    assert peak < MOST


@pytest.mark.parametrize("encoding", [b"", b"content-encoding: identity\r\n"])
def test_a_sound_reply_beside_odd_ones_is_read(encoding, asked):
    before = b"HTTP/1.1 103 Early Hints\r\nlink: </x>\r\n\r\n"
    found, _ = asked(once(before + whole(BODY, HEAD + encoding)), chat=False)
    assert found.dims == 2
    found, _ = asked(once(before + whole(TURN, HEAD + encoding)), chat=True)
    assert isinstance(found, ChatReply)


@pytest.mark.parametrize("encoding", [b"gzip", b"x-gzip", b" GZIP "])
@pytest.mark.parametrize("parts", [1, 7])
def test_what_is_packed_with_gzip_is_unpacked(encoding, parts, asked):
    named = b"content-encoding: %s\r\n" % encoding

    def reply(body, head=HEAD):
        data = gzip.compress(body)
        if parts == 1:
            return whole(data, head + named)
        step = len(data) // parts
        pieces = [data[at : at + step] for at in range(0, len(data), step)]
        chunks = b"".join(b"%x\r\n%s\r\n" % (len(piece), piece) for piece in pieces)
        return head + named + b"transfer-encoding: chunked\r\n\r\n" + chunks + b"0\r\n\r\n"

    found, _ = asked(once(reply(BODY)), chat=False)
    assert found.dims == 2
    found, _ = asked(once(reply(TURN)), chat=True)
    assert isinstance(found, ChatReply)
    said = b'{"error": {"message": "there is no such knob"}}'
    reason, _ = asked(once(reply(said, ERROR.replace(b"500", b"400"))), chat=True)
    assert "there is no such knob" in reason
    assert "400" in reason


@pytest.mark.parametrize(
    ("encoding", "body", "said"),
    [
        (b"deflate", BODY, "came as deflate, which was not asked for"),
        (b"br", BODY, "came as br, which was not asked for"),
        (b"gzip, gzip", BODY, "came as gzip, gzip, which was not asked for"),
        (b"gzip", BODY, "came as gzip and is no gzip, or damaged"),
        (b"gzip", gzip.compress(BODY)[:-3], "came as gzip and is cut short"),
        (b"gzip", gzip.compress(BODY) + b"{}", "came as gzip and goes on after its end"),
    ],
    ids=["deflate", "br", "twice", "damaged", "cut short", "more than one"],
)
def test_what_is_packed_otherwise_or_badly_is_said_to_be_so(encoding, body, said, asked):
    reason, _ = asked(once(whole(body, HEAD + b"content-encoding: %s\r\n" % encoding)), chat=False)
    assert said in reason

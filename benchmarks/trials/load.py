"""Many at once: processes on one cache, requests to a provider, recorders of one tape.

What is counted is counted twice, by who asks and by who answers; a text that is in neither count,
or in one only, is lost.
"""

from __future__ import annotations

import random
import sqlite3
import tempfile
import threading
import time
from collections import Counter
from http.server import BaseHTTPRequestHandler, ThreadingHTTPServer
from pathlib import Path
from typing import Any

import msgspec
import numpy as np

from closecall.cache.vectors import VectorCache
from closecall.cassettes import open_cassette
from closecall.cassettes.verifying import verify
from closecall.embedders.base import Embedded, Failure, TextKey
from closecall.embedders.cached import CachedEmbedder
from closecall.embedders.remote.embedder import RemoteEmbedder
from closecall.embedders.remote.problems import Problem
from closecall.embedders.remote.providers import provider_named
from closecall.embedders.remote.retry import Patience
from closecall.embedders.remote.settings import read_settings
from closecall.errors import CassetteError
from closecall.instrument import cache_key
from closecall.records import Role
from closecall.testing import HashEmbedder

from . import helpers
from .counts import Counts, Say
from .forks import side_by_side

PROCESSES = 32
TEXTS = 6_000
"""Different texts in the cache; each process asks for a third of them, in an order of its own."""
BATCH = 60
REQUESTS = 10_000
RATE = 100
"""Requests a second that the provider answers, in twenty parts; it sends those beyond away with
when to return."""
RECORDERS = 8


def run(*, seed: int, scale: float, say: Say = lambda _: None) -> list[Counts]:
    """Run all three; ``scale`` is a share of the texts, requests and recorders."""
    return [
        shared_cache(seed, max(120, int(TEXTS * scale)), PROCESSES, say),
        provider_at_its_limit(seed, max(60, int(REQUESTS * scale)), say),
        recorders(max(3, int(RECORDERS * scale)), say),
    ]


# One cache


def _text(number: int) -> str:
    return f"parcel {number} left shelf {number % 17} at {number % 24}:{number % 60:02}"


def use_cache(number: int, shared: dict[str, Any]) -> dict[str, Any]:
    """Read and write the cache as a run does, text by text checked; one process."""
    chance = random.Random(f"{shared['seed']} {number}")
    chosen = chance.sample(range(shared["texts"]), max(1, shared["texts"] // 3))
    notices: list[str] = []
    wrong = 0
    with VectorCache(shared["path"], on_notice=notices.append) as store:
        for start in range(0, len(chosen), BATCH):
            part = [_text(one) for one in chosen[start : start + BATCH]]
            # A wrapper of its own each time: nothing is remembered, all comes through the file.
            cached = CachedEmbedder(HashEmbedder(), store)
            found = cached.fetch([TextKey(text) for text in part])
            right = HashEmbedder().embed(part)
            wrong += sum(
                not (isinstance(found[TextKey(text)], Embedded)
                     and np.array_equal(found[TextKey(text)].vector, row))
                for text, row in zip(part, right, strict=True)
            )  # fmt: skip
    return {"asked": chosen, "wrong": wrong, "notices": notices}


def shared_cache(seed: int, texts: int, processes: int, say: Say) -> Counts:
    """Have processes fill and read one cache; every vector must be right and in it afterwards."""
    with tempfile.TemporaryDirectory() as folder:
        path = str(Path(folder, "vectors.sqlite3"))
        say(f"one cache: {processes} processes")
        shared = {"seed": seed, "texts": texts, "path": path}
        began = time.perf_counter()
        said = side_by_side("trials.load", "use_cache", processes, shared)
        took = time.perf_counter() - began
        asked = {number for one in said for number in one.get("asked", ())}
        failures = [
            f"one cache, seed {seed}, process {at}: {one}"[:500]
            for at, one in enumerate(said)
            if one.get("wrong") != 0 or one.get("notices")
        ]
        lost = _missing(path, asked)
        if lost:
            failures.append(f"one cache, seed {seed}: {len(lost)} vectors lost, as {lost[:3]}")
        with sqlite3.connect(path) as connection:
            (sound,) = connection.execute("PRAGMA integrity_check").fetchone()
            (rows,) = connection.execute("SELECT COUNT(*) FROM vectors").fetchone()
        connection.close()
        if sound != "ok" or rows != len(asked):
            failures.append(f"one cache, seed {seed}: {sound}, {rows} rows of {len(asked)}")
        odd = sorted(p.name for p in Path(folder).iterdir() if "damaged" in p.name)
        if odd:
            failures.append(f"one cache, seed {seed}: set aside as {odd}")
    reads = sum(len(one.get("asked", ())) for one in said)
    held = reads - sum(one.get("wrong", 0) for one in said) - len(lost)
    held = max(0, min(held, reads - bool(failures)))
    return Counts(
        "vectors through one cache", reads, held, tuple(failures),
        {"processes": processes, "different": len(asked), "seconds": round(took, 1)},
    )  # fmt: skip


def _missing(path: str, numbers: set[int]) -> list[str]:
    embedder = HashEmbedder()
    texts = [_text(number) for number in sorted(numbers)]
    keys = [cache_key(embedder.instrument, Role.TEXT, text) for text in texts]
    with VectorCache(path) as store:
        found = store.get_many(embedder.instrument, keys)
    rows = embedder.embed(texts) if texts else ()
    return [
        text for text, key, row in zip(texts, keys, rows, strict=True)
        if key not in found or not np.array_equal(found[key].vector, row)
    ]  # fmt: skip


# One provider

FAULTS = (
    "fine", "limit", "limit in ms", "broken", "away", "reset", "half", "no JSON", "too few", "NaN",
    "slow", "HTML", "empty",
)  # fmt: skip
_WEIGHTS = (72, 3, 3, 3, 3, 3, 3, 2, 2, 2, 0.5, 2, 1.5)
POISON = {"refused": "is refused", "breaks": "breaks it", "blind": "has no vector"}
_PATIENCE = Patience(attempts=6, base_s=0.01, cap_s=0.05, deadline_s=120.0, timeout_s=4.0)
_MOST_ASKED = 3 * _PATIENCE.attempts
"""Times a text may be sent: in a pair, alone, and once more for a row that cannot be used, each
as often as a request is tried."""


class Provider:
    """A server of vectors that fails in every way it can, as a seed says, and keeps count."""

    def __init__(self, seed: int, rate: float) -> None:
        self.lock = threading.Lock()
        self.came = 0
        self.read = 0
        """Replies that say success and are whole, sound or not."""
        self.limited = 0
        self.sent: Counter[str] = Counter()
        self.given: set[str] = set()
        self.again: list[str] = []
        self.ends: Counter[str] = Counter()
        self._chance = random.Random(seed)
        self._rate = rate
        self._window, self._in_window = 0, 0
        provider = self

        class Handler(BaseHTTPRequestHandler):
            protocol_version = "HTTP/1.1"

            def do_POST(self) -> None:
                provider.answer(self)

            def log_message(self, *args: object) -> None:
                pass

        self._server = ThreadingHTTPServer(("127.0.0.1", 0), Handler)
        self._server.daemon_threads = True
        self._server.handle_error = lambda *args: None  # type: ignore[method-assign]
        threading.Thread(target=self._server.serve_forever, args=(0.05,), daemon=True).start()
        self.url = f"http://127.0.0.1:{self._server.server_port}/v1"

    def close(self) -> None:
        """Take no more requests."""
        self._server.shutdown()
        self._server.server_close()

    def answer(self, handler: BaseHTTPRequestHandler) -> None:
        """Answer one request as chance has it."""
        length = int(handler.headers.get("content-length", 0))
        texts = msgspec.json.decode(handler.rfile.read(length))["input"]
        with self.lock:
            end = self._end(texts)
            self.came += 1
            self.ends[end] += 1
            self.sent.update(texts)
            self.again += [text for text in texts if text in self.given]
            if end == "fine":
                self.given.update(text for text in texts if POISON["blind"] not in text)
            self.read += end in {"fine", "no JSON", "too few", "NaN", "HTML", "empty"}
        try:
            self._send(handler, end, texts)
        except OSError:
            handler.close_connection = True

    def _end(self, texts: list[str]) -> str:
        window = int(time.monotonic() * 20)
        if window != self._window:
            self._window, self._in_window = window, 0
        self._in_window += 1
        if self._in_window > self._rate / 20:
            self.limited += 1
            return "limit in ms"
        if any(POISON["refused"] in text for text in texts):
            return "refused"
        if any(POISON["breaks"] in text for text in texts):
            return "broken"
        if self.came == 0:
            return "fine"
        return self._chance.choices(FAULTS, _WEIGHTS)[0]

    def _send(self, handler: BaseHTTPRequestHandler, end: str, texts: list[str]) -> None:
        if end == "slow":
            handler.connection.settimeout(30)
            handler.connection.recv(1)  # until the client has gone
        if end in {"slow", "reset"}:
            import socket
            import struct

            linger = struct.pack("ii", 1, 0)
            handler.connection.setsockopt(socket.SOL_SOCKET, socket.SO_LINGER, linger)
            handler.close_connection = True
            handler.connection.close()
            return
        status, headers = {
            "limit": (429, {"Retry-After": "0"}), "limit in ms": (429, {"Retry-After-Ms": "60"}),
            "broken": (500, {}), "away": (503, {"Retry-After": "0"}), "refused": (400, {}),
        }.get(end, (200, {}))  # fmt: skip
        body = self._body(end, texts) if status == 200 else b'{"error": {"message": "no"}}'
        handler.send_response(status)
        for name, value in headers.items():
            handler.send_header(name, value)
        handler.send_header("Content-Length", str(len(body)))
        handler.end_headers()
        if end == "half":
            handler.wfile.write(body[: len(body) // 2])
            handler.close_connection = True
        else:
            handler.wfile.write(body)

    @staticmethod
    def _body(end: str, texts: list[str]) -> bytes:
        if end in {"no JSON", "HTML", "empty"}:
            return {"no JSON": b'{"data": [', "HTML": b"<html>busy</html>", "empty": b""}[end]
        rows = HashEmbedder(8).embed(texts).tolist()
        data: list[dict[str, Any]] = [
            {"index": at, "embedding": row} for at, row in enumerate(rows)
        ]
        for one, text in zip(data, texts, strict=True):
            if end == "NaN" or POISON["blind"] in text:
                one["embedding"] = [None, *one["embedding"][1:]]
        if end == "too few":
            data.pop()
        return msgspec.json.encode({"data": data, "model": "m"})


class _Counting:
    """Counts what a connection is asked to send, and what becomes of it."""

    def __init__(self, connection: Any) -> None:
        self._post = connection.post
        self._lock = threading.Lock()
        self.posts = self.read = self.late = 0
        connection.post = self

    def __call__(self, *given: Any) -> Any:
        found = self._post(*given)
        with self._lock:
            self.posts += 1
            self.read += isinstance(found, bytes)
            self.late += isinstance(found, Problem) and found.late
        return found


def _letters(number: int, kind: str) -> str:
    return (
        f"letter {number} {POISON[kind]}" if kind else f"letter {number} lies in tray {number % 9}"
    )


def provider_at_its_limit(seed: int, requests: int, say: Say) -> Counts:
    """Ask a provider that fails in every way until so many requests were sent."""
    provider = Provider(seed, RATE)
    known = provider_named("openai-compatible")
    assert known is not None
    environ = {
        "OPENAI_COMPATIBLE_ENDPOINT": provider.url, "OPENAI_COMPATIBLE_EMBEDDING_MODEL": "m",
    }  # fmt: skip
    settings = read_settings(known._replace(max_texts=2, in_flight=8), environ=environ)
    embedder = RemoteEmbedder(settings, patience=_PATIENCE)
    counting = _Counting(embedder._connection)
    chance = random.Random(seed)
    texts: list[str] = []
    measured, absent, failures = 0, 0, []
    began = time.perf_counter()
    try:
        cached = CachedEmbedder(embedder, None)
        while provider.came < requests:
            kinds = chance.choices(("", *POISON), (97, 1, 1, 1), k=min(200, requests))
            part = [_letters(len(texts) + at, kind) for at, kind in enumerate(kinds)]
            found = cached.fetch([TextKey(text) for text in part])
            right = HashEmbedder(8).embed(part)
            for text, kind, row in zip(part, kinds, right, strict=True):
                outcome = found.get(TextKey(text))
                if isinstance(outcome, Embedded) and not kind:
                    measured += np.allclose(outcome.vector, row, atol=1e-6)
                elif isinstance(outcome, Failure) and outcome.reason:
                    absent += 1
            texts += part
            say(f"provider: {provider.came} of {requests} requests")
    finally:
        embedder.close()
        provider.close()
    where = f"provider, seed {seed}, {requests} requests"
    asked = len(texts)
    if measured + absent != asked:
        failures.append(f"{where}: {asked} asked, {measured} measured, {absent} absent")
    # What the server thinks it gave and the client did not wait for.
    late = max(0, counting.late - provider.ends["slow"])
    if provider.came != counting.posts or not 0 <= provider.read - counting.read <= late:
        failures.append(
            f"{where}: the server counts {provider.came} requests and {provider.read} replies, "
            f"the client {counting.posts} and {counting.read}"
        )
    if len(provider.again) > 2 * late:  # texts of those requests, which may be asked for again
        failures.append(f"{where}: asked again for what had come: {provider.again[:3]}")
    most = max(provider.sent.values(), default=0)
    never = [text for text in texts if text not in provider.sent]
    if most > _MOST_ASKED:
        failures.append(f"{where}: a text was sent {most} times")
    if never:
        failures.append(f"{where}: never sent: {never[:3]}")
    also = {
        "texts": asked, "measured": measured, "typed absences": absent,
        "lost": asked - measured - absent, "most sent": most,
        "at the limit": provider.limited, "seconds": round(time.perf_counter() - began, 1),
        **{f"reply {name}": count for name, count in sorted(provider.ends.items())},
    }  # fmt: skip
    held = provider.came if not failures else min(counting.posts, provider.came - 1)
    return Counts(
        "requests to a provider at its limit", provider.came, held, tuple(failures), also
    )


# One tape


def record_one(number: int, shared: dict[str, Any]) -> dict[str, Any]:
    """Record into a cassette that others record into; one process."""
    helpers.use("cassettes")
    from recorded_things import SPEC, Remote

    refused = 0
    until = time.monotonic() + 60
    while time.monotonic() < until:
        try:
            with open_cassette(shared["path"], "record-missing") as cassette:
                texts = [f"tape {number}, line {at}" for at in range(shared["lines"])]
                embedder = cassette.embedder(Remote, SPEC)
                for start in range(0, len(texts), 5):
                    embedder.embed(texts[start : start + 5])
                time.sleep(0.05)  # somebody else has to find it taken
        except CassetteError as error:
            if "another process is recording" not in str(error):
                raise
            refused += 1
            time.sleep(0.02)
        else:
            return {"refused": refused}
    return {"error": f"refused {refused} times"}


def recorders(count: int, say: Say) -> Counts:
    """Have processes record into one scenario: one at a time, the others told so, nothing lost."""
    helpers.use("cassettes")
    from recorded_things import SPEC

    lines = 40
    with tempfile.TemporaryDirectory() as folder:
        say(f"one tape: {count} recorders")
        shared = {"path": str(Path(folder, "tape")), "lines": lines}
        said = side_by_side("trials.load", "record_one", count, shared)
        failures = [
            f"one tape, process {at}: {one}"[:500]
            for at, one in enumerate(said)
            if "refused" not in one
        ]
        lost = 0
        with open_cassette(shared["path"], "replay") as cassette:
            embedder = cassette.embedder(_never, SPEC)
            for number in range(count):
                try:
                    embedder.embed([f"tape {number}, line {at}" for at in range(lines)])
                except Exception as error:  # noqa: BLE001 - a miss, or a tape that is broken
                    lost += 1
                    failures.append(f"one tape, lines of process {number}: {error}"[:300])
        verify(Path(shared["path"]))
    refused = sum(one.get("refused", 0) for one in said)
    held = count - max(lost, sum("refused" not in one for one in said))
    return Counts("recorders of one tape", count, held, tuple(failures), {"told to wait": refused})


def _never() -> Any:
    raise AssertionError("a replay made what it replays")

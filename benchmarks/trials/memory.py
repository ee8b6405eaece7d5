"""Does memory stay flat? One kind of work after the other, for as long as is asked.

Resident memory is read from the system between operations. Its slope after the warm-up is the
median over all pairs of samples (Theil-Sen), which a few jumps do not move; the interval is Sen's,
from Kendall's variance. Samples that follow each other resemble each other, so the true interval
is wider. File descriptors and threads are counted as well.
"""

from __future__ import annotations

import json
import math
import os
import subprocess
import sys
import tempfile
import time
from collections.abc import Callable, Iterator, Sequence
from contextlib import ExitStack, contextmanager, suppress
from pathlib import Path
from statistics import median
from typing import Any, NamedTuple

from .counts import Counts, Say

SECONDS = 3600.0
"""At scale 1, all kinds of work together."""

BOUND = 1.0
"""MB that 1,000 operations may add, at most: what is surely above it is a leak."""

ROOM = 24.0
"""MB that all operations after the warm-up may add, however many they are."""

NOISE = 2.0
"""MB that an allocator may take or not: a slope over less than that says nothing."""

WARM = 0.4
"""The share of the operations after which all that is made once was made."""

LEAST = 60
"""Operations, however little time there is; the first ones take memory and keep it."""

_Z = 1.96
_SAMPLES = 200
_PAGE = os.sysconf("SC_PAGESIZE") if hasattr(os, "sysconf") else 4096


class Slope(NamedTuple):
    """MB per 1,000 operations, with the ends of its 95% interval."""

    value: float
    low: float
    high: float


class Seen(NamedTuple):
    """One sample: operations so far, MB of resident memory, descriptors and threads."""

    at: int
    mb: float
    files: int
    threads: int


def slope(points: Sequence[tuple[float, float]]) -> Slope:
    """Return the slope of (operations, MB), per 1,000 operations; at least 3 points."""
    n = len(points)
    found = sorted(
        1000.0 * (points[b][1] - points[a][1]) / (points[b][0] - points[a][0])
        for a in range(n)
        for b in range(a + 1, n)
    )
    spread = _Z * math.sqrt(n * (n - 1) * (2 * n + 5) / 18)
    low = max(0, math.floor((len(found) - spread) / 2))
    high = min(len(found) - 1, math.ceil((len(found) + spread) / 2))
    return Slope(median(found), found[low], found[high])


def seen(at: int) -> Seen:
    """Return what this process takes now."""
    pages = int(Path("/proc/self/statm").read_text().split()[1])
    files, threads = (len(list(Path(f"/proc/self/{name}").iterdir())) for name in ("fd", "task"))
    return Seen(at, pages * _PAGE / 1e6, files, threads)


# What is done again and again


@contextmanager
def _evaluating() -> Iterator[Callable[[int], None]]:
    """Measure ten cases into a run folder, with a cache, and report on them."""
    import shutil

    from closecall import Case, evaluate
    from closecall.testing import HashEmbedder

    from . import reports

    with tempfile.TemporaryDirectory() as folder:

        def work(number: int) -> None:
            cases = [
                Case(
                    id=f"c{at}", response=f"tram {at} at {number % 7}", references=(f"tram {at}",)
                )
                for at in range(10)
            ]
            metrics = ["embed_answer_similarity", "token_f1"]
            run = evaluate(
                cases, metrics, HashEmbedder(), cutoffs={"token_f1": 0.5}, aef=Path(folder, "run"),
                cache=Path(folder, "cache"),
            )  # fmt: skip
            if len(run) != len(cases):
                raise AssertionError("a case is missing")
            for name in ("jsonl",) if number % 4 else ("jsonl", "html"):
                reports.rendered(run, name)
            shutil.rmtree(Path(folder, "run"))

        yield work


@contextmanager
def _reading_the_cache() -> Iterator[Callable[[int], None]]:
    """Open a cache, read a hundred vectors through it and write one."""
    from closecall.cache.vectors import VectorCache
    from closecall.embedders.base import TextKey
    from closecall.embedders.cached import CachedEmbedder
    from closecall.testing import HashEmbedder

    with tempfile.TemporaryDirectory() as folder:

        def work(number: int) -> None:
            keys = [TextKey(f"shelf {at}") for at in range(100)] + [TextKey(f"new {number % 499}")]
            with VectorCache(Path(folder, "v.sqlite3")) as store:
                found = CachedEmbedder(HashEmbedder(), store).fetch(keys)
            if len(found) != len(set(keys)):
                raise AssertionError("a vector is missing")

        yield work


@contextmanager
def _serving_the_label_page() -> Iterator[Callable[[int], None]]:
    """Ask the page as its script does, keep a label, and send it what it refuses."""
    from . import label_page

    page: list[label_page.LabelPage] = []

    def work(number: int) -> None:
        if not page or page[0].step > 200:
            close()
            page.append(label_page.LabelPage())
        page[0].tried(label_page.PRESS + label_page.BODY)
        page[0].tried(label_page.LINK if number % 2 else b"\x16\x03\x01 rubbish\r\n\r\n")

    def close() -> None:
        while page:
            page.pop().close()

    try:
        yield work
    finally:
        close()


@contextmanager
def _asking_a_provider() -> Iterator[Callable[[int], None]]:
    """Ask for vectors and a reply on this machine; every fifth time, something is broken."""
    from closecall.chat.base import ChatRequest, Message
    from closecall.chat.remote import RemoteChat
    from closecall.chat.settings import chat_settings
    from closecall.embedders.remote.embedder import RemoteEmbedder
    from closecall.embedders.remote.providers import provider_named
    from closecall.embedders.remote.retry import Patience
    from closecall.embedders.remote.settings import read_settings
    from closecall.errors import EmbeddingError

    from .raw_server import Asked, RawServer, whole
    from .targets.served import sound_turn, sound_vectors

    def answer(asked: Asked) -> bytes:
        if asked.number > 2 and asked.number % 5 == 0:
            return (b"", b"HTTP/1.1 500 No\r\n\r\n{", b"rubbish\r\n", whole(b"{"))[
                asked.number % 4
            ]
        texts = asked.body.get("input")
        return whole(sound_vectors(texts) if texts else sound_turn())

    server = RawServer(answer)
    tag = "openai-compatible"
    environ = {
        "OPENAI_COMPATIBLE_ENDPOINT": server.url, "OPENAI_COMPATIBLE_MODEL": "m",
        "OPENAI_COMPATIBLE_EMBEDDING_MODEL": "m",
    }  # fmt: skip
    patience = Patience(attempts=2, base_s=0.0)
    provider = provider_named(tag)
    assert provider is not None
    chat = RemoteChat(chat_settings(tag, environ=environ), patience=patience)
    embedder = RemoteEmbedder(read_settings(provider, environ=environ), patience=patience)
    request = ChatRequest(messages=(Message(role="user", content="How long?"),))

    def work(number: int) -> None:
        with suppress(EmbeddingError):  # twice broken is a typed absence
            embedder.embed([f"letter {number}", f"parcel {number}"])
        chat.complete([request])

    try:
        yield work
    finally:
        chat.close()
        embedder.close()
        server.close()


@contextmanager
def _embedding() -> Iterator[Callable[[int], None]]:
    """Embed four texts of several lengths with the bundled model."""
    from closecall.embedders.registry import load_embedder

    embedder = load_embedder("minilm")
    words = ["the", "tram", "leaves", "at", "noon", "and", "takes", "the", "long", "way", "round"]

    def work(number: int) -> None:
        texts = [" ".join(words * (1 + (number + at) % 12)) + f" {number}" for at in range(4)]
        embedder.embed(texts)

    yield work


KINDS = {
    "evaluations": _evaluating,
    "reads of the cache": _reading_the_cache,
    "requests to the label page": _serving_the_label_page,
    "requests to a provider": _asking_a_provider,
    "batches of the bundled model": _embedding,
}


def soak(kind: str, seconds: float, say: Say = lambda _: None) -> list[Seen]:
    """Do one kind of work for so long in this process; return the samples."""
    found: list[Seen] = []
    with ExitStack() as stack:
        work = stack.enter_context(KINDS[kind]())
        began = time.monotonic()
        number, due = 0, 0.0
        while (now := time.monotonic() - began) < seconds or number < LEAST:
            work(number)
            number += 1
            if now >= due or number <= LEAST:
                found.append(seen(number))
                due = now + seconds / _SAMPLES
                if len(found) % 50 == 0:
                    say(f"{kind}: {number} operations, {found[-1].mb:.1f} MB")
    return found


def judged(kind: str, found: Sequence[Seen]) -> Counts:
    """Return whether memory, descriptors and threads stayed as they were after the warm-up."""
    warm = [one for one in found if one.at >= found[-1].at * WARM]
    fitted = slope([(one.at, one.mb) for one in warm])
    third = max(1, len(warm) // 3)
    grown = median(one.mb for one in warm[-third:]) - median(one.mb for one in warm[:third])
    failures = []
    if fitted.low > BOUND and grown > NOISE:
        failures.append(f"{kind}: {fitted.low:.2f} MB or more are added by 1,000 operations")
    if grown > ROOM:
        failures.append(f"{kind}: {grown:.1f} MB were added after the warm-up")
    for name in ("files", "threads"):
        before, after = (
            [getattr(one, name) for one in part] for part in (warm[:third], warm[-third:])
        )
        if min(after) > max(before):
            failures.append(f"{kind}: {name} grew from {max(before)} to {min(after)}")
    operations = found[-1].at
    also = {
        "MB per 1,000": round(fitted.value, 3), "from": round(fitted.low, 3),
        "to": round(fitted.high, 3), "MB at the end": round(found[-1].mb, 1),
        "MB added": round(grown, 2), "files": found[-1].files, "threads": found[-1].threads,
    }  # fmt: skip
    held = operations if not failures else 0
    return Counts(f"memory over {kind}", operations, held, tuple(failures), also)


def run(
    *, seed: int, scale: float, say: Say = lambda _: None, seconds: float | None = None
) -> list[Counts]:
    """Soak each kind of work in a process of its own; together ``SECONDS`` at scale 1."""
    del seed  # nothing is drawn
    each = (SECONDS * scale if seconds is None else seconds) / len(KINDS)
    rows = []
    path = os.pathsep.join(
        [
            str(Path(__file__).resolve().parent.parent),
            *filter(None, [os.environ.get("PYTHONPATH")]),
        ]
    )
    for kind in KINDS:
        say(f"{kind}: {each:.0f} s")
        ended = subprocess.run(
            [sys.executable, "-c", "from trials.memory import main; main()", kind, str(each)],
            capture_output=True, text=True, check=False, env={**os.environ, "PYTHONPATH": path},
            timeout=10 * each + 300,
        )  # fmt: skip
        if ended.returncode:
            failure = f"{kind}: {ended.stderr[-400:]}"
            rows.append(Counts(f"memory over {kind}", 1, 0, (failure,)))
            continue
        samples = [Seen(*one) for one in json.loads(ended.stdout.splitlines()[-1])]
        rows.append(judged(kind, samples))
    return rows


def main(argv: Sequence[str] | None = None) -> None:
    """Soak one kind and print the samples; for a process of its own."""
    kind, seconds = (argv or sys.argv[1:])[:2]
    found: Any = soak(kind, float(seconds))
    print(json.dumps(found))

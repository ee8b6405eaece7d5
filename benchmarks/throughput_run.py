"""The contenders of a set as processes, asked in turn; what they took, and whether they agree."""

from __future__ import annotations

import json
import os
import subprocess
import sys
import tempfile
import time
from dataclasses import dataclass, field
from pathlib import Path
from types import TracebackType
from typing import Any, Self

import throughput_peers

CHILD = Path(__file__).resolve().parent / "throughput_peers.py"
LEAST_COSINE = 0.9999
PRODUCTS = ("numpy product", "onnxruntime product")
_END_S = 10
"""A contender's process gets so long to end."""


class DisagreementError(Exception):
    """The contenders do not compute the same thing, so their times do not compare."""


class PeerError(Exception):
    """A contender's process ended before its work was done."""


@dataclass
class Timed:
    """Seconds of each round, and the least cosine with closecall's vectors."""

    wall: list[float] = field(default_factory=list)
    cpu: list[float] = field(default_factory=list)
    cosine: float = 1.0


class Peer:
    """A process that holds one contender, ready to embed."""

    def __init__(self, name: str, python: str, folder: Path, work: Path, numbers: tuple[int, int]):
        threads, batch = numbers
        # Some of these name the kernels of another processor than this one.
        env = {key: text for key, text in os.environ.items() if not key.startswith("OPENBLAS_")}
        env |= {"BENCH_TMP": str(work), "RAYON_NUM_THREADS": str(threads)}
        if threads == 1:
            env["TOKENIZERS_PARALLELISM"] = "false"
        if name in PRODUCTS:
            env["OPENBLAS_NUM_THREADS"] = str(threads)
        self.name = name
        self._errors = tempfile.TemporaryFile()  # noqa: SIM115 - closed with the process
        self._process = subprocess.Popen(
            [python, str(CHILD), name, str(folder), str(threads), str(batch)],
            stdin=subprocess.PIPE,
            stdout=subprocess.PIPE,
            stderr=self._errors,
            text=True,
            env=env,
        )  # fmt: skip
        said = self._answer()
        self.missing: str | None = said.get("missing")
        self.versions: dict[str, str] = said.get("versions", {})

    def ask(self, **asked: str) -> dict[str, Any]:
        """Send one request and return the answer."""
        if self._process.stdin is None:
            raise PeerError(f"{self.name}: has no input")
        try:
            print(json.dumps(asked), file=self._process.stdin, flush=True)
        except OSError:
            return self._answer()  # says why it ended
        return self._answer()

    def _answer(self) -> dict[str, Any]:
        line = self._process.stdout.readline() if self._process.stdout else ""
        if not line:
            self._errors.seek(0)
            last = self._errors.read().decode("utf-8", "replace").strip().splitlines()[-1:]
            raise PeerError(f"{self.name}: its process ended: {''.join(last)}")
        return json.loads(line)

    def close(self) -> None:
        """End the process; one that its own threads keep alive is stopped."""
        for stream in (self._process.stdin, self._process.stdout, self._errors):
            if stream is not None:
                stream.close()
        try:
            self._process.wait(timeout=_END_S)
        except subprocess.TimeoutExpired:
            self._process.kill()
            self._process.wait()


class Peers:
    """The contenders with one number of threads; those that cannot run are in ``missing``."""

    def __init__(self, folders: dict[str, Path], work: Path, batch: int, pythons: dict[str, str]):
        self.missing: dict[str, str] = {}
        self.versions: dict[str, dict[str, str]] = {}
        self._folders, self._work, self._batch, self._pythons = folders, work, batch, pythons
        self._open: dict[tuple[str, int], Peer] = {}

    def ready(self, names: list[str], threads: int) -> dict[str, Peer]:
        """Return those of ``names`` that can run; the ones with other threads are ended."""
        for at in [at for at in self._open if at[1] != threads]:
            self._open.pop(at).close()
        found = {}
        for name in names:
            if name in self.missing:
                continue
            at = (name, threads)
            if at not in self._open:
                python = self._pythons.get(name, sys.executable)
                folder = self._folders[name if name in self._folders else ""]
                peer = Peer(name, python, folder, self._work, (threads, self._batch))
                if peer.missing is not None:
                    self.missing[name] = peer.missing
                    peer.close()
                    continue
                self.versions[name] = peer.versions
                self._open[at] = peer
            found[name] = self._open[at]
        return found

    def __enter__(self) -> Self:
        return self

    def __exit__(
        self,
        kind: type[BaseException] | None,
        error: BaseException | None,
        trace: TracebackType | None,
    ) -> None:
        for peer in self._open.values():
            peer.close()


def measure(
    texts: list[str], own: str, peers: dict[str, Peer], work: Path, rounds: int
) -> dict[str, Timed]:
    """Check that vectors agree with those of ``own``, then time every contender once a round.

    Raises
    ------
    DisagreementError
        A contender's vectors are others.
    PeerError
        A process ended.
    """
    file = work / "texts.json"
    file.write_text(json.dumps(texts), encoding="utf-8")
    timed = {name: Timed() for name in peers}
    # The check is the warm-up too: every contender sees every text once.
    expected = _vectors(peers[own], file, work)
    for name, peer in peers.items():
        vectors = _vectors(peer, file, work)
        if name in PRODUCTS:
            continue
        timed[name].cosine = _least_cosine(expected, vectors)
        if timed[name].cosine < LEAST_COSINE:
            raise DisagreementError(
                f"{name} and {own} disagree: least cosine {timed[name].cosine:.6f}, "
                f"needed {LEAST_COSINE}"
            )
    names = list(peers)
    for number in range(rounds):
        turn = number % len(names)
        for name in names[turn:] + names[:turn]:
            time.sleep(0.05)  # lets the threads of the one before stop spinning
            took = peers[name].ask(texts=str(file))
            timed[name].wall.append(took["wall"])
            timed[name].cpu.append(took["cpu"])
    return timed


def _vectors(peer: Peer, texts: Path, work: Path) -> Any:
    import numpy as np

    place = work / "vectors.npy"
    peer.ask(texts=str(texts), vectors=str(place))
    return np.load(place, allow_pickle=False)


def _least_cosine(expected: Any, got: Any) -> float:
    import numpy as np

    a, b = np.asarray(expected, dtype=np.float64), np.asarray(got, dtype=np.float64)
    lengths = np.linalg.norm(a, axis=1) * np.linalg.norm(b, axis=1)
    return float(((a * b).sum(axis=1) / lengths).min())


NAMES = [name for name in throughput_peers.CONTENDERS if name not in PRODUCTS]

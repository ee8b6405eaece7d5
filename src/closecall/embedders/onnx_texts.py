"""What embedders that run an ONNX graph share: texts in, vectors, counts and token vectors out."""

from __future__ import annotations

import threading
from abc import ABC, abstractmethod
from collections.abc import Iterator, Sequence
from contextlib import contextmanager
from typing import Protocol

import numpy as np
from numpy.typing import NDArray

from closecall.embedders.awaitable import Awaitable
from closecall.embedders.base import Counted, NoPiecesError, Pieced, Pieces, Vectors
from closecall.embedders.faults import (
    check_finite,
    check_texts,
    refuse_broken,
    refuse_too_long,
)
from closecall.embedders.onnx_pieces import LeftOut, PieceSheet
from closecall.embedders.onnx_reading import Mapper, Reader, Reading, Tokenizing
from closecall.embedders.onnx_runtime import Ids
from closecall.embedders.onnx_session import NoMemoryError
from closecall.embedders.windows import averaged, exact_batches
from closecall.errors import EmbeddingError
from closecall.instrument import Instrument
from closecall.records import Role, Tokens

CPU_TOKENS = 1024
CUDA_TOKENS = 16_384
"""Most tokens in one run of the session, on the CPU and on CUDA."""


class Running(Tokenizing, Protocol):
    """A model made ready to run; see ``onnx_runtime.Loaded``."""

    @property
    def tokens(self) -> bool:
        """Whether it gives a vector of the texts' width for each token."""

    def run(self, ids: Ids) -> NDArray[np.float32]:
        """Return the vectors of windows of one length: int32 (n, s) to float32 (n, d)."""

    def run_tokens(self, ids: Ids) -> tuple[NDArray[np.float32], NDArray[np.float32]]:
        """Like ``run``, with the token vectors from the same pass: float32 (n, s, d)."""


class OnnxTexts(Awaitable, ABC):
    """Reads texts in windows and runs a graph over them; a subclass says which, and who it is.

    Parameters
    ----------
    threads
        Runs side by side, from 1.
    batch_tokens
        Most tokens in one run; 1 runs every window alone. Where there is not the memory for that
        many, runs are halved from then on.
    """

    def __init__(self, threads: int, batch_tokens: int) -> None:
        self._threads = threads
        self._batch_tokens = batch_tokens
        self._lock = threading.RLock()
        self._running: Running | None = None

    @property
    @abstractmethod
    def instrument(self) -> Instrument:
        """The identity of this embedder."""

    @property
    def threads(self) -> int:
        """How many runs stand side by side at most."""
        return self._threads

    @abstractmethod
    def _load(self) -> Running:
        """Return the model, checked and ready."""

    def embed(self, texts: Sequence[str], role: Role = Role.TEXT) -> Vectors:
        """Return one vector per text, in the order asked: float32, (n, d), finite.

        Raises
        ------
        UsageError
            If ``texts`` is not a sequence of str.
        TextTooLongError
            If texts are longer than the window and the policy is ``error``.
        EmbeddingError
            If texts hold lone surrogates, which no tokenizer reads, or a vector is not finite;
            without indices if the runtime fails.
        ModelError
            If the model cannot be loaded; see ``load``.
        """
        return self.embed_counted(texts, role).vectors

    def embed_counted(self, texts: Sequence[str], role: Role = Role.TEXT) -> Counted:
        """Like ``embed``, with tokens seen and total per text.

        Special tokens and the prefix count once, however many windows repeat them, so ``total``
        is what one window without a limit would hold.
        """
        vectors, tokens, _ = self._read(texts, role, pieces=False)
        return Counted(vectors, tuple(tokens))

    def embed_pieces(self, texts: Sequence[str], role: Role = Role.TEXT) -> list[Pieced]:
        """Return vector, tokens and token vectors of each text, from one pass of the model.

        Vector and tokens are those of ``embed_counted``, bit for bit. A token of a text read in
        windows is taken from the window in which it stands furthest from a cut.

        Takes 4 bytes of memory for each number of a token vector: 1.5 kB a token at width 384.

        Raises
        ------
        NoPiecesError
            If the graph has no output ``tokens`` of the model's width.
        UsageError, TextTooLongError, EmbeddingError, ModelError
            As ``embed``; a token vector that is zero or not finite is at fault like a vector.
        """
        vectors, tokens, pieces = self._read(texts, role, pieces=True)
        return [Pieced(*found) for found in zip(vectors, tokens, pieces, strict=True)]

    def _read(
        self, texts: Sequence[str], role: Role, *, pieces: bool
    ) -> tuple[Vectors, list[Tokens], list[Pieces]]:
        """Return vector and tokens of each text, and its pieces where they are wanted."""
        check_texts(texts)
        role = Role(role)
        tokens: list[Tokens] = []
        found: list[Pieces] = []
        if not len(texts):
            return np.empty((0, self.instrument.dims), dtype=np.float32), tokens, found
        loaded = self._ready()
        # After it is loaded, and its width known to be what is said of it.
        vectors = np.empty((len(texts), self.instrument.dims), dtype=np.float32)
        if pieces and not loaded.tokens:
            raise NoPiecesError(_NO_TOKENS)
        left_out = LeftOut(loaded) if pieces else None
        too_long: list[int] = []
        broken: dict[int, str] = {}
        no_room: dict[int, str] = {}
        empty: dict[int, str] = {}
        reader = Reader(loaded, self.instrument, role, places=pieces)
        with self._workers() as mapper:
            for slab in reader.slabs(texts, mapper):
                start, stop = len(tokens), len(tokens) + len(slab)
                tokens += [reading.tokens for reading in slab]
                too_long += [start + at for at, read in enumerate(slab) if not read.spans]
                empty |= {
                    start + at: _NOTHING
                    for at, read in enumerate(slab)
                    if read.spans and not reader.row_length(read, read.spans[0])
                }
                if too_long or empty:
                    continue
                sheet = None
                if left_out is not None:
                    own = texts[start:stop]
                    sheet = PieceSheet(reader, left_out, own, slab, self.instrument.dims)
                vectors[start:stop], failed = self._run(loaded, reader, slab, mapper, sheet)
                no_room |= {start + at: _NO_ROOM for at in failed}
                if sheet is not None:
                    found += sheet.pieces()
                    broken |= {start + at: reason for at, reason in sheet.broken.items()}
        refuse_too_long(too_long, tokens, self.instrument)
        refuse_broken(empty)
        refuse_broken(no_room)
        check_finite(vectors)
        refuse_broken(broken)
        return vectors, tokens, found

    def _ready(self) -> Running:
        with self._lock:
            if self._running is None:
                self._running = self._load()
            return self._running

    @contextmanager
    def _workers(self) -> Iterator[Mapper]:
        """Yield a ``map`` over threads that end with the call."""
        if self._threads == 1:
            yield map
            return
        from concurrent.futures import ThreadPoolExecutor

        pool = ThreadPoolExecutor(self._threads, thread_name_prefix="closecall-embed")
        try:
            yield lambda function, items: (pool.map if len(items) > 1 else map)(function, items)
        finally:
            pool.shutdown(wait=True, cancel_futures=True)

    def _run(
        self,
        loaded: Running,
        reader: Reader,
        slab: Sequence[Reading],
        mapper: Mapper,
        sheet: PieceSheet | None,
    ) -> tuple[Vectors, set[int]]:
        """Return the vectors of readings: float32, (len(slab), d); fill the sheet, if any.

        With them come the readings that there is not the memory for, even alone.
        """
        windows = [
            (at, reading, span) for at, reading in enumerate(slab) for span in reading.spans
        ]
        lengths = [reader.row_length(reading, span) for _, reading, span in windows]
        found = np.zeros((len(windows), self.instrument.dims), dtype=np.float32)
        failed: set[int] = set()
        width = self.instrument.dims

        def run(batch: NDArray[np.intp]) -> None:
            ids = np.stack([np.concatenate(reader.row(*windows[at][1:])) for at in batch])
            if sheet is None:
                found[batch] = _sound(loaded.run(ids), len(batch), width)
                return
            vectors, hidden = loaded.run_tokens(ids)
            found[batch] = _sound(vectors, len(batch), width)
            _sound(hidden, *ids.shape, width)
            for at, states in zip(batch.tolist(), hidden, strict=True):
                sheet.put(at, states)

        def run_in_parts(batch: NDArray[np.intp]) -> None:
            waiting = [batch]
            while waiting:
                some = waiting.pop()
                try:
                    run(some)
                except NoMemoryError:
                    if len(some) == 1:
                        failed.add(windows[some[0]][0])
                        continue
                    half = len(some) // 2
                    self._batch_tokens = min(self._batch_tokens, half * lengths[some[0]])
                    waiting += [some[half:], some[:half]]

        for _ in mapper(run_in_parts, exact_batches(lengths, self._batch_tokens)):
            pass
        spans = [reading.spans for reading in slab]
        return averaged(found, spans, normalize=self.instrument.normalize), failed


def _sound(found: Vectors, *shape: int) -> Vectors:
    """Return what a graph gave, or refuse another shape, which arrays would take for this one."""
    given = getattr(found, "shape", None)
    if given != shape or found.dtype.kind != "f":
        raise EmbeddingError(
            f"the graph gave {getattr(found, 'dtype', type(found))} of shape {given}, where "
            f"numbers of shape {shape} are wanted"
        )
    return found


_NOTHING = "the tokenizer makes no token of it, and the model has none of its own to put around"
_NO_ROOM = "there is not the memory to run the model on it, even alone"
_NO_TOKENS = (
    "its graph has no output 'tokens' of the model's width, so there is one vector a text and "
    "none for its tokens; models added with 'closecall models add' have both"
)

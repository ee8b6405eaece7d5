"""Embeddings on the CPU from a compiled model."""

from __future__ import annotations

import os
import threading
from collections.abc import Iterator, Sequence
from concurrent.futures import ThreadPoolExecutor
from contextlib import contextmanager
from pathlib import Path

import numpy as np
from numpy.typing import NDArray

from closecall.embedders.base import Counted, NoPiecesError, Pieced, Pieces, Vectors
from closecall.embedders.onnx_pieces import LeftOut, PieceSheet
from closecall.embedders.onnx_reading import Mapper, Reader, Reading
from closecall.embedders.onnx_runtime import Loaded, load
from closecall.embedders.windows import average, checked_policy, exact_batches
from closecall.errors import ConfigurationError, EmbeddingError, TextTooLongError, UsageError
from closecall.instrument import CHUNK, Instrument
from closecall.models.cards import GRAPH_FILE, TOKENIZER_FILE
from closecall.models.store import StoredModel, load_model
from closecall.records import Role, Tokens, is_whole_text

BATCH_TOKENS = 1024
"""Most tokens in one run of the session."""

# What a BERT tokenizer puts around a text.
_SPECIALS = 2


class OnnxEmbedder:
    """Turns texts into vectors with a compiled model, on the CPU.

    The same text gives the same bytes whatever stands beside it in a call: windows of one length
    share a batch, so nothing is padded. Making an embedder reads the card only; the model is
    checked and loaded when the first text comes. Calls from several threads are safe. No thread
    outlives a call, so a process that embedded may fork.

    Long texts: the window policy ``chunk`` reads a text in windows that share ``overlap`` tokens
    and averages their vectors, each weighted by its tokens of the text; ``truncate`` reads the
    first window; ``error`` refuses. A prefix stands in every window.

    Parameters
    ----------
    model
        A model of the store, or the folder of one.
    window
        ``chunk``, ``truncate`` or ``error``.
    overlap
        Tokens neighbouring windows share; None for 32, or a quarter of a smaller window.
    threads
        Runs side by side; None for ``CLOSECALL_THREADS``, else one for each core there is.
    batch_tokens
        Most tokens in one run; changes speed and memory only.

    Raises
    ------
    UsageError
        If an argument is wrong.
    ModelError
        If the folder holds no model or its card is wrong.
    """

    def __init__(
        self,
        model: StoredModel | Path | str,
        *,
        window: str = CHUNK,
        overlap: int | None = None,
        threads: int | None = None,
        batch_tokens: int = BATCH_TOKENS,
    ) -> None:
        self._model = model if isinstance(model, StoredModel) else load_model(model)
        card = self._model.card
        window, overlap = checked_policy(window, overlap, card.max_tokens - _SPECIALS)
        self._threads = worker_threads() if threads is None else _positive("threads", threads)
        self._batch_tokens = _positive("batch_tokens", batch_tokens)
        self._lock = threading.Lock()
        self._loaded: Loaded | None = None
        self._instrument = Instrument(
            kind="onnx",
            model=card.name,
            provider="local",
            revision=card.revision,
            dims=card.dims,
            weights=card.file(GRAPH_FILE).sha256,
            tokenizer=card.file(TOKENIZER_FILE).sha256,
            pooling=card.pooling,
            normalize=card.normalize,
            prefixes=dict(card.prefixes),
            max_tokens=card.max_tokens,
            precision=card.precision,
            window=window,
            overlap=overlap,
            options={"lowercase": "true"} if card.lowercase else {},
        )

    @property
    def instrument(self) -> Instrument:
        """The identity of this embedder, taken from the model's card."""
        return self._instrument

    @property
    def threads(self) -> int:
        """How many runs stand side by side at most."""
        return self._threads

    def load(self) -> None:
        """Check and load the model now instead of with the first text.

        Raises
        ------
        ModelIntegrityError
            If a file is not the one its card records.
        ModelError
            If a file is missing, or keeps weights in other files, or the runtime cannot use it.
        ConfigurationError
            If the runtime cannot be imported or would not run on the CPU.
        """
        self._ready()

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
        _check_texts(texts)
        role = Role(role)
        vectors = np.empty((len(texts), self._instrument.dims), dtype=np.float32)
        tokens: list[Tokens] = []
        found: list[Pieces] = []
        if not len(texts):
            return vectors, tokens, found
        loaded = self._ready()
        if pieces and not loaded.tokens:
            raise NoPiecesError(_NO_TOKENS)
        left_out = LeftOut(loaded) if pieces else None
        too_long: list[int] = []
        broken: dict[int, str] = {}
        reader = Reader(loaded, self._instrument, role, places=pieces)
        with self._workers() as mapper:
            for slab in reader.slabs(texts, mapper):
                start, stop = len(tokens), len(tokens) + len(slab)
                tokens += [reading.tokens for reading in slab]
                too_long += [start + at for at, read in enumerate(slab) if not read.spans]
                if too_long:
                    continue
                sheet = None
                if left_out is not None:
                    own = texts[start:stop]
                    sheet = PieceSheet(reader, left_out, own, slab, self._instrument.dims)
                vectors[start:stop] = self._run(loaded, reader, slab, mapper, sheet)
                if sheet is not None:
                    found += sheet.pieces()
                    broken |= {start + at: reason for at, reason in sheet.broken.items()}
        _refuse_too_long(too_long, tokens, self._instrument)
        _check_finite(vectors)
        _refuse_broken(broken)
        return vectors, tokens, found

    def _ready(self) -> Loaded:
        with self._lock:
            if self._loaded is None:
                self._loaded = load(self._model)
            return self._loaded

    @contextmanager
    def _workers(self) -> Iterator[Mapper]:
        """Yield a ``map`` over threads that end with the call."""
        if self._threads == 1:
            yield map
            return
        pool = ThreadPoolExecutor(self._threads, thread_name_prefix="closecall-embed")
        try:
            yield lambda function, items: (pool.map if len(items) > 1 else map)(function, items)
        finally:
            pool.shutdown(wait=True, cancel_futures=True)

    def _run(
        self,
        loaded: Loaded,
        reader: Reader,
        slab: Sequence[Reading],
        mapper: Mapper,
        sheet: PieceSheet | None,
    ) -> Vectors:
        """Return the vectors of readings: float32, (len(slab), d); fill the sheet, if any."""
        windows = [(reading, span) for reading in slab for span in reading.spans]
        lengths = [reader.row_length(*window) for window in windows]
        found = np.empty((len(windows), self._instrument.dims), dtype=np.float32)

        def run(batch: NDArray[np.intp]) -> None:
            ids = np.stack([np.concatenate(reader.row(*windows[at])) for at in batch])
            if sheet is None:
                found[batch] = loaded.run(ids)
                return
            found[batch], hidden = loaded.run_tokens(ids)
            for at, states in zip(batch.tolist(), hidden, strict=True):
                sheet.put(at, states)

        for _ in mapper(run, exact_batches(lengths, self._batch_tokens)):
            pass
        if len(windows) == len(slab):
            return found
        return self._averaged(slab, found)

    def _averaged(self, slab: Sequence[Reading], found: Vectors) -> Vectors:
        """Return one vector a reading from one a window."""
        vectors = np.empty((len(slab), found.shape[1]), dtype=np.float32)
        start = 0
        for at, reading in enumerate(slab):
            own = found[start : start + len(reading.spans)]
            start += len(reading.spans)
            vectors[at] = (
                own[0]
                if len(own) == 1
                else average(
                    own,
                    [span.length for span in reading.spans],
                    normalize=self._instrument.normalize,
                )
            )
        return vectors


_BROKEN_TEXT = (
    "holds half of a surrogate pair, which is not a character; the text was damaged before it "
    "came here"
)


_NO_TOKENS = (
    "its graph has no output 'tokens' of the model's width, so there is one vector a text and "
    "none for its tokens; models added with 'closecall models add' have both"
)


def worker_threads() -> int:
    """Return how many runs to put side by side: ``CLOSECALL_THREADS``, else the cores there are.

    Raises
    ------
    ConfigurationError
        If the variable is set to anything but a number from 1.
    """
    given = os.environ.get("CLOSECALL_THREADS", "")
    if given:
        if not given.isascii() or not given.isdigit() or int(given) < 1:
            raise ConfigurationError(
                f"CLOSECALL_THREADS must be a whole number from 1, got {given!r}"
            )
        return int(given)
    if hasattr(os, "sched_getaffinity"):  # the cores this process may use, where the OS says
        return len(os.sched_getaffinity(0))
    return os.cpu_count() or 1


def _positive(name: str, value: int) -> int:
    if isinstance(value, bool) or not isinstance(value, int) or value < 1:
        raise UsageError(f"{name} must be a whole number from 1, got {value!r}")
    return value


def _check_texts(texts: Sequence[str]) -> None:
    """Refuse what is not a sequence of texts that can be written as UTF-8."""
    if isinstance(texts, str | bytes):
        raise UsageError("texts must be a list of str, got a single text; put it in a list")
    for index, text in enumerate(texts):
        if not isinstance(text, str):
            raise UsageError(f"texts[{index}] must be str, got {type(text).__name__}")
    broken = [index for index, text in enumerate(texts) if not is_whole_text(text)]
    if broken:
        raise EmbeddingError(
            f"{_listed(broken)}: {_BROKEN_TEXT}",
            broken,
            reason=_BROKEN_TEXT,
        )


def _refuse_too_long(
    indices: Sequence[int], tokens: Sequence[Tokens], instrument: Instrument
) -> None:
    if indices:
        longest = max(tokens[index].total for index in indices)
        reason = (
            f"longer than the {instrument.max_tokens} tokens {instrument.model} reads at once; "
            "window='chunk' reads such texts in windows, window='truncate' their beginning"
        )
        raise TextTooLongError(
            f"{_listed(indices)}: {reason} (the longest has {longest})", indices, reason=reason
        )


def _check_finite(vectors: Vectors) -> None:
    broken = np.flatnonzero(~np.isfinite(vectors).all(axis=1)).tolist()
    if broken:
        raise EmbeddingError(
            f"{_listed(broken)}: the model made a vector that is not finite",
            broken,
            reason="the model made a vector that is not finite",
        )


def _refuse_broken(broken: dict[int, str]) -> None:
    """Refuse texts with token vectors that cannot be compared."""
    if broken:
        indices = sorted(broken)
        reason = broken[indices[0]]
        indices = [index for index in indices if broken[index] == reason]
        raise EmbeddingError(f"{_listed(indices)}: {reason}", indices, reason=reason)


def _listed(indices: Sequence[int]) -> str:
    """Name texts by index, the first few of many."""
    shown = ", ".join(f"texts[{index}]" for index in indices[:5])
    rest = len(indices) - 5
    return f"{shown} and {rest} more" if rest > 0 else shown

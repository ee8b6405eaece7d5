"""Embeddings from a table of token vectors: no model runs, so a text takes microseconds.

What is lost: a token has one vector whatever stands around it, so word order, negation and which
sense of a word is meant leave no trace. A token always equals itself, so an answer that holds
every word of the reference has the alignment 1, right or wrong. ``benchmarks/static.py`` has the
figures for a table distilled from the bundled model: on answers to factual questions in English
the pooled cosine ranked as well as the encoder's or better, on captions and on attribution to a
context worse.
"""

from __future__ import annotations

import hashlib
import threading
from collections.abc import Iterator, Sequence
from concurrent.futures import ThreadPoolExecutor
from contextlib import contextmanager
from pathlib import Path
from typing import NamedTuple

import msgspec
import numpy as np

from closecall.embedders.awaitable import Awaitable
from closecall.embedders.base import Counted, Pieced, Pieces, Vectors
from closecall.embedders.faults import check_finite, check_texts, refuse_broken
from closecall.embedders.onnx import worker_threads
from closecall.embedders.onnx_pieces import LeftOut, PieceSheet
from closecall.embedders.onnx_reading import Mapper, Reader, Reading
from closecall.embedders.registry import STATIC
from closecall.embedders.static.table import StaticTable, find_table, make_table
from closecall.errors import ModelIntegrityError, UsageError
from closecall.instrument import Instrument
from closecall.models.hashing import read_file
from closecall.models.safetensors_file import TensorFile
from closecall.models.static_files import StaticFolder, read_static
from closecall.records import Role, Tokens

NO_TOKENS = "the tokenizer makes no token of it"
NO_LENGTH = "the vectors of its tokens add up to zero, which has no direction"
UNREADABLE = "the model knows no word or sign of it"

# A static model's window has no end: it is as long as a text can be.
_ENDLESS = (1 << 31) - 1


class _Opened(NamedTuple):
    """A model's bytes with what they say, held until the table is made of them."""

    tensors: TensorFile | None
    tokenizer: bytes
    instrument: Instrument


class StaticEmbedder(Awaitable):
    """Turns texts into vectors by a table: the mean of the vectors of a text's tokens.

    Each vector counts as its weight says, where the model has weights. Tokens outside the
    vocabulary are left out, as in model2vec; so are special tokens, which nobody puts around a
    text. A text is never cut, however long (model2vec reads 512 tokens unless told otherwise),
    so there is no window and no policy for one. Roles have no prefixes.

    The same text gives the same bytes whatever stands beside it in a call. Token vectors are the
    rows of the table brought to length 1, with the places of the tokens. Tokens whose row is
    zero, as that of padding often is, have none.

    Making an embedder reads the folder's JSON. ``instrument`` reads and hashes its two large
    files; the table is made of those same bytes when the first text comes. It is held in memory:
    4 bytes a number. Calls from several threads are safe. No thread outlives a call.

    Parameters
    ----------
    folder
        A folder in the layout of model2vec or of sentence-transformers' StaticEmbedding.
    threads
        Threads that tokenise side by side; None for ``CLOSECALL_THREADS``, else one for each
        core there is.

    Raises
    ------
    UsageError
        If an argument is wrong.
    ModelError
        If the folder holds no static model.
    """

    def __init__(self, folder: StaticFolder | Path | str, *, threads: int | None = None) -> None:
        if threads is not None and threads < 1:
            raise UsageError(f"threads must be at least 1, got {threads}")
        self._folder = folder if isinstance(folder, StaticFolder) else read_static(folder)
        self._threads = worker_threads() if threads is None else threads
        self._lock = threading.Lock()
        self._opened: _Opened | None = None
        self._table: tuple[StaticTable, LeftOut] | None = None

    @property
    def folder(self) -> StaticFolder:
        """Where the model lies, and what its configuration says."""
        return self._folder

    @property
    def instrument(self) -> Instrument:
        """The identity of this embedder: the hashes of its files, whether it makes unit vectors.

        Raises
        ------
        ModelError
            If a file cannot be read, or is not the one its record says.
        """
        with self._lock:
            return self._identified().instrument

    def load(self) -> None:
        """Read the table now instead of with the first text.

        Raises
        ------
        ModelError
            If a file cannot be read or used.
        ConfigurationError
            If the tokenizers library cannot be imported.
        """
        self._ready()

    def embed(self, texts: Sequence[str], role: Role = Role.TEXT) -> Vectors:
        """Return one vector per text, in the order asked: float32, (n, d), finite, not zero.

        Raises
        ------
        UsageError
            If ``texts`` is not a sequence of str.
        EmbeddingError
            With the indices of texts that hold lone surrogates, of which no token is known, or
            whose tokens add up to zero.
        ModelError
            If the model cannot be loaded; see ``load``.
        """
        vectors, tokens = self.embed_counted(texts, role)
        refuse_broken({at: UNREADABLE for at, one in enumerate(tokens) if _unreadable(one)})
        return vectors

    def embed_counted(self, texts: Sequence[str], role: Role = Role.TEXT) -> Counted:
        """Like ``embed``, with tokens seen and total per text, which are always the same.

        A text of which no token is known gets a row of zeros, and ``Tokens.unreadable`` says so.
        """
        vectors, tokens, _ = self._read(texts, role, pieces=False)
        return Counted(vectors, tuple(tokens))

    def embed_pieces(self, texts: Sequence[str], role: Role = Role.TEXT) -> list[Pieced]:
        """Return vector, tokens and token vectors of each text.

        Vector and tokens are those of ``embed_counted``, bit for bit. Takes 4 bytes of memory
        for each number of a token vector.

        Raises
        ------
        UsageError, EmbeddingError, ModelError
            As ``embed``, except that a text of which no token is known has no pieces.
        """
        vectors, tokens, pieces = self._read(texts, role, pieces=True)
        return [Pieced(*found) for found in zip(vectors, tokens, pieces, strict=True)]

    def _read(
        self, texts: Sequence[str], role: Role, *, pieces: bool
    ) -> tuple[Vectors, list[Tokens], list[Pieces]]:
        check_texts(texts)
        role = Role(role)
        instrument = self.instrument
        vectors = np.zeros((len(texts), instrument.dims), dtype=np.float32)
        tokens: list[Tokens] = []
        found: list[Pieces] = []
        if not len(texts):
            return vectors, tokens, found
        table, left_out = self._ready()
        endless = msgspec.structs.replace(instrument, max_tokens=_ENDLESS)
        reader = Reader(table, endless, role, places=pieces)
        broken: dict[int, str] = {}
        # A sum too large for float32 becomes infinite, and is refused below.
        with self._workers() as mapper, np.errstate(over="ignore"):
            for slab in reader.slabs(texts, mapper):
                start = len(tokens)
                for reading in slab:
                    at = len(tokens)
                    tokens.append(reading.tokens)
                    problem = self._sum(table, reading, vectors[at])
                    if problem:
                        broken[at] = problem
                if pieces:
                    own = texts[start : len(tokens)]
                    sheet = PieceSheet(reader, left_out, own, slab, instrument.dims)
                    for at, reading in enumerate(slab):
                        sheet.put(at, table.vectors(reading.ids))
                    found += sheet.pieces()
        check_finite(vectors)
        refuse_broken(broken)
        return vectors, tokens, found

    def _sum(self, table: StaticTable, reading: Reading, out: Vectors) -> str:
        """Put a text's vector into ``out``, or return why it has none."""
        ids = reading.ids
        if reading.tokens.unknown:
            ids = ids[ids != table.unknown]
        if not len(ids):
            # That no token is known is told by the count of tokens.
            return "" if reading.tokens.unreadable else NO_TOKENS
        total = table.mean(ids)
        length = float(np.sqrt(np.square(total).sum()))
        if not length:
            return NO_LENGTH
        out[:] = total / length if self._folder.normalize else total
        return ""

    def _identified(self) -> _Opened:
        if self._opened is None:
            self._opened = _open(self._folder)
        return self._opened

    def _ready(self) -> tuple[StaticTable, LeftOut]:
        with self._lock:
            opened = self._identified()
            if self._table is None:
                if opened.tensors is None:  # pragma: no cover - given up for a table only
                    raise AssertionError
                table = make_table(self._folder, opened.tensors, opened.tokenizer)
                self._table = table, _LeftOut(table)
                # The table holds what it needs of these.
                self._opened = opened._replace(tensors=None, tokenizer=b"")
            return self._table

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


class _LeftOut(LeftOut):
    """Also tokens with a row of zeros, which has no direction to compare."""

    def __init__(self, table: StaticTable) -> None:
        super().__init__(table)
        nothing = table.nothing()
        numbers = np.arange(len(nothing), dtype=np.int32)
        self._table = np.append(nothing | super().of(numbers), False)


def _open(folder: StaticFolder) -> _Opened:
    """Read and hash a model's two large files."""
    weights, tokenizer = read_file(folder.weights), read_file(folder.tokenizer)
    hashes = {
        path.name: hashlib.sha256(data).hexdigest()
        for path, data in ((folder.weights, weights), (folder.tokenizer, tokenizer))
    }
    for name, expected in ({} if folder.made is None else folder.made.files).items():
        if hashes.get(name) != expected:
            raise ModelIntegrityError(
                f"{folder.folder / name}: damaged or changed: expected sha256 {expected}, found "
                f"{hashes.get(name)}. Make the model again with 'closecall models distil'"
            )
    tensors = TensorFile(weights, folder.weights)
    _, dims, precision = find_table(tensors, folder)
    instrument = Instrument(
        kind=STATIC,
        model=folder.name,
        provider="local",
        dims=dims,
        weights=hashes[folder.weights.name],
        tokenizer=hashes[folder.tokenizer.name],
        pooling="mean",
        normalize=folder.normalize,
        precision=precision,
    )
    return _Opened(tensors, tokenizer, instrument)


def _unreadable(tokens: Tokens | None) -> bool:
    return tokens is not None and tokens.unreadable

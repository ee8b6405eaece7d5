"""An index on this machine: opened from its folder, searched, changed and saved."""

from __future__ import annotations

import os
import shutil
import weakref
from collections.abc import Iterable, Sequence
from pathlib import Path
from typing import Any

import msgspec
import numpy as np
from numpy.typing import ArrayLike

from closecall.embedders.base import Embedder
from closecall.errors import ShapeError, UsageError
from closecall.index.base import Hit, Queries
from closecall.index.checking import read_through
from closecall.index.embedding import embed_queries, require_same
from closecall.index.exact import Neighbours, whole_k
from closecall.index.feeding import Batch, batches
from closecall.index.filters import Where
from closecall.index.kinds import Kind
from closecall.index.manifest import LeftOut, Manifest
from closecall.index.measuring import QUERIES, K, measured
from closecall.index.products import Floats32, Similarity, block_of, matrix
from closecall.index.recall import Recall
from closecall.index.rows import Row
from closecall.index.saving import written
from closecall.index.searching import search
from closecall.index.stack import Stack
from closecall.index.stored import Stored, load
from closecall.index.writer import as_rows
from closecall.instrument import Instrument


class LocalIndex:
    """Rows with their vectors in a folder, read by memory map, and what was changed since.

    Made by ``build_index`` and ``open_index``. Additions are held in memory until ``save``. A
    removed row is skipped by every search at once and leaves the files when saved, when the faiss
    part is built again, as it is after the rows have grown by half. Searching from several
    threads is safe; changing meanwhile is not.

    Attributes
    ----------
    path
        The folder it reads from.
    """

    def __init__(
        self,
        path: Path,
        manifest: Manifest,
        stored: Stored,
        *,
        device: str = "cpu",
        temporary: bool = False,
    ) -> None:
        self.path = path
        self._manifest, self._stored, self._device = manifest, stored, device
        self._changed = False
        if temporary:
            weakref.finalize(self, shutil.rmtree, path, ignore_errors=True)
        if stored.part is not None:
            stored.part.to(device)

    def __len__(self) -> int:
        return self._stored.rows

    @property
    def instrument(self) -> Instrument | None:
        """What made the vectors; None where they came without saying."""
        return self._manifest.instrument

    @property
    def embedder_name(self) -> str:
        """The name its builder loaded the embedder by; empty where it is not known.

        To be shown, not loaded: a folder from someone else may name anything.
        """
        return self._manifest.embedder

    @property
    def similarity(self) -> Similarity:
        """How two vectors are compared."""
        return self._manifest.similarity

    @property
    def kind(self) -> Kind:
        """The kind with every option as it is searched."""
        return self._manifest.resolved

    @property
    def dims(self) -> int:
        """Width of a vector."""
        return self._manifest.dims

    @property
    def why(self) -> str:
        """Why it is of this kind, in words."""
        return self._manifest.why

    @property
    def recall(self) -> Recall | None:
        """What was measured when it was last written; None for kinds that look at every row."""
        return self._manifest.recall

    @property
    def left_out(self) -> LeftOut:
        """Rows that were given when it was built and have no vector."""
        return self._manifest.left_out

    def search(
        self,
        queries: Queries,
        k: int = 10,
        *,
        where: Where | None = None,
        embedder: Embedder | None = None,
        instrument: Instrument | None = None,
    ) -> tuple[tuple[Hit, ...], ...]:
        """Return the nearest rows of each query, best first, equal scores by id.

        Parameters
        ----------
        queries
            Vectors, (d,) or (q, d); or one text or several, which ``embedder`` embeds as queries.
        k
            At least 1. Fewer come back only where fewer rows are there and pass ``where``.
        where
            Conditions on metadata; see ``closecall.index.filters``.
        embedder
            The one that made the rows' vectors.
        instrument
            What made the vectors given, to have it checked.

        Raises
        ------
        InstrumentMismatchError
            The queries come from another embedder than the rows; names the fields that differ.
        EmbeddingError
            A query has no vector.
        ShapeError, NonFiniteError, ZeroVectorError, UsageError
            As for ``closecall.index.exact.top_k``.
        """
        vectors = self._vectors(queries, embedder, instrument)
        most = min(whole_k(k), max(len(self), 1))  # no room for more than there are
        found = self.nearest(vectors, most, where=where)
        row = self._stored.table.row
        return tuple(
            tuple(
                _hit(row(position), score)
                for position, score in zip(positions, scores, strict=True)
                if position >= 0
            )
            for positions, scores in zip(found.positions.tolist(), found.similarities, strict=True)
        )

    def nearest(
        self, queries: ArrayLike, k: int = 10, *, where: Where | None = None
    ) -> Neighbours:
        """Return (q, k) positions and similarities as ``top_k`` does, equals by id.

        ``ids`` says which rows they are.
        """
        k = whole_k(k, len(self))
        stored = self._stored
        asked = matrix(queries, "queries")
        zero = self.similarity == "cosine"
        rows = block_of(asked, "queries", 0, refuse_zero=zero).rows
        if not self.dims:  # it never had a row, so it has no width
            shape = (rows.shape[0], k)
            return Neighbours(np.full(shape, -1), np.full(shape, -np.inf, dtype=np.float32))
        self._require_width(rows, "queries")
        return search(stored.field(self.similarity), rows, k, stored.kept(where))

    def ids(self, positions: Iterable[int]) -> list[str]:
        """Return the ids of the rows at these positions.

        Raises
        ------
        UsageError
            No row stands there, as where ``nearest`` says -1.
        """
        table, found = self._stored.table, []
        for position in positions:
            if not 0 <= position < len(table):
                raise UsageError(
                    f"no row at position {position}: they go from 0 to {len(table) - 1}; where "
                    "nearest finds fewer rows than were asked for, it says -1"
                )
            found.append(table.id(int(position)))
        return found

    def without(self, fields: Iterable[str]) -> list[str]:
        """Return those of the fields that no row has."""
        found = []
        for field in fields:
            kept = self._stored.kept({field: {"exists": True}})
            if kept is None or not kept.any():
                found.append(field)
        return found

    def get(self, identity: str) -> Row:
        """Return a row by its id.

        Raises
        ------
        UsageError
            There is none.
        """
        self._stored.require([identity], there=True)
        return self._stored.table.row(self._stored.positions[identity])

    def add(
        self,
        rows: Iterable[Row | Sequence[Any]],
        *,
        vectors: ArrayLike | None = None,
        embedder: Embedder | None = None,
    ) -> None:
        """Add rows whose ids are new; all of them or, on an error, none.

        Raises
        ------
        UsageError
            An id is given twice, or is there already.
        InstrumentMismatchError
            The embedder is another than that of the rows.
        DataError, EmbeddingError, ShapeError
            As for ``build_index``.
        """
        self._append(rows, vectors, embedder, replace=False)

    def replace(
        self,
        rows: Iterable[Row | Sequence[Any]],
        *,
        vectors: ArrayLike | None = None,
        embedder: Embedder | None = None,
    ) -> None:
        """Put rows in the place of those with their ids; all of them or, on an error, none.

        Raises
        ------
        UsageError
            An id is given twice, or no row has it.
        InstrumentMismatchError, DataError, EmbeddingError, ShapeError
            As for ``add``.
        """
        self._append(rows, vectors, embedder, replace=True)

    def remove(self, ids: Iterable[str]) -> None:
        """Remove rows; all of them or, on an error, none.

        Raises
        ------
        UsageError
            An id is given twice, or no row has it.
        """
        gone = [ids] if isinstance(ids, str) else list(ids)
        self._stored.require(gone, there=True)
        self._stored.remove(gone)
        self._changed = self._changed or bool(gone)

    def measure_recall(
        self,
        queries: ArrayLike | None = None,
        k: int = K,
        *,
        seed: int | None = None,
        count: int = QUERIES,
    ) -> Recall:
        """Return recall@k of searches as they are now, against every row.

        Parameters
        ----------
        queries
            (q, d); None: ``count`` rows of the index, chosen by ``seed`` (None: that of the
            index), each without itself.
        k
            Neighbours of each, as for ``nearest``.

        Raises
        ------
        UsageError
            Rows were removed and not yet saved; or a number is out of range.
        """
        k = whole_k(k, len(self))
        for name, value, least in (("seed", seed, 0), ("count", count, 1)):
            whole = isinstance(value, int) and not isinstance(value, bool) and value >= least
            if value is not None and not whole:
                raise UsageError(f"{name} must be a whole number from {least}, got {value!r}")
        if self._stored.alive is not None:
            raise UsageError("recall: rows were removed; save the index first")
        given = None if queries is None else np.asarray(matrix(queries, "queries"), np.float32)
        chosen = self._manifest.seed if seed is None else seed
        field = self._stored.field(self.similarity)
        return measured(field, seed=chosen, queries=given, k=k, count=count)

    def require_sound(self) -> int:
        """Read every row and vector, and return how many rows there are.

        Raises
        ------
        IndexFolderError, NonFiniteError, ZeroVectorError
            One that cannot be read or compared; the message names its file.
        """
        return read_through(self._stored, self.similarity)

    def save(self, path: str | os.PathLike[str] | None = None) -> None:
        """Write the index to a folder, which it then reads from; None: the one it came from.

        The folder holds the old index or the new one, whole, whatever happens meanwhile.

        Raises
        ------
        UsageError
            The folder holds other things, or cannot be written.
        IndexFolderError
            Another process is writing there, or wrote there since this index was opened.
        """
        target = self.path if path is None else Path(path)
        over = target.resolve() == self.path.resolve()
        if not self._changed and over:
            return
        part = written(target, self._manifest, self._stored, changed=self._changed, over=over)
        self._manifest, self._stored = load(target, check=False, part=part)
        if self._stored.part is not None:
            self._stored.part.to(self._device)
        self.path, self._changed = target, False

    def _append(
        self,
        rows: Iterable[Row | Sequence[Any]],
        vectors: ArrayLike | None,
        embedder: Embedder | None,
        *,
        replace: bool,
    ) -> None:
        if embedder is not None:
            require_same(self.instrument, embedder.instrument, "these rows")
        made: list[Batch] = list(
            batches(rows, vectors=vectors, embedder=embedder, similarity=self.similarity)
        )
        self._stored.require([one for batch in made for one in batch.ids], there=replace)
        self._require_one_width([batch.block.rows for batch in made])
        if self._stored.part is not None:
            for batch in made:
                self._stored.part.require(batch.block, batch.first - 1)
        for batch in made:
            if replace:
                self._stored.remove(batch.ids)
            self._stored.append(
                batch.ids, batch.lines, batch.block, threads=self._manifest.threads
            )
        self._changed = self._changed or bool(made)

    def _vectors(
        self, queries: Queries, embedder: Embedder | None, instrument: Instrument | None
    ) -> ArrayLike:
        """Return the queries as a matrix, embedded where they are texts."""
        if isinstance(queries, str):
            queries = [queries]
        given = list(queries) if isinstance(queries, list | tuple) else []
        texts = [one for one in given if isinstance(one, str)]
        if not texts:
            if instrument is not None:
                require_same(self.instrument, instrument, "these queries")
            return as_rows(queries)
        if len(texts) < len(given):
            raise UsageError("queries: give either texts or vectors, not both at once")
        if embedder is None:
            raise UsageError("queries: texts need the embedder of the index, embedder=...")
        require_same(self.instrument, embedder.instrument, "these queries")
        return embed_queries(embedder, texts)

    def _require_width(self, rows: Floats32, what: str) -> None:
        if rows.shape[1] != self.dims:
            raise ShapeError(
                f"{what} {rows.shape} do not fit the index: its vectors have {self.dims} numbers"
            )

    def _require_one_width(self, blocks: Sequence[Floats32]) -> None:
        if blocks and not self.dims:  # the first rows of all
            width = blocks[0].shape[1]
            self._manifest = msgspec.structs.replace(self._manifest, dims=width)
            self._stored.stack = Stack(width)
        for rows in blocks:
            self._require_width(rows, "vectors")


def _hit(row: Row, score: np.float32) -> Hit:
    # The shortest decimal that is this float32: 0.7 and not 0.699999988079071.
    return Hit(row.id, float(str(score)), row.text, row.metadata)

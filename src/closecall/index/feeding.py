"""Rows with their vectors, batch by batch, from texts or from arrays, each checked once."""

from __future__ import annotations

from collections.abc import Iterable, Iterator, Sequence
from itertools import islice
from typing import Any, NamedTuple

import numpy as np
from numpy.typing import ArrayLike

from closecall.embedders.base import Embedder
from closecall.errors import DataError, ShapeError, UsageError
from closecall.index.embedding import embed, raise_failed
from closecall.index.manifest import MAX_DIMS
from closecall.index.products import Block, Floats32, Similarity, block_of, matrix
from closecall.index.rows import checked_row
from closecall.records import Role

BATCH = 1024
"""Rows that are read, embedded and written at a time."""


class Batch(NamedTuple):
    """Checked rows in order: ``given`` ids, and of these the ids that ``failed`` to get a vector.

    ``ids``, ``lines`` and ``block`` leave those out.
    """

    given: list[str]
    ids: list[str]
    lines: list[bytes]
    block: Block
    failed: dict[str, str]
    first: int
    """The number of the first row given, from 1."""


def batches(
    rows: Iterable[Any],
    *,
    vectors: ArrayLike | Iterable[ArrayLike] | None,
    embedder: Embedder | None,
    similarity: Similarity,
    skip_failed: bool = False,
) -> Iterator[Batch]:
    """Return the rows in batches of 1,024, with their vectors.

    Raises
    ------
    DataError
        A row is not one, or a vector is not finite, or zero and the similarity is ``cosine``.
    EmbeddingError
        A text has no vector and ``skip_failed`` is false.
    ShapeError
        There are more or fewer vectors than rows.
    UsageError
        Neither vectors nor an embedder, or both.
    """
    if (vectors is None) is (embedder is None):
        raise UsageError("give either vectors or an embedder that makes them")
    if not isinstance(rows, Iterable):
        raise UsageError(f"rows: expected an iterable of (id, text), got {rows!r:.60}")
    source = _Blocks(vectors) if vectors is not None else None
    waiting, done = iter(rows), 0
    while given := _next_of(waiting, done):
        checked = [checked_row(one, done + at) for at, one in enumerate(given, 1)]
        ids, lines = [row.id for row, _ in checked], [line for _, line in checked]
        failed: dict[str, str] = {}
        if embedder is not None:
            made = embed(embedder, [row.text for row, _ in checked], Role.DOCUMENT)
            failed = {ids[at]: reason for at, reason in made.failed.items()}
            if failed and not skip_failed:
                raise_failed("row", failed)
            kept, found = made.positions, made.vectors
        else:
            assert source is not None  # noqa: S101 - one of the two is there
            found = source.take(len(given), done)
            kept = list(range(len(given)))
            if skip_failed and similarity == "cosine":
                kept = np.flatnonzero(found.any(axis=1)).tolist()
                bad = sorted(set(range(len(given))) - set(kept))
                failed = {ids[at]: "a zero vector has no cosine" for at in bad}
                found = found[kept]
        numbers = np.array(kept, dtype=np.int64) + done
        block = block_of(found, "vectors", numbers, refuse_zero=similarity == "cosine")
        width = block.rows.shape[1]
        if kept and not 1 <= width <= MAX_DIMS:
            raise ShapeError(f"vectors of {width:,} numbers: an index takes 1 to {MAX_DIMS:,}")
        yield Batch(
            ids, [ids[at] for at in kept], [lines[at] for at in kept], block, failed, done + 1
        )
        done += len(given)
    if source is not None:
        source.require_end(done)


def _next_of(waiting: Iterator[Any], done: int) -> list[Any]:
    try:
        return list(islice(waiting, BATCH))
    except OSError as error:  # of where the rows are, and not of the index
        raise DataError(f"rows after row {done}: cannot be read: {error}") from error


class _Blocks:
    """A matrix, or matrices one after the other, taken by so many rows."""

    def __init__(self, vectors: ArrayLike | Iterable[ArrayLike]) -> None:
        self._whole = vectors if isinstance(vectors, np.ndarray) else None
        self._at = 0
        self._blocks: Iterator[Any] = iter(())
        if self._whole is None:
            if isinstance(vectors, Sequence) and not (vectors and _is_block(vectors[0])):
                empty = np.empty((0, 0), dtype=np.float32)
                self._whole = matrix(vectors, "vectors") if len(vectors) else empty
            else:
                if not isinstance(vectors, Iterable):
                    raise UsageError(
                        f"vectors: expected a matrix, or blocks of one, got {vectors!r:.60}"
                    )
                self._blocks = iter(vectors)
        elif self._whole.ndim != 2:  # noqa: PLR2004
            raise ShapeError(f"vectors {self._whole.shape}: expected a matrix, one vector a row")
        self._rest: list[Any] = []

    def take(self, count: int, done: int) -> Floats32:
        """Return the next ``count`` rows."""
        if self._whole is not None:
            found = matrix(self._whole[self._at : self._at + count], "vectors")
        else:
            while sum(block.shape[0] for block in self._rest) < count:
                block = next(self._blocks, None)
                if block is None:
                    break
                self._rest.append(matrix(block, "vectors"))
            if len({block.shape[1] for block in self._rest}) > 1:
                raise ShapeError("vectors: blocks of different widths")
            joined = np.concatenate(self._rest) if self._rest else np.empty((0, 0))
            found, self._rest = joined[:count], [joined[count:]]
        self._at += count
        if found.shape[0] < count:
            raise ShapeError(
                f"{done + found.shape[0]} vectors for more rows than that: give one vector a row"
            )
        with np.errstate(over="ignore"):  # the check of the block says so
            return np.asarray(found, dtype=np.float32)

    def require_end(self, rows: int) -> None:
        """Refuse vectors that no row goes with."""
        more = (
            self._whole.shape[0] > rows
            if self._whole is not None
            else any(block.shape[0] for block in self._rest)
            or any(matrix(block, "vectors").shape[0] for block in self._blocks)
        )
        if more:
            raise ShapeError(f"more vectors than the {rows} rows: give one vector a row")


def _is_block(given: Any) -> bool:
    """Whether it is several vectors rather than one, or rows that make none."""
    try:
        return np.ndim(given) > 1
    except ValueError:  # rows of different lengths, which the block says
        return True

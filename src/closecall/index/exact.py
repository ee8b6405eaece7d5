"""The nearest rows of a matrix for many queries at once: exact, in bounded memory.

Two passes. A matrix product in float32 finds which rows *can* be among the k nearest: its
rounding error has a known bound, and every row within that bound of the k-th stays. Those few
are scored again in float64, pair by pair, as ``closecall.similarity`` does. The product's own
rounding, which depends on the library, the threads and the shapes, never reaches a result.
"""

from __future__ import annotations

from typing import TYPE_CHECKING, Any, NamedTuple, Protocol

import numpy as np
from numpy.typing import ArrayLike, NDArray

from closecall.errors import ShapeError, UsageError
from closecall.index.products import (
    SIMILARITIES,
    Block,
    Floats32,
    Floats64,
    Pairs,
    Positions,
    Similarity,
    block_of,
    matrix,
    products_of,
    score_pairs,
)

if TYPE_CHECKING:
    from closecall.index.lengths import Lengths

BLOCK_ELEMENTS = 1 << 21
"""Numbers in one block of vectors, and in one block of products."""

MOST_K = 1_000_000
"""Neighbours of a query; as many as there are rows where these are more."""

_CROWD = 8


class Rows(Protocol):
    """Vectors by block: a matrix, a memory map, or several of them one after the other."""

    @property
    def shape(self) -> tuple[int, ...]:
        """(n, d)."""
        ...

    def __getitem__(self, at: Any, /) -> Any:
        """Return the rows of a slice or of an array of positions: float32, (m, d)."""
        ...


class Neighbours(NamedTuple):
    """The nearest rows of each query, best first.

    ``positions`` (q, k) int64, -1 where there are fewer than k rows; ``similarities`` (q, k)
    float32, higher is closer, -inf where ``positions`` is -1.
    """

    positions: Positions
    similarities: Floats32


def top_k(
    queries: ArrayLike, vectors: ArrayLike, k: int, *, similarity: Similarity = "cosine"
) -> Neighbours:
    """Return the ``k`` rows of ``vectors`` nearest to each query, best first.

    Exact: the similarity is that of ``closecall.similarity.similarities``, computed in float64
    and rounded to float32; equal numbers go by ascending position. A query's result depends on
    that query and the vectors alone, not on what stands beside it or on the number of threads.

    Parameters
    ----------
    queries
        (q, d) float32; q may be 0. Other real numbers are rounded to float32.
    vectors
        (n, d) float32, also memory-mapped: read once, in blocks; n may be 0.
    k
        From 1 to 1,000,000, or to n where that is more. Above n, the rest of each row is -1 and
        -inf.
    similarity
        ``cosine``: -1 to 1. ``dot``: unbounded. ``euclidean``: 1 over (1 + distance), above 0
        up to 1.

    Returns
    -------
    Neighbours
        O(qnd) time; beyond the inputs and the result at most about 150 MiB.

    Raises
    ------
    ShapeError
        The inputs are not two matrices of the same width.
    ZeroVectorError
        A row is zero and the similarity is ``cosine``.
    NonFiniteError
        NaN or infinity in an input, or a dot product beyond the range of float32.
    VectorError
        An input does not hold real numbers.
    UsageError
        ``k`` is not such a number, or there is no such similarity.
    """
    if similarity not in SIMILARITIES:
        raise UsageError(f"similarity {similarity!r}: choose one of {', '.join(SIMILARITIES)}")
    whole_k(k)
    rows = matrix(vectors, "vectors")
    return nearest(queries, rows, whole_k(k, rows.shape[0]), similarity=similarity)


def whole_k(k: Any, rows: int | None = None) -> int:
    """Return how many neighbours are asked for, of so many rows; None: as many as anybody likes.

    Raises
    ------
    UsageError
        It is not a whole number of at least 1, or there would be far more room than rows.
    """
    if isinstance(k, bool) or not isinstance(k, int | np.integer) or k < 1:
        raise UsageError(f"k must be a whole number of at least 1, got {k!r}")
    if rows is not None and k > max(MOST_K, rows):
        raise UsageError(f"k must be at most {max(MOST_K, rows):,}")
    return int(k)


def nearest(
    queries: ArrayLike,
    vectors: Rows,
    k: int,
    *,
    similarity: Similarity = "cosine",
    ranks: Positions | None = None,
    keep: NDArray[np.bool_] | None = None,
    lengths: Lengths | None = None,
) -> Neighbours:
    """Return what ``top_k`` returns, with ties in another order and some rows left out.

    Parameters
    ----------
    queries, k, similarity
        As for ``top_k``.
    vectors
        (n, d) float32: anything that gives blocks of rows.
    ranks
        (n,): equal similarities go by ascending rank; None: by position.
    keep
        (n,): the rows to look among; None: all.
    lengths
        Those of the rows measured before; the others are added. None: each row is measured now,
        which for a single query takes far longer than to compare it.
    """
    asked = matrix(queries, "queries")
    if asked.shape[1] != vectors.shape[1]:
        raise ShapeError(
            f"queries {asked.shape} do not fit vectors {vectors.shape}: both need the same width"
        )
    count, width = asked.shape
    among = np.flatnonzero(keep).astype(np.int64) if keep is not None else None
    total = vectors.shape[0] if among is None else among.size
    best = _empty(count, min(int(k), total))
    step = max(1, BLOCK_ELEMENTS // max(1, width))
    across = min(step, max(1, BLOCK_ELEMENTS // max(1, min(step, total))))
    zero = similarity == "cosine"
    for at in range(0, count if not total else 0, step):  # queries are checked all the same
        block_of(asked[at : at + step], "queries", at, refuse_zero=zero)
    for start in range(0, total, step):
        stop = min(start + step, total)
        at_rows = slice(start, stop) if among is None else among[start:stop]
        places = np.arange(start, stop, dtype=np.int64) if among is None else among[start:stop]
        rows = vectors[at_rows]
        if lengths is None:
            block = block_of(rows, "vectors", places, refuse_zero=zero)
        else:
            block = lengths.block(rows, at_rows)
        order = places if ranks is None else np.asarray(ranks[at_rows])
        for at in range(0, count, across):
            some = slice(at, at + across)
            query = block_of(asked[some], "queries", at, refuse_zero=zero)
            _search_block(query, block, _Places(places, order), similarity, best.of(some))
    return _padded(best, int(k))


def rescore(
    queries: ArrayLike,
    vectors: Rows,
    candidates: Positions,
    k: int,
    *,
    similarity: Similarity = "cosine",
    ranks: Positions | None = None,
    name: str = "vectors",
) -> Neighbours:
    """Return the best ``k`` of each query's own candidates, scored as ``top_k`` scores them.

    ``candidates`` is (q, m) positions, each at most once a query; negative ones are skipped.
    ``name`` is what messages call the vectors.
    """
    asked = matrix(queries, "queries")
    zero = similarity == "cosine"
    best = _empty(asked.shape[0], min(int(k), candidates.shape[1]))
    across = max(1, BLOCK_ELEMENTS // max(1, candidates.shape[1] * asked.shape[1]))
    for start in range(0, asked.shape[0], across):
        some = slice(start, start + across)
        query = block_of(asked[some], "queries", start, refuse_zero=zero)
        of, column = np.nonzero(candidates[some] >= 0)
        places, at = np.unique(candidates[some][of, column], return_inverse=True)
        block = block_of(vectors[places], name, places, refuse_zero=zero)
        order = places if ranks is None else np.asarray(ranks[places])
        _merge(
            query,
            block,
            _Places(places, order),
            (of, at),
            similarity=similarity,
            best=best.of(some),
        )
    return _padded(best, int(k))


def _empty(count: int, kept: int) -> _Best:
    return _Best(
        np.full((count, kept), -1, dtype=np.int64),
        np.full((count, kept), np.iinfo(np.int64).max, dtype=np.int64),
        np.full((count, kept), -np.inf, dtype=np.float32),
        np.full((count, kept), -np.inf, dtype=np.float64),
    )


class _Best(NamedTuple):
    """The best so far: positions, ranks, similarities, and those in the units of the product."""

    positions: Positions
    ranks: Positions
    similarities: Floats32
    products: Floats64

    def of(self, some: slice) -> _Best:
        """Return a view of some queries' rows."""
        return _Best(
            self.positions[some], self.ranks[some], self.similarities[some], self.products[some]
        )


class _Places(NamedTuple):
    """Where a block's rows stand, and their order among equals."""

    positions: Positions
    ranks: Positions


def _search_block(
    query: Block, block: Block, places: _Places, similarity: Similarity, best: _Best
) -> None:
    """Merge the rows of one block into ``best``, in place."""
    if best.positions.size:
        products, error = products_of(query, block, similarity)
        _merge(
            query, block, places, _may_win(products, best, error), similarity=similarity, best=best
        )


def _merge(
    query: Block,
    block: Block,
    places: _Places,
    pairs: Pairs,
    *,
    similarity: Similarity,
    best: _Best,
) -> None:
    """Score pairs (query, row of the block) and merge them into ``best``, in place."""
    of, at = pairs
    if not of.size:
        return
    exact, scores = score_pairs(query, block, of, at, similarity)
    count, kept = best.positions.shape
    owners = np.concatenate([np.repeat(np.arange(count), kept), of])
    positions = np.concatenate([best.positions.ravel(), places.positions[at]])
    ranks = np.concatenate([best.ranks.ravel(), places.ranks[at]])
    similarities = np.concatenate([best.similarities.ravel(), scores])
    # All of one query's rows stand together, best first: the order of the result itself.
    order = np.lexsort((ranks, -similarities, owners))
    first = np.searchsorted(owners[order], np.arange(count))
    chosen = order[(first[:, None] + np.arange(kept)[None, :]).ravel()].reshape(count, kept)
    best.positions[:], best.ranks[:] = positions[chosen], ranks[chosen]
    best.products[:] = np.concatenate([best.products.ravel(), exact])[chosen]
    best.similarities[:] = similarities[chosen]


def _may_win(products: NDArray[Any], best: _Best, error: Floats64) -> Pairs:
    """Return (query, row) pairs that may be among the best: none that is, is left out."""
    kept, rows = best.positions.shape[1], products.shape[1]
    floor = best.products[:, -1] - error
    found = products >= floor[:, None]
    if kept < rows:
        # Many pass where fewer than k are known yet: then the k-th of this block is the floor.
        crowded = np.flatnonzero(np.count_nonzero(found, axis=1) > _CROWD * kept)
        if crowded.size:
            kth = np.partition(products[crowded], rows - kept, axis=1)[:, rows - kept]
            # Both the k-th and the rival may be off by ``error``.
            higher = np.maximum(floor[crowded], kth - 2 * error[crowded])
            found[crowded] = products[crowded] >= higher[:, None]
    of, at = np.nonzero(found)
    return of, at


def _padded(best: _Best, k: int) -> Neighbours:
    """Return the result with the columns that no row fills."""
    count, kept = best.positions.shape
    if kept == k:
        return Neighbours(best.positions, best.similarities)
    positions = np.full((count, k), -1, dtype=np.int64)
    scores = np.full((count, k), -np.inf, dtype=np.float32)
    positions[:, :kept], scores[:, :kept] = best.positions, best.similarities
    return Neighbours(positions, scores)

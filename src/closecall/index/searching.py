"""A search over rows and, where there is one, their faiss part: always scored exactly."""

from __future__ import annotations

from typing import NamedTuple

import numpy as np
from numpy.typing import NDArray

from closecall.index.exact import Neighbours, Rows, nearest, rescore
from closecall.index.faiss_part import FaissPart
from closecall.index.lengths import Lengths
from closecall.index.products import (
    Floats32,
    Floats64,
    Positions,
    Similarity,
    block_of,
    error_of,
    is_safe,
)

FEW = 20_000
"""Rows left by a filter that are all looked at: quicker than a graph with gaps."""

_SPARE = 8
_QUERIES = 1024


class Field(NamedTuple):
    """What is searched.

    ``ranks`` (n,) orders equals; ``length`` and ``peak`` are the greatest length and the largest
    component of a row, ``lengths`` those of all rows, as far as they are known.
    """

    vectors: Rows
    ranks: Positions
    similarity: Similarity
    part: FaissPart | None
    length: float
    peak: float
    lengths: Lengths | None = None


def search(
    field: Field, queries: Floats32, k: int, keep: NDArray[np.bool_] | None = None
) -> Neighbours:
    """Return the nearest of the rows kept, best first, ties by rank.

    Exact kinds find just what ``nearest`` finds. The others may miss some, but never return
    fewer than the rows kept allow.
    """
    allowed = field.vectors.shape[0] if keep is None else int(np.count_nonzero(keep))
    part = field.part
    filtered = allowed < field.vectors.shape[0]
    if part is None or allowed <= k or (filtered and (allowed <= FEW or not part.takes_filters)):
        return _exact(field, queries, k, keep)
    if not part.takes(_wanted(part, k, allowed)):
        return _exact(field, queries, k, keep)
    found = [
        _proposed(field, part, queries[at : at + _QUERIES], k, keep if filtered else None)
        for at in range(0, queries.shape[0], _QUERIES)
    ]
    if not found:
        return _exact(field, queries, k, keep)
    return Neighbours(*(np.concatenate(column) for column in zip(*found, strict=True)))


def _exact(field: Field, queries: Floats32, k: int, keep: NDArray[np.bool_] | None) -> Neighbours:
    return nearest(
        queries,
        field.vectors,
        k,
        similarity=field.similarity,
        ranks=field.ranks,
        keep=keep,
        lengths=field.lengths,
    )


def _wanted(part: FaissPart, k: int, allowed: int) -> int:
    """Return how many rows faiss has to propose, so that k of them are among the nearest."""
    return min(allowed, k * part.kind.options.get("refine", 1) + _SPARE)


def _proposed(
    field: Field,
    part: FaissPart,
    queries: Floats32,
    k: int,
    keep: NDArray[np.bool_] | None,
) -> Neighbours:
    """Score what faiss proposes, and look at every row for queries where that is not enough."""
    zero = field.similarity == "cosine"
    block = block_of(queries, "queries", 0, refuse_zero=zero)
    allowed = part.rows if keep is None else int(np.count_nonzero(keep))
    count = _wanted(part, k, allowed)
    positions, numbers = part.propose(block.rows, count, keep)
    if keep is not None:  # whatever faiss says, a row that was left out is no neighbour
        positions = np.where((positions >= 0) & keep[positions], positions, -1)
    found = rescore(
        block.rows,
        field.vectors,
        positions,
        k,
        similarity=field.similarity,
        ranks=field.ranks,
        name="vectors" if field.lengths is None else field.lengths.name,
    )
    short = np.count_nonzero(found.positions >= 0, axis=1) < min(k, allowed)
    if part.kind.name == "flat" and count < allowed:
        sure = is_safe(block.peak) and is_safe(field.peak)
        lengths = np.ones(block.squares.shape) if zero else np.sqrt(block.squares)
        error = error_of(
            field.similarity, queries.shape[1], lengths, 1.0 if zero else field.length, np.float32
        )
        short |= ~_complete(found, numbers, error, field.similarity) | (not sure)
    if short.any():
        rest = _exact(field, queries[short], k, keep)
        found.positions[short], found.similarities[short] = rest
    return found


def _complete(
    found: Neighbours, numbers: Floats32, error: Floats64, similarity: Similarity
) -> NDArray[np.bool_]:
    """Whether no row that faiss left out can be among the best: it is worse than the last."""
    kth = found.similarities[:, -1].astype(np.float64)
    last = numbers[:, -1].astype(np.float64)
    if similarity == "euclidean":
        kth, last = -((1.0 / kth - 1.0) ** 2), -last
    complete: NDArray[np.bool_] = kth > last + 2 * error
    return complete

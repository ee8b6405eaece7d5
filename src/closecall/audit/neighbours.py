"""Which texts are near each other: exact search among distinct texts, block by block."""

from __future__ import annotations

from collections.abc import Callable, Iterator
from typing import NamedTuple, TypeAlias

import numpy as np
from numpy.typing import NDArray

from closecall.embedders.base import Vectors
from closecall.index.exact import top_k

NEAREST = 10
"""Neighbours looked at of each text."""

BLOCK = 1024
"""Texts searched for between two signs of progress."""

Tick: TypeAlias = Callable[[int], None]
"""Called with how many more texts were searched for."""


class Near(NamedTuple):
    """Pairs of rows whose cosine is at least the one asked for, by the first row, nearest first.

    ``left`` and ``right`` (m,) int64, ``similarities`` (m,) float32. ``full`` counts rows all of
    whose nearest are near: they may have more than were looked at.
    """

    left: NDArray[np.int64]
    right: NDArray[np.int64]
    similarities: NDArray[np.float32]
    full: int

    def places(self, least: float = -1.0) -> Iterator[tuple[int, int]]:
        """Yield the pairs from this cosine on as ints."""
        kept = self.similarities >= np.float32(least)
        yield from zip(self.left[kept].tolist(), self.right[kept].tolist(), strict=True)


def near_pairs(
    queries: Vectors, vectors: Vectors | None, least: float, tick: Tick, k: int = NEAREST
) -> Near:
    """Return the pairs of a query and one of its ``k`` nearest vectors that are near.

    Parameters
    ----------
    queries
        (q, d) float32, none of them zero.
    vectors
        (n, d); None: the queries themselves, each pair once and none with itself.
    least
        Least cosine.
    tick
        Called after each block.

    Returns
    -------
    Near
        O(qnd) time; memory is one block beyond the vectors and the pairs.
    """
    own = vectors is None
    among = queries if vectors is None else vectors
    lefts, rights = [_NO_ROWS], [_NO_ROWS]
    values = [np.empty(0, dtype=np.float32)]
    full = 0
    wanted = k + own
    for start in range(0, len(queries), BLOCK):
        block = queries[start : start + BLOCK]
        found = top_k(block, among, wanted)
        rows = np.arange(start, start + len(block), dtype=np.int64)[:, None]
        near = (found.positions >= 0) & (found.similarities >= np.float32(least))
        if own:
            near &= found.positions != rows
        full += int(np.count_nonzero(np.count_nonzero(near, axis=1) >= k))
        at, column = np.nonzero(near)
        lefts.append(rows[at, 0])
        rights.append(found.positions[at, column])
        values.append(found.similarities[at, column])
        tick(len(block))
    left, right = np.concatenate(lefts), np.concatenate(rights)
    similarities = np.concatenate(values)
    if own:
        # Both ways have the same similarity.
        left, right = np.minimum(left, right), np.maximum(left, right)
        order = np.lexsort((right, left))
        left, right, similarities = left[order], right[order], similarities[order]
        new = np.ones(len(left), dtype=np.bool_)
        new[1:] = (left[1:] != left[:-1]) | (right[1:] != right[:-1])
        left, right, similarities = left[new], right[new], similarities[new]
    return Near(left, right, similarities, full)


_NO_ROWS = np.empty(0, dtype=np.int64)

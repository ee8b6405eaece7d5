"""How many of the true nearest an approximate search finds."""

from __future__ import annotations

import msgspec
import numpy as np

from closecall.errors import ShapeError
from closecall.index.exact import Neighbours

OWN_ROWS = "rows of the index, each without itself"
GIVEN = "queries given"


class Recall(msgspec.Struct, frozen=True, kw_only=True):
    """Neighbours found, of those there are.

    ``found`` of ``wanted`` neighbours over ``queries`` queries, of at most ``k`` each; ``source``
    says where the queries came from, ``seed`` which of them.
    """

    found: int
    wanted: int
    k: int
    queries: int
    source: str = GIVEN
    seed: int | None = None

    @property
    def adds_up(self) -> bool:
        """Whether such counts can have been measured."""
        return 0 <= self.found <= self.wanted <= self.k * self.queries and self.queries >= 0

    @property
    def rate(self) -> float | None:
        """``found`` over ``wanted``; None where nothing was wanted."""
        return self.found / self.wanted if self.wanted else None

    def __str__(self) -> str:
        if self.rate is None:
            return f"recall@{self.k}: not measured, no query has a neighbour"
        return (
            f"recall@{self.k} {self.rate:.4f} ({self.found:,} of {self.wanted:,} neighbours, "
            f"{self.queries:,} queries: {self.source})"
        )


def recall(found: Neighbours, truth: Neighbours) -> Recall:
    """Return how many of the true nearest were found: recall@k, k being the width of ``truth``.

    One that is as close as the k-th true neighbour counts as found, whichever of several equals
    it is (Aumueller et al., ANN-Benchmarks, 2020, section 3.3).

    Parameters
    ----------
    found, truth
        (q, k) each; ``truth`` from ``top_k``. A -1 in ``truth`` is not wanted.

    Raises
    ------
    ShapeError
        Their shapes differ.
    """
    if found.positions.shape != truth.positions.shape:
        raise ShapeError(
            f"found {found.positions.shape} does not fit truth {truth.positions.shape}"
        )
    queries, k = truth.positions.shape
    there = truth.positions >= 0
    wanted = np.count_nonzero(there, axis=1)
    floor = np.where(there, truth.similarities, np.inf).min(axis=1, initial=np.inf)
    close = (found.positions >= 0) & (found.similarities >= floor[:, None])
    hits = np.minimum(np.count_nonzero(close, axis=1), wanted)
    return Recall(found=int(hits.sum()), wanted=int(wanted.sum()), k=k, queries=queries)

"""Two rankings made one by ranks alone: reciprocal rank fusion.

A document gets ``1 / (60 + rank)`` from each ranking that has it, ranks counted from 1, and the
sums are sorted (Cormack, Clarke and Buettcher, Reciprocal Rank Fusion Outperforms Condorcet and
Individual Rank Learning Methods, SIGIR 2009). Scores of two searches are never compared.
"""

from __future__ import annotations

from collections.abc import Sequence

import numpy as np

from closecall.errors import DataError
from closecall.retrieval.ranking import Ranking

KIND = "fusion"
K = 60


def fused(rankings: Sequence[Ranking], *, k: int = K) -> Ranking:
    """Return the fusion of rankings over the same questions and documents; equal sums by id.

    A question that one of them has no ranking of has none here either: it would be the other's.

    Raises
    ------
    DataError
        Questions or documents differ.
    """
    first = rankings[0]
    for other in rankings[1:]:
        if other.queries != first.queries or list(other.ids) != list(first.ids):
            raise DataError("rankings to be fused need the same questions and documents")
    depth = max(one.depth for one in rankings)
    positions = np.full((len(first.queries), depth), -1, dtype=np.int64)
    scores = np.zeros((len(first.queries), depth))
    absent = {query: why for one in rankings for query, why in one.absent.items()}
    for row, query in enumerate(first.queries):
        if query in absent:
            continue
        kept = [one.positions[row][one.positions[row] >= 0] for one in rankings]
        all_of = np.concatenate(kept)
        parts = np.concatenate([1.0 / (k + 1 + np.arange(one.size)) for one in kept])
        # Sorted by position, and by that alone: equal sums then stand by id.
        documents, codes = np.unique(all_of, return_inverse=True)
        sums = np.bincount(codes, weights=parts, minlength=documents.size)
        best = np.argsort(-sums, kind="stable")[:depth]
        positions[row, : best.size], scores[row, : best.size] = documents[best], sums[best]
    return Ranking(
        name=" + ".join(one.name for one in rankings),
        kind=KIND,
        queries=first.queries,
        ids=first.ids,
        positions=positions,
        scores=scores,
        absent=absent,
        facts={
            "method": "reciprocal rank fusion",
            "k": k,
            "of": [one.name for one in rankings],
            "depth": depth,
        },
        incomplete=any(one.incomplete for one in rankings),
    )

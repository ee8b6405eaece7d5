"""What a search found: for each question documents in order, and what it was made by."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass, field

import numpy as np
from numpy.typing import NDArray

from closecall.records import JSON

Positions = NDArray[np.int64]
Scores = NDArray[np.float64]

DEPTH = 1000
"""How many documents of a question are ranked, as in a TREC run."""


@dataclass(frozen=True, eq=False, slots=True)
class Ranking:
    """The documents found for each question, best first.

    Attributes
    ----------
    name
        What a report calls it.
    kind
        ``dense``, ``bm25``, ``fusion`` or ``run``.
    queries
        The ids of the questions, q of them.
    ids
        The documents that ``positions`` count: those of the corpus, or those of a run file.
    positions
        (q, depth) int64, -1 behind the last document found.
    scores
        (q, depth) float64, of no meaning where ``positions`` is -1. They never rise along a row;
        equal ones stand in the order that the maker's own rule for ties gives.
    absent
        Why a question has no ranking at all: its id to the reason. Nothing found is no absence.
    facts
        What can be known of the maker: parameters, versions, counts.
    notes
        What a person should know, as sentences.
    incomplete
        Whether documents are missing from it that should be there, for want of a vector.
    """

    name: str
    kind: str
    queries: tuple[str, ...]
    ids: Sequence[str]
    positions: Positions
    scores: Scores
    absent: dict[str, str] = field(default_factory=dict)
    facts: dict[str, JSON] = field(default_factory=dict)
    notes: tuple[str, ...] = ()
    incomplete: bool = False

    @property
    def depth(self) -> int:
        """The most documents it can hold for a question."""
        return int(self.positions.shape[1])

    def found(self, row: int) -> list[tuple[str, float]]:
        """Return (document id, score) of the question in this row, best first."""
        kept = self.positions[row]
        return [
            (self.ids[at], score)
            for at, score in zip(kept.tolist(), self.scores[row].tolist(), strict=True)
            if at >= 0
        ]


def ranked(scores: Scores, depth: int, *, above: float | None = None) -> tuple[Positions, Scores]:
    """Return the best of one question's documents, equal scores by ascending position.

    Parameters
    ----------
    scores
        (n,) float64, finite.
    depth
        How many to keep; what is missing is -1 and 0.
    above
        Keep only what scores higher than this.

    Returns
    -------
    tuple[Positions, Scores]
        Both (depth,). O(n + depth log depth) time unless many tie.
    """
    candidates = np.arange(scores.size) if above is None else np.flatnonzero(scores > above)
    if candidates.size > depth:
        # Everything tied with the last one kept stays a candidate: the lower position wins.
        last = np.partition(scores[candidates], candidates.size - depth)[candidates.size - depth]
        candidates = candidates[scores[candidates] >= last]
    best = candidates[np.argsort(-scores[candidates], kind="stable")[:depth]]
    positions = np.full(depth, -1, dtype=np.int64)
    values = np.zeros(depth)
    positions[: best.size], values[: best.size] = best, scores[best]
    return positions, values

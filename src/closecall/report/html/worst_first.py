"""The order in which cases are looked at: what failed first, the lowest score first."""

from __future__ import annotations

import heapq
from typing import NamedTuple

from closecall.records import State
from closecall.runs.results import CaseResult

ORDER = (
    State.FAILED,
    State.ERROR,
    State.NOT_MEASURED,
    State.SKIPPED,
    State.INCONCLUSIVE,
    State.WARN,
    State.SCORED,
    State.PASSED,
    State.NOT_APPLICABLE,
)
"""States, the worst first."""

_RANK = {state: rank for rank, state in enumerate(ORDER)}


class WorstFirst:
    """Keeps the first ``most`` cases of that order, whatever the number of cases."""

    def __init__(self, most: int) -> None:
        self._most = most
        self._heap: list[_Entry] = []

    def add(self, order: int, row: CaseResult) -> None:
        """Look at the next case; its place in the file decides between equal ones."""
        score = row.score
        key = (-_RANK[row.state], 0.0 if score is None else -score, -order)
        if len(self._heap) < self._most:
            heapq.heappush(self._heap, _Entry(key, row))
        elif self._heap and key > self._heap[0].key:
            heapq.heapreplace(self._heap, _Entry(key, row))

    def rows(self) -> list[tuple[int, CaseResult]]:
        """Return the cases in order, each with its place in the file."""
        ranked = sorted(self._heap, reverse=True)
        return [(-entry.key[2], entry.row) for entry in ranked]


class _Entry(NamedTuple):
    key: tuple[int, float, int]
    row: CaseResult

    def __lt__(self, other: _Entry) -> bool:  # type: ignore[override]
        return self.key < other.key

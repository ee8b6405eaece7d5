"""Things that are alike, put together: connected components by union-find."""

from __future__ import annotations

from collections.abc import Iterable


class Clusters:
    """Numbers from 0 to n - 1, each on its own until joined; joining takes O(log n)."""

    def __init__(self, n: int) -> None:
        self._above = list(range(n))

    def join(self, one: int, other: int) -> None:
        """Put the clusters of two numbers together."""
        low, high = sorted((self.first(one), self.first(other)))
        self._above[high] = low

    def first(self, number: int) -> int:
        """Return the smallest number of its cluster."""
        while (above := self._above[number]) != number:
            # Halve the way up, so that the next look is shorter.
            self._above[number] = number = self._above[above]
        return number

    def all(self, numbers: Iterable[int] | None = None) -> list[list[int]]:
        """Return the clusters of two or more, each in order, by their first number."""
        found: dict[int, list[int]] = {}
        for number in range(len(self._above)) if numbers is None else numbers:
            found.setdefault(self.first(number), []).append(number)
        return [cluster for _, cluster in sorted(found.items()) if len(cluster) > 1]

"""Vectors of several matrices, one after the other, as one that is read by blocks."""

from __future__ import annotations

from typing import Any

import numpy as np

from closecall.index.products import Floats32, Positions


class Stack:
    """(n, d) float32 rows: those of a file, memory-mapped, then those added since.

    Nothing is copied but what is asked for.
    """

    def __init__(self, width: int, *parts: Floats32) -> None:
        self._width = width
        self._parts = [part for part in parts if part.shape[0]]
        self._starts = np.cumsum([0, *(part.shape[0] for part in self._parts)])

    @property
    def shape(self) -> tuple[int, int]:
        """(n, d)."""
        return int(self._starts[-1]), self._width

    def __getitem__(self, at: Any, /) -> Any:
        """Return the rows of a slice without a step, or of an array of positions, as a copy."""
        if isinstance(at, slice):
            start, stop, _ = at.indices(self.shape[0])
            return self._joined(
                [
                    part[max(0, start - first) : max(0, stop - first)]
                    for part, first in zip(self._parts, self._starts, strict=False)
                ]
            )
        positions: Positions = np.asarray(at, dtype=np.int64)
        found = np.empty((positions.size, self._width), dtype=np.float32)
        owner = np.searchsorted(self._starts, positions, side="right") - 1
        for number, part in enumerate(self._parts):
            mine = np.flatnonzero(owner == number)
            if mine.size:
                found[mine] = part[positions[mine] - self._starts[number]]
        return found

    def plus(self, rows: Floats32) -> Stack:
        """Return these rows with more after them."""
        return Stack(self._width, *self._parts, rows)

    def _joined(self, pieces: list[Floats32]) -> Floats32:
        some = [piece for piece in pieces if piece.shape[0]]
        if not some:
            return np.empty((0, self._width), dtype=np.float32)
        return some[0] if len(some) == 1 else np.concatenate(some)

"""The lengths of an index's rows: each row is measured and checked once, when first looked at."""

from __future__ import annotations

from typing import Any

import numpy as np
from numpy.typing import NDArray

from closecall.index.products import Block, Floats32, Floats64, Positions, block_of


class Lengths:
    """Squared norms by position, so that a search need not measure rows that another did.

    Nine bytes a row, of which the system gives none before a row is measured. Several threads may
    measure the same rows at once: they write the same numbers.

    Parameters
    ----------
    rows
        How many there are.
    refuse_zero
        Whether a row of zeros is an error, as it is for the cosine.
    name
        What messages call the rows: the file they are in.
    """

    def __init__(self, rows: int, *, refuse_zero: bool, name: str = "vectors") -> None:
        self.name = name
        self._refuse_zero = refuse_zero
        self._squares: Floats64 = np.zeros(rows, dtype=np.float64)
        self._known: NDArray[np.bool_] = np.zeros(rows, dtype=bool)

    def block(self, rows: Floats32, at: slice | Positions) -> Block:
        """Return rows as a block, with their squared norms.

        Parameters
        ----------
        rows
            (m, d) float32: those at these positions.
        at
            A slice from a start to a stop within the rows, or (m,) positions.

        Raises
        ------
        NonFiniteError, ZeroVectorError
            One that was never looked at cannot be compared; the message names its row.
        """
        rows = np.ascontiguousarray(rows, dtype=np.float32)
        known = self._known[at]
        if not known.all():
            new = np.flatnonzero(~known)
            places: Any = new + at.start if isinstance(at, slice) else at[new]
            some = rows if new.size == known.size else rows[new]
            made = block_of(some, self.name, places, refuse_zero=self._refuse_zero)
            self._squares[places] = made.squares
            self._known[places] = True
        return Block(rows, self._squares[at])

    def plus(self, block: Block) -> Lengths:
        """Return these with those of a checked block after them."""
        more = Lengths(0, refuse_zero=self._refuse_zero, name=self.name)
        more._squares = np.concatenate([self._squares, block.squares])
        more._known = np.concatenate([self._known, np.ones(block.squares.size, dtype=bool)])
        return more

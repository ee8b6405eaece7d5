"""The files of an index, written row by row in memory that does not grow with the vectors."""

from __future__ import annotations

from array import array
from collections.abc import Sequence
from pathlib import Path
from types import TracebackType
from typing import Any, Self

import numpy as np
from numpy.typing import ArrayLike, NDArray

from closecall.errors import DataError, ShapeError
from closecall.index.manifest import OFFSETS, RANKS, ROWS, VECTORS
from closecall.index.products import Block, Positions

_HEADER = 128
"""Bytes before the numbers; the format of numpy asks for a multiple of 64."""


class Writer:
    """Takes vectors and lines in order and leaves the files of ``folder.FILES`` but faiss's.

    Beyond a block it keeps the ids, to find one that comes twice and to order equals: about 150
    bytes a row.
    """

    def __init__(self, place: Path) -> None:
        self._place = place
        self._vectors = (place / VECTORS).open("wb")
        self._rows = (place / ROWS).open("wb")
        self._vectors.write(b"\0" * _HEADER)
        self._offsets = array("q", [0])
        self._ids: dict[str, int] = {}
        self.width: int | None = None
        self.length = 0.0
        self.peak = 0.0

    def __enter__(self) -> Self:
        return self

    def __exit__(
        self,
        kind: type[BaseException] | None,
        error: BaseException | None,
        trace: TracebackType | None,
    ) -> None:
        self._vectors.close()
        self._rows.close()

    def __len__(self) -> int:
        return len(self._ids)

    def claim(self, identity: str, number: int) -> None:
        """Take an id for a row.

        Raises
        ------
        DataError
            An earlier row has it.
        """
        first = self._ids.setdefault(identity, number)
        if first != number:
            raise DataError(
                f"row {number}: id {identity!r:.80} is that of row {first} too; "
                "give every row an id of its own"
            )

    def release(self, identity: str) -> None:
        """Give back the id of a row that is left out."""
        del self._ids[identity]

    def append(self, block: Block, lines: Sequence[bytes]) -> None:
        """Write checked vectors with their lines.

        Raises
        ------
        ShapeError
            Their width is not that of the rows before.
        """
        width = block.rows.shape[1]
        if self.width is None:
            self.width = width
        if width != self.width:
            raise ShapeError(f"vectors of {width} numbers follow vectors of {self.width}")
        self._vectors.write(np.ascontiguousarray(block.rows, dtype="<f4").data)
        for line in lines:
            self._rows.write(line)
            self._rows.write(b"\n")
            self._offsets.append(self._offsets[-1] + len(line) + 1)
        self.length = max(self.length, float(np.sqrt(block.squares.max(initial=0.0))))
        self.peak = max(self.peak, block.peak)

    def finish(self, width: int) -> None:
        """Write what is known only at the end; ``width`` is for an index without rows."""
        count = len(self._offsets) - 1
        width = self.width if self.width is not None else width
        self._vectors.seek(0)
        self._vectors.write(_header(count, width))
        self._vectors.flush()
        self._rows.flush()
        np.save(self._place / OFFSETS, np.array(self._offsets, dtype="<i8"), allow_pickle=False)
        np.save(self._place / RANKS, ranks_of(list(self._ids)), allow_pickle=False)


def ranks_of(ids: Sequence[str]) -> Positions:
    """Return each id's place among all of them in order of their code points."""
    order = sorted(range(len(ids)), key=ids.__getitem__)
    ranks = np.empty(len(ids), dtype="<i8")
    ranks[order] = np.arange(len(ids))
    return ranks


def as_rows(vectors: ArrayLike) -> NDArray[Any]:
    """Return a vector as one row, rows as they are.

    Raises
    ------
    ShapeError
        Rows of different lengths.
    """
    try:
        given = np.asarray(vectors)
    except ValueError as error:
        raise ShapeError("queries: rows of different lengths do not make a matrix") from error
    return given[None, :] if given.ndim == 1 else given


def _header(rows: int, width: int) -> bytes:
    """Return the head of a .npy file, version 1.0, of just ``_HEADER`` bytes."""
    said = f"{{'descr': '<f4', 'fortran_order': False, 'shape': ({rows}, {width}), }}"
    room = _HEADER - 10
    return (
        b"\x93NUMPY\x01\x00" + room.to_bytes(2, "little") + said.ljust(room - 1).encode() + b"\n"
    )

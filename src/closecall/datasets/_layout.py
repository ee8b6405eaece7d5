"""Where the cases of a file lie, so that any range of them can be read on its own."""

from __future__ import annotations

from array import array
from collections.abc import Iterator
from itertools import islice
from typing import Any, NamedTuple

from closecall.datasets._sources import Source
from closecall.datasets._strict import Flaws

BLOCK = 4096
"""Rows that are counted together."""

MOST_RENAMED = 100_000
"""Ids that were renamed are kept up to this many."""


class Layout:
    """How many good cases each block of rows has, and which ids a whole pass renamed.

    Memory: 4 bytes a block of 4,096 rows, and up to 100,000 renamed ids. With more of them the ids
    of a range can only be told from all rows before it, and ``renamed`` is None.
    """

    def __init__(self) -> None:
        self.cases = array("I")
        self.renamed: dict[int, str] | None = {}

    def count(self, number: int, *, good: bool) -> None:
        """Count a row, by its number from 1."""
        block = (number - 1) // BLOCK
        while len(self.cases) <= block:
            self.cases.append(0)
        self.cases[block] += good

    def rename(self, number: int, name: str) -> None:
        """Keep the id that the case of a row got."""
        if self.renamed is None:
            return
        self.renamed[number] = name
        if len(self.renamed) > MOST_RENAMED:
            self.renamed = None

    def start(self, position: int) -> Start:
        """Return from which row on to read for the case at a position."""
        before = 0
        for block, count in enumerate(self.cases):
            if before + count > position:
                return Start(block * BLOCK, before)
            before += count
        return Start(len(self.cases) * BLOCK, before)


class Start(NamedTuple):
    """``rows`` are passed over, which hold ``cases`` cases."""

    rows: int
    cases: int


Rows = Iterator[tuple[int | str, dict[str, Any] | None, Flaws]]


def rows_after(source: Source, skip: int) -> Rows:
    """Yield the rows of a source after the first ``skip``, in the cheapest way it knows."""
    jump = getattr(source, "rows_after", None)
    if skip and jump is not None:
        found: Rows = jump(skip)
        return found
    return islice(source.rows(), skip, None)


class GivenIds:
    """Gives the cases of a range the ids that a pass over all rows gave them."""

    def __init__(self, renamed: dict[int, str]) -> None:
        self._renamed = renamed

    def own(self, wanted: str, number: int = 0) -> str:
        """Return the id of the case of a row."""
        from closecall.datasets._rows import spelt_id

        return self._renamed.get(number) or spelt_id(wanted)

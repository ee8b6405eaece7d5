"""Collecting cases into parts, each written whole once it is full."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from typing import Any

from closecall.errors import RunFolderError, UsageError
from closecall.runs.header import RunHeader
from closecall.runs.parts.parquet import MAX_BYTES, MAX_ROWS, dump_part
from closecall.runs.parts.ranges import Part
from closecall.runs.parts.rows import Record, read_row, records_of, values_of
from closecall.runs.results import CaseResult
from closecall.storage import Store

PART_CASES = 4096
"""Cases of a part, where no other number is asked for."""
PART_BYTES = 64 * 1024 * 1024
"""A part also ends once its records hold so many bytes, so that long texts do not fill memory."""
NO_END = 0
"""Cases of a part that ends where its writer is told to."""
BLOCK_BYTES = 15 * MAX_BYTES // 32
"""Bytes of the records of such a part: with the columns beside them it can still be read."""


def checked_size(cases: int) -> int:
    """Return the cases of a part, or raise ``UsageError`` where there can be no such part."""
    if isinstance(cases, bool) or not isinstance(cases, int) or not 1 <= cases <= MAX_ROWS:
        raise UsageError(f"a part holds 1 to {MAX_ROWS:,} cases, got {cases!r}")
    return cases


class PartWriter:
    """Writes cases that come in order, from one position on. Memory holds one part, never two.

    Parameters
    ----------
    store
        The parts folder.
    header
        Of the run.
    first
        Position of the first case that will come.
    cases
        Of a part. Parts end at multiples of it, so that a run that was cut off goes on to the
        same ends.
    """

    def __init__(self, store: Store, header: RunHeader, first: int, cases: int) -> None:
        self._store, self._header = store, header
        self._first, self._size = first, cases
        self._rows: list[list[Any]] = []
        self._bytes = 0

    @property
    def position(self) -> int:
        """Of the next case."""
        return self._first + len(self._rows)

    def add(self, rows: Sequence[CaseResult], beside: Sequence[Mapping[str, Any]] = ()) -> None:
        """Take the next cases; write every part that is full."""
        records = records_of(self._header, rows, beside)
        for row, record in zip(rows, records, strict=True):
            self._take(row, record)

    def add_record(self, record: Record) -> None:
        """Take the next case as its lines."""
        self._take(read_row(self._header, record), record)

    def _take(self, row: CaseResult, record: Record) -> None:
        values = values_of(self._header, self.position, row, record)
        self._rows.append(values)
        self._bytes += len(values[-1])
        if self._size == NO_END:
            if self._bytes > BLOCK_BYTES:
                raise RunFolderError(
                    f"the cases from position {self._first} on have more than {BLOCK_BYTES:,} "
                    "bytes, which is too much for one part. Start a new run with smaller ones: "
                    "--part-cases N (in Python: part_size=N)"
                )
            return
        if self.position % self._size == 0 or self._bytes >= PART_BYTES:
            self.flush()

    def flush(self) -> Part | None:
        """Write what is there, if there is anything; a part of that name is left as it is."""
        if not self._rows:
            return None
        part = Part(self._first, self.position)
        self._store.create(part.name, dump_part(self._header, self._rows))
        self._first, self._rows, self._bytes = part.stop, [], 0
        return part

"""The cases of a run that was just written, as its folder would give them back.

A report is made of what a run folder holds. While the process that wrote it is still there and the
run is small, so are its cases, and to read them again would take as long as measuring them from a
cache. What comes from here is equal to what would be read, case by case.
"""

from __future__ import annotations

from collections.abc import Iterator, Mapping, Sequence
from typing import Any

import msgspec

from closecall.records import JSON
from closecall.runs.aef import Written
from closecall.runs.caselines import SpelledCase, dump_case, line_of, read_case, read_responses
from closecall.runs.header import RunHeader
from closecall.runs.results import CaseResult
from closecall.runs.trial_lines import row_of
from closecall.runs.wire import dump_line, parse

MOST_CASES = 20_000
MOST_BYTES = 32 * 1024 * 1024
"""Cases that are held at most, and bytes of their lines: about 60 MB of memory."""

MOST_ODD = 1_000
"""Cases that had to be read back from their lines, which saves nothing."""


class HeldRows:
    """Holds the cases of a run while there are few; later ones are not held, and then none is."""

    def __init__(self, header: RunHeader) -> None:
        self._header = header
        self._rows: list[CaseResult] | None = [] if header.content else None
        self._left, self._odd = MOST_BYTES, MOST_ODD

    @property
    def holds(self) -> bool:
        """Whether every case so far is held."""
        return self._rows is not None

    def drop(self) -> None:
        """Hold no case from now on, as of a run whose first ones were written by another."""
        self._rows = None

    def add_plain(self, row: CaseResult, metadata: dict[str, JSON], size: int) -> None:
        """Hold a case whose lines, of that many bytes, ``plain_lines`` spelled with the metadata.

        In such a case nothing was cut or spelled out: it reads back as it is.
        """
        if not self._fits(size):
            return
        if row.case.metadata != metadata:
            case = msgspec.structs.replace(row.case, metadata=metadata)
            row = msgspec.structs.replace(row, case=case)
        if row.duration_ms is not None and len(row.results) > 1:
            # Each line has its share, rounded, and a reader adds them up.
            share = round(row.duration_ms / len(row.results), 3)
            row = msgspec.structs.replace(row, duration_ms=sum([share] * len(row.results)))
        self._keep(row)

    def add(
        self,
        case: Mapping[str, Any] | SpelledCase,
        results: Sequence[Mapping[str, Any] | Written],
    ) -> None:
        """Hold a case as its lines tell it."""
        self._odd -= 1
        if self._odd < 0:
            self.drop()
        if self._rows is None:
            return
        text = dump_case(line_of(case))
        lines = [one.data if isinstance(one, Written) else dump_line(one) for one in results]
        if not self._fits(len(text) + sum(map(len, lines))):
            return
        found = parse(text.rstrip(b"\n"))
        own = [parse(line.rstrip(b"\n")) for line in lines]
        self._keep(row_of(self._header, read_case(found), own, read_responses(found)))

    def __iter__(self) -> Iterator[CaseResult]:
        """Yield the cases held, all of the run where it ``holds``."""
        return iter(self._rows or ())

    def _fits(self, size: int) -> bool:
        self._left -= size
        if self._left < 0 or (self._rows is not None and len(self._rows) >= MOST_CASES):
            self.drop()
        return self._rows is not None

    def _keep(self, row: CaseResult) -> None:
        if self._rows is not None:
            self._rows.append(row)

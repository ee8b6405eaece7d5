"""JSON Lines, read line by line."""

from __future__ import annotations

from collections.abc import Iterator
from typing import Any

from closecall.datasets._sniff import TextFile
from closecall.datasets._strict import Flaws, decode_row


class JsonLines:
    """One object a line; blank lines are passed over but counted for the line numbers."""

    suffix = ""
    header: tuple[str, ...] = ()

    def __init__(self, file: TextFile, reading: tuple[str, ...] = ()) -> None:
        self._file = file
        self.prefix = f"{file.path.name}:"
        self.reading = reading

    def rows(self, *, check: bool = True) -> Iterator[tuple[int, dict[str, Any] | None, Flaws]]:
        """Yield one row for each line that is not blank; unchecked ones only to look at names."""
        for number, line in enumerate(self._file.lines(), start=1):
            if line.isspace():
                continue
            value, flaws = decode_row(line, check=check)
            yield number, value, flaws

    def rows_after(self, skip: int) -> Iterator[tuple[int, dict[str, Any] | None, Flaws]]:
        """Yield the rows after the first ``skip``, whose lines are passed over unread."""
        left = skip
        for number, line in enumerate(self._file.lines(), start=1):
            if line.isspace():
                continue
            if left:
                left -= 1
                continue
            value, flaws = decode_row(line)
            yield number, value, flaws

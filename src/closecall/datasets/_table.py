"""CSV and TSV, read row by row."""

from __future__ import annotations

import csv
import re
from collections.abc import Iterator
from typing import Any

from closecall.datasets._fields import field_of
from closecall.datasets._sniff import TextFile
from closecall.datasets._strict import Flaws, not_utf8
from closecall.errors import DatasetError
from closecall.records import is_whole_text

DELIMITERS = {",": "comma", ";": "semicolon", "\t": "tab", "|": "bar"}

Damaged = list[tuple[int, str]]
"""(line, message) of lines that are not UTF-8."""

MAX_CELL = 1 << 26
"""Characters in one cell; more is mostly a quote that was never closed."""

MAX_COLUMNS = 10_000
"""Columns of a table."""

_SEP_LINE = re.compile(r'"?sep=([,;|\t])"?\s*')


class Table:
    """Rows under a header. An empty cell is an absent value.

    Parameters
    ----------
    file
        The file.
    tabs
        Whether a tab is the likeliest delimiter (a .tsv file).
    wanted
        Columns the caller maps, to tell the delimiter by.

    Notes
    -----
    Reading raises ``csv.field_size_limit`` to ``MAX_CELL`` for the whole process and leaves it
    there. Only other users of ``csv`` that count on a lower limit can tell.
    """

    suffix = ""

    def __init__(self, file: TextFile, *, tabs: bool, wanted: frozenset[str]) -> None:
        self._file = file
        self.prefix = f"{file.path.name}:"
        self._delimiter, self._skip = self._sniff(tabs=tabs, wanted=wanted)
        self._names = names = self._read_header()
        self.header = tuple(name for name in names if name)
        nameless = len(names) - len(self.header)
        self.reading = (f"cells are separated by a {DELIMITERS[self._delimiter]}",) + (
            (f"{nameless} column{'s' * (nameless > 1)} without a name in the header: ignored",)
            if nameless
            else ()
        )

    def _lines(self, damaged: Damaged) -> Iterator[str]:
        """Yield the lines; of one that is not UTF-8 the foreign bytes come as surrogates."""
        for number, line in enumerate(self._file.lines(), start=1):
            try:
                yield line.decode("utf-8")
            except UnicodeDecodeError as error:
                damaged.append((number, not_utf8(error)))
                yield line.decode("utf-8", errors="surrogateescape")

    def _reader(self, delimiter: str, skip: int) -> tuple[Any, Damaged]:
        """Return a reader past the first lines, and what it adds damaged lines to as it goes."""
        # The limit is the whole process's, and is never put back: another thread may be in the
        # middle of a table, whose longer cells would then look like a quote never closed.
        if csv.field_size_limit() < MAX_CELL:
            csv.field_size_limit(MAX_CELL)
        damaged: Damaged = []
        lines = self._lines(damaged)
        for _ in range(skip):
            next(lines, None)
        return csv.reader(lines, delimiter=delimiter, strict=True), damaged

    def _sniff(self, *, tabs: bool, wanted: frozenset[str]) -> tuple[str, int]:
        """Return the delimiter that makes the most of the header, and the lines before it."""
        skip = 0
        for line in self._lines([]):
            if line.strip():
                if found := _SEP_LINE.fullmatch(line):
                    return found[1], skip + 1
                break
            skip += 1
        best, best_score = "\t" if tabs else ",", (-1, -1, -1)
        for delimiter in DELIMITERS:
            names = self._first_row(delimiter, skip)
            known = sum(name in wanted or field_of(name) is not None for name in names)
            score = (known, len(names), int(delimiter == ("\t" if tabs else ",")))
            if score > best_score:
                best, best_score = delimiter, score
        return best, skip

    def _first_row(self, delimiter: str, skip: int) -> list[str]:
        reader, _ = self._reader(delimiter, skip)
        try:
            return [name.strip() for name in next(reader, [])[: MAX_COLUMNS + 1]]
        except csv.Error:
            return []

    def _read_header(self) -> list[str]:
        skip = self._skip
        reader, damaged = self._reader(self._delimiter, skip)
        try:
            names = [name.strip() for name in next(reader, [])]
        except csv.Error as error:
            raise DatasetError(
                f"{self.prefix}{skip + 1}: the header cannot be read: {_reason(error)}"
            ) from error
        if damaged:
            number, message = damaged[0]
            raise DatasetError(f"{self.prefix}{number}: {message}")
        if len(names) > MAX_COLUMNS:
            raise DatasetError(
                f"{self.prefix}{skip + 1}: the header names {len(names):,} columns, and at most "
                f"{MAX_COLUMNS:,} are read"
            )
        seen: set[str] = set()
        for name in names:
            if name in seen and name:
                raise DatasetError(
                    f"{self.prefix}{skip + 1}: the header names the column `{name}` twice; rename "
                    "one of them"
                )
            seen.add(name)
        return names

    def rows(self, *, check: bool = True) -> Iterator[tuple[int, dict[str, Any] | None, Flaws]]:
        """Yield the rows; ``where`` is the line a row starts on. Empty rows are passed over.

        A row that is not UTF-8 is a flawed one; its ``where`` is the line with the first such
        byte.
        """
        skip = self._skip
        reader, damaged = self._reader(self._delimiter, skip)
        names = self._names
        next(reader, None)
        width = len(names)
        while True:
            damaged.clear()
            start = reader.line_num + skip + 1
            try:
                cells = next(reader)
            except StopIteration:
                return
            except csv.Error as error:
                yield start, None, (("", _reason(error)),)
                continue
            if damaged:
                where, message = damaged[0]
                yield where, None, ((_damaged_column(cells, names), message),)
                continue
            if len(cells) != width and not any(cells[width:]):
                del cells[width:]
            if not any(cells):
                continue
            if len(cells) != width:
                yield start, None, (("", _uneven(len(cells), width, self._delimiter)),)
                continue
            row = {name: cell for name, cell in zip(names, cells, strict=True) if cell and name}
            if check and any("\0" in cell for cell in row.values()):
                yield start, None, (("", "holds a NUL byte, which no text does; remove it"),)
                continue
            yield start, row, ()


def _damaged_column(cells: list[str], names: list[str]) -> str:
    """Return the name over the first cell with a foreign byte, "" where there is no name."""
    return next((n for n, cell in zip(names, cells, strict=False) if not is_whole_text(cell)), "")


def _uneven(count: int, width: int, delimiter: str) -> str:
    cells = f"{count} cell{'s' * (count != 1)} where the header names {width}"
    if count > width:
        return f'{cells}; a text with a {DELIMITERS[delimiter]} in it needs "quotes" around it'
    return f"{cells}; the row is cut short"


def _reason(error: csv.Error) -> str:
    text = str(error)
    if "field larger than" in text:
        return (
            f'a cell has more than {MAX_CELL:,} characters; where it is not meant to, a " that '
            "opens a cell is never closed"
        )
    if "unexpected end of data" in text:
        return 'a " that opens a cell is never closed; close it, or write "" for a quote in a text'
    if "expected after" in text:
        return 'text follows the closing " of a cell; write "" for a quote inside a quoted text'
    if "new-line character" in text:
        return "a bare carriage return inside a cell; put the cell in quotes"
    return text

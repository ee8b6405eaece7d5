"""A corpus to search, read passage by passage: it may be larger than memory.

One pass checks every row and counts them; each pass after that yields them. Between the two only
the ids are held (about 150 bytes a row), to find one that stands twice.
"""

from __future__ import annotations

import os
import re
from collections.abc import Iterator, Mapping
from pathlib import Path
from typing import Any, Literal, NamedTuple

from closecall.datasets._jsonl import JsonLines
from closecall.datasets._sniff import TextFile, inspect, is_regular
from closecall.datasets._strict import HALF_CHARACTER, Flaws, not_utf8
from closecall.datasets._table import Table
from closecall.errors import DatasetError, RowProblem, UsageError
from closecall.index.rows import MAX_ID
from closecall.records import JSON, is_whole_text
from closecall.retrieval.beir import CORPUS
from closecall.retrieval.collection import Document

SHOWN = 20
"""Problems kept and printed; the rest are counted."""

AT_LINE = "@line"
"""Stands for a column of line numbers."""

SUFFIXES = {
    ".jsonl": "jsonl", ".ndjson": "jsonl", ".csv": "csv", ".tsv": "tsv", ".tab": "tsv",
    ".txt": "txt", ".text": "txt",
}  # fmt: skip
COLUMNS = {"id": ("_id", "id"), "text": ("text",), "title": ("title",)}
"""What each field is called where ``mapping`` does not say."""

_METADATA = "metadata"
_NUMBER = re.compile(r"-?(?:0|[1-9][0-9]{0,14})(?:\.[0-9]{1,15})?")


class Passage(NamedTuple):
    """One row: ``text`` is what is embedded, title first; ``metadata`` is all else it has."""

    id: str
    text: str
    metadata: dict[str, JSON]


class Counted(NamedTuple):
    """``rows`` sound ones, ``left_out`` others, and the first 20 of ``flaws`` problems."""

    rows: int
    left_out: int
    problems: tuple[RowProblem, ...]
    flaws: int


class Passages:
    """The rows of a file, in its order, each with an id of its own.

    Parameters
    ----------
    path
        JSON Lines, CSV or TSV with ``id`` (or ``_id``), ``text`` and perhaps ``title``, a text
        with one passage a line, whose id is its line number, or a BEIR folder. ``metadata`` (an
        object) and every other column are metadata; a column of a table that holds nothing but
        numbers gives numbers.
    mapping
        ``id``, ``text`` and ``title`` by other names; ``id`` may be ``@line``, the line number.
    title
        Whether a title stands before the text, with a blank between them, as BEIR joins them.
    on_bad_row
        ``fail``, or ``skip`` to leave out rows that are not sound.
    what
        What the rows are, for messages.

    Raises
    ------
    DatasetError
        The file is missing, or no text.
    UsageError
        Its suffix says nothing, or a column is not in its header.
    """

    def __init__(
        self,
        path: Path,
        *,
        mapping: Mapping[str, str] | None = None,
        title: bool = True,
        on_bad_row: Literal["fail", "skip"] = "fail",
        what: str = "passages",
    ) -> None:
        self.path = path / CORPUS if is_regular(path / CORPUS) else path
        self._names, self._what = dict(mapping or {}), what
        self._title, self._skips = title, on_bad_row == "skip"
        if strange := [name for name in self._names if name not in COLUMNS]:
            raise UsageError(
                f"--map {strange[0]}=...: there are {', '.join(f'{name}=' for name in COLUMNS)}"
            )
        self._source = _source(self.path, frozenset(self._names.values()), what)
        header = self._source.header
        for field, name in self._names.items():
            if header and name not in header and name != AT_LINE:
                raise UsageError(
                    f"--map {field}={name}: {self.path.name} has no such column; it has "
                    f"{', '.join(header)}"
                )
        self._bad: set[int] = set()
        self._numbers: frozenset[str] = frozenset()
        self._counted: Counted | None = None

    @property
    def reading(self) -> tuple[str, ...]:
        """How it was read, in sentences; after ``count`` with the columns of numbers."""
        numbers = ", ".join(sorted(self._numbers))
        told = (f"numbers, as every cell is one: {numbers}",) if numbers else ()
        return (*self._source.reading, *told)

    def count(self) -> Counted:
        """Check every row; the result is kept.

        Raises
        ------
        DatasetError
            Rows are not sound, or an id stands twice, and they are not to be left out; or there
            are none.
        """
        if self._counted is None:
            self._counted = self._checked()
        return self._counted

    def __iter__(self) -> Iterator[Passage]:
        """Yield the sound rows; counts them first where nobody did."""
        self.count()
        for where, row, _ in self._source.rows():
            if row is not None and where not in self._bad:
                found, _ = self._passage(row, where)
                if found is not None:
                    yield found

    def _checked(self) -> Counted:
        lines: dict[str, int] = {}
        kept: list[RowProblem] = []
        numbers: dict[str, bool] = {}
        rows = count = 0
        fields: tuple[str, ...] = ()
        for where, row, unread in self._source.rows():
            found, flaws = (None, unread) if row is None else self._passage(row, where)
            if row is not None and not fields:
                fields = tuple(row)
            if found is not None:
                first = lines.setdefault(found.id, where)
                if first == where:
                    rows += 1
                    self._look_for_numbers(found.metadata, numbers)
                    continue
                flaws = ((self._column("id", row), f"{found.id!r:.60} is on line {first} too"),)
            self._bad.add(where)
            count += len(flaws)
            told = (RowProblem(f"{self._source.prefix}{where}", *flaw) for flaw in flaws)
            kept.extend(list(told)[: SHOWN - len(kept)])
        if self._bad and not self._skips:
            raise DatasetError(
                f"{self.path}: {len(self._bad):,} of {rows + len(self._bad):,} {self._what} "
                f"cannot be used. Correct them, or leave them out with --on-bad-row skip. "
                f"{_how_to_map(fields)}",
                kept,
                count,
            )
        if not rows:
            raise DatasetError(f"{self.path}: holds no {self._what} to use", kept, count)
        if self._source.header:
            self._numbers = frozenset(name for name, always in numbers.items() if always)
        return Counted(rows, len(self._bad), tuple(kept), count)

    def _look_for_numbers(self, metadata: Mapping[str, JSON], numbers: dict[str, bool]) -> None:
        if not self._source.header:
            return
        for name, cell in metadata.items():
            if numbers.get(name, True):
                numbers[name] = isinstance(cell, str) and _NUMBER.fullmatch(cell) is not None

    def _column(self, field: str, row: Mapping[str, Any] | None) -> str:
        if field in self._names:
            return self._names[field]
        names = COLUMNS[field]
        return next((name for name in names if row and name in row), names[0])

    def _passage(self, row: Mapping[str, Any], where: int) -> tuple[Passage | None, Flaws]:
        """Return the passage of a row, or all that is wrong with it."""
        flaws: list[tuple[str, str]] = []
        columns = {field: self._column(field, row) for field in COLUMNS}
        own = _own_id(row, columns["id"], where, flaws)
        text = _text(row, columns["text"], flaws, needed=columns["title"] not in row)
        title = _text(row, columns["title"], flaws, needed=False)
        inner = row.get(_METADATA)
        if inner is not None and not isinstance(inner, dict):
            if self._source.header:  # a cell is a text, so this is a column like others
                inner = {_METADATA: inner}
            else:
                flaws.append((_METADATA, f"expected an object, got {inner!r:.60}"))
        body = Document(id="", text=text, title=title).body(title=self._title)
        if not body and not flaws:
            flaws.append((columns["text"], "is blank, so there is nothing to find"))
        if flaws or own is None:
            return None, tuple(flaws)
        used = {columns["id"], columns["text"], _METADATA}
        rest = {name: value for name, value in row.items() if name not in used}
        metadata = {**rest, **(inner if isinstance(inner, dict) else {})}
        for name in self._numbers & metadata.keys():
            metadata[name] = _number(metadata[name])
        return Passage(own, body, metadata), ()


class _Lines:
    """A text: one passage a line; blank lines are passed over but counted."""

    header: tuple[str, ...] = ()
    reading = ("one passage a line; its id is its line number",)

    def __init__(self, file: TextFile) -> None:
        self._file = file
        self.prefix = f"{file.path.name}:"

    def rows(self) -> Iterator[tuple[int, dict[str, Any] | None, Flaws]]:
        for number, line in enumerate(self._file.lines(), start=1):
            if line.isspace():
                continue
            try:
                yield number, {"id": str(number), "text": line.decode("utf-8").strip()}, ()
            except UnicodeDecodeError as error:
                yield number, None, (("", not_utf8(error)),)


def _source(path: Path, wanted: frozenset[str], what: str) -> JsonLines | Table | _Lines:
    form = SUFFIXES.get(path.suffix.lower())
    if form is None and is_regular(path):
        raise UsageError(
            f"{path}: the suffix says nothing about the format; {what} are read from "
            f"{', '.join(SUFFIXES)}, or a corpus from a BEIR folder"
        )
    if os.path.isdir(path):  # noqa: PTH112 - False for any name, however long
        raise DatasetError(f"{path}: holds no {CORPUS}; name a file, or a BEIR folder")
    file, _ = inspect(path, "tsv" if form in {None, "txt"} else form)
    if form == "jsonl":
        return JsonLines(file)
    if form == "txt":
        return _Lines(file)
    names = frozenset(name for names in COLUMNS.values() for name in names)
    return Table(file, tabs=form == "tsv", wanted=wanted | names)


def _own_id(
    row: Mapping[str, Any], column: str, where: int, flaws: list[tuple[str, str]]
) -> str | None:
    value = str(where) if column == AT_LINE else row.get(column)
    if isinstance(value, int) and not isinstance(value, bool):
        value = str(value)
    if not isinstance(value, str) or not value.strip() or len(value) > MAX_ID:
        got = "nothing" if value is None else f"{value!r:.60}"
        flaws.append((column, f"expected an id, a text of 1 to {MAX_ID} characters; got {got}"))
        return None
    if not is_whole_text(value):
        flaws.append((column, HALF_CHARACTER))
        return None
    return value


def _text(
    row: Mapping[str, Any], column: str, flaws: list[tuple[str, str]], *, needed: bool
) -> str:
    value = row.get(column)
    if value is None and not needed:
        return ""
    if not isinstance(value, str):
        got = "nothing" if value is None else f"{value!r:.60}"
        flaws.append((column, f"expected a text, got {got}"))
        return ""
    return value


def _number(cell: JSON) -> JSON:
    if not isinstance(cell, str):
        return cell
    return float(cell) if "." in cell else int(cell)


def _how_to_map(fields: tuple[str, ...]) -> str:
    listed = ", ".join(f"{name!r:.40}" for name in fields[:12]) or "none"
    return (
        f"The first row has the fields {listed}; others than id, text and title are named with "
        f"--map text=COLUMN and --map id=COLUMN (id={AT_LINE}: the line number)"
    )

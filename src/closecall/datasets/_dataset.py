"""A case file that was looked at once, and can be scanned and streamed as often as needed."""

from __future__ import annotations

import hashlib
import os
from collections.abc import Collection, Iterator, Mapping
from pathlib import Path
from typing import Any, Literal

import msgspec

from closecall.datasets._content import encode_content
from closecall.datasets._plan import Plan, decide
from closecall.datasets._rows import BadRowError, Ids, compile_reader
from closecall.datasets._sniff import TextFile, inspect
from closecall.datasets._sources import Source
from closecall.datasets._survey import Survey
from closecall.datasets._told import told
from closecall.datasets._values import Notes, Problems
from closecall.errors import DatasetError, RowProblem, UsageError
from closecall.records import Case

OnBadRow = Literal["fail", "skip"]
ON_BAD_ROW: tuple[OnBadRow, ...] = ("fail", "skip")

SHOWN = 20
"""Problems kept and printed; the rest are counted."""


class Scan(msgspec.Struct, frozen=True, kw_only=True):
    """What one pass over the whole file found.

    ``rows`` counts all rows, ``cases`` the good ones, ``bad_rows`` the others; ``problems`` has
    the first 20 of ``problem_count`` (a row may have several). ``digest`` (sha256, hex) stands
    for the content of the good cases in order, ``sha256`` for the bytes of the file.
    """

    rows: int
    cases: int
    bad_rows: int
    problem_count: int
    problems: tuple[RowProblem, ...]
    digest: str
    sha256: str
    reading: tuple[str, ...]


class Dataset:
    """Cases of one file, in file order; made by ``open_dataset``.

    Iterating reads the file anew each time. JSONL, CSV and TSV are streamed: memory grows with
    the ids only. JSON and YAML are held whole.
    """

    def __init__(
        self,
        file: TextFile,
        source: Source,
        plan: Plan,
        *,
        format: str,  # noqa: A002  # the name callers use
        on_bad_row: OnBadRow,
    ) -> None:
        self._file = file
        self._source = source
        self._plan = plan
        self._scan: Scan | None = None
        self.format = format
        self.on_bad_row = on_bad_row

    @property
    def path(self) -> Path:
        """The file."""
        return self._file.path

    @property
    def reading(self) -> tuple[str, ...]:
        """How the file was read, in sentences for a person; after ``scan`` with its counts."""
        return self._scan.reading if self._scan else (*self._plan.reading, *self._source.reading)

    def scan(self) -> Scan:
        """Read the whole file once: check every row, count, digest. The result is kept.

        Raises
        ------
        DatasetError
            Rows are bad and ``on_bad_row`` is "fail": the first 20 problems and their count. Or
            there is no case at all. Or the file changed meanwhile.
        """
        if self._scan is None:
            self._scan = self._scanned()
        return self._scan

    def _scanned(self) -> Scan:
        digest = hashlib.sha256()
        update = digest.update
        notes = Notes()
        rows = cases = problem_count = 0
        problems: list[RowProblem] = []
        for item in self._walk(notes):
            rows += 1
            if item.__class__ is Case:
                cases += 1
                update(encode_content(item))
                update(b"\n")
            else:
                problem_count += len(item)
                problems.extend(item[: SHOWN - len(problems)])
        bad = rows - cases
        if bad and self.on_bad_row == "fail":
            raise DatasetError(
                f"{self.path}: {_rows(bad)} of {rows} cannot be read. Correct them, or leave them "
                "out with --on-bad-row skip",
                problems,
                problem_count,
            )
        if not cases:
            what = f"none of its {_rows(rows)} can be read" if rows else "holds no rows"
            raise DatasetError(
                f"{self.path}: {what}. It needs at least one case", problems, problem_count
            )
        return Scan(
            rows=rows,
            cases=cases,
            bad_rows=bad,
            problem_count=problem_count,
            problems=tuple(problems),
            digest=digest.hexdigest(),
            sha256=_sha256(self._file),
            reading=(*self._plan.reading, *self._source.reading, *told(notes)),
        )

    def cases(self) -> Iterator[Case]:
        """Yield the cases in file order.

        Raises
        ------
        DatasetError
            At the first bad row, when ``on_bad_row`` is "fail"; ``scan`` names them all.
        """
        for item in self._walk(Notes()):
            if item.__class__ is Case:
                yield item
            elif self.on_bad_row == "fail":
                raise DatasetError(f"{self.path}: a row cannot be read", item)

    __iter__ = cases

    def _walk(self, notes: Notes) -> Iterator[Any]:
        """Yield for each row its case, or the list of its problems."""
        read = compile_reader(self._plan, notes, Ids(notes))
        prefix, suffix = self._source.prefix, self._source.suffix
        number = 0
        for where, row, flaws in self._source.rows():
            number += 1
            place = f"{prefix}{where}{suffix}"
            if row is None:
                yield _problems(place, flaws)
                continue
            try:
                case = read(row, number, place)
            except BadRowError as bad:
                yield _problems(place, bad.problems)
            else:
                yield case


def open_dataset(
    path: str | os.PathLike[str],
    *,
    mapping: Mapping[str, str] | None = None,
    on_bad_row: OnBadRow = "fail",
    format: str | None = None,  # noqa: A002  # the word users know
    needed: Collection[str] | None = None,
) -> Dataset:
    """Return the dataset of a case file.

    Reads the file once to see which columns hold something, because rows differ; what each
    column means is then fixed for every later pass. Bad rows are left to ``scan``.

    Parameters
    ----------
    path
        A file in JSONL, JSON, CSV, TSV or YAML, UTF-8 (or UTF-16 with a byte order mark).
    mapping
        Field to column, before every rule: ``{"response": "my_column"}``. A dotted name goes
        into objects and lists (``vars.question``, ``messages.-1.content``).
    on_bad_row
        "fail", or "skip" to leave bad rows out (counted by ``scan``).
    format
        ``jsonl``, ``json``, ``csv``, ``tsv`` or ``yaml``; by the file's suffix when None.
    needed
        The fields of ``Case`` that will be used, all when None. Another field that can be read
        in two ways is left absent, which ``reading`` tells, instead of refused.

    Raises
    ------
    UsageError
        A mapping to a column or of a field that is not there; an unknown option.
    DatasetError
        The file as a whole cannot be read, or a needed field can be read in two ways.
    """
    if on_bad_row not in ON_BAD_ROW:
        raise UsageError(f"on_bad_row {on_bad_row!r} is not one of {', '.join(ON_BAD_ROW)}")
    file, name = inspect(Path(path), format)
    source, name = _source(file, name, frozenset((mapping or {}).values()))
    survey = Survey(mapping, source.header)
    prefix, suffix = source.prefix, source.suffix
    for where, row, _ in source.rows(check=False):
        if row is not None:
            survey.add(row, f"{prefix}{where}{suffix}")
    plan = decide(survey, str(file.path), cells=name in {"csv", "tsv"}, needed=needed)
    return Dataset(file, source, plan, format=name, on_bad_row=on_bad_row)


def _source(file: TextFile, name: str, wanted: frozenset[str]) -> tuple[Source, str]:
    if name in {"csv", "tsv"}:
        from closecall.datasets._table import Table

        return Table(file, tabs=name == "tsv", wanted=wanted), name
    if name == "yaml":
        from closecall.datasets._yaml_file import YamlRows

        return YamlRows(file), name
    from closecall.datasets._json_file import open_json, open_jsonl

    return open_json(file) if name == "json" else open_jsonl(file)


def _problems(place: str, found: Problems | tuple[tuple[str, str], ...]) -> list[RowProblem]:
    return [RowProblem(place, field, message) for field, message in found]


def _rows(count: int) -> str:
    return f"{count} row{'s' * (count != 1)}"


def _sha256(file: TextFile) -> str:
    with file.path.open("rb") as opened:
        return hashlib.file_digest(opened, "sha256").hexdigest()

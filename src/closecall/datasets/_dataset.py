"""A case file that was looked at once, and can be scanned and streamed as often as needed."""

from __future__ import annotations

import hashlib
import os
from collections.abc import Collection, Iterator, Mapping
from itertools import islice
from pathlib import Path
from typing import TYPE_CHECKING, Any, Literal

import msgspec

from closecall.datasets._content import QuestionsDigest, encode_content, secret_of
from closecall.datasets._layout import GivenIds, Layout, rows_after
from closecall.datasets._plan import Plan, decide
from closecall.datasets._rows import BadRowError, Ids, compile_reader
from closecall.datasets._sniff import TextFile, inspect, parquet_files, stamped
from closecall.datasets._sources import OfFiles, Source
from closecall.datasets._survey import Survey
from closecall.datasets._told import told
from closecall.datasets._values import Notes, Problems
from closecall.errors import DatasetError, RowProblem, UsageError
from closecall.records import Case
from closecall.storage.places import is_url
from closecall.there import is_dir

if TYPE_CHECKING:
    from closecall.storage.fetching import Copy

_encode = msgspec.json.Encoder().encode

OnBadRow = Literal["fail", "skip"]
ON_BAD_ROW: tuple[OnBadRow, ...] = ("fail", "skip")

SHOWN = 20
"""Problems kept and printed; the rest are counted."""

_KEPT_BYTES = 8 * 1024 * 1024
"""Cases of a file up to this size stay in memory from the scan on: four times as much, and
reading them again takes longer than deciding them does when their vectors are at hand."""


class Scan(msgspec.Struct, frozen=True, kw_only=True):
    """What one pass over the whole file found.

    ``rows`` counts all rows, ``cases`` the good ones, ``bad_rows`` the others; ``problems`` has
    the first 20 of ``problem_count`` (a row may have several). ``digest`` (sha256, hex) stands
    for the content of the good cases in order, ``questions`` for what they ask, ``sha256`` for
    the bytes of the file. ``secret`` is a key that only who has all cases knows.
    """

    rows: int
    cases: int
    bad_rows: int
    problem_count: int
    problems: tuple[RowProblem, ...]
    digest: str
    sha256: str
    reading: tuple[str, ...]
    questions: str
    secret: str


class Dataset:
    """Cases of one file, in file order; made by ``open_dataset``.

    Iterating reads the file anew each time, unless it is small and was scanned. JSONL, CSV, TSV
    and Parquet are streamed: memory grows with the ids only, 11 to 16 bytes each. JSON and YAML
    are held whole.
    """

    def __init__(
        self,
        file: TextFile,
        source: Source,
        plan: Plan,
        *,
        format: str,  # noqa: A002  # the name callers use
        on_bad_row: OnBadRow,
        copy: Copy | None = None,
    ) -> None:
        self._file = file
        self._copy = copy  # goes with the last reference to it
        self._source = source
        self._plan = plan
        self._scan: Scan | None = None
        self._kept: list[Case] | None = None
        self.format = format
        self.on_bad_row = on_bad_row

    @property
    def path(self) -> Path:
        """The file; of a data set on object storage, its copy on this machine."""
        return self._file.path

    @property
    def place(self) -> str:
        """The file as it was named: its path, or its URL."""
        return str(self.path) if self._copy is None else self._copy.url

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
        digest, questions = hashlib.sha256(), QuestionsDigest()
        update = digest.update
        notes = Notes()
        rows = cases = problem_count = 0
        problems: list[RowProblem] = []
        kept: list[Case] | None = [] if self._small() else None
        # A packed file says little of what is in it: one text may stand in every row.
        packed, room = isinstance(self._source, OfFiles), 4 * _KEPT_BYTES
        layout = Layout()
        for item in self._walk(notes, layout):
            rows += 1
            layout.count(rows, good=item.__class__ is Case)
            if item.__class__ is Case:
                cases += 1
                content = encode_content(item)
                if kept is not None:
                    kept.append(item)
                    room -= len(content) + (len(_encode(item.metadata)) if packed else 0)
                    kept = kept if room > 0 else None
                update(content)
                update(b"\n")
                questions.add(item)
            else:
                problem_count += len(item)
                problems.extend(item[: SHOWN - len(problems)])
        bad = rows - cases
        if bad and self.on_bad_row == "fail":
            raise DatasetError(
                f"{self.place}: {_rows(bad)} of {rows} cannot be read. Correct them, or leave "
                "them out with --on-bad-row skip",
                problems,
                problem_count,
            )
        if not cases:
            what = f"none of its {_rows(rows)} can be read" if rows else "holds no rows"
            raise DatasetError(
                f"{self.place}: {what}. It needs at least one case", problems, problem_count
            )
        self._layout = layout
        self._kept = kept
        return Scan(
            rows=rows,
            cases=cases,
            bad_rows=bad,
            problem_count=problem_count,
            problems=tuple(problems),
            digest=digest.hexdigest(),
            secret=secret_of(digest),
            questions=questions.hexdigest(),
            sha256=self._sha256(),
            reading=(*self._plan.reading, *self._source.reading, *told(notes)),
        )

    def cases(self) -> Iterator[Case]:
        """Yield the cases in file order; those of a small file that was scanned are at hand.

        Raises
        ------
        DatasetError
            At the first bad row, when ``on_bad_row`` is "fail"; ``scan`` names them all.
        """
        if self._kept is None:
            yield from self._good(self._walk(Notes()))
            return
        self._file.check_unchanged()
        yield from self._kept

    __iter__ = cases

    def between(self, first: int, stop: int) -> Iterator[Case]:
        """Yield the cases at positions ``first`` up to ``stop``, as ``cases`` has them.

        Only the rows from about there on are read, where the format allows it (Parquet skips to
        them, JSON Lines passes over lines), after ``scan`` has looked at all of them once.

        Raises
        ------
        DatasetError
            As ``cases``; or the file changed since it was scanned.
        """
        self.scan()
        layout = self._layout
        if self._kept is not None:
            self._file.check_unchanged()
            yield from self._kept[first:stop]
            return
        if layout is None or layout.renamed is None:
            yield from islice(self.cases(), first, stop)
            return
        start = layout.start(first)
        walk = self._walk(Notes(), ids=GivenIds(layout.renamed), skip=start.rows)
        yield from islice(self._good(walk), first - start.cases, stop - start.cases)

    def __getstate__(self) -> dict[str, Any]:
        """Return what another process on this machine needs to read on without a new scan."""
        if self._copy is not None:
            raise TypeError(f"{self.place}: each process fetches its own: open_dataset(URL)")
        return {**self.__dict__, "_kept": None}

    def _sha256(self) -> str:
        if isinstance(self._source, OfFiles):
            return self._source.sha256()
        with self.path.open("rb") as opened:
            return hashlib.file_digest(opened, "sha256").hexdigest()

    def _small(self) -> bool:
        """Whether the cases may be kept; Parquet is packed, to a tenth and less."""
        if isinstance(self._source, OfFiles):
            return self._source.size * 16 <= _KEPT_BYTES
        return self.path.stat().st_size <= _KEPT_BYTES

    def _good(self, walk: Iterator[Any]) -> Iterator[Case]:
        for item in walk:
            if item.__class__ is Case:
                yield item
            elif self.on_bad_row == "fail":
                raise DatasetError(f"{self.place}: a row cannot be read", item)

    def _walk(
        self,
        notes: Notes,
        layout: Layout | None = None,
        *,
        ids: GivenIds | None = None,
        skip: int = 0,
    ) -> Iterator[Any]:
        """Yield for each row its case, or the list of its problems."""
        read = compile_reader(self._plan, notes, Ids(notes, layout) if ids is None else ids)
        prefix, suffix = self._source.prefix, self._source.suffix
        number = skip
        for where, row, flaws in rows_after(self._source, skip):
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
        A file in JSONL, JSON, CSV, TSV or YAML, UTF-8 (or UTF-16 with a byte order mark), or in
        Parquet; a folder of Parquet files, read in the order of their names as one; or the
        URL of one on object storage, which is fetched once to a temporary file.
    mapping
        Field to column, before every rule: ``{"response": "my_column"}``. A dotted name goes
        into objects and lists (``vars.question``, ``messages.-1.content``).
    on_bad_row
        "fail", or "skip" to leave bad rows out (counted by ``scan``).
    format
        ``jsonl``, ``json``, ``csv``, ``tsv``, ``yaml`` or ``parquet``; by the file's suffix when
        None, and Parquet by its first bytes.
    needed
        The fields of ``Case`` that will be used, all when None. Another field that can be read
        in two ways is left absent, which ``reading`` tells, instead of refused.

    Raises
    ------
    UsageError
        A mapping to a column or of a field that is not there; an unknown option.
    DatasetError
        The file as a whole cannot be read, or a needed field can be read in two ways.
    StorageError
        A URL cannot be fetched.
    """
    if on_bad_row not in ON_BAD_ROW:
        raise UsageError(f"on_bad_row {on_bad_row!r} is not one of {', '.join(ON_BAD_ROW)}")
    if not is_url(path):
        return _opened(Path(path), None, mapping, on_bad_row, format=format, needed=needed)
    from closecall.storage.fetching import Copy
    from closecall.storage.naming import told_as
    from closecall.storage.places import located

    copy = Copy(located(path))
    with told_as(copy.path, copy.url):
        return _opened(copy.path, copy, mapping, on_bad_row, format=format, needed=needed)


def _opened(
    path: Path,
    copy: Copy | None,
    mapping: Mapping[str, str] | None,
    on_bad_row: OnBadRow,
    *,
    format: str | None,  # noqa: A002  # as above
    needed: Collection[str] | None,
) -> Dataset:
    file, name = inspect(path, format)
    source, name = _source(file, name, frozenset((mapping or {}).values()))
    survey = Survey(mapping, source.header)
    prefix, suffix = source.prefix, source.suffix
    for where, row, _ in source.rows(check=False):
        if row is not None:
            survey.add(row, f"{prefix}{where}{suffix}")
    plan = decide(survey, str(file.path), cells=name in {"csv", "tsv"}, needed=needed)
    return Dataset(file, source, plan, format=name, on_bad_row=on_bad_row, copy=copy)


def _source(file: TextFile, name: str, wanted: frozenset[str]) -> tuple[Source, str]:
    if name in {"csv", "tsv"}:
        from closecall.datasets._table import Table

        return Table(file, tabs=name == "tsv", wanted=wanted), name
    if name == "yaml":
        from closecall.datasets._yaml_file import YamlRows

        return YamlRows(file), name
    if name == "parquet":
        from closecall.datasets._parquet import ParquetRows

        files = parquet_files(file.path) if is_dir(file.path) else [file.path]
        return ParquetRows(file.path, [stamped(one) for one in files], wanted), name
    from closecall.datasets._json_file import open_json, open_jsonl

    return open_json(file) if name == "json" else open_jsonl(file)


def _problems(place: str, found: Problems | tuple[tuple[str, str], ...]) -> list[RowProblem]:
    return [RowProblem(place, field, message) for field, message in found]


def _rows(count: int) -> str:
    return f"{count} row{'s' * (count != 1)}"

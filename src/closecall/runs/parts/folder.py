"""A parts folder as the place of a run: ``evaluate(cases, aef=PartsFolder("s3://bucket/run"))``."""

from __future__ import annotations

import os
from collections.abc import Iterable, Iterator, Mapping, Sequence
from types import TracebackType
from typing import Any, Self

import msgspec

from closecall.errors import RunFolderError
from closecall.metrics.base import Metric
from closecall.records import Case
from closecall.runs import files
from closecall.runs.destination import Span
from closecall.runs.header import RunHeader
from closecall.runs.parts.documents import begin, header_in, run_document_of, size_in
from closecall.runs.parts.parquet import arrow
from closecall.runs.parts.ranges import Part, parts_in, spans
from closecall.runs.parts.sealing import close_parts, reopened, repair
from closecall.runs.parts.stored import load_parts, rebuilt, spending_in
from closecall.runs.parts.writing import PART_CASES, PartWriter, checked_size
from closecall.runs.record import Run
from closecall.runs.results import CaseResult
from closecall.runs.spending import Spending
from closecall.runs.spent_file import SPENT
from closecall.runs.wire import dump_document
from closecall.storage import Store, open_store


class PartsFolder:
    """One run as Parquet files, on this machine or on object storage, of any number of cases.

    Parameters
    ----------
    place
        A folder, or a URL such as ``s3://bucket/runs/monday``; or a store.
    cases
        Of a part. Memory holds one part, and a run that is killed goes on after the last.

    Raises
    ------
    UsageError
        A part cannot hold so many cases, or the URL is of a kind that is not known.
    MissingExtraError
        pyarrow is not installed.

    Attributes
    ----------
    cases
        Of a part.
    """

    beside = True

    def __init__(self, place: str | os.PathLike[str] | Store, *, cases: int = PART_CASES) -> None:
        self._given = place
        self.cases = checked_size(cases)
        arrow()

    @property
    def place(self) -> str:
        """Where it is, for people."""
        if isinstance(self._given, str | os.PathLike):
            return os.fspath(self._given)
        return self._given.place

    def store(self, *, create: bool = False) -> Store:
        """Return the store of its files."""
        if isinstance(self._given, str | os.PathLike):
            return open_store(self._given, create=create)
        return self._given

    def header(self) -> RunHeader:
        """Return the header of the run that is there."""
        return header_in(self.store())

    def spent(self) -> Spending | None:
        """Return what that run has spent, as far as it says."""
        return spending_in(self.store())

    def require_room(
        self, header: RunHeader, metrics: Sequence[Metric], cases: Iterable[Case]
    ) -> None:
        """Do nothing: parts have room for any number of cases."""

    def create(self, header: RunHeader) -> PartsWriting:
        """Begin a run in a new or empty place."""
        store = self.store(create=True)
        begin(store, header, self.cases)
        return PartsWriting(store, header, self.cases)

    def resume(self, header: RunHeader) -> PartsWriting:
        """Go on with the run that is there, after and between its parts."""
        store = self.store()
        run = run_document_of(store)
        if run["status"] != "running":
            repair(store)
            raise RunFolderError(
                f"{store.place}: this run is completed, there is nothing to resume"
            )
        reopened(store)
        return PartsWriting(store, header, size_in(run))

    def load(self, *, counts: bool = True) -> Run:
        """Return the run that is there."""
        return load_parts(self.store(), counts=counts)

    def problems(self) -> list[str]:
        """Return what is wrong with a run that had ended; a seal that is missing is made."""
        from closecall.runs.parts.reader import PartsReader

        store = self.store()
        repair(store)
        return PartsReader(store).verify()


class PartsWriting:
    """An open parts folder. Left without ``close``, what was added is written all the same."""

    def __init__(self, store: Store, header: RunHeader, cases: int) -> None:
        self._store, self._header, self._cases = store, header, cases
        self._writer: PartWriter | None = None
        self._spent: Spending | None = None

    def spans(self) -> list[Span]:
        """Return what is there and what is missing, in order."""
        first = self._header.first
        return spans(parts_in(self._store), first, first + self._header.cases)

    def existing(self, span: Span, cases: Iterable[Case]) -> Iterator[CaseResult]:
        """Yield the cases of a part that is there, with their results.

        Raises
        ------
        RunFolderError
            The part is damaged, or of other cases.
        """
        try:
            yield from rebuilt(self._store, self._header, Part(span.first, span.stop), cases)
        except RunFolderError as error:
            raise RunFolderError(
                f"{error}. Delete that file, and its cases are measured again"
            ) from error

    def begin(self, span: Span) -> None:
        """Go to a gap; all that was added is written."""
        self._flush()
        self._writer = PartWriter(self._store, self._header, span.first, self._cases)

    def add(self, rows: Sequence[CaseResult], beside: Sequence[Mapping[str, Any]] = ()) -> None:
        """Take the next cases of the gap; write every part that is full."""
        if self._writer is None:
            raise TypeError("begin a span before cases are added to it")
        self._writer.add(rows, beside)

    def save(self, spending: Spending) -> None:
        """Keep what was spent so far."""
        if spending != self._spent:
            self._store.write(SPENT, dump_document(msgspec.to_builtins(spending)))
            self._spent = spending

    def close(
        self, *, summary: Mapping[str, Any], gates: Sequence[Mapping[str, Any]] = ()
    ) -> None:
        """Write the rest, summary and gates, and seal it all."""
        self._flush()
        close_parts(self._store, self._header, summary=summary, gates=gates)

    def _flush(self) -> None:
        if self._writer is not None:
            self._writer.flush()

    def __enter__(self) -> Self:
        return self

    def __exit__(
        self,
        kind: type[BaseException] | None,
        error: BaseException | None,
        trace: TracebackType | None,
    ) -> None:
        # What was measured before the run stopped, and perhaps paid for, is not lost.
        if self._writer is not None:
            writer, self._writer = self._writer, None
            writer.flush()


def is_parts_folder(place: str | os.PathLike[str]) -> bool:
    """Whether a run in parts is there; False where it cannot be told."""
    from closecall.errors import ClosecallError
    from closecall.runs.parts.documents import is_parts, read_document

    try:
        store = open_store(place)
        return store.exists(files.RUN) and is_parts(read_document(store, files.RUN))
    except ClosecallError:
        return False

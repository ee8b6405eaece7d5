"""Where a run is written while it goes on: a run folder, or whatever offers the same.

A destination may hold any of its cases already, in any order, as where several processes worked
on it. The work fills the gaps, and reads what is there at its place between them, so that the
counts of a run are those of one pass from the first case to the last.
"""

from __future__ import annotations

import os
from collections.abc import Iterable, Iterator, Mapping, Sequence
from pathlib import Path
from types import TracebackType
from typing import Any, NamedTuple, Protocol, Self, runtime_checkable

from closecall.metrics.base import Metric
from closecall.records import Case
from closecall.runs import sinks
from closecall.runs.folder import RunFolder
from closecall.runs.header import RunHeader
from closecall.runs.reader import is_parts, open_run
from closecall.runs.record import Run
from closecall.runs.results import CaseResult
from closecall.runs.room import require_room
from closecall.runs.sealing import repair_seal
from closecall.runs.spending import Spending
from closecall.runs.spent_file import SpentFile, read_spending
from closecall.runs.stored import header_of, load_run, rebuild


class Span(NamedTuple):
    """Cases by position in the data set, from ``first`` up to ``stop``; ``kept``: are there."""

    first: int
    stop: int
    kept: bool


class Writing(Protocol):
    """A run being written. Left without ``close`` it stays open, and can be gone on with."""

    def spans(self) -> list[Span]:
        """Return what is there and what is missing, in order, from the first case to the last."""
        ...

    def existing(self, span: Span, cases: Iterable[Case]) -> Iterator[CaseResult]:
        """Yield the cases of a span that is there, with their results."""
        ...

    def begin(self, span: Span) -> None:
        """Go to the beginning of a span that is missing; all that was added is written."""
        ...

    def add(self, rows: Sequence[CaseResult], beside: Sequence[Mapping[str, Any]]) -> None:
        """Write the next cases of the span, each with what a merge needs to know of it."""
        ...

    def save(self, spending: Spending) -> None:
        """Keep what was spent so far."""
        ...

    def close(self, *, summary: Mapping[str, Any], gates: Sequence[Mapping[str, Any]]) -> None:
        """Write the rest, the summary and the gates, and seal it."""
        ...

    def __enter__(self) -> Self: ...

    def __exit__(
        self,
        kind: type[BaseException] | None,
        error: BaseException | None,
        trace: TracebackType | None,
    ) -> None: ...


@runtime_checkable
class Destination(Protocol):
    """A place for one run."""

    @property
    def place(self) -> str:
        """Where it is, for people."""
        ...

    @property
    def beside(self) -> bool:
        """Whether every case is kept with what a merge needs to know of it, shard or not."""
        ...

    def header(self) -> RunHeader:
        """Return the header of the run that is there."""
        ...

    def spent(self) -> Spending | None:
        """Return what that run has spent, as far as it says."""
        ...

    def require_room(
        self, header: RunHeader, metrics: Sequence[Metric], cases: Iterable[Case]
    ) -> None:
        """Refuse a run that would not fit."""
        ...

    def create(self, header: RunHeader) -> Writing:
        """Begin a run."""
        ...

    def resume(self, header: RunHeader) -> Writing:
        """Go on with the run that is there."""
        ...

    def load(self, *, counts: bool = True) -> Run:
        """Return the run that is there."""
        ...

    def problems(self) -> list[str]:
        """Return what is wrong with a run that had ended; what its writer left undone is done."""
        ...


class FolderDestination:
    """A run folder on this machine."""

    beside = False

    def __init__(self, path: Path) -> None:
        self.path = path
        self.place = str(path)

    def header(self) -> RunHeader:
        """Return the header of the run that is there."""
        return header_of(self.path)

    def spent(self) -> Spending | None:
        """Return what that run has spent, as far as it says."""
        return read_spending(self.path)

    def require_room(
        self, header: RunHeader, metrics: Sequence[Metric], cases: Iterable[Case]
    ) -> None:
        """Refuse a run that the format's limits would not let close."""
        require_room(header, metrics, cases)

    def create(self, header: RunHeader) -> FolderWriting:
        """Begin a run in a new or empty folder."""
        folder = RunFolder.create(
            self.path,
            sinks.run_json(header),
            sinks.declared(header.metrics),
            paths=[plan.id for plan in header.metrics],
            runs=header.runs,
        )
        return FolderWriting(folder, header)

    def resume(self, header: RunHeader) -> FolderWriting:
        """Go on with the run that is there."""
        return FolderWriting(RunFolder.resume(self.path), header)

    def load(self, *, counts: bool = True) -> Run:
        """Return the run that is there."""
        return load_run(self.path, counts=counts)

    def problems(self) -> list[str]:
        """Return what is wrong with a run that had ended; a seal that is missing is made."""
        repair_seal(self.path)
        return open_run(self.path).verify()


class FolderWriting:
    """An open run folder, which holds the first of its cases."""

    def __init__(self, folder: RunFolder, header: RunHeader) -> None:
        self._folder, self._header = folder, header
        self._sink = sinks.FolderSink(folder, header)
        self._spent = SpentFile(folder.path)

    def spans(self) -> list[Span]:
        """Return what is there, and the rest."""
        first = self._header.first
        done, stop = first + self._folder.done, first + self._header.cases
        return [Span(first, done, kept=True), Span(done, stop, kept=False)]

    def existing(self, span: Span, cases: Iterable[Case]) -> Iterator[CaseResult]:
        """Yield the cases that are there, with their results."""
        del span
        return rebuild(self._header, self._folder, cases)

    def begin(self, span: Span) -> None:
        """Go on after the last case; there is no other place."""

    def add(self, rows: Sequence[CaseResult], beside: Sequence[Mapping[str, Any]]) -> None:
        """Append the next cases."""
        self._sink.add(rows, beside)

    def save(self, spending: Spending) -> None:
        """Keep what was spent so far."""
        self._spent.save(spending)

    @property
    def held(self) -> Iterable[CaseResult] | None:
        """All cases of the run as they would be read; None where they are too many to hold."""
        return self._sink.held if self._sink.held.holds else None

    def close(self, *, summary: Mapping[str, Any], gates: Sequence[Mapping[str, Any]]) -> None:
        """Write the summary and the gates, and seal the folder."""
        self._folder.close(summary=summary, gates=gates)

    def __enter__(self) -> Self:
        return self

    def __exit__(
        self,
        kind: type[BaseException] | None,
        error: BaseException | None,
        trace: TracebackType | None,
    ) -> None:
        self._folder.__exit__(kind, error, trace)


def destination_of(place: Destination | str | os.PathLike[str]) -> Destination:
    """Return a destination as it is, and a path as a run folder, or the run in parts there."""
    if isinstance(place, Destination):
        return place
    if is_parts(Path(place)):
        from closecall.runs.parts.folder import PartsFolder

        return PartsFolder(place)
    return FolderDestination(Path(place))

"""A run read back from its parts, case by case."""

from __future__ import annotations

from collections.abc import Iterable, Iterator
from pathlib import Path
from typing import NamedTuple

import msgspec

from closecall.errors import RunFolderError
from closecall.records import Case
from closecall.runs import files
from closecall.runs.caselines import read_responses
from closecall.runs.gate_lines import Decided, decisions_of
from closecall.runs.header import RunHeader
from closecall.runs.parts.documents import (
    header_in,
    read_document,
    read_lines,
    run_document_of,
)
from closecall.runs.parts.parquet import read_part
from closecall.runs.parts.ranges import Part, parts_in, spans, whole
from closecall.runs.parts.rows import RECORD, Record, parse_record, read_row
from closecall.runs.record import Run
from closecall.runs.results import CaseResult
from closecall.runs.spending import Spending
from closecall.runs.spent_file import SPENT
from closecall.runs.stored import answered_in, usage_in, watched_in
from closecall.runs.summary import RunTally
from closecall.runs.trial_lines import NOT_A_ROW, row_of
from closecall.storage import Store
from closecall.storage.places import is_url


class Kept(NamedTuple):
    """A case as it was kept, and its lines."""

    row: CaseResult
    record: Record


def load_parts(store: Store, *, counts: bool = True) -> Run:
    """Return the run in a parts folder, to report on or to look at.

    Parameters
    ----------
    counts
        False leaves the counts empty, which saves a pass over the parts.

    Raises
    ------
    RunFolderError
        There is no run in parts, or a part cannot be understood; the message names it.
    """
    document = run_document_of(store)
    header = header_in(store, document)
    closed = document["status"] == "completed"

    def rows() -> Iterator[CaseResult]:
        return (kept.row for kept in kept_cases(store, header, closed=closed))

    tally = RunTally.of(header)
    if counts:
        for row in rows():
            tally.add([row])
    summary = read_document(store, files.SUMMARY) if closed else None
    place = f"{store.place}/{files.SUMMARY}"
    decided = Decided()
    if closed and store.exists(files.GATES):
        decided = decisions_of(read_lines(store, files.GATES), f"{store.place}/{files.GATES}")
    return Run(
        header=header,
        metrics=tally.summaries(),
        cases=tally.counts(header.dataset.bad_rows),
        folder=None if is_url(store.place) else Path(store.place),
        url=store.place if is_url(store.place) else None,
        watched=watched_in(summary, place),
        cascade=tally.cascade(),
        repeats=tally.repeats(),
        usage=usage_in(summary, place),
        answered=answered_in(summary, place),
        spending=spending_in(store),
        gates=decided.results,
        gates_code=decided.code,
        _rows=rows,
    )


def kept_cases(store: Store, header: RunHeader, *, closed: bool = True) -> Iterator[Kept]:
    """Yield the cases of a run, in order; of an open one those that are there.

    Raises
    ------
    RunFolderError
        A part is missing, or cannot be understood.
    """
    first, stop = header.first, header.first + header.cases
    parts = parts_in(store)
    if closed:
        used = whole(parts, first, stop, store.place)
    else:
        used = [Part(one.first, one.stop) for one in spans(parts, first, stop) if one.kept]
    for part in used:
        yield from cases_of(store, header, part)


def cases_of(store: Store, header: RunHeader, part: Part) -> Iterator[Kept]:
    """Yield the cases of one part, in order."""
    for place, record in records_in(store, header, part):
        yield Kept(understood(place, header, record), record)


def records_in(store: Store, header: RunHeader, part: Part) -> Iterator[tuple[str, Record]]:
    """Yield the lines of each case of a part, after the place they stand at."""
    place = f"{store.place}/{part.name}"
    with store.open(part.name) as file:
        for row in read_part(file, header, part, place):
            where = f"{place}, case {row['position']}"
            try:
                yield where, parse_record(row[RECORD])
            except ValueError as error:
                raise RunFolderError(f"{where}: {error}") from error


def rebuilt(
    store: Store, header: RunHeader, part: Part, cases: Iterable[Case]
) -> Iterator[CaseResult]:
    """Yield cases of the data set with the results that a part holds of them.

    Raises
    ------
    RunFolderError
        A result is not one of the case at its place.
    """
    for case, (place, record) in zip(cases, records_in(store, header, part), strict=False):
        kept = understood(place, header, record)
        if kept.case.id != case.id and record.case.get("caseId", kept.case.id) != case.id:
            raise RunFolderError(
                f"{place}: holds case {kept.case.id!r}, but the case at that place is {case.id!r}"
            )
        yield row_of(header, case, record.results, read_responses(record.case))


def understood(place: str, header: RunHeader, record: Record) -> CaseResult:
    """Return the case that a record at that place is of.

    Raises
    ------
    RunFolderError
        It is none of this run; the message begins with the place.
    """
    try:
        return read_row(header, record)
    except NOT_A_ROW as error:
        reason = error if isinstance(error, ValueError) else repr(error)
        raise RunFolderError(f"{place}: cannot be understood: {reason}") from error


def spending_in(store: Store) -> Spending | None:
    """Return what a run has spent; None where it does not say."""
    if not store.exists(SPENT):
        return None
    try:
        return msgspec.convert(read_document(store, SPENT), Spending)
    except msgspec.ValidationError as error:
        raise RunFolderError(f"{store.place}/{SPENT}: cannot be understood: {error}") from error

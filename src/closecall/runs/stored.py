"""A run read back from its folder."""

from __future__ import annotations

import os
from collections.abc import Iterable, Iterator, Sequence
from itertools import islice
from pathlib import Path
from typing import TYPE_CHECKING, Any

import msgspec

from closecall.errors import RunFolderError
from closecall.records import Case
from closecall.runs import files
from closecall.runs.case_order import Order
from closecall.runs.folder import RunFolder
from closecall.runs.gate_lines import read_decisions
from closecall.runs.header import RunHeader, ended
from closecall.runs.lines import EXT
from closecall.runs.reader import RunReader, is_parts, open_run
from closecall.runs.record import Answers, Run
from closecall.runs.recovery import require_same_case
from closecall.runs.results import CaseResult
from closecall.runs.spending import Count
from closecall.runs.spent_file import read_spending
from closecall.runs.summary import RunTally
from closecall.runs.trial_lines import NOT_A_ROW, order_of, row_of
from closecall.runs.wire import Document

if TYPE_CHECKING:
    from closecall.embedders.base import Usage
    from closecall.runs.monitor import Watched


def header_of(folder: str | os.PathLike[str]) -> RunHeader:
    """Return the header of the run in this folder, finished or not."""
    return header_in(open_run(folder))


def load_run(folder: str | os.PathLike[str], *, counts: bool = True) -> Run:
    """Return the run in this folder, to report on or to look at.

    Parameters
    ----------
    counts
        False leaves the counts empty, which saves a pass over the results.

    Raises
    ------
    RunFolderError
        The folder holds no run of closecall, or a line of it cannot be understood.
    """
    if is_parts(Path(folder)):
        from closecall.runs.parts.stored import load_parts
        from closecall.storage import open_store

        return load_parts(open_store(folder), counts=counts)
    reader = open_run(folder)
    header = header_in(reader)

    def rows() -> Iterator[CaseResult]:
        return _rows(reader, header)

    tally = RunTally.of(header)
    if counts:
        for row in rows():
            tally.add([row])
    decided = read_decisions(reader)
    summary = str(reader.path / files.SUMMARY)
    return Run(
        header=header,
        metrics=tally.summaries(),
        cases=tally.counts(header.dataset.bad_rows),
        folder=Path(folder),
        watched=watched_in(reader.summary, summary),
        cascade=tally.cascade(),
        repeats=tally.repeats(),
        usage=usage_in(reader.summary, summary),
        answered=answered_in(reader.summary, summary),
        spending=read_spending(reader.path),
        gates=decided.results,
        gates_code=decided.code,
        _rows=rows,
    )


def rebuild(header: RunHeader, folder: RunFolder, cases: Iterable[Case]) -> Iterator[CaseResult]:
    """Yield the cases with the results that a resumed folder already holds.

    Raises
    ------
    RunFolderError
        A line is of this run and case, but cannot be understood; the message names it.
    """
    groups = _groups(folder.existing(), order_of(header))
    for case, (number, own) in zip(cases, groups, strict=False):
        yield _understood(folder.path, number, header, case, own)


def watched_in(summary: Document | None, place: str) -> tuple[Watched, ...]:
    """Return what the monitor found, as a summary.json tells; its place is for messages."""
    found = _own(summary, "watched")
    if found is None:
        return ()
    from closecall.runs.monitor import from_json

    try:
        return from_json(found)
    except (TypeError, msgspec.ValidationError) as error:
        raise RunFolderError(f"{place}: ext: {error}") from error


def usage_in(summary: Document | None, place: str) -> Usage | None:
    """Return what a provider reported; of a run that was resumed, in the part that ended it."""
    found = _own(summary, "usage")
    if found is None:
        return None
    from closecall.embedders.base import Usage

    try:
        return Usage(**msgspec.convert(found, dict[str, Count]))
    except (TypeError, msgspec.ValidationError) as error:
        raise RunFolderError(f"{place}: ext.usage: {error}") from error


def answered_in(summary: Document | None, place: str) -> Answers | None:
    """Return what a subject answered."""
    found = _own(summary, "answered")
    if found is None:
        return None
    try:
        return msgspec.convert(found, Answers)
    except msgspec.ValidationError as error:
        raise RunFolderError(f"{place}: ext.answered: {error}") from error


def _own(summary: Document | None, name: str) -> Any:
    ext = (summary or {}).get("ext")
    own = ext.get(EXT) if isinstance(ext, dict) else None
    return own.get(name) if isinstance(own, dict) else None


def header_in(reader: RunReader) -> RunHeader:
    """Return the header of the run that a reader has open, in closecall's own words."""
    try:
        header = RunHeader.from_json(reader.header["config"][EXT])
    except (KeyError, TypeError, msgspec.ValidationError) as error:
        raise RunFolderError(
            f"{reader.path / 'run.json'}: not a run of closecall: {error}"
        ) from error
    return ended(header, reader.header.get("endedAt"), str(reader.path / "run.json"))


def _rows(reader: RunReader, header: RunHeader) -> Iterator[CaseResult]:
    return (row for _, _, row in rows_with_lines(reader, header))


def rows_with_lines(
    reader: RunReader, header: RunHeader
) -> Iterator[tuple[int, list[Document], CaseResult]]:
    """Yield each case after its lines and the number of the first of them.

    Of an open run, those that are there in full.

    The texts and the results of a case stand in two files at the same place, and only their ids
    show that they belong together.
    """
    done = 0
    texts = reader.filed_cases() if files.exists(reader.path, files.CASES) else None
    for number, own in complete(reader, order_of(header)):
        filed = own[0]["caseId"]
        responses: Sequence[str | None] = ()
        if texts is None:
            case = Case(id=filed)
        else:
            found = next(texts, None)
            if found is None and reader.running:
                return  # the power failed before the texts were on the disk
            if found is None:
                raise RunFolderError(
                    f"{reader.path / files.CASES}:{done + 1}: case {filed!r} is missing, but its "
                    "results are there"
                )
            require_same_case(reader.path, done + 1, found[0], filed)
            _, case, responses = found
        yield number, own, _understood(reader.path, number, header, case, own, responses=responses)
        done += 1
    if texts is not None and not reader.running and next(texts, None) is not None:
        raise RunFolderError(f"{reader.path / files.CASES}:{done + 1}: a case without results")


def _groups(lines: Iterator[Document], order: Order) -> Iterator[tuple[int, list[Document]]]:
    """Yield the results of each case, which stand side by side, and the line they begin at.

    The last case may lack some.
    """
    number = 1
    for first in lines:
        size = order.lines(repeated=order.is_repeated(first))
        own = [first, *islice(lines, size - 1)]
        yield number, own
        number += len(own)


def complete(reader: RunReader, order: Order) -> Iterator[tuple[int, list[Document]]]:
    """Yield the results of each case; of an open run, those that are there in full."""
    place = reader.path / files.RESULTS
    for number, own in _groups(reader.results(), order):
        size = order.lines(repeated=order.is_repeated(own[0]))
        if len(own) < size and reader.running:
            return
        filed = own[0]["caseId"]
        for offset, line in enumerate(own):
            if line["caseId"] != filed:
                raise RunFolderError(
                    f"{place}:{number + offset}: a result of case {line['caseId']!r} among those "
                    f"of case {filed!r}"
                )
        if len(own) < size:
            raise RunFolderError(
                f"{place}:{number}: case {filed!r} has {len(own)} results, not {size}: one for "
                f"each of the {len(order.paths)} metrics{_in_runs(size, order)}"
            )
        yield number, own


def _in_runs(size: int, order: Order) -> str:
    return f" in each of {order.runs} runs, and over them" if size > len(order.paths) else ""


def _understood(
    root: Path,
    number: int,
    header: RunHeader,
    case: Case,
    own: list[Document],
    *,
    responses: Sequence[str | None] = (),
) -> CaseResult:
    """Return a case whose results begin at that line, or say why they cannot be understood."""
    try:
        return row_of(header, case, own, responses)
    except NOT_A_ROW as error:
        raise RunFolderError(
            f"{root / files.RESULTS}:{number}: the results of case {own[0].get('caseId')!r} "
            f"cannot be read: {error!r}"
        ) from error

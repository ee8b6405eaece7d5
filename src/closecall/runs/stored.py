"""A run read back from its folder."""

from __future__ import annotations

import os
from collections.abc import Iterable, Iterator
from itertools import islice
from pathlib import Path

import msgspec

from closecall.errors import RunFolderError
from closecall.records import Case
from closecall.runs.folder import RunFolder
from closecall.runs.header import RunHeader
from closecall.runs.lines import EXT, case_result
from closecall.runs.reader import RunReader, open_run
from closecall.runs.record import Run
from closecall.runs.results import CaseResult
from closecall.runs.summary import RunTally


def header_of(folder: str | os.PathLike[str]) -> RunHeader:
    """Return the header of the run in this folder, finished or not."""
    return _header(open_run(folder))


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
    reader = open_run(folder)
    header = _header(reader)

    def rows() -> Iterator[CaseResult]:
        return _rows(reader, header)

    tally = RunTally(header.metrics)
    if counts:
        for row in rows():
            tally.add([row])
    return Run(
        header=header,
        metrics=tally.summaries(),
        cases=tally.counts(header.dataset.bad_rows),
        folder=Path(folder),
        _rows=rows,
    )


def rebuild(header: RunHeader, folder: RunFolder, cases: Iterable[Case], tally: RunTally) -> None:
    """Count the results a resumed folder already holds, in bounded memory."""
    lines = folder.existing()
    for case in cases:
        own = list(islice(lines, len(header.metrics)))
        tally.add([case_result(header, case, own)])


def _header(reader: RunReader) -> RunHeader:
    try:
        header = RunHeader.from_json(reader.header["config"][EXT])
    except (KeyError, TypeError, msgspec.ValidationError) as error:
        raise RunFolderError(
            f"{reader.path / 'run.json'}: not a run of closecall: {error}"
        ) from error
    ended = reader.header.get("endedAt")
    return msgspec.structs.replace(header, ended_at=ended)


def _rows(reader: RunReader, header: RunHeader) -> Iterator[CaseResult]:
    cases, lines = reader.cases(), reader.results()
    while own := list(islice(lines, len(header.metrics))):
        # Without kept texts (content off) only the id is known.
        case = next(cases, None) or Case(id=own[0]["caseId"])
        try:
            yield case_result(header, case, own)
        except (KeyError, TypeError, ValueError, StopIteration, msgspec.ValidationError) as error:
            raise RunFolderError(
                f"{reader.path}: the results of case {own[0].get('caseId')!r} cannot be read: "
                f"{error!r}"
            ) from error

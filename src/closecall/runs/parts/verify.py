"""Checking a parts folder from end to end, without believing anything it says of itself."""

from __future__ import annotations

from collections.abc import Iterator
from itertools import islice
from typing import TYPE_CHECKING

from closecall.errors import ClosecallError, RunFolderError
from closecall.runs import files
from closecall.runs.gate_lines import line_problems
from closecall.runs.parts.documents import DOCUMENTS, read_lines
from closecall.runs.parts.parquet import read_part
from closecall.runs.parts.ranges import Part
from closecall.runs.parts.rows import RECORD, columns_of, parse_record, values_of
from closecall.runs.parts.sealing import seal_problems, strangers
from closecall.runs.parts.stored import understood
from closecall.runs.recheck import Recheck
from closecall.runs.verify import (
    NOT_UNDERSTOOD,
    SummaryCheck,
    header_problems,
    not_understood,
    told,
)
from closecall.seen import Seen, mark_of

if TYPE_CHECKING:
    from closecall.runs.parts.reader import PartsReader


def verify_parts(run: PartsReader) -> list[str]:
    """Return the problems of a parts folder, empty when all of it holds.

    Every part is read in full: its columns against its lines, the ids, the counts of the summary
    (recomputed exactly), and the seal. Holds 8 bytes a score and 16 a case.
    """
    return told(_problems(run))


def _problems(run: PartsReader) -> Iterator[str]:
    place = run.store.place
    try:
        for name in strangers(run.store.names(), DOCUMENTS):
            yield f"{place}/{name}: does not belong in a run in parts"
        # First, as it says which file was changed, and one byte may leave many lines in the wrong.
        yield from seal_problems(run.store, run.header)
        yield from header_problems(run)
        summary = SummaryCheck(run)
        yield from summary.problems
        parts = run.parts()
        again = Recheck(run, run.run_header)
        yield from again.header_problems()
        yield from _part_problems(run, parts, summary, again)
        yield from again.compare()
        if not run.running and run.store.exists(files.GATES):
            yield from line_problems(
                read_lines(run.store, files.GATES), f"{place}/{files.GATES}", _result_ids(run)
            )
        yield from summary.compare()
    except ClosecallError as error:
        yield str(error)
    except NOT_UNDERSTOOD as error:
        yield not_understood(place, error)


def _result_ids(run: PartsReader) -> Iterator[str]:
    return (str(line["resultId"]) for line in run.results())


def _part_problems(
    run: PartsReader, parts: list[Part], summary: SummaryCheck, again: Recheck
) -> Iterator[str]:
    header = run.run_header
    names = columns_of(header)
    seen = Seen()
    for part in parts:
        place = f"{run.store.place}/{part.name}"
        with run.store.open(part.name) as file:
            for row in read_part(file, header, part, place, names):
                where = f"{place}, case {row['position']}"
                try:
                    record = parse_record(row[RECORD])
                except ValueError as error:
                    raise RunFolderError(f"{where}: {error}") from error
                kept = understood(where, header, record)
                for line in record.results:
                    summary.add(line)
                yield from again.add(where, kept, record.results)
                expected = dict(
                    zip(names, values_of(header, row["position"], kept, record), strict=True)
                )
                differing = [name for name in names if row[name] != expected[name]]
                if differing:
                    listed = ", ".join(islice(differing, 3))
                    yield f"{where}: {listed} says otherwise than the record beside it"
                if not seen.add(mark_of(kept.case.id)):
                    yield f"{where}: the case {kept.case.id!r} stands there twice"

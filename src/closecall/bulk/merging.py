"""Shards put together as the one run they are parts of: the same lines, counts and verdict."""

from __future__ import annotations

import dataclasses
import os
from collections.abc import Callable, Iterator, Sequence
from contextlib import ExitStack
from itertools import islice
from pathlib import Path
from typing import TYPE_CHECKING

import msgspec

from closecall.bulk.counting import Counted, Recount, Totals, total_of
from closecall.bulk.places import cleared, emptied, nothing_left, require_apart, said_of_a_merge
from closecall.bulk.shards import PathLike, Source, opened_shards
from closecall.errors import CalibrationFileError, RunFolderError, UsageError
from closecall.runs import sinks
from closecall.runs.caselines import BESIDE
from closecall.runs.evaluate import FAST, new_run_id
from closecall.runs.folder import RunFolder
from closecall.runs.header import RunHeader
from closecall.runs.parts.documents import begin
from closecall.runs.parts.folder import PartsFolder
from closecall.runs.parts.rows import Record
from closecall.runs.parts.sealing import close_parts
from closecall.runs.parts.stored import Kept
from closecall.runs.parts.writing import PartWriter
from closecall.runs.preparing import monitor_of
from closecall.runs.record import Run
from closecall.runs.results import CaseResult
from closecall.runs.room import require_lines
from closecall.runs.spent_file import SPENT, SpentFile
from closecall.runs.stored import load_run
from closecall.runs.values import later
from closecall.runs.wire import dump_document
from closecall.seen import Seen, mark_of
from closecall.storage import is_url
from closecall.there import exists

if TYPE_CHECKING:
    from closecall.runs.calibrations import Calibrations, Given
    from closecall.runs.monitor import Monitor

_TOGETHER = 256
"""Cases copied in one go."""


def merge_runs(
    places: Sequence[PathLike],
    to: PathLike | PartsFolder,
    *,
    calibration: Calibrations | None = None,
    run_id: str | None = None,
    watch: Callable[[RunHeader], Callable[[list[CaseResult]], None]] | None = None,
    progress: Callable[[int, int], None] | None = None,
) -> Run:
    """Make one run of all its shards.

    Its lines are those that one process would have written, but for the run's id, the ids made of
    it and the times; so are counts, summary, what is watched for calibrations, and the verdict.
    Memory: a few cases, and what ``evaluate`` holds of each to count it and to know its id.

    Parameters
    ----------
    places
        Every shard once, in any order: run folders, parts folders, their URLs. Or one whole run,
        which is copied from one kind into the other with what it found and decided at its end.
    to
        A new run folder, or a ``PartsFolder``.
    calibration
        The calibrations of the shards, where they no longer lie at their paths.
    run_id
        Of the merged run; None: a new one, or that of the whole run.
    watch
        Decides the gates, which the shards were measured with; see ``runs.work.Watch``.
    progress
        Called with (cases done, cases in all).

    Raises
    ------
    UsageError
        A shard is missing, given twice, or no shard; the run would not fit in a run folder, or
        the place lies within a shard.
    NotComparableError
        They are not of one question.
    RunFolderError
        A shard is not finished or damaged, or the place is taken. Nothing is left there then.
    CalibrationFileError
        A calibration is not there, or another.
    """
    require_apart(places, to.place if isinstance(to, PartsFolder) else os.fspath(to))
    with ExitStack() as held:
        shards = opened_shards(places, held)
        header = _header(shards, run_id)
        kept = shards[0].ended
        monitor = None if kept is not None else _monitor(header, calibration)
        count = Recount(header, monitor, watch, kept)
        cases = _counted(shards, count, progress or (lambda _done, _total: None))
        ended = _ended(shards)
        totals = total_of([shard.totals for shard in shards])
        if isinstance(to, PartsFolder):
            return _into_parts(to, header, cases, count, totals, ended)
        if is_url(to):
            raise UsageError(
                f"{os.fspath(to)}: a run folder is merged on this machine; give a folder, or "
                "--parts for a run in parts at a URL"
            )
        require_lines(header)
        return _into_folder(Path(to), header, cases, count, totals, ended)


def _header(shards: Sequence[Source], run_id: str | None) -> RunHeader:
    first = shards[0].header
    if run_id is None:
        run_id = first.run_id if first.shard is None else new_run_id()
    started = min(shard.header.started_at for shard in shards)
    return msgspec.structs.replace(
        first, run_id=run_id, started_at=started, ended_at=None, shard=None
    )


def _ended(shards: Sequence[Source]) -> str:
    ended = ""
    for shard in shards:
        own = shard.header.ended_at or shard.header.started_at
        ended = later(ended, own) if ended else own
    return ended


def _counted(
    shards: Sequence[Source], count: Recount, progress: Callable[[int, int], None]
) -> Iterator[list[Kept]]:
    """Yield the cases of all shards in order, some at a time, each counted."""
    done, total = 0, count.header.cases
    seen = Seen()
    for shard in shards:
        cases, own = shard.cases(), 0
        while batch := list(islice(cases, _TOGETHER)):
            for kept in batch:
                if not seen.add(mark_of(kept.row.case.id)):
                    raise RunFolderError(
                        f"{shard.place}: the case {kept.row.case.id!r} stands there twice, or in "
                        "an earlier shard; no two of a run share one. Measure this shard anew"
                    )
            count.add_all(batch)
            own += len(batch)
            done += len(batch)
            yield batch
            progress(done, total)
        if own != shard.shard.cases:
            raise RunFolderError(
                f"{shard.place}: {shard.shard} holds {own:,} cases, its range "
                f"{shard.shard.cases:,}"
            )


def _monitor(header: RunHeader, calibration: Calibrations | None) -> Monitor | None:
    plans = [plan for plan in header.metrics if plan.calibration is not None]
    if not plans or header.asked.get(FAST):
        return None
    from closecall.runs.calibrations import load_calibrations

    given = calibration
    if given is None:
        given = [plan.calibration.path for plan in plans if plan.calibration is not None]
        if not all(given):
            raise CalibrationFileError(
                "a calibration of the shards was given in Python, so no file of it is known; name "
                "it: --calibration FILE (in Python: calibration=)"
            )
    made = {one.metric: one for one in load_calibrations(given)}
    used: list[Given] = []
    for plan in plans:
        then, found = plan.calibration, made.get(plan.id)
        if then is not None and (found is None or found.made.digest != then.digest):
            now = "is not among those given" if found is None else f"is {found.made.digest[:12]}"
            raise CalibrationFileError(
                f"the calibration of {plan.id} was {then.digest[:12]} in the shards and {now} "
                "now. Put its file back, or name it: --calibration FILE"
            )
        if found is not None:
            used.append(found)
    return monitor_of(used, header.metrics, cascade=header.cascade, texts=header.content)


def _into_folder(  # noqa: PLR0917 - what the merge comes to
    place: Path,
    header: RunHeader,
    cases: Iterator[list[Kept]],
    count: Recount,
    totals: Totals,
    ended: str,
) -> Run:
    made = not exists(place)
    with said_of_a_merge():
        folder = RunFolder.create(
            place,
            sinks.run_json(header),
            sinks.declared(header.metrics),
            paths=[plan.id for plan in header.metrics],
            runs=header.runs,
        )
    with nothing_left(lambda: cleared(place, folder=made)), folder:
        for batch in cases:
            folder.append_case([_plain(kept.record) for kept in batch], as_kept=True)
            folder.append(
                [line for kept in batch for line in kept.record.under(header.run_id).results]
            )
        counted = count.finish(totals)
        if totals.spending is not None:
            SpentFile(place).save(totals.spending)
        folder.close(summary=counted.summary, gates=counted.gates, ended_at=ended)
    return _finished(counted, load_run(place, counts=False))


def _plain(record: Record) -> dict[str, object]:
    """Return the line of a case as one run writes it, which has nothing to note for a merge."""
    return {name: value for name, value in record.case.items() if name != BESIDE}


def _into_parts(  # noqa: PLR0917 - same
    to: PartsFolder,
    header: RunHeader,
    cases: Iterator[list[Kept]],
    count: Recount,
    totals: Totals,
    ended: str,
) -> Run:
    store = to.store(create=True)
    with said_of_a_merge():
        begin(store, header, to.cases)
    with nothing_left(lambda: emptied(store)):
        writer = PartWriter(store, header, 0, to.cases)
        for batch in cases:
            for kept in batch:
                writer.add_record(kept.record.under(header.run_id))
        writer.flush()
        counted = count.finish(totals)
        if totals.spending is not None:
            store.write(SPENT, dump_document(msgspec.to_builtins(totals.spending)))
        close_parts(store, header, summary=counted.summary, gates=counted.gates, ended_at=ended)
    return _finished(counted, to.load(counts=False))


def _finished(counted: Counted, stored: Run) -> Run:
    return dataclasses.replace(
        counted.run,
        header=stored.header,
        folder=stored.folder,
        url=stored.url,
        _rows=stored.__iter__,
    )

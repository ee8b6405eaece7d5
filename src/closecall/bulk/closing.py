"""Closing a run whose parts were written by others: counted, decided and sealed in one pass."""

from __future__ import annotations

import dataclasses
from collections.abc import Callable, Sequence
from typing import TYPE_CHECKING

import msgspec

from closecall.bulk.counting import Recount, Totals, total_of
from closecall.runs.header import RunHeader
from closecall.runs.parts.sealing import close_parts
from closecall.runs.parts.stored import kept_cases, load_parts
from closecall.runs.record import Run
from closecall.runs.results import CaseResult
from closecall.runs.spent_file import SPENT
from closecall.runs.wire import dump_document
from closecall.storage import Store

if TYPE_CHECKING:
    from closecall.runs.monitor import Monitor


def close(
    store: Store,
    header: RunHeader,
    *,
    totals: Sequence[Totals] = (),
    monitor: Monitor | None = None,
    watch: Callable[[RunHeader], Callable[[list[CaseResult]], None]] | None = None,
    ended_at: str | None = None,
) -> Run:
    """Count all parts of a run in order, decide its gates, and seal its folder.

    The counts, the summary, what the monitor finds and the exit code are those of one process that
    measured every case itself. Memory: one case, and what ``evaluate`` holds of each to count it.

    Parameters
    ----------
    store
        The parts folder, still open, with every case of the run or of its shard.
    header
        As run.json has it.
    totals
        What each block spent (``blocks.Block.totals``).
    monitor
        ``runs.preparing.monitor_of`` of the calibrations and plans of the header; None: none.
    watch
        What decides the gates, such as ``cli.gating.GateWatch``; see ``runs.work.Watch``.
    ended_at
        The run's end; None: now.

    Raises
    ------
    RunFolderError
        Cases are missing, or a part cannot be understood.
    """
    count = Recount(header, monitor, watch)
    count.add_all(kept_cases(store, header))
    total = total_of(totals)
    counted = count.finish(total)
    if total.spending is not None:
        store.write(SPENT, dump_document(msgspec.to_builtins(total.spending)))
    close_parts(store, header, summary=counted.summary, gates=counted.gates, ended_at=ended_at)
    finished = load_parts(store, counts=False)
    return dataclasses.replace(
        counted.run,
        header=msgspec.structs.replace(header, ended_at=finished.header.ended_at),
        folder=finished.folder,
        url=finished.url,
        _rows=finished.__iter__,
    )

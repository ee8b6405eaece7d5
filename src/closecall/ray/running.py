"""A run on workers from its beginning, or from where it was cut off, to its seal."""

from __future__ import annotations

import dataclasses
import os
import time
from collections.abc import Callable, Iterator
from contextlib import ExitStack, contextmanager
from functools import partial
from pathlib import Path
from typing import Any, NamedTuple

import msgspec

from closecall._version import __version__
from closecall.bulk.closing import close
from closecall.bulk.counting import Totals, total_of
from closecall.datasets import Dataset
from closecall.errors import RunFolderError, UsageError
from closecall.gates.deciding import DecidingGates, LaterGates
from closecall.gates.kept import GATES, keeping
from closecall.gates.parsing import parse_gate
from closecall.ray.asked import Asked, Workers
from closecall.ray.blocks import Block, Done, run_blocks
from closecall.ray.cluster import cluster
from closecall.ray.folders import require_folder, write_folder
from closecall.ray.parts import PartTask, require_as_written, totals_of
from closecall.ray.pool import most_workers, require_room
from closecall.ray.question import Identity, Question, travelling
from closecall.runs.asked import read_cases
from closecall.runs.evaluate import LABELS, new_run_id
from closecall.runs.header import RunHeader
from closecall.runs.hiding import without_values
from closecall.runs.parts.documents import (
    header_in,
    run_document_of,
    size_in,
)
from closecall.runs.parts.folder import PartsFolder
from closecall.runs.parts.ranges import parts_in, spans
from closecall.runs.parts.stored import spending_in
from closecall.runs.parts.writing import PART_CASES
from closecall.runs.preparing import monitor_of
from closecall.runs.record import Run
from closecall.runs.runner import BATCH_CASES, Progress
from closecall.runs.same import changes
from closecall.runs.spending import Spending
from closecall.runs.spent_file import SPENT
from closecall.runs.values import now_utc
from closecall.runs.wire import dump_document
from closecall.storage import Store, is_url

ENGINE = "engine"
"""Under which a run's header keeps that workers did it, and how many."""

BLOCKS_EACH = 4
"""Blocks a worker has at least, where there are cases for that, so that none waits for others."""


class _Begun(NamedTuple):
    """A run that is open: where it lies, its header, what is missing, what was spent before."""

    store: Store
    header: RunHeader
    missing: list[Block]
    spent: Spending | None


def run_on_workers(
    source: str,
    question: Question,
    asked: Asked,
    workers: Workers,
    *,
    progress: Progress | None = None,
    on_notice: Callable[[str], None] | None = None,
) -> Run:
    """Do a run; see ``evaluate_dataset``."""
    started = time.perf_counter()
    if asked.output is None:
        raise UsageError("output names the folder or URL where the workers write their parts")
    place = asked.output if is_url(asked.output) else str(Path(asked.output).absolute())
    chosen = question.choose(on_notice)
    if chosen.judges:
        raise UsageError(
            f"{', '.join(chosen.judges)} cannot be asked from workers: what a chat model costs "
            "and says is kept by one process. Leave out --engine ray for metrics that ask one"
        )
    require_folder(place, asked.aef, resume=asked.resume)
    data, facts = read_cases(source, asked.mapping, asked.on_bad_row, chosen.needed)
    if not isinstance(data, Dataset):
        raise TypeError("a file is a data set")
    decided = question.decided(chosen)
    sent = travelling(question, chosen)
    header = RunHeader(
        run_id=asked.run_id or new_run_id(),
        name=asked.name or Path(facts.path or "cases").name,
        started_at=now_utc(),
        ended_at=None,
        producer_version=__version__,
        dataset=facts if asked.content else without_values(facts),
        metrics=decided.plans,
        embedder=chosen.embedder_name,
        instrument=chosen.embedder.instrument,
        instrument_digest=chosen.embedder.instrument.digest,
        definition_digest=chosen.definition_digest(facts.digest, decided),
        subject=asked.subject,
        subject_version=asked.subject_version,
        content=asked.content,
        cascade=question.cascade,
        asked=_kept(asked, workers),
    )
    watch = partial(DecidingGates, asked.gates) if asked.gates else None
    if watch is not None:
        watch(header)  # refuses gates that do not fit
    monitor = monitor_of(chosen.made, header.metrics, cascade=header.cascade, texts=header.content)
    labelled = asked.labelled
    with ExitStack() as held:
        # A run is begun once there is somebody to do it, and workers come once there is work.
        if not asked.resume:
            held.enter_context(_cluster(workers))
        size = workers.part_size or _size(facts.rows, most_workers(workers.concurrency))
        begun = _begin(place, header, asked, size)
        if begun is None:
            run = _ended(place, on_notice)
            write_folder(place, asked.aef, resume=asked.resume)
            return run
        if asked.resume and begun.missing:
            held.enter_context(_cluster(workers))
        task = PartTask(
            sent,
            begun.header,
            place,
            Identity.of(chosen, decided, facts.digest),
            data,
            labelled=str(Path(labelled).absolute()) if isinstance(labelled, str) else labelled,
            gates=asked.gates,
        )
        done, total = _measure(begun, task, workers, progress, on_notice)
    run = close(begun.store, begun.header, totals=[total], monitor=monitor, watch=watch)
    require_as_written(begun.store, done)
    write_folder(place, asked.aef, resume=asked.resume)
    return dataclasses.replace(run, duration_ms=(time.perf_counter() - started) * 1000)


def _kept(asked: Asked, workers: Workers) -> dict[str, Any]:
    """Return what the header keeps for whoever goes on with the run."""
    engine = {
        "name": "ray",
        "concurrency": workers.concurrency,
        "num_cpus": workers.num_cpus,
        "num_gpus": workers.num_gpus,
        "address": workers.address,
        "aef": None if asked.aef is None else str(Path(asked.aef).absolute()),
    }
    gates = [parse_gate(one) if isinstance(one, str) else one for one in asked.gates]
    kept = {GATES: keeping(gates), **asked.kept, ENGINE: engine}
    if asked.labelled is True:
        kept[LABELS] = True
    elif isinstance(asked.labelled, str):
        kept[LABELS] = str(Path(asked.labelled).absolute())
    return kept


def _size(cases: int, workers: int | None) -> int:
    """Return how many cases a block has: whole batches, and several blocks a worker."""
    each = -(-cases // (BLOCKS_EACH * (workers or os.cpu_count() or 1)))
    whole = -(-each // BATCH_CASES) * BATCH_CASES
    return min(PART_CASES, whole)


def _begin(place: str, header: RunHeader, asked: Asked, size: int) -> _Begun | None:
    """Begin a run, or open one again; None where it had ended.

    Raises
    ------
    RunFolderError
        The place is taken, or holds a run that asked something else.
    """
    folder = PartsFolder(place, cases=size)
    if asked.resume:
        before = folder.header()
        changed = changes(before, header)
        if changed:
            raise RunFolderError(
                f"{place}: cannot go on, because this is no longer the run that was begun. "
                f"Changed: {', and '.join(changed)}. Start a new run with another --parts DIR."
            )
        if before.shard is not None:
            raise RunFolderError(f"{place}: is a shard; go on with it without workers")
        if before.ended_at is not None:
            return None
        if asked.gates:
            LaterGates(asked.gates, before)  # refuses those that its parts note nothing of
        folder.resume(before)
    else:
        folder.create(header)
    store = folder.store()
    size = size_in(run_document_of(store))
    missing = [
        Block(first, min(first - first % size + size, span.stop))
        for span in spans(parts_in(store), 0, header.cases)
        if not span.kept
        for first in _starts(span.first, span.stop, size)
    ]
    return _Begun(store, header_in(store), missing, spending_in(store))


def _starts(first: int, stop: int, size: int) -> Iterator[int]:
    """Yield where the blocks of a gap begin: at multiples of their size, and where it does."""
    yield first
    yield from range(first - first % size + size, stop, size)


def _measure(
    begun: _Begun,
    task: PartTask,
    workers: Workers,
    progress: Progress | None,
    on_notice: Callable[[str], None] | None,
) -> tuple[list[Done], Totals]:
    """Have what is missing done; return what was, and what all of it took.

    What is spent is kept block by block, so that it outlives this process.
    """
    total = begun.header.cases
    left = sum(block.stop - block.first for block in begun.missing)
    tell = progress or (lambda _done, _total: None)
    done: list[Done] = []
    took = Totals(spending=begun.spent)
    reached = total - left
    tell(reached, total)

    def take(one: Done) -> None:
        nonlocal reached, took
        done.append(one)
        before, took = took.spending, total_of([took, totals_of(one.spent)])
        if took.spending is not None and took.spending != before:
            begun.store.write(SPENT, dump_document(msgspec.to_builtins(took.spending)))
        reached += one.rows
        tell(reached, total)

    run_blocks(
        task,
        begun.missing,
        take,
        concurrency=workers.concurrency,
        num_cpus=workers.num_cpus,
        num_gpus=workers.num_gpus,
        on_notice=on_notice,
    )
    return done, took


@contextmanager
def _cluster(workers: Workers) -> Iterator[None]:
    """Have the cluster of a run, with room for its workers."""
    with cluster(
        workers.address,
        workers=most_workers(workers.concurrency) or _here(workers.num_cpus),
        num_cpus=workers.num_cpus,
        num_gpus=workers.num_gpus,
    ):
        require_room(workers.concurrency, num_cpus=workers.num_cpus, num_gpus=workers.num_gpus)
        yield


def _here(num_cpus: float) -> int:
    """Return how many workers there is room for on this machine."""
    count = len(os.sched_getaffinity(0)) if hasattr(os, "sched_getaffinity") else os.cpu_count()
    return max(1, int((count or 1) // max(num_cpus, 0.01)))


def _ended(place: str, on_notice: Callable[[str], None] | None) -> Run:
    folder = PartsFolder(place)
    problems = folder.problems()
    if problems:
        raise RunFolderError(
            f"{place}: this run had ended, and its folder is not what it was then: {problems[0]}. "
            "closecall verify says it all"
        )
    if on_notice is not None:
        on_notice(f"{place}: this run had ended; nothing was left to do")
    return folder.load()

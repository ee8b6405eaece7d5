"""A run on workers from its beginning, or from where it was cut off, to its seal."""

from __future__ import annotations

import dataclasses
import os
import time
from collections.abc import Callable, Iterator, Sequence
from contextlib import ExitStack, contextmanager
from functools import partial
from pathlib import Path
from typing import Any, NamedTuple

from closecall._version import __version__
from closecall.bulk.closing import close
from closecall.datasets import Dataset
from closecall.errors import RunFolderError, StorageError, UsageError
from closecall.gates.deciding import DecidingGates
from closecall.ray.asked import Asked, Workers
from closecall.ray.blocks import Block, Done, run_blocks
from closecall.ray.cluster import cluster
from closecall.ray.parts import PartTask, totals_of
from closecall.ray.pool import most_workers, require_room
from closecall.ray.question import Identity, Question, travelling
from closecall.runs import claim, files
from closecall.runs.asked import read_cases
from closecall.runs.evaluate import LABELS, new_run_id
from closecall.runs.header import RunHeader
from closecall.runs.hiding import without_values
from closecall.runs.parts.documents import (
    MAX_SEAL,
    header_in,
    read_document,
    run_document_of,
    size_in,
)
from closecall.runs.parts.folder import PartsFolder
from closecall.runs.parts.ranges import parts_in, spans
from closecall.runs.parts.writing import PART_CASES
from closecall.runs.preparing import monitor_of
from closecall.runs.record import Run
from closecall.runs.runner import BATCH_CASES, Progress
from closecall.runs.same import changes
from closecall.runs.values import now_utc
from closecall.storage import Store, is_url

ENGINE = "engine"
"""Under which a run's header keeps that workers did it, and how many."""

BLOCKS_EACH = 4
"""Blocks a worker has at least, where there are cases for that, so that none waits for others."""


class _Begun(NamedTuple):
    """A run that is open: where it lies, its header, and the positions that are missing."""

    store: Store
    header: RunHeader
    missing: list[Block]


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
    if asked.aef is not None:
        claim.require_vacant(Path(asked.aef))
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
            return _ended(place, on_notice)
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
        done = _measure(begun, task, workers, progress, on_notice)
    totals = [totals_of(one.spent) for one in done]
    run = close(begun.store, begun.header, totals=totals, monitor=monitor, watch=watch)
    _require_as_written(begun.store, done)
    if asked.aef is not None:
        from closecall.bulk.merging import merge_runs

        merge_runs([place], asked.aef)
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
    kept = {**asked.kept, ENGINE: engine}
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
    return _Begun(store, header_in(store), missing)


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
) -> list[Done]:
    """Have what is missing done; return what was."""
    total = begun.header.cases
    left = sum(block.stop - block.first for block in begun.missing)
    tell = progress or (lambda _done, _total: None)
    done: list[Done] = []
    reached = total - left
    tell(reached, total)

    def take(one: Done) -> None:
        nonlocal reached
        done.append(one)
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
    return done


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


def _require_as_written(store: Store, done: Sequence[Done]) -> None:
    """Refuse a folder whose parts are not, where it was sealed, what the workers wrote.

    Raises
    ------
    StorageError
        Names the first part that changed.
    """
    sealed = {
        one["name"]: one["digest"]["sha256"]
        for one in read_document(store, files.SEAL, MAX_SEAL)["subject"]
    }
    for one in done:
        if sealed.get(one.name) != one.sha256:
            raise StorageError(
                f"{store.place}/{one.name}: is not what the worker wrote there. Delete that part "
                "and seal.json, and go on with closecall eval --resume"
            )


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

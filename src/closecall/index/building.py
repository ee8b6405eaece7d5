"""``build_index`` and ``open_index``: the two ways to an index."""

from __future__ import annotations

import os
import shutil
import tempfile
from collections.abc import Iterable, Sequence
from pathlib import Path
from typing import Any

import numpy as np
from numpy.typing import ArrayLike

from closecall.embedders.base import Embedder
from closecall.errors import ShapeError, UsageError
from closecall.index.faiss_part import Progress, require_device
from closecall.index.feeding import Batch, batches
from closecall.index.folder import building, commit
from closecall.index.kinds import AUTO, kind_named
from closecall.index.local import LocalIndex
from closecall.index.making import Settings, finish
from closecall.index.manifest import MOST_THREADS, LeftOut
from closecall.index.products import SIMILARITIES, Floats32, Similarity, matrix
from closecall.index.rows import Row
from closecall.index.stored import load
from closecall.index.writer import Writer
from closecall.instrument import Instrument

MAX_SEED = (1 << 63) - 1
_FIRST = 20


def build_index(
    rows: Iterable[Row | Sequence[Any]],
    path: str | os.PathLike[str] | None = None,
    *,
    embedder: Embedder | None = None,
    vectors: ArrayLike | Iterable[ArrayLike] | None = None,
    instrument: Instrument | None = None,
    embedder_name: str = "",
    kind: str = AUTO,
    similarity: Similarity = "cosine",
    recall_goal: float = 0.95,
    memory: int | None = None,
    recall_queries: ArrayLike | None = None,
    seed: int = 0,
    threads: int = 1,
    device: str = "cpu",
    skip_failed: bool = False,
    progress: Progress | None = None,
) -> LocalIndex:
    """Build an index of rows and return it, open.

    Rows and vectors are taken as they come and written to disk, so they may be larger than memory.
    Kept in memory are one batch of 1,024 rows, the ids (about 150 bytes a row), a sample to train
    on (64 rows a list, at least 16,384) and what faiss makes of the rows (``bytes_of``; nothing
    for the kind ``exact``), and at most about 150 MiB besides.

    The same rows and options give the same files on the same machine, with ``threads`` 1. The
    kinds ``exact`` and ``flat`` give the same results on every machine; what the other kinds find
    may differ with the processor, but never the score of what is found.

    Parameters
    ----------
    rows
        (id, text) or (id, text, metadata) each, also from an iterator.
    path
        A folder: new, empty, or an older index, which stays until the new one is whole. None: a
        temporary one, gone with the index.
    embedder
        Makes a vector of each text, as a document.
    vectors
        Instead: (n, d) float32, or blocks of it from an iterator, in the order of the rows.
    instrument
        What made the vectors; None: unknown, so that queries cannot be checked.
    embedder_name
        What ``load_embedder`` is given to load it again, for whoever searches the folder later.
    kind
        ``auto``, or ``exact``, ``flat``, ``hnsw``, ``ivf``, ``ivfpq``, ``sq8``, ``sqfp16``, with
        options as in ``hnsw:m=32:ef=128``. ``why`` of the index says why ``auto`` chose what it
        chose.
    similarity
        ``cosine``, ``dot`` or ``euclidean``.
    recall_goal
        For ``auto``, ``ivf`` and ``ivfpq``: the share of the true nearest to find, above 0 up to
        1. Searches are made longer until it is reached, unless ``nprobe`` is given.
    memory
        For ``auto``: bytes a search may keep in memory, None for no limit.
    recall_queries
        (q, d) to measure recall with; None: 200 of the rows, each without itself.
    seed
        Of the sample to train on, of k-means, and of the queries.
    threads
        That link a graph; more than 1 may link it otherwise each time.
    device
        ``cuda``: search on the first GPU, for the kinds flat, ivf and ivfpq.
    skip_failed
        Leave out rows that have no vector, and say so in ``left_out``, instead of stopping.
    progress
        Called with a stage (``read``, ``train``, ``index``), the rows done, and their number.

    Raises
    ------
    UsageError
        An option is wrong, or the folder holds other things.
    DataError
        A row is not one, or its id came before.
    ShapeError, NonFiniteError, ZeroVectorError
        Vectors that do not fit, or cannot be compared.
    EmbeddingError
        A text has no vector.
    ConfigurationError
        faiss, or the device, is not there.
    IndexFolderError
        Another process is writing the folder.
    """
    if embedder is not None:
        if instrument is not None:
            raise UsageError("an embedder has its own instrument; give one of the two")
        instrument = embedder.instrument
    settings = Settings(
        kind=kind,
        similarity=similarity,
        recall_goal=recall_goal,
        memory=memory,
        seed=seed,
        threads=threads,
        instrument=instrument,
        embedder=embedder_name,
    )
    require_sound(settings, device)
    queries: Floats32 | None = None
    if recall_queries is not None:
        queries = np.asarray(matrix(recall_queries, "recall_queries"), dtype=np.float32)
    temporary = path is None
    target = Path(tempfile.mkdtemp(prefix="closecall-index-")) if path is None else Path(path)
    feed = batches(
        rows,
        vectors=vectors,
        embedder=embedder,
        similarity=similarity,
        skip_failed=skip_failed,
    )
    try:
        with building(target) as place:
            with Writer(place) as writer:
                left_out = _write(writer, feed, instrument, progress)
                manifest, part = finish(
                    place,
                    writer,
                    settings,
                    width=instrument.dims if instrument else 0,
                    left_out=left_out,
                    queries=queries,
                    progress=progress,
                )
            commit(target, place, manifest)
        manifest, stored = load(target, check=False, part=part)
        return LocalIndex(target, manifest, stored, device=device, temporary=temporary)
    except BaseException:
        if temporary:
            shutil.rmtree(target, ignore_errors=True)
        raise


def open_index(
    path: str | os.PathLike[str],
    *,
    device: str = "cpu",
    check: bool = True,
    rebuild: bool = False,
    progress: Progress | None = None,
) -> LocalIndex:
    """Open an index that was saved; vectors and texts stay on disk, memory-mapped.

    Parameters
    ----------
    device
        ``cuda``: search on the first GPU; never falls back to the CPU.
    check
        Compare the sha256 of every file, about a second a gigabyte. False: only the sizes, and
        the sha256 of faiss's file, which is checked before faiss reads it in any case.
    rebuild
        Make the faiss part again from the vectors and never look at faiss's file, which may be
        damaged or missing: for a folder from someone who is not trusted, as a checksum guards
        against damage, not against its maker.

    Raises
    ------
    IndexFolderError
        There is no index, or it is damaged, cut short, foreign, or of another version; the
        message names the file.
    ConfigurationError
        faiss, or the device, is not there.
    UsageError
        This kind does not run on this device.
    """
    require_device(device, kind_named("flat"))
    manifest, stored = load(Path(path), check=check, rebuild=rebuild, progress=progress)
    if device != "cpu":
        require_device(device, manifest.resolved)
    return LocalIndex(Path(path), manifest, stored, device=device)


def _write(
    writer: Writer,
    feed: Iterable[Batch],
    instrument: Instrument | None,
    progress: Progress | None,
) -> LeftOut:
    """Write every batch as it comes; return the rows that have no vector."""
    left_out = LeftOut()
    for batch in feed:
        for at, identity in enumerate(batch.given):
            writer.claim(identity, batch.first + at)
        for identity in batch.failed:
            writer.release(identity)
        width = batch.block.rows.shape[1]
        if instrument is not None and batch.ids and width != instrument.dims:
            raise ShapeError(
                f"vectors of {width} numbers; their instrument makes {instrument.dims}"
            )
        writer.append(batch.block, batch.lines)
        first = (*left_out.first, *batch.failed.items())[:_FIRST]
        left_out = LeftOut(count=left_out.count + len(batch.failed), first=first)
        if progress is not None:
            progress("read", batch.first + len(batch.given) - 1, None)
    return left_out


def require_sound(settings: Settings, device: str) -> None:
    """Refuse options before any row is read."""
    goal, memory, seed = settings.recall_goal, settings.memory, settings.seed
    for name, text in (("kind", settings.kind), ("embedder_name", settings.embedder)):
        if not isinstance(text, str):
            raise UsageError(f"{name} must be a text, got {text!r:.60}")
    if settings.similarity not in SIMILARITIES:
        raise UsageError(
            f"similarity {settings.similarity!r}: choose one of {', '.join(SIMILARITIES)}"
        )
    if not isinstance(goal, int | float) or not 0 < goal <= 1:
        raise UsageError(f"recall_goal must be above 0 and at most 1, got {goal!r}")
    if memory is not None and not _is_whole(memory, 1):
        raise UsageError(f"memory must be a whole number of bytes from 1, got {memory!r}")
    if not _is_whole(seed, 0) or seed > MAX_SEED:
        raise UsageError(f"seed must be a whole number from 0 to {MAX_SEED}, got {seed!r}")
    if not _is_whole(settings.threads, 1) or settings.threads > MOST_THREADS:
        raise UsageError(
            f"threads must be a whole number from 1 to {MOST_THREADS:,}, got {settings.threads!r}"
        )
    if settings.kind == AUTO and device != "cpu":
        require_device(device, kind_named("flat"))
        raise UsageError(f"device {device}: say which kind, flat, ivf or ivfpq")
    if settings.kind != AUTO:
        require_device(device, kind_named(settings.kind))


def _is_whole(value: object, least: int) -> bool:
    return isinstance(value, int) and not isinstance(value, bool) and value >= least

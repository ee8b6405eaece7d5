"""Make an index again from the vectors and rows in its folder: nothing is embedded."""

from __future__ import annotations

import os
from pathlib import Path

import msgspec
import numpy as np
from numpy.typing import ArrayLike

from closecall.index.building import require_sound
from closecall.index.faiss_part import Progress
from closecall.index.folder import building, commit, require_unchanged
from closecall.index.local import LocalIndex
from closecall.index.making import AS_ASKED, AS_BEFORE, Settings, finish
from closecall.index.manifest import read_manifest
from closecall.index.products import block_of, matrix
from closecall.index.stored import Stored, load, opened
from closecall.index.writer import Writer

_BATCH = 1024


def rebuild_index(
    path: str | os.PathLike[str],
    *,
    kind: str | None = None,
    recall_goal: float = 0.95,
    memory: int | None = None,
    recall_queries: ArrayLike | None = None,
    seed: int | None = None,
    progress: Progress | None = None,
) -> LocalIndex:
    """Train, link and measure an index again; the old one stays until the new one is whole.

    Every file but faiss's own is checked and read; that one is never read.

    Parameters
    ----------
    kind
        As for ``build_index``, ``auto`` included; None: the kind it is, with its options.
    recall_goal, memory, recall_queries
        As for ``build_index``.
    seed
        None: that of the index.

    Raises
    ------
    IndexFolderError
        There is no index, its rows or vectors are damaged, or another process is writing it.
    UsageError
        An option is wrong, or the folder cannot be written.
    ConfigurationError
        faiss is not there.
    """
    folder = Path(path)
    old = read_manifest(folder)
    settings = Settings(
        kind=old.kind if kind is None else kind,
        similarity=old.similarity,
        recall_goal=recall_goal,
        memory=memory,
        seed=old.seed if seed is None else seed,
        threads=old.threads,
        instrument=old.instrument,
        embedder=old.embedder,
        because=AS_BEFORE if kind is None else AS_ASKED,
    )
    require_sound(settings, "cpu")
    queries = None
    if recall_queries is not None:
        queries = np.asarray(matrix(recall_queries, "recall_queries"), dtype=np.float32)
    # Trained for no row, it has no part of faiss to make.
    bare = msgspec.structs.replace(old, trained=0)
    source = opened(folder, bare, check=True, rebuild=True, part=None, progress=None)
    with building(folder) as place:
        require_unchanged(folder, old)
        with Writer(place) as writer:
            _copy(source, writer)
            manifest, part = finish(
                place,
                writer,
                settings,
                width=old.dims,
                left_out=old.left_out,
                queries=queries,
                progress=progress,
            )
        commit(folder, place, manifest)
    manifest, stored = load(folder, check=False, part=part)
    return LocalIndex(folder, manifest, stored)


def _copy(source: Stored, writer: Writer) -> None:
    table = source.table
    for start in range(0, len(table), _BATCH):
        some = range(start, min(start + _BATCH, len(table)))
        for position in some:
            writer.claim(table.id(position), position + 1)
        block = block_of(
            source.stack[some.start : some.stop], source.where, start, refuse_zero=False
        )
        writer.append(block, [table.line(position) for position in some])

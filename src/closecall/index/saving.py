"""An index that was opened, written to a folder again with what was changed since."""

from __future__ import annotations

from pathlib import Path

import msgspec
import numpy as np

from closecall.index.faiss_part import FaissPart
from closecall.index.folder import building, commit, require_unchanged
from closecall.index.making import AS_BEFORE, Kept, Settings, finish
from closecall.index.manifest import Manifest
from closecall.index.products import block_of
from closecall.index.stored import Stored
from closecall.index.writer import Writer

GROWN = 1.5
"""Trained again when saved with more rows than this times those it was trained on."""

_BATCH = 1024


def written(
    target: Path, old: Manifest, stored: Stored, *, changed: bool, over: bool = False
) -> FaissPart | None:
    """Write the rows that are left to a folder; return its faiss part, None for kinds without.

    Parameters
    ----------
    target
        Holds the old index or the new one, whole, whatever happens meanwhile.
    old
        That of the folder the rows were read from.
    changed
        Whether rows were added, replaced or removed since; a copy of what was not keeps the
        recall that was measured and the reason for its kind.
    over
        Whether it is the folder that the rows were read from.

    Raises
    ------
    UsageError
        The folder holds other things, or cannot be written.
    IndexFolderError
        Another process is writing there, or wrote since the rows were read.
    """
    settings = Settings(
        kind=old.kind,
        similarity=old.similarity,
        seed=old.seed,
        threads=old.threads,
        instrument=old.instrument,
        embedder=old.embedder,
        because=AS_BEFORE,
    )
    with building(target) as place:
        if over:
            require_unchanged(target, old)
        with Writer(place) as writer:
            _write_rows(writer, stored)
            manifest, part = finish(
                place,
                writer,
                settings,
                width=old.dims,
                left_out=old.left_out,
                kept=_kept(old, stored, changed=changed),
            )
        if not changed:
            manifest = msgspec.structs.replace(manifest, why=old.why)
        commit(target, place, manifest)
    return part


def _kept(old: Manifest, stored: Stored, *, changed: bool) -> Kept | None:
    """Return what can be used as it is."""
    if stored.part is None or stored.alive is not None:
        return None
    if len(stored.table) > GROWN * old.trained:
        return None
    return Kept(stored.part, old.trained, None if changed else old.recall, old.why)


def _write_rows(writer: Writer, stored: Stored) -> None:
    alive = stored.alive
    places = np.arange(len(stored.table)) if alive is None else np.flatnonzero(alive)
    for start in range(0, places.size, _BATCH):
        some = places[start : start + _BATCH]
        for number, position in enumerate(some.tolist(), start + 1):
            writer.claim(stored.table.id(position), number)
        block = block_of(stored.stack[some], stored.where, some, refuse_zero=False)
        writer.append(block, [stored.table.line(position) for position in some.tolist()])

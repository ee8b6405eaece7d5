"""From the vectors in a folder to a whole index: kind, faiss part, recall, manifest."""

from __future__ import annotations

from pathlib import Path
from typing import NamedTuple

import msgspec
import numpy as np

from closecall.index.choosing import choose, told_goal
from closecall.index.faiss_part import FaissPart, Progress
from closecall.index.kinds import AUTO, KINDS, Kind, kind_named
from closecall.index.manifest import FAISS, RANKS, SCHEMA, VECTORS, LeftOut, Manifest
from closecall.index.measuring import measured, tuned
from closecall.index.products import Floats32, Similarity
from closecall.index.recall import Recall
from closecall.index.searching import Field
from closecall.index.stack import Stack
from closecall.index.writer import Writer
from closecall.instrument import Instrument

AS_ASKED, AS_BEFORE = "as asked", "as it was"


class Settings(msgspec.Struct, frozen=True, kw_only=True):
    """What an index is to be; ``kind`` may be ``auto``. See ``build_index``."""

    kind: str = AUTO
    similarity: Similarity = "cosine"
    recall_goal: float = 0.95
    memory: int | None = None
    seed: int = 0
    threads: int = 1
    instrument: Instrument | None = None
    embedder: str = ""
    because: str = AS_ASKED
    """Why it is of this kind, where that is not ``auto``."""


class Kept(NamedTuple):
    """What an earlier index knows, where rows were only added to it or none changed."""

    part: FaissPart
    trained: int
    recall: Recall | None
    why: str


def finish(
    place: Path,
    writer: Writer,
    settings: Settings,
    *,
    width: int = 0,
    left_out: LeftOut = LeftOut(),  # noqa: B008 - frozen
    queries: Floats32 | None = None,
    kept: Kept | None = None,
    progress: Progress | None = None,
) -> tuple[Manifest, FaissPart | None]:
    """Write what is missing beside the vectors; return the manifest but for its files.

    No file stays open, so that the folder can be moved.
    """
    writer.finish(width)
    rows, dims = len(writer), writer.width if writer.width is not None else width
    kind, why = _chosen(settings, rows, dims)
    ready = kind.resolved(rows, dims) if kept is None else kept.part.kind
    if kept is not None:
        why = kept.why
    elif 0 < rows < kind.least_rows:
        why = (
            f"{why}; {rows} rows are too few to train it ({kind.least_rows}), so each is looked at"
        )
    part, trained, recall = None, 0, None
    if rows and rows >= kind.least_rows and kind.name != "exact":
        stack = _stack(place, rows, dims)
        part = kept.part if kept else _built(ready, stack, settings, progress)
        trained = kept.trained if kept else rows
        if not kind.is_exact:
            ranks = np.load(place / RANKS, allow_pickle=False)
            field = Field(stack, ranks, settings.similarity, part, writer.length, writer.peak)
            tunes = kept is None and (settings.kind == AUTO or kind.is_probed_as_needed)
            field, recall = _recall(field, settings, kept, queries, tunes=tunes)
            part = field.part or part
            part.write(place / FAISS)
            if tunes and settings.kind != AUTO:
                why = f"{why}; {_probes(ready, part.kind)}; {told_goal(settings.recall_goal)}"
            if tunes and recall.rate is not None:
                reached = "reached" if recall.rate >= settings.recall_goal else "not reached"
                why = f"{why}, {reached}"
    final = part.kind if part else ready
    manifest = Manifest(
        schema=SCHEMA,
        generation="v1",
        kind=_spelled(kind, final),
        options=final.options,
        why=why,
        similarity=settings.similarity,
        rows=rows,
        dims=dims,
        trained=trained,
        seed=settings.seed,
        threads=settings.threads,
        length=writer.length,
        peak=writer.peak,
        instrument=settings.instrument,
        instrument_digest=settings.instrument.digest if settings.instrument else "",
        embedder=settings.embedder,
        recall=recall,
        left_out=left_out,
        files={},
    )
    return manifest, part


def _chosen(settings: Settings, rows: int, width: int) -> tuple[Kind, str]:
    if settings.kind == AUTO:
        return choose(
            rows,
            width,
            similarity=settings.similarity,
            recall_goal=settings.recall_goal,
            memory=settings.memory,
        )
    kind = kind_named(settings.kind)
    return kind, f"{settings.because}: {KINDS[kind.name].what}"


def _spelled(asked: Kind, final: Kind) -> str:
    """Return the kind as asked, with the option that was tuned where one was."""
    from closecall.index.kinds import TUNED

    option = TUNED.get(asked.name)
    if option == "ef" and final.options[option] != asked.options[option]:
        return asked.having(ef=final.options[option]).spelled
    return asked.spelled


def _built(kind: Kind, stack: Stack, settings: Settings, progress: Progress | None) -> FaissPart:
    return FaissPart.build(
        kind,
        stack,
        similarity=settings.similarity,
        seed=settings.seed,
        threads=settings.threads,
        progress=progress,
    )


def _probes(first: Kind, final: Kind) -> str:
    """Return how many lists a search looks through, and whether that had to be raised."""
    probes, lists = final.options["nprobe"], final.options["nlist"]
    raised = probes > first.options["nprobe"]
    more = f", raised from {first.options['nprobe']} for it" if raised else ""
    return f"nprobe {probes} of {lists} lists{more}"


def _recall(
    field: Field,
    settings: Settings,
    kept: Kept | None,
    queries: Floats32 | None,
    *,
    tunes: bool,
) -> tuple[Field, Recall]:
    if kept is not None and kept.recall is not None and queries is None:
        return field, kept.recall
    if tunes:
        return tuned(field, settings.recall_goal, seed=settings.seed, queries=queries)
    return field, measured(field, seed=settings.seed, queries=queries)


def _stack(place: Path, rows: int, width: int) -> Stack:
    vectors = np.load(place / VECTORS, mmap_mode="r", allow_pickle=False)
    return Stack(width, vectors.reshape(rows, width))

"""An index in words and as JSON: what it holds, what finds its neighbours, what that misses."""

from __future__ import annotations

from collections.abc import Iterator
from pathlib import Path
from typing import Any

import msgspec

from closecall.index.kinds import bytes_of
from closecall.index.manifest import Manifest
from closecall.instrument import Instrument
from closecall.report.words import plural

_UNITS = ((1e9, "GB"), (1e6, "MB"), (1e3, "kB"))
_SHOWN = 5
EXACT = "every row is looked at, so the nearest are always found"


def lines(folder: Path, found: Manifest) -> Iterator[str]:
    """Yield what an index is, for a terminal."""
    yield (
        f"{folder}: {plural(found.rows, 'row')} of {found.dims} numbers, {found.similarity}, "
        f"{size_words(size(found))} on disk"
    )
    yield f"embedded by: {embedder(found.instrument)}"
    if found.embedder:
        yield f"loaded as: {found.embedder}"
    yield f"kind: {found.resolved.spelled}"
    yield f"why: {found.why}"
    yield f"recall: {recall(found)}"
    if memory(found):
        yield f"memory of a search: about {size_words(memory(found))} beyond the files"
    if found.left_out.count:
        yield f"left out, for want of a vector: {plural(found.left_out.count, 'row')}"
        for identity, reason in found.left_out.first[:_SHOWN]:
            yield f"  {identity}: {reason}"


def facts(folder: Path, found: Manifest) -> dict[str, Any]:
    """Return the same as JSON values."""
    return {
        "folder": str(folder),
        "rows": found.rows,
        "dims": found.dims,
        "similarity": found.similarity,
        "kind": found.resolved.spelled,
        "options": found.options,
        "why": found.why,
        "exact": _looks_at_all(found),
        "recall": None
        if found.recall is None
        else {**msgspec.to_builtins(found.recall), "rate": found.recall.rate},
        "instrument": None if found.instrument is None else msgspec.to_builtins(found.instrument),
        "instrument_digest": found.instrument_digest,
        "embedder": found.embedder or None,
        "left_out": msgspec.to_builtins(found.left_out),
        "seed": found.seed,
        "bytes": size(found),
        "memory_bytes": memory(found),
        "schema": found.schema,
    }


def embedder(instrument: Instrument | None) -> str:
    """Return what embedded the rows, in a few words."""
    if instrument is None:
        return "not known; a text cannot be searched for, only a vector"
    return f"{instrument.model} ({instrument.provider}), instrument {instrument.digest[:12]}"


def recall(found: Manifest) -> str:
    """Return what a search misses, in words."""
    if _looks_at_all(found):
        return EXACT
    return str(found.recall) if found.recall is not None else "not measured"


def size(found: Manifest) -> int:
    """Return the bytes of its files."""
    return sum(file.bytes for file in found.files.values())


def memory(found: Manifest) -> int:
    """Return about how many bytes a search keeps in memory."""
    return bytes_of(found.resolved, found.rows, found.dims) if found.trained else 0


def size_words(count: int) -> str:
    """Return a number of bytes for a person."""
    for unit, name in _UNITS:
        if count >= unit:
            return f"{count / unit:,.1f} {name}"
    return f"{count} bytes"


def _looks_at_all(found: Manifest) -> bool:
    return found.resolved.is_exact or not found.trained

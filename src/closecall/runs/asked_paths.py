"""What the header of an open run keeps to be gone on with: its paths, and how many runs."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from typing import Any

from closecall.runs.wire import Document

_OURS = "closecall"


def with_paths(header: Mapping[str, Any], paths: Sequence[str], runs: int) -> Document:
    """Return the header with the paths recorded, which resuming needs, and the runs if several."""
    ext = dict(header.get("ext", {}))
    ext[_OURS] = {**ext.get(_OURS, {}), "paths": list(paths)}
    if runs > 1:
        ext[_OURS]["runs"] = runs
    return {**header, "ext": ext}


def runs_of(header: Mapping[str, Any]) -> int:
    """Return how often each case is answered: 1 where the header does not say."""
    runs = header["ext"][_OURS].get("runs", 1)
    return runs if isinstance(runs, int) and runs >= 1 else 1


def paths_of(header: Mapping[str, Any]) -> list[str] | None:
    """Return the recorded paths, None where there are none."""
    ext = header.get("ext")
    ours = ext.get(_OURS) if isinstance(ext, dict) else None
    paths = ours.get("paths") if isinstance(ours, dict) else None
    fine = isinstance(paths, list) and all(isinstance(path, str) for path in paths)
    return paths if fine else None

"""From what a person names to a collection: three files, a BEIR folder or a case file."""

from __future__ import annotations

import os
from collections.abc import Sequence
from pathlib import Path

from closecall.errors import UsageError
from closecall.retrieval.beir import folder_files, read_beir
from closecall.retrieval.case_file import read_case_file
from closecall.retrieval.collection import Collection

_THREE = 3


def open_collection(paths: Sequence[Path], *, split: str | None = None) -> Collection:
    """Return the collection in these places.

    Parameters
    ----------
    paths
        ``CORPUS QUERIES QRELS``, or a BEIR folder, or a case file.
    split
        Which file of grades of a BEIR folder.

    Raises
    ------
    UsageError
        Two paths, or more than three, or a split where there is no folder.
    DataError
        A file cannot be read.
    """
    if len(paths) == 1 and os.path.isdir(paths[0]):  # noqa: PTH112 - False for any name
        folder = paths[0]
        return read_beir(*folder_files(folder, split), name=folder.resolve().name)
    if split is not None:
        raise UsageError("--split is for a BEIR folder")
    if len(paths) == 1:
        return read_case_file(paths[0])
    if len(paths) == _THREE:
        return read_beir(*paths)
    raise UsageError(
        f"give CORPUS QUERIES QRELS, or one BEIR folder, or one case file; got {len(paths)} paths"
    )

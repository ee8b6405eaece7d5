"""Sealing: what every file of a closed run was, so that a change shows."""

from __future__ import annotations

import os
from collections.abc import Mapping
from pathlib import Path

from closecall.errors import RunFolderError
from closecall.runs import claim, files
from closecall.runs.aef import FileDigest, seal_document
from closecall.runs.wire import dump_document


def seal_run(path: str | os.PathLike[str]) -> None:
    """Seal a closed run that has no seal yet, as when its writer died while closing it.

    Raises
    ------
    RunFolderError
        The run is still open, is sealed already, or cannot be written.
    """
    root = Path(path)
    if files.status_of(root) in {None, "running"}:
        raise RunFolderError(f"{root}: only a closed run can be sealed")
    if files.exists(root, files.SEAL):
        raise RunFolderError(f"{root}: the run is sealed already")
    results = claim.take(root, create=False)
    try:
        with files.translated(f"{root}: cannot be sealed"):
            files.remove(root, *files.STAGED, files.WRITER)
            run = files.read_document(root, files.RUN)
            seal = seal_document(run, digests_of(root, {}))
            files.write(root, files.SEAL, dump_document(seal))
            files.sync_folder(root)
    finally:
        results.close()


def repair_seal(path: str | os.PathLike[str]) -> None:
    """Seal a closed run whose writer was killed between its last two moves; others stay as is."""
    root = Path(path)
    if not files.exists(root, files.SEAL) and files.exists(root, files.SEAL + files.TEMPORARY):
        seal_run(root)


def digests_of(root: Path, documents: Mapping[str, bytes]) -> dict[str, FileDigest]:
    """Return the digests of all files as they will be once the documents are in place."""
    gone = {files.WRITER, *files.STAGED}
    present = [path for path in files.all_files(root) if path not in gone]
    foreign = files.strangers(present)
    if foreign:
        raise RunFolderError(
            f"{root}: holds files that belong to no run: {', '.join(foreign[:5])}. Move them "
            f"away and close it with: closecall eval --resume {claim.quoted(root)}"
        )
    digests = {name: files.digest_of(data) for name, data in documents.items()}
    rest = [path for path in files.sealed_files(present) if path not in digests]
    return digests | {path: files.digest(root, path) for path in rest}

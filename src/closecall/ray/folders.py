"""The run folder beside the parts of a run that has ended, where one was asked for."""

from __future__ import annotations

from pathlib import Path

from closecall.runs import claim, files
from closecall.runs.parts.folder import PartsFolder
from closecall.runs.reader import open_run


def require_folder(parts: str, folder: str | None, *, resume: bool) -> None:
    """Refuse a folder that holds something, before hours of work go into what is to stand there.

    Raises
    ------
    RunFolderError
        It is taken, by something else than this very run that is gone on with.
    """
    if folder is not None and not (resume and _holds(parts, Path(folder))):
        claim.require_vacant(Path(folder))


def write_folder(parts: str, folder: str | None, *, resume: bool) -> None:
    """Write the run folder that one process would have written, unless it is there.

    Raises
    ------
    RunFolderError
        It is taken, or cannot be written; nothing is left there then.
    """
    if folder is None or (resume and _holds(parts, Path(folder))):
        return
    from closecall.bulk.merging import merge_runs

    merge_runs([parts], folder)


def _holds(parts: str, folder: Path) -> bool:
    """Whether a run folder holds the run of these parts, from its first case to its seal."""
    if files.status_of(folder) != "completed":
        return False
    found = open_run(folder)
    return found.sealed and found.run_id == PartsFolder(parts).header().run_id

"""Kept runs as the commands that show them take them: finished, with a word where changed."""

from __future__ import annotations

from pathlib import Path
from typing import TYPE_CHECKING

from closecall.cli.places import shown
from closecall.cli.say import say

if TYPE_CHECKING:
    from closecall.runs.record import Run


def finished_run(folder: Path, *, counts: bool = True) -> Run:
    """Return the run in a folder that was closed; say so where it was changed after sealing.

    Of a folder that was fetched the run says its URL.

    Raises
    ------
    RunFolderError
        The run is not finished, or the folder is damaged.
    """
    from closecall.errors import RunFolderError
    from closecall.runs.claim import quoted
    from closecall.runs.stored import header_of, load_run

    if header_of(folder).ended_at is None:
        raise RunFolderError(
            f"{folder}: this run is not finished; go on with: closecall eval --resume "
            f"{quoted(folder)}, or see how far it came: closecall runs show {quoted(folder)}"
        )
    run = load_run(folder, counts=counts)
    tell_broken_seal(folder)
    return placed(run)


def placed(run: Run) -> Run:
    """Return a run that says where its folder lies: at a URL, if it was fetched from there."""
    from dataclasses import replace

    where = None if run.folder is None else shown(run.folder)
    return run if where in {None, str(run.folder)} else replace(run, url=where)


def tell_broken_seal(folder: Path) -> None:
    """Say on standard error that a folder was changed; what it holds is shown all the same."""
    from closecall.runs.claim import quoted
    from closecall.runs.reader import open_run

    problems = open_run(folder).seal_problems()
    if problems:
        told = problems[0].replace(str(folder), shown(folder))
        say(f"closecall: caution: {told}", err=True)
        say(
            "closecall: what follows may not be what was measured; all that differs: "
            f"closecall verify {quoted(shown(folder))}",
            err=True,
        )

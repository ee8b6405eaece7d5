"""What ``closecall eval --resume`` goes on with, and what is said of a run that ends early."""

from __future__ import annotations

from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path
from typing import TYPE_CHECKING

import click

from closecall.cli.eval_options import BELONG_TO_RUN
from closecall.cli.places import shown
from closecall.cli.say import say

if TYPE_CHECKING:
    from closecall.runs.header import RunHeader
    from closecall.runs.parts.folder import PartsFolder


def refuse_beside_resume(context: click.Context) -> None:
    """Refuse options that would make another run of it; its own header says what is asked."""
    typed = click.core.ParameterSource.COMMANDLINE
    given = [
        parameter.opts[0]
        for parameter in context.command.params
        if parameter.name in BELONG_TO_RUN
        and context.get_parameter_source(parameter.name) is typed
    ]
    if given:
        raise click.UsageError(f"--resume goes on as the run began; leave out {', '.join(given)}")


def header_before(place: Path | PartsFolder | None) -> RunHeader | None:
    """Return the header of the run that is gone on with, which keeps what that needs.

    None where there is none; what is wrong with one is said when the run is opened.
    """
    from closecall.errors import ClosecallError
    from closecall.runs.stored import header_of

    try:
        if place is None:
            return None
        return header_of(place) if isinstance(place, Path) else place.header()
    except ClosecallError:
        return None


@contextmanager
def told_how_to_go_on(folder: Path | None, to: PartsFolder | None) -> Iterator[None]:
    """Say how to go on with a run where what is done inside ends it early.

    After an error only where something of the run was kept, or where it was begun inside and
    needs nothing but what the error names: a runtime or a recording that is missing, or room for
    its parts.

    Parameters
    ----------
    folder
        Where the run is kept on this machine.
    to
        Its folder in parts, which may lie elsewhere; None for a run folder.
    """
    from closecall.errors import (
        BudgetError,
        ConfigurationError,
        RunFolderError,
        StorageError,
        UsageError,
    )

    place = to or folder
    before = _written(folder)
    begun = _is_run(folder) if to is None else header_before(to) is not None
    try:
        yield
    except KeyboardInterrupt:
        _say_how_to_go_on(place)
        raise
    except BudgetError:
        _say_how_to_go_on(place, " --budget MORE")
        raise
    except (ConfigurationError, RunFolderError, StorageError, UsageError) as error:
        lacking: tuple[type[Exception], ...] = (ConfigurationError,)
        if to is not None:
            lacking += (StorageError, UsageError)
        if (isinstance(error, lacking) and not begun) or _written(folder) > before:
            _say_how_to_go_on(place)
        raise


def _say_how_to_go_on(place: Path | PartsFolder | None, more: str = "") -> None:
    from closecall.runs.claim import quoted

    if isinstance(place, Path):
        there, where = _is_run(place), shown(place)
    else:
        there = header_before(place) is not None
        where = "" if place is None else place.place
    if there:
        say(f"\nGo on with: closecall eval --resume {quoted(where)}{more}", err=True)


def _is_run(place: Path | None) -> bool:
    from closecall.runs import files

    return place is not None and files.exists(place, files.RUN)


def _written(place: Path | None) -> int:
    """Return the bytes of results in a run folder, or its parts; 0 where there are none."""
    from closecall.runs.files import RESULTS

    if place is None:
        return 0
    try:
        return (place / RESULTS).stat().st_size
    except OSError:
        return len(list((place / "parts").glob("part-*")))

"""Whether a file can be written where a person wants it, found out before the work."""

from __future__ import annotations

import tempfile
from collections.abc import Iterable, Iterator
from contextlib import contextmanager
from pathlib import Path

from closecall.cli.places import Place, shown
from closecall.errors import UsageError
from closecall.there import exists, is_file, resolved


def require_writable(
    output: Path, inputs: Iterable[tuple[Place, str]], place: Path | None = None
) -> None:
    """Refuse an output that cannot be written or would replace something of worth.

    Parameters
    ----------
    output
        Missing folders above it are made; a pipe or a device says for itself what is wrong.
    inputs
        Files that must not be replaced, and what each is.
    place
        The run folder in use; nothing is written into that or any other.

    Raises
    ------
    UsageError
        It cannot be written, is one of ``inputs``, or lies in a run folder.
    """
    try:
        if exists(output) and not is_file(output):
            return
        for path, what in inputs:
            if shown(output) == str(path):
                raise UsageError(f"-o {path}: that is {what}; it would be lost")
            if (
                isinstance(path, Path)
                and exists(path)
                and exists(output)
                and output.samefile(path)
            ):
                raise UsageError(f"-o {output}: that is {what}; it would be lost")
        inside = _run_folder_around(resolved(output), place)
        if inside is not None:
            raise UsageError(
                f"-o {output}: {inside} is a run folder, which a report would damage; write it "
                "beside the folder"
            )
        output.parent.mkdir(parents=True, exist_ok=True)
        with tempfile.TemporaryFile(dir=output.parent):
            pass
    except (OSError, RuntimeError) as error:  # the latter of links that lead in a circle
        why = getattr(error, "strerror", None) or error
        raise UsageError(f"cannot write {output}: {why}") from error


@contextmanager
def removed_if_empty(folder: Path | None) -> Iterator[None]:
    """Remove a folder, and those above it, that came to be within and hold nothing at the end.

    ``require_writable`` makes them before the work, which may end with nothing to write.
    """
    above = () if folder is None else (folder, *folder.parents)
    missing = [one for one in above if not exists(one)]
    try:
        yield
    finally:
        for one in missing:
            try:
                one.rmdir()
            except OSError:  # it holds something, or was never made
                break


def _run_folder_around(output: Path, place: Path | None) -> Path | None:
    from closecall.runs.files import RESULTS, RUN

    if place is not None and output.is_relative_to(place.resolve()):
        return place
    around = (p for p in output.parents if is_file(p / RUN) and is_file(p / RESULTS))
    return next(around, None)

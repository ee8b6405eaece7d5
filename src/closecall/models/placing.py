"""A model's folder appears whole or not at all; one that gives way comes back on failure.

What is being made lies in a hidden folder of work beside it, whose maker holds a lock on a file
in it. Whoever finds such a folder unlocked knows that its maker was killed, and tidies up.
"""

from __future__ import annotations

import contextlib
import os
import shutil
import tempfile
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path

from closecall.errors import ModelError
from closecall.storage import locking

ADDING, UNBUNDLING, REMOVING = ".adding-", ".unbundling-", ".removing-"
"""How the names of folders of work begin, by what is done in them."""

_LOCK, _PLACE = ".lock", ".place"
"""In a folder of work: what its maker holds, and the name of the folder that is being made."""


@contextmanager
def placing(place: Path) -> Iterator[Path]:
    """Yield a path to fill beside ``place``; it is renamed to ``place`` once the block ends.

    What was at ``place`` stays until then, and comes back if the renaming fails. After an error
    within the block nothing has changed. What a process left that was killed in such a block is
    removed first, and a model that it had set aside is put back.

    Raises
    ------
    ModelError
        If the folder around it cannot be written.
    """
    with working(place.parent, ADDING, place) as work:
        try:
            (work / _PLACE).write_bytes(os.fsencode(place.name))
        except OSError as error:
            raise unwritable(place.parent, error) from error
        yield work / "new"
        _put_in_place(work, place)


@contextmanager
def working(root: Path, beginning: str, place: Path | None = None) -> Iterator[Path]:
    """Yield a folder of work in ``root``, which is gone once the block ends.

    What was set aside in it as ``old`` goes back to ``place`` if nothing is there then.

    Raises
    ------
    ModelError
        If ``root`` cannot be written.
    """
    try:
        root.mkdir(parents=True, exist_ok=True)
        tidy(root)
        work, held = _made(root, beginning)
    except OSError as error:
        raise unwritable(root, error) from error
    try:
        yield work
    finally:
        os.close(held)
        _clear(work, work if place is None else place)


def _made(root: Path, beginning: str) -> tuple[Path, int]:
    """Return a new folder of work, and the open file that says that its maker lives."""
    while True:
        work = Path(tempfile.mkdtemp(prefix=beginning, dir=root))
        held = os.open(work / _LOCK, os.O_RDWR | os.O_CREAT, 0o600)
        try:
            locking.lock(held)
        except locking.BusyError:  # found before it was locked, and being tidied up
            os.close(held)
            continue
        except OSError:  # without locks nothing is tidied
            return work, held
        if os.path.lexists(work / _LOCK):
            return work, held
        os.close(held)


def unwritable(path: Path, error: OSError) -> ModelError:
    """Return the error for a folder that cannot be written."""
    return ModelError(
        f"{path.absolute()}: cannot be written: {error.strerror or error}. Choose another folder; "
        "that of the models is in CLOSECALL_MODELS_DIR"
    )


def tidy(root: Path) -> None:
    """Remove the folders of work of processes that died, and put back what they had set aside."""
    for work in (one for kind in (ADDING, UNBUNDLING, REMOVING) for one in root.glob(f"{kind}*")):
        if work.is_symlink():  # nobody here makes one, and what it leads to is not ours
            continue
        with contextlib.suppress(OSError, ModelError, locking.BusyError):
            held = os.open(work / _LOCK, os.O_RDWR)
            try:
                locking.lock(held)
                _clear(work, _place_of(work))
            finally:
                os.close(held)


def _place_of(work: Path) -> Path:
    """Return where what is in a folder of work belongs; without a name, there itself."""
    try:
        name = os.fsdecode((work / _PLACE).read_bytes())
    except FileNotFoundError:
        return work
    return work.parent / name if name == Path(name).name else work


def _put_in_place(work: Path, place: Path) -> None:
    """Move ``work/new`` to ``place``, setting what was there aside first."""
    try:
        if os.path.lexists(place):
            place.rename(work / "old")
        (work / "new").rename(place)
    except OSError as error:
        raise unwritable(place, error) from error


def _clear(work: Path, place: Path) -> None:
    """Remove the folder of work, once a model set aside whose place is empty is back there."""
    old = work / "old"
    if os.path.lexists(old) and not os.path.lexists(place):
        try:
            old.rename(place)
        except OSError as error:
            raise ModelError(
                f"{place}: cannot be written: {error.strerror or error}. "
                f"The model that was there is kept in {old}"
            ) from error
    if old.is_symlink():  # whose target is not ours to empty
        old.unlink()
    # What says that this is a folder of work goes last.
    for name in ("old", "new"):
        shutil.rmtree(work / name, ignore_errors=True)
    with contextlib.suppress(OSError):
        (work / _PLACE).unlink(missing_ok=True)
    shutil.rmtree(work, ignore_errors=True)

"""A model's folder appears whole or not at all; one that gives way comes back on failure."""

from __future__ import annotations

import os
import shutil
import tempfile
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path

from closecall.errors import ModelError


@contextmanager
def placing(place: Path) -> Iterator[Path]:
    """Yield a path to fill beside ``place``; it is renamed to ``place`` once the block ends.

    What was at ``place`` stays until then, and comes back if the renaming fails. After an error
    within the block nothing has changed.

    Raises
    ------
    ModelError
        If the folder around it cannot be written.
    """
    root = place.parent
    try:
        root.mkdir(parents=True, exist_ok=True)
        work = Path(tempfile.mkdtemp(prefix=".adding-", dir=root))
    except OSError as error:
        raise unwritable(root, error) from error
    try:
        yield work / "new"
        _put_in_place(work, place)
    finally:
        _clear(work, place)


def unwritable(path: Path, error: OSError) -> ModelError:
    """Return the error for a folder that cannot be written."""
    return ModelError(
        f"{path}: cannot be written: {error.strerror or error}. "
        "Set CLOSECALL_MODELS_DIR to a folder you may write"
    )


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
    shutil.rmtree(work, ignore_errors=True)

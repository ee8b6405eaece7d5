"""Where a merge writes: apart from its shards, and left as it was where the merge fails."""

from __future__ import annotations

import os
import re
import shutil
from collections.abc import Callable, Iterator, Sequence
from contextlib import contextmanager, suppress
from pathlib import Path

from closecall.errors import ClosecallError, RunFolderError, UsageError
from closecall.storage import Store, is_url
from closecall.there import resolved

_ELSEWHERE = re.compile(
    r"(?:Continue it with: .*; or choose|Choose) another(?: folder| place)?: --(?:aef|parts) DIR"
)
_SAFE = re.compile(r"\. (?:The \d+ lines before|Its results) are safe\..*", re.DOTALL)
"""What a run folder says that cannot be written; of a merge nothing is left to go on with."""


def require_apart(places: Sequence[str | os.PathLike[str]], to: str) -> None:
    """Refuse a place within a shard, whose seal what is written there would break.

    Raises
    ------
    UsageError
        Names both.
    """
    here = [os.fspath(place) for place in places if not is_url(place)]
    if is_url(to) or not here:
        return
    above = _whole(to).parents
    for place in here:
        if _whole(place) in above:
            raise UsageError(
                f"{to}: lies within {place}, a shard that is sealed as it is. Choose another "
                "place: -o DIR"
            )


def _whole(place: str) -> Path:
    """Return a path without links; of one that leads nowhere is told when it is opened."""
    try:
        return resolved(place)
    except (OSError, ValueError):
        return Path(place)


def cleared(place: Path, *, folder: bool) -> None:
    """Remove what was written in a folder, and with ``folder`` that itself; it may be a link."""
    if folder:
        shutil.rmtree(place, ignore_errors=True)
        return
    for one in place.iterdir():
        if one.is_dir() and not one.is_symlink():
            shutil.rmtree(one, ignore_errors=True)
        else:
            one.unlink(missing_ok=True)


def emptied(store: Store) -> None:
    """Remove all objects of a store."""
    for name in store.names():
        store.remove(name)


@contextmanager
def said_of_a_merge() -> Iterator[None]:
    """Name the option of a merge, and nothing to go on with, where a place cannot be taken."""
    try:
        yield
    except RunFolderError as error:
        told = _ELSEWHERE.sub("Choose another place: -o DIR", str(error))
        raise RunFolderError(told) from error


@contextmanager
def nothing_left(clear: Callable[[], None]) -> Iterator[None]:
    """Take away what was written where the merge does not come to its end."""
    try:
        yield
    except BaseException as error:
        with suppress(ClosecallError, OSError):  # the first error counts
            clear()
        told = _SAFE.sub("", str(error))
        if isinstance(error, RunFolderError) and told != str(error):
            raise RunFolderError(f"{told}. Choose another place: -o DIR") from error
        raise

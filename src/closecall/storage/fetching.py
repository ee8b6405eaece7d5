"""A copy on this machine of one object."""

from __future__ import annotations

import os
import shutil
import tempfile
import weakref
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path
from typing import cast

from closecall.errors import StorageError, UsageError
from closecall.storage.places import Location, is_url, located
from closecall.storage.ranges import PIECE
from closecall.storage.remote import UrlStore, open_remote


@contextmanager
def fetched(url: str | os.PathLike[str]) -> Iterator[Path]:
    """Give an object of object storage as a file of this machine, while the block lasts.

    It is fetched by ranges: a lost connection is taken up again where it broke off, and an object
    that is replaced meanwhile is refused. A path of this machine is given as it is.

    Parameters
    ----------
    url
        Of the object, or a path.

    Raises
    ------
    StorageError
        There is no such object, it cannot be fetched or changed meanwhile, or no room is left.
    UsageError, ConfigurationError
        As of ``open_store``.
    """
    if not is_url(url):
        yield Path(url)
        return
    copy = Copy(located(url))
    try:
        yield copy.path
    finally:
        copy.drop()


class Copy:
    """An object fetched to this machine; it goes with ``drop``, or with the last reference.

    Attributes
    ----------
    path
        The file, named as the object is.
    url
        Of the object.
    """

    def __init__(self, where: Location) -> None:
        store, name = _within(where)
        folder = temporary_folder()
        self.url = where.url
        self.drop = weakref.finalize(self, shutil.rmtree, folder, ignore_errors=True)
        self.path = Path(folder) / where.name
        try:
            fetch(store, name, self.path)
        except BaseException:
            self.drop()
            raise


def temporary_folder() -> str:
    """Make a folder for copies, which the caller removes.

    Raises
    ------
    StorageError
        There is no place for one.
    """
    try:
        return tempfile.mkdtemp(prefix="closecall-")
    except OSError as error:
        raise StorageError(
            f"no temporary folder can be made for a copy: {error.strerror or error}; set TMPDIR "
            "to a folder with room"
        ) from error


def _within(where: Location) -> tuple[UrlStore, str]:
    """Return the store that holds an object, and the object's name in it."""
    parent, _, name = where.url.rpartition("/")
    if parent.endswith("/"):
        raise UsageError(f"{where.url}: is a bucket; name an object in it: {where.url}/NAME")
    return open_remote(Location(where.scheme, parent)), name


def fetch(store: UrlStore, name: str, path: Path, most: int | None = None) -> None:
    """Fetch an object of a store into a file, whole and of the length it is said to have.

    Parameters
    ----------
    most
        Bytes it may have, if there is any bound; of a larger one nothing is fetched.

    Raises
    ------
    StorageError
        It cannot be fetched or is too large, or the file cannot be written.
    """
    source, size = store.ranges(name), 0
    if most is not None and source.size > most:
        raise StorageError(f"{store.place}/{name}: is larger than {most:,} bytes")
    try:
        path.parent.mkdir(parents=True, exist_ok=True)
        with path.open("wb") as out:
            while data := cast("bytes", source.read(PIECE)):
                size += out.write(data)
    except OSError as error:
        raise StorageError(
            f"{store.place}/{name}: its copy {path} cannot be written: {error.strerror or error}"
        ) from error
    if size != store.size(name):
        raise StorageError(f"{store.place}/{name}: came with {size} bytes; try again")

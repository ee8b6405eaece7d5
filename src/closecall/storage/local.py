"""A folder of this machine as a store."""

from __future__ import annotations

import contextlib
import os
import shutil
import tempfile
from collections.abc import Iterator
from pathlib import Path
from typing import BinaryIO

from closecall.atomic import PREFIX, whole_bytes
from closecall.errors import StorageError, UsageError
from closecall.storage.store import checked


class LocalStore:
    """The files below one folder; what is being written is not listed."""

    def __init__(self, root: Path) -> None:
        self.root = root
        self.place = str(root)

    def names(self, under: str = "") -> list[str]:
        """Return the names of all files, sorted."""
        top = self.root / checked(under) if under else self.root
        with _translated(top, "cannot be listed"):
            found = [
                (Path(folder) / name).relative_to(self.root).as_posix()
                for folder, _, names in os.walk(top, onerror=_listing_failed)
                for name in names
                if not name.startswith(PREFIX)
            ]
        return sorted(found)

    def exists(self, name: str) -> bool:
        """Whether there is such a file."""
        return self._path(name).is_file()

    def size(self, name: str) -> int:
        """Return its bytes."""
        with _translated(self._path(name), "cannot be looked at"):
            return self._path(name).stat().st_size

    def read(self, name: str) -> bytes:
        """Return all of it."""
        with _translated(self._path(name), "cannot be read"):
            return self._path(name).read_bytes()

    def open(self, name: str) -> BinaryIO:
        """Open it for reading."""
        with _translated(self._path(name), "cannot be read"):
            return self._path(name).open("rb")

    def write(self, name: str, data: bytes | Path) -> None:
        """Put a file there: whole, or not at all."""
        path = self._path(name)
        try:
            with whole_bytes(path) as out:
                if isinstance(data, bytes):
                    out.write(data)
                else:
                    with _translated(data, "cannot be read"), data.open("rb") as source:
                        shutil.copyfileobj(source, out)
        except UsageError as error:
            raise StorageError(str(error)) from error

    def create(self, name: str, data: bytes) -> bool:
        """Put a file there if there is none of that name."""
        path = self._path(name)
        with _translated(path, "cannot be written"):
            path.parent.mkdir(parents=True, exist_ok=True)
            handle, temporary = tempfile.mkstemp(dir=path.parent, prefix=PREFIX)
            try:
                with os.fdopen(handle, "wb") as out:
                    out.write(data)
                    out.flush()
                    os.fsync(out.fileno())
                return _linked(Path(temporary), path, data)
            finally:
                Path(temporary).unlink(missing_ok=True)

    def remove(self, name: str) -> None:
        """Take a file away."""
        with _translated(self._path(name), "cannot be removed"):
            self._path(name).unlink(missing_ok=True)

    def _path(self, name: str) -> Path:
        return self.root / checked(name)


def _linked(temporary: Path, path: Path, data: bytes) -> bool:
    """Give a whole file its name unless that is taken."""
    try:
        os.link(temporary, path)
    except FileExistsError:
        return False
    except OSError:  # a file system without links
        try:
            with path.open("xb") as out:
                out.write(data)
        except FileExistsError:
            return False
    return True


def _listing_failed(error: OSError) -> None:
    # What is not there holds nothing, as on object storage.
    if not isinstance(error, FileNotFoundError):
        raise error


@contextlib.contextmanager
def _translated(path: Path, what: str) -> Iterator[None]:
    try:
        yield
    except FileNotFoundError:
        raise StorageError(f"{path}: there is no such file") from None
    except OSError as error:
        raise StorageError(f"{path}: {what}: {error.strerror or error}") from error

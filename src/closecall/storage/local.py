"""A folder of this machine as a store."""

from __future__ import annotations

import contextlib
import os
import stat
import tempfile
from collections.abc import Iterator
from pathlib import Path
from typing import BinaryIO

from closecall.atomic import PREFIX, new_file_mode, whole_bytes
from closecall.errors import StorageError, UsageError
from closecall.storage.store import checked
from closecall.there import exists, is_file

_PIECE = 1024 * 1024


class LocalStore:
    """The files below one folder; what is being written is not listed."""

    def __init__(self, root: Path) -> None:
        self.root = root
        self.place = str(root)

    def names(self, under: str = "") -> list[str]:
        """Return the names of all files, sorted."""
        top = self.root / checked(under) if under else self.root
        if under:
            self._require_own(under, "cannot be listed")
        with _translated(top, "cannot be listed"):
            return sorted(path.relative_to(self.root).as_posix() for path in _files_below(top))

    def exists(self, name: str) -> bool:
        """Whether there is such a file."""
        with _translated(self._path(name), "cannot be looked for"):
            return is_file(self._path(name))

    def size(self, name: str) -> int:
        """Return its bytes."""
        with self.open(name) as file:
            return os.fstat(file.fileno()).st_size

    def read(self, name: str) -> bytes:
        """Return all of it."""
        with self.open(name) as file, _translated(self._path(name), "cannot be read"):
            return file.read()

    def open(self, name: str) -> BinaryIO:
        """Open it for reading; links, pipes and devices are refused."""
        path = self._path(name)
        self._require_plain(name, "cannot be read")
        flags = os.O_RDONLY
        for flag in ("O_BINARY", "O_NOFOLLOW", "O_NONBLOCK", "O_CLOEXEC"):
            flags |= getattr(os, flag, 0)
        with _translated(path, "cannot be read"):
            return os.fdopen(os.open(path, flags), "rb")

    def write(self, name: str, data: bytes | Path) -> None:
        """Put a file there: whole, or not at all."""
        path = self._path(name)
        self._require_plain(name, "cannot be written", missing_ok=True)
        try:
            with whole_bytes(path) as out:
                if isinstance(data, bytes):
                    out.write(data)
                else:
                    for piece in _pieces(data):
                        out.write(piece)
        except UsageError as error:
            raise StorageError(str(error)) from error

    def create(self, name: str, data: bytes) -> bool:
        """Put a file there if there is none of that name."""
        path = self._path(name)
        self._require_plain(name, "cannot be written", missing_ok=True)
        with _translated(path, "cannot be written"):
            path.parent.mkdir(parents=True, exist_ok=True)
            handle, temporary = tempfile.mkstemp(dir=path.parent, prefix=PREFIX)
            try:
                with os.fdopen(handle, "wb") as out:
                    out.write(data)
                    out.flush()
                    os.fsync(out.fileno())
                Path(temporary).chmod(new_file_mode())
                return _linked(Path(temporary), path)
            finally:
                Path(temporary).unlink(missing_ok=True)

    def remove(self, name: str) -> None:
        """Take a file away, or a link itself; nothing beyond one."""
        parent, _, _ = name.rpartition("/")
        if parent:
            self._require_own(parent, "cannot be removed")
        with _translated(self._path(name), "cannot be removed"):
            self._path(name).unlink(missing_ok=True)

    def _path(self, name: str) -> Path:
        return self.root / checked(name)

    def _require_plain(self, name: str, what: str, *, missing_ok: bool = False) -> None:
        """Refuse links on the way to a file, and anything that is no file in its place."""
        path = self._path(name)
        self._require_own(name, what)
        with _translated(path, what):
            if missing_ok and not exists(path):
                return
            if not stat.S_ISREG(path.stat().st_mode):
                raise StorageError(f"{path}: is not a regular file")

    def _require_own(self, name: str, what: str) -> None:
        """Refuse links on the way to a file or folder, and in its place."""
        for place in (self.root / part for part in _from_the_top(checked(name))):
            with _translated(place, what):
                if place.is_symlink():
                    raise StorageError(f"{place}: is a link; the folder holds its files itself")
                if not exists(place):
                    return


def _pieces(path: Path) -> Iterator[bytes]:
    """Yield a file in pieces; what goes wrong where they go to is none of its faults."""
    with _translated(path, "cannot be read"), path.open("rb") as source:
        while piece := source.read(_PIECE):
            yield piece


def _files_below(top: Path) -> Iterator[Path]:
    """Yield the files below a folder, links to folders too: what is behind one is not its own.

    One folder after the other, since a stranger's may be nested deeper than calls may.
    """
    waiting = [top]
    while waiting:
        try:
            entries = list(os.scandir(waiting.pop()))
        except FileNotFoundError:  # what is not there holds nothing, as on object storage
            continue
        for entry in entries:
            if entry.is_dir(follow_symlinks=False):
                waiting.append(Path(entry.path))
            elif not entry.name.startswith(PREFIX):
                yield Path(entry.path)


def _from_the_top(name: str) -> list[str]:
    parts = name.split("/")
    return ["/".join(parts[: at + 1]) for at in range(len(parts))]


def _linked(temporary: Path, path: Path) -> bool:
    """Give a whole file its name unless that is taken."""
    try:
        os.link(temporary, path)
    except FileExistsError:
        return False
    except OSError:  # a file system without links
        try:
            path.open("xb").close()
        except FileExistsError:
            return False
        try:
            temporary.replace(path)
        except BaseException:
            path.unlink(missing_ok=True)
            raise
    return True


@contextlib.contextmanager
def _translated(path: Path, what: str) -> Iterator[None]:
    try:
        yield
    except FileNotFoundError:
        raise StorageError(f"{path}: there is no such file") from None
    except OSError as error:
        raise StorageError(f"{path}: {what}: {error.strerror or error}") from error

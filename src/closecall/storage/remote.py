"""A prefix on object storage as a store.

Every request is one that can be made again: a range of an object that did not change, one whole
object written, one created only where there is none.
"""

from __future__ import annotations

from collections.abc import Callable
from pathlib import Path
from typing import Any, BinaryIO, NamedTuple, TypeVar, cast

from closecall.errors import StorageError
from closecall.storage.filesystems import file_system
from closecall.storage.places import Location
from closecall.storage.ranges import RangeFile, buffered
from closecall.storage.retrying import Refusal, Retry, failed, tried
from closecall.storage.store import checked

T = TypeVar("T")

_VERSIONS = ("ETag", "etag", "generation", "created", "LastModified", "last_modified")


class Facts(NamedTuple):
    """What a service says about an object: its bytes, and what changes when it is replaced."""

    size: int
    version: str


class UrlStore:
    """The objects below one URL.

    Parameters
    ----------
    place
        The URL.
    files
        fsspec's file system for it.
    base
        The path of the URL in that.
    retry
        How often a failure that passes is tried again.
    """

    def __init__(self, place: str, files: Any, base: str, retry: Retry | None = None) -> None:
        self.place = place
        self._files, self._base = files, base.rstrip("/")
        self._retry = retry or Retry()

    def names(self, under: str = "") -> list[str]:
        """Return the names of all objects, sorted."""
        top = self._path(under) if under else self._base
        start = f"{self._base}/"
        try:
            found = self._tried("listing", lambda: self._files.find(top), self.place)
        except _AbsentError:
            return []
        own = (str(path).removeprefix(start) for path in found if str(path).startswith(start))
        # Some tools leave an empty object for what they take for a folder.
        return sorted(name for name in own if name and not name.endswith("/"))

    def exists(self, name: str) -> bool:
        """Whether there is such an object."""
        try:
            self.facts(name)
        except _AbsentError:
            return False
        return True

    def size(self, name: str) -> int:
        """Return its bytes."""
        return self.facts(name).size

    def facts(self, name: str) -> Facts:
        """Return what the service says about an object."""
        path = self._path(name)

        def look() -> Facts:
            info = self._files.info(path)
            if info.get("type") != "file":
                raise FileNotFoundError(path)
            found = next((str(info[key]) for key in _VERSIONS if info.get(key)), "")
            return Facts(int(info["size"]), found)

        return self._tried("looking for it", look, self._shown(name))

    def read(self, name: str) -> bytes:
        """Return all of it."""
        with self.open(name) as file:
            return file.read()

    def open(self, name: str) -> BinaryIO:
        """Open it for reading; a lost connection is taken up again, at the byte it broke off.

        Raises ``StorageError`` where another object took its place meanwhile.
        """
        return cast("BinaryIO", buffered(self.ranges(name)))

    def ranges(self, name: str) -> RangeFile:
        """Return it as a file without a buffer."""
        before, path = self.facts(name), self._path(name)
        shown = self._shown(name)
        if not before.size:
            return RangeFile(0, lambda _start, _stop: b"")

        def fetch(start: int, stop: int) -> bytes:
            def get() -> bytes:
                data: bytes = self._files.cat_file(path, start=start, end=stop)
                if len(data) != stop - start:
                    raise ConnectionError("broke off")
                return data

            data = self._tried("reading", get, shown)
            if self.facts(name) != before:
                raise StorageError(f"{shown}: changed while it was being read; start again")
            return data

        return RangeFile(before.size, fetch)

    def write(self, name: str, data: bytes | Path) -> None:
        """Put an object there: whole, or not at all."""
        path = self._path(name)

        def put() -> None:
            if isinstance(data, bytes):
                self._files.pipe_file(path, data)
            else:
                self._files.put_file(str(data), path)

        self._tried("writing", put, self._shown(name))

    def create(self, name: str, data: bytes) -> bool:
        """Put an object there if there is none of that name."""
        path = self._path(name)
        try:
            tried(lambda: self._files.pipe_file(path, data, mode="create"), self._retry)
        except Refusal as refusal:
            if not refusal.fault.exists:
                raise failed(self._shown(name), "writing", refusal) from None
        else:
            return True
        try:
            # The answer to a first attempt may have been lost on its way.
            return self._files.protocol != "memory" and self.read(name) == data
        except _AbsentError:
            return False

    def remove(self, name: str) -> None:
        """Take an object away."""
        path = self._path(name)
        try:
            self._tried("removing", lambda: self._files.rm_file(path), self._shown(name))
        except _AbsentError:
            return

    def _path(self, name: str) -> str:
        return f"{self._base}/{checked(name)}"

    def _shown(self, name: str) -> str:
        return f"{self.place}/{name}"

    def _tried(self, doing: str, call: Callable[[], T], shown: str) -> T:
        try:
            return tried(call, self._retry)
        except Refusal as refusal:
            error = failed(shown, doing, refusal)
            absent = refusal.fault.absent
        raise _AbsentError(str(error)) if absent else error


class _AbsentError(StorageError):
    """There is no such object."""


def open_remote(where: Location, retry: Retry | None = None) -> UrlStore:
    """Return the store of a URL.

    Raises
    ------
    ConfigurationError
        A package is missing, or the environment does not say enough to reach the service.
    """
    files, path = file_system(where)
    return UrlStore(where.url, files, path, retry)

"""A file of lines that only grows, by whole lines, within the limits of the format."""

from __future__ import annotations

import os
import time
from collections.abc import Sequence
from pathlib import Path

from closecall.errors import RunFolderError
from closecall.runs.wire import MAX_FILE, MAX_LINE, MAX_LINES

SYNC_SECONDS = 5.0


class Appender:
    """An open file of whole lines.

    A batch is handed to the system in one write, so a killed process loses nothing that was
    appended (the last line may be cut in its middle when it was killed while writing). It is
    flushed to the disk at most every 5 seconds; a power failure may take what came after.
    A write that fails half-way (a full disk) is taken back; ``hint`` then ends the message.
    """

    def __init__(self, path: Path, *, create: bool, hint: str = "") -> None:
        flags = os.O_RDWR | os.O_APPEND | getattr(os, "O_BINARY", 0)
        flags |= getattr(os, "O_NOFOLLOW", 0) | getattr(os, "O_CLOEXEC", 0)
        self.path = path
        self.descriptor = os.open(path, flags | (os.O_CREAT if create else 0), 0o644)
        self.size = os.fstat(self.descriptor).st_size
        self.count = 0
        self._hint = f" {hint}" if hint else ""
        self._synced = time.monotonic()
        self._broken = False

    def cut(self, size: int, count: int) -> None:
        """Keep the first ``size`` bytes, which are ``count`` lines."""
        os.ftruncate(self.descriptor, size)
        self.size, self.count = size, count

    def append(self, batch: Sequence[bytes]) -> None:
        """Write whole lines (each ends in LF), or none of them.

        Raises
        ------
        RunFolderError
            A limit of the format, or the system refused (disk full, ...). The file then holds
            what it held before.
        """
        data = b"".join(batch)
        self._require_room(batch, len(data))
        if self._broken:
            raise RunFolderError(f"{self.path}: an earlier write failed and could not be undone")
        view = memoryview(data)
        try:
            while view:
                view = view[os.write(self.descriptor, view) :]
        except OSError as error:
            self._take_back()
            raise RunFolderError(
                f"{self.path}: cannot be written: {error.strerror or error}. "
                f"The {self.count} lines before are safe.{self._hint}"
            ) from error
        self.size += len(data)
        self.count += len(batch)
        if time.monotonic() - self._synced >= SYNC_SECONDS:
            self.sync()

    def _require_room(self, batch: Sequence[bytes], more: int) -> None:
        longest = max(map(len, batch), default=0) - 1
        if longest > MAX_LINE:
            raise RunFolderError(
                f"{self.path}: a line of {longest} bytes is longer than the {MAX_LINE} allowed"
            )
        if self.count + len(batch) > MAX_LINES or self.size + more > MAX_FILE:
            raise RunFolderError(
                f"{self.path}: a run holds at most {MAX_LINES} lines and {MAX_FILE} bytes of "
                "them; split the cases over several runs"
            )

    def _take_back(self) -> None:
        try:
            os.ftruncate(self.descriptor, self.size)
        except OSError:
            self._broken = True

    def sync(self) -> None:
        """Flush what was written to the disk."""
        try:
            os.fsync(self.descriptor)
        except OSError as error:
            raise RunFolderError(
                f"{self.path}: cannot be flushed to the disk: {error.strerror or error}."
                f"{self._hint}"
            ) from error
        self._synced = time.monotonic()

    def close(self) -> None:
        """Close the file, and with it let go of its lock."""
        if self.descriptor >= 0:
            os.close(self.descriptor)
            self.descriptor = -1

"""A journal of labels: a file that only grows, one line an event, on the disk before the next key.

The first line says what the file is. A line that a killed process left half written is taken
off when the journal is opened again; a second process on the same journal is refused.
"""

from __future__ import annotations

import contextlib
import errno
import os
from collections.abc import Sequence
from pathlib import Path
from types import TracebackType
from typing import NamedTuple, Self

import msgspec

from closecall.errors import DataError, UsageError
from closecall.labelling.events import Event
from closecall.plain import read_plain
from closecall.storage import locking
from closecall.there import exists, is_file

VERSION = 1
SUFFIX = ".labels.jsonl"
MOST_BYTES = 1 << 30
"""Larger files are no journals that a person wrote with keys."""


class JournalError(UsageError):
    """The journal cannot be opened, locked or written; labelling cannot go on."""


class Header(msgspec.Struct, frozen=True, kw_only=True):
    """The first line: the version of the layout, and the name of the case file."""

    closecall_labels: int
    file: str


class Lines(NamedTuple):
    """What a journal holds: its events, and how many bytes of it are whole lines.

    ``lost`` is the number of bytes of a line that was cut short; ``open_end`` whether the last
    line is whole but for its line end.
    """

    header: Header | None
    events: tuple[Event, ...]
    whole: int
    lost: int
    open_end: bool


_events = msgspec.json.Decoder(Event)
_headers = msgspec.json.Decoder(Header)
_encode = msgspec.json.Encoder().encode


def journal_of(file: Path) -> Path:
    """Return where the labels of a case file are kept: beside it.

    >>> journal_of(Path("answers.csv")).name
    'answers.csv.labels.jsonl'
    """
    return file.with_name(f"{file.name}{SUFFIX}")


def read_journal(path: Path) -> tuple[Event, ...]:
    """Return the events of a journal, without changing it.

    Raises
    ------
    DataError
        It is no journal, of another version, or damaged before its last line.
    """
    try:
        return _parse(path, read_plain(path, MOST_BYTES)).events
    except OSError as error:
        raise DataError(f"{path}: cannot be read: {error.strerror or error}") from error


class Journal:
    """A journal open for writing, by this process alone; ``events`` are those it held.

    ``repaired`` is the number of bytes of a cut line that were taken off.
    """

    def __init__(self, path: Path, file: str) -> None:
        self.path = path
        self._size = 0
        self._broken = False
        self._descriptor = _opened(path)
        try:
            self._lock()
            found = _parse(path, self._read())
            self.repaired = found.lost
            self._mend(found, file)
        except BaseException:
            self.close()
            raise
        self.events = found.events
        self._count = found.events[-1].number if found.events else 0

    def __enter__(self) -> Self:
        return self

    def __exit__(
        self,
        kind: type[BaseException] | None,
        error: BaseException | None,
        trace: TracebackType | None,
    ) -> None:
        self.close()

    @property
    def next_number(self) -> int:
        """The number of the next event."""
        return self._count + 1

    def append(self, event: Event) -> None:
        """Write one event; when this returns, it is on the disk.

        Raises
        ------
        JournalError
            It cannot be written, and the journal holds what it held before.
        """
        self._write(_encode(event) + b"\n")
        self._count = event.number

    def close(self) -> None:
        """Close the file, and with it let go of its lock."""
        if self._descriptor >= 0:
            os.close(self._descriptor)
            self._descriptor = -1

    def _lock(self) -> None:
        try:
            locking.lock(self._descriptor)
        except locking.BusyError:
            raise JournalError(
                f"{self.path}: another process is labelling into this journal. Close that one "
                "first, or keep these labels elsewhere with -o OTHER"
            ) from None
        except OSError as error:
            raise JournalError(
                f"{self.path}: cannot be locked: {error.strerror or error}. Keep the labels on a "
                "file system that can lock, with -o PATH"
            ) from error

    def _read(self) -> bytes:
        with os.fdopen(os.dup(self._descriptor), "rb") as file:
            file.seek(0)
            # One byte more than there is, not than there may be: so much memory is taken at once.
            return file.read(min(os.fstat(file.fileno()).st_size, MOST_BYTES) + 1)

    def _mend(self, found: Lines, file: str) -> None:
        """Take off a line that was cut short, end one that lacks its end, begin a new file."""
        self._size = found.whole
        if found.lost:
            try:
                os.ftruncate(self._descriptor, found.whole)
            except OSError as error:
                raise _unwritable(self.path, error) from error
        if found.open_end:
            self._write(b"\n")
        if found.header is None:
            self._write(_encode(Header(closecall_labels=VERSION, file=file)) + b"\n")
            _sync_folder(self.path.parent)

    def _write(self, data: bytes) -> None:
        if self._broken or self._descriptor < 0:
            raise JournalError(f"{self.path}: an earlier write failed; start again")
        view = memoryview(data)
        try:
            while view:
                view = view[os.write(self._descriptor, view) :]
            os.fsync(self._descriptor)
        except OSError as error:
            try:
                os.ftruncate(self._descriptor, self._size)
            except OSError:
                self._broken = True
            raise _unwritable(self.path, error) from error
        self._size += len(data)


def _opened(path: Path) -> int:
    flags = os.O_RDWR | os.O_APPEND | os.O_CREAT
    for name in ("O_BINARY", "O_NOFOLLOW", "O_CLOEXEC"):
        flags |= getattr(os, name, 0)
    # A pipe or a device would wait for a reader, or keep nothing.
    if exists(path) and not is_file(path):
        raise JournalError(f"{path}: is no file that labels can be kept in; name one with -o PATH")
    try:
        return os.open(path, flags, 0o644)
    except OSError as error:
        raise _unwritable(path, error) from error


def _unwritable(path: Path, error: OSError) -> JournalError:
    hint = " Keep the labels elsewhere with -o PATH."
    if error.errno == errno.ELOOP:
        hint = " It is a link, which is not followed: name the file itself with -o PATH."
    if error.errno in {errno.ENOSPC, getattr(errno, "EDQUOT", errno.ENOSPC)}:
        hint = " Make room and start again: every label before this one is safe."
    return JournalError(f"cannot write {path}: {error.strerror or error}.{hint}")


def _sync_folder(folder: Path) -> None:
    """Make the name of a new file last, where folders can be flushed."""
    with contextlib.suppress(OSError):
        descriptor = os.open(folder, os.O_RDONLY)
        try:
            os.fsync(descriptor)
        finally:
            os.close(descriptor)


def _parse(path: Path, data: bytes) -> Lines:
    if len(data) > MOST_BYTES:
        raise DataError(f"{path}: is larger than {MOST_BYTES:,} bytes: no journal of labels")
    *whole, rest = data.split(b"\n")
    open_end = bool(rest) and _is_whole(rest, first=not whole)
    if open_end:
        whole.append(rest)
    lost = 0 if open_end else len(rest)
    if not whole:
        if lost and not rest.startswith(b'{"closecall_labels"'[: len(rest)]):
            raise _no_journal(path)
        return Lines(None, (), 0, lost, open_end=False)
    header = _header(path, whole[0])
    events = _numbered(path, whole[1:])
    return Lines(header, events, len(data) - lost, lost, open_end)


def _is_whole(line: bytes, *, first: bool) -> bool:
    try:
        (_headers if first else _events).decode(line)
    except (msgspec.DecodeError, UnicodeDecodeError):
        return False
    return True


def _header(path: Path, line: bytes) -> Header:
    try:
        header = _headers.decode(line)
    except (msgspec.DecodeError, UnicodeDecodeError):
        raise _no_journal(path) from None
    if header.closecall_labels != VERSION:
        raise DataError(
            f"{path}:1: closecall_labels: version {header.closecall_labels} was written by "
            f"another version of closecall; this one reads {VERSION}"
        )
    return header


def _no_journal(path: Path) -> DataError:
    return DataError(
        f"{path}:1: is no journal of labels (its first line does not say closecall_labels). It "
        "is left alone; name another with -o PATH"
    )


def _numbered(path: Path, lines: Sequence[bytes]) -> tuple[Event, ...]:
    found: list[Event] = []
    for at, line in enumerate(lines, start=2):
        try:
            event = _events.decode(line)
        except (msgspec.DecodeError, UnicodeDecodeError) as error:
            raise DataError(
                f"{path}:{at}: is damaged ({error}). Put back a copy, or take this line out"
            ) from None
        if event.number <= (found[-1].number if found else 0):
            raise DataError(
                f"{path}:{at}: number: {event.number} does not follow the line before; events "
                "are numbered upwards"
            )
        found.append(event)
    return tuple(found)

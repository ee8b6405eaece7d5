"""One file of a cassette: every line checked when it is opened, one line read at a time after.

What is recorded is first appended to a journal beside the file, so that a process killed at any
moment loses none of it. ``close`` puts both together, sorted, and moves the result into place.
Where a journal was left behind, it counts as part of the file, and the next close that may write
puts it there. In memory there is one place a line, never the lines.
"""

from __future__ import annotations

import contextlib
import os
import sys
import threading
from collections.abc import Iterator
from pathlib import Path
from typing import IO, NamedTuple, Self

from closecall.atomic import whole_file
from closecall.cassettes.entries import (
    MAX_LINE,
    Entry,
    Identified,
    Line,
    read_header,
    read_line,
    require_sound,
    write_header,
    write_line,
)
from closecall.cassettes.locks import open_locked
from closecall.cassettes.naming import JOURNAL, SUFFIX
from closecall.errors import CassetteError
from closecall.there import exists, is_file

MAX_FILE = 1024 * 1024 * 1024
MAX_LINES = 1_000_000


class Place(NamedTuple):
    """Where a line lies: in the file or its journal, from which byte on, how many, which line.

    ``identity`` is the digest of who replied; empty for a line that is an identity itself.
    """

    journal: bool
    offset: int
    length: int
    number: int
    identity: str = ""


class Tape:
    """The lines of one scenario, by key.

    Parameters
    ----------
    path
        The file; it may not exist yet.
    scenario
        Whose recordings it holds; None: whatever its first line says.
    writing
        Whether it may be added to. Then no other process may, until ``close``.

    Raises
    ------
    CassetteError
        A line cannot be read (with its place), the file belongs to another scenario, or another
        process is writing it.
    """

    def __init__(self, path: Path, scenario: str | None = None, *, writing: bool = False) -> None:
        self.path = path
        self.scenario = scenario
        self.identities: dict[str, Identified] = {}
        self._journal_path = path.with_name(path.name.removesuffix(SUFFIX) + JOURNAL)
        self._places: dict[str, Place] = {}
        self._lock = threading.RLock()
        self._files: dict[bool, IO[bytes]] = {}
        self._writing = -1
        self._size = self._lines = 0
        self._changed = False
        try:
            if writing:
                self._writing = open_locked(self._journal_path)
            self._open(journal=False)
            self._open(journal=True)
            self._require_identities()
        except BaseException:
            self._let_go()
            raise

    def __enter__(self) -> Self:
        return self

    def __exit__(self, *_: object) -> None:
        self.close()

    def __len__(self) -> int:
        return len(self._places)

    def __contains__(self, key: str) -> bool:
        return key in self._places

    def sorted_keys(self) -> list[str]:
        """Return every key, sorted."""
        return sorted(self._places)

    def place(self, key: str) -> str:
        """Return ``file:line`` of a key."""
        at = self._places[key]
        return f"{self._path(journal=at.journal)}:{at.number}"

    def size_of(self, key: str) -> int:
        """Return the bytes of a key's line, without its end."""
        return self._places[key].length

    def get(self, key: str) -> Entry | None:
        """Return the entry of a key; None if there is none."""
        with self._lock:
            at = self._places.get(key)
            if at is None:
                return None
            try:
                found = read_line(self._bytes(at))
            except ValueError as error:
                raise CassetteError(f"{self.place(key)}: {error}") from error
        return found if isinstance(found, Entry) else None

    def entries(self) -> Iterator[Entry]:
        """Yield every entry in the order of the keys; identities are in ``identities``."""
        for key in self.sorted_keys():
            entry = self.get(key)
            if entry is not None:
                yield entry

    def put(self, line: Line) -> None:
        """Add a line, in place of one with its key. It is on its way to the disk on return.

        Raises
        ------
        CassetteError
            It cannot be kept: no room, too long, half a character, a reply that is none.
        """
        try:
            if isinstance(line, Entry):
                require_sound(line)  # what could not be read back is not written
            data = write_line(line).encode() + b"\n"
        except ValueError as error:
            raise CassetteError(f"{self.path}: cannot hold a recording: {error}") from error
        with self._lock:
            self._append(data)
            self._places[line.key] = Place(
                journal=True,
                offset=self._size,
                length=len(data) - 1,
                number=self._lines + 1,
                identity=_who(line),
            )
            self._size += len(data)
            self._lines += 1
            self._changed = True
            if isinstance(line, Identified):
                self.identities[line.digest] = line

    def drop(self, keys: set[str]) -> None:
        """Leave lines out from now on; ``close`` writes the file without them."""
        with self._lock:
            for key in keys & self._places.keys():
                del self._places[key]
                self._changed = True

    def close(self) -> None:
        """Write what was added into the file, and let go of it. A second call does nothing.

        Raises
        ------
        CassetteError
            It cannot be written. The journal then stays, with everything in it.
        """
        with self._lock:
            try:
                if self._writing >= 0 and (self._changed or self._lines):
                    self._write()
                if self._writing >= 0:
                    self._remove_journal()
            finally:
                self._let_go()

    def _write(self) -> None:
        self._drop_strangers()
        try:
            with whole_file(self.path) as out:
                out.write(write_header(self.scenario or "") + "\n")
                for key in self.sorted_keys():
                    out.write(self._bytes(self._places[key]).decode() + "\n")
        except CassetteError:
            raise
        except Exception as error:
            raise CassetteError(
                f"{self.path}: {error}. What was recorded is safe in {self._journal_path.name}; "
                "the next recording puts it into the file"
            ) from error

    def _drop_strangers(self) -> None:
        """Leave out identities that no entry names any more."""
        named = {at.identity for at in self._places.values()}
        self.drop({one.key for digest, one in self.identities.items() if digest not in named})

    def _append(self, data: bytes) -> None:
        if self._writing < 0:
            raise CassetteError(f"{self.path}: is open for reading only")
        if len(self._places) >= MAX_LINES or self._size + len(data) > MAX_FILE:
            raise CassetteError(
                f"{self.path}: holds at most {MAX_LINES} lines and {MAX_FILE} bytes; split the "
                "cases over several scenarios"
            )
        view = memoryview(data)
        try:
            while view:
                view = view[os.write(self._writing, view) :]
        except OSError as error:
            with contextlib.suppress(OSError):
                os.ftruncate(self._writing, self._size)
            raise CassetteError(
                f"{self._journal_path}: cannot be written: {error.strerror or error}. The "
                f"{self._lines} recordings before are safe"
            ) from error

    def _open(self, *, journal: bool) -> None:
        """Read one of the two files from end to end."""
        path = self._path(journal=journal)
        try:
            if not is_file(path):
                if exists(path):
                    raise CassetteError(f"{path}: is no file")
                return
            file = self._files[journal] = path.open("rb")
            size = os.fstat(file.fileno()).st_size
        except OSError as error:
            raise CassetteError(f"{path}: cannot be read: {error.strerror or error}") from error
        if size > MAX_FILE:
            raise CassetteError(f"{path}: {size} bytes; a cassette's file has at most {MAX_FILE}")
        self._scan(file, path, journal=journal)

    def _scan(self, file: IO[bytes], path: Path, *, journal: bool) -> None:
        offset, before, number = 0, "", 0
        while raw := file.readline(MAX_LINE + 3):
            number += 1
            if number > MAX_LINES:
                raise CassetteError(f"{path}: has more than {MAX_LINES} lines")
            if not raw.endswith(b"\n"):
                # Killed while writing it: its reply was never used.
                if journal and len(raw) <= MAX_LINE + 1:
                    number -= 1
                    break
                raise CassetteError(f"{path}:{number}: {_whole(raw)}")
            # A checkout may have turned the line ends into CRLF.
            body = raw.removesuffix(b"\n").removesuffix(b"\r")
            try:
                if number == 1 and not journal:
                    self._take_header(body)
                else:
                    key = self._take(body, Place(journal, offset, len(body), number))
                    _require_order(before, key, journal=journal)
                    before = key
            except ValueError as error:
                raise CassetteError(f"{path}:{number}: {error}") from error
            offset += len(raw)
        if journal:
            self._keep_whole_lines(offset, number)
        elif not number:
            raise CassetteError(f"{path}: is empty; a cassette's file begins with its header")

    def _keep_whole_lines(self, size: int, lines: int) -> None:
        self._size, self._lines = size, lines
        if self._writing < 0:
            return
        self._changed = self._changed or size > 0
        if os.fstat(self._writing).st_size > size:
            os.ftruncate(self._writing, size)

    def _take_header(self, body: bytes) -> None:
        header = read_header(body)
        if self.scenario is None:
            self.scenario = header.scenario
        elif self.scenario != header.scenario:
            raise ValueError(f"holds the scenario {header.scenario!r}, not {self.scenario!r}")

    def _take(self, body: bytes, at: Place) -> str:
        line = read_line(body)
        self._places[line.key] = at._replace(identity=_who(line))
        if isinstance(line, Identified):
            self.identities[line.digest] = line
        return line.key

    def _require_identities(self) -> None:
        for key, at in self._places.items():
            if at.identity and at.identity not in self.identities:
                raise CassetteError(
                    f"{self.place(key)}: the line that says who replied is missing "
                    f"(identity:{at.identity[:12]}…); record it again"
                )

    def _bytes(self, at: Place) -> bytes:
        file = self._files.get(at.journal)
        if file is None:
            file = self._files[at.journal] = self._path(journal=at.journal).open("rb")
        file.seek(at.offset)
        return file.read(at.length)

    def _path(self, *, journal: bool) -> Path:
        return self._journal_path if journal else self.path

    def _remove_journal(self) -> None:
        # Where an open file cannot be removed, it goes after it is closed.
        with contextlib.suppress(OSError):
            self._journal_path.unlink()
            return
        self._let_go()
        with contextlib.suppress(OSError):
            self._journal_path.unlink()

    def _let_go(self) -> None:
        for file in self._files.values():
            file.close()
        self._files.clear()
        if self._writing >= 0:
            os.close(self._writing)
            self._writing = -1


def _who(line: Line) -> str:
    # One text for all lines that name it.
    return "" if isinstance(line, Identified) else sys.intern(line.identity)


def _whole(raw: bytes) -> str:
    if len(raw) > MAX_LINE:
        return f"is longer than {MAX_LINE} bytes"
    return "has no line end: the file was cut short"


def _require_order(before: str, key: str, *, journal: bool) -> None:
    if journal or before < key:
        return
    raise ValueError(
        f"the key {key} stands twice; keep one of the lines"
        if before == key
        else f"stands before its turn: {key} sorts before {before}. Sort the lines by their bytes"
    )

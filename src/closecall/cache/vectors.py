"""The vector cache: a file that may fail at any time without the run noticing more than time."""

from __future__ import annotations

import contextlib
import os
import sqlite3
import threading
from collections.abc import Callable, Iterable, Sequence
from pathlib import Path
from types import TracebackType
from typing import Self, TypeVar

from closecall.cache import schema
from closecall.cache.database import (
    DamagedError,
    Opened,
    UnavailableError,
    file_id,
    open_database,
    set_aside,
    transaction,
    translate,
)
from closecall.embedders.base import Embedded, TextKey
from closecall.errors import UsageError
from closecall.instrument import Instrument

T = TypeVar("T")

QUERY_KEYS = 20_000
"""Keys asked for in one statement; longer batches take several."""

PENDING_USES = 50_000
"""Uses noted in memory before they are written without waiting for the next vectors."""

BUSY_SECONDS = 30.0

MAX_REPLACEMENTS = 2
"""A disk on which fresh files turn out damaged again is left alone."""

_INHERITED: list[sqlite3.Connection] = []
"""Connections a forked child got from its parent: neither used nor closed there."""


class VectorCache:
    """Vectors in one SQLite file (WAL), shared by threads and processes.

    A key is made by ``instrument.cache_key`` alone, and every row carries its instrument's
    digest and a checksum over all it says: a vector comes back for the instrument, the role and
    the text it was stored for, bit for bit, or not at all. The file holds hashes of texts,
    never texts.

    Reading and writing never raise for the file's sake. A damaged, foreign or newer file is
    set aside under another name and a fresh one begun; a file that cannot be used is left alone
    from the first failure on. Each such event is one line in ``notices``. The file belongs on a
    local disk: SQLite's log does not work between machines.

    Parameters
    ----------
    path
        The file; made on first use with its folder, which is then its owner's alone (0700).
    on_notice
        Called with each notice as it arises.
    timeout
        Seconds to wait for a lock that another process holds.
    today
        Returns the day, counted from 1970-01-01; noted at most once a day for each vector used.
    """

    def __init__(
        self,
        path: str | os.PathLike[str],
        *,
        on_notice: Callable[[str], None] | None = None,
        timeout: float = BUSY_SECONDS,
        today: Callable[[], int] = schema.today,
    ) -> None:
        self.path = Path(path).absolute()
        self.notices: list[str] = []
        self.today = today
        self._on_notice = on_notice
        self._timeout = timeout
        self._lock = threading.RLock()
        self._pid = os.getpid()
        self._opened: Opened | None = None
        self._closed = False
        self._readable = True
        self._writable = True
        self._replaced = 0
        self._used: dict[int, int] = {}

    def open(self) -> bool:
        """Open the file now; return whether it can be read."""
        return self.attempt(lambda _: True) is True

    def knows(self, instrument: Instrument) -> bool:
        """Return whether vectors of this instrument were stored; they may be gone by now."""
        found = self.attempt(
            lambda connection: connection.execute(
                "SELECT 1 FROM instruments WHERE digest = ?", (instrument.digest,)
            ).fetchone()
        )
        return found is not None

    def get_many(self, instrument: Instrument, keys: Sequence[bytes]) -> dict[bytes, Embedded]:
        """Return those of ``keys`` that are stored; vectors are float32, (dims,), read-only.

        One query for every 20,000 keys.
        """
        if not keys:
            return {}
        return self.attempt(lambda connection: self._select(connection, instrument, keys)) or {}

    def put_many(
        self, instrument: Instrument, rows: Iterable[tuple[bytes, TextKey, Embedded]]
    ) -> None:
        """Store vectors in one transaction; a key already there is left as it is.

        Raises
        ------
        UsageError
            A key is not its text's key under ``instrument``.
        VectorError
            A vector is not float32 of shape (dims,), finite and not zero.
        """
        prepared = [schema.prepare(instrument, key, text, value) for key, text, value in rows]
        if prepared:
            self.attempt(
                lambda connection: self._insert(connection, instrument, prepared), writes=True
            )

    def close(self) -> None:
        """Note the last uses and close the file; later calls are errors."""
        with self._guard():
            if self._closed:
                return
            if self._used and self._opened is not None:
                self.attempt(self._note_uses, writes=True)
            self._closed = True
            self._disconnect()

    def attempt(
        self, work: Callable[[sqlite3.Connection], T], *, writes: bool = False
    ) -> T | None:
        """Run ``work`` on the open file; None where the file cannot be used.

        ``work`` may run a second time, on a fresh file. A failed write ends writing, a failed
        read ends both.
        """
        with self._guard():
            if self._closed:
                raise UsageError(f"the vector cache {self.path} is closed")
            while self._readable and (self._writable or not writes):
                try:
                    return work(self._connect())
                except (
                    sqlite3.Error,
                    OSError,
                    MemoryError,
                    UnicodeDecodeError,
                    DamagedError,
                    UnavailableError,
                    schema.DamagedRowError,
                ) as error:
                    self._recover(translate(error), writes=writes)
            return None

    def _select(
        self, connection: sqlite3.Connection, instrument: Instrument, keys: Sequence[bytes]
    ) -> dict[bytes, Embedded]:
        found: dict[bytes, Embedded] = {}
        asked = frozenset(keys)
        day = self.today()
        size = min(QUERY_KEYS, connection.getlimit(sqlite3.SQLITE_LIMIT_VARIABLE_NUMBER))
        for start in range(0, len(keys), size):
            chunk = keys[start : start + size]
            query = schema.SELECT_VECTORS.format(",".join("?" * len(chunk)))
            for row in connection.execute(query, chunk):
                key, value = schema.restore(instrument, row)
                if key not in asked:
                    raise schema.DamagedRowError("the index of keys leads to other rows")
                found[key] = value
                if row[schema.LAST_USED] < day:
                    self._used[row[schema.ROW_ID]] = day
        if len(self._used) > PENDING_USES:
            self.attempt(self._note_uses, writes=True)
        return found

    def _insert(
        self,
        connection: sqlite3.Connection,
        instrument: Instrument,
        prepared: Sequence[schema.PreparedRow],
    ) -> None:
        day, digest = self.today(), instrument.digest
        with transaction(connection):
            connection.execute(
                schema.INSERT_INSTRUMENT, (digest, schema.identity_text(instrument), day)
            )
            (number,) = connection.execute(
                "SELECT id FROM instruments WHERE digest = ?", (digest,)
            ).fetchone()
            (last,) = connection.execute("SELECT COALESCE(MAX(id), 0) FROM vectors").fetchone()
            connection.executemany(schema.INSERT_VECTOR, ((*row, number) for row in prepared))
            connection.execute(schema.INSERT_USES, (day, last))
        if self._used:
            self._note_uses(connection)

    def _note_uses(self, connection: sqlite3.Connection) -> None:
        used, self._used = self._used, {}
        with transaction(connection):
            connection.executemany(
                "UPDATE uses SET day = ? WHERE vector = ? AND day < ?",
                ((day, vector, day) for vector, day in used.items()),
            )

    def _connect(self) -> sqlite3.Connection:
        if self._opened is None:
            self._opened = open_database(self.path, self._timeout)
        return self._opened.connection

    def _disconnect(self) -> None:
        self._used.clear()
        opened, self._opened = self._opened, None
        if opened is not None:
            with contextlib.suppress(sqlite3.Error):
                opened.connection.close()

    def _recover(self, problem: DamagedError | UnavailableError, *, writes: bool) -> None:
        """Set the file aside or give it up; afterwards ``attempt`` knows what is left to try."""
        if isinstance(problem, UnavailableError) and problem.read_only and self._may_write():
            problem = DamagedError("its header forbids writing, its permissions allow it")
        if isinstance(problem, UnavailableError):
            if self._moved():
                self._disconnect()
            else:
                self._give_up(str(problem), writes=writes)
            return
        seen = self._opened.file_id if self._opened is not None else problem.seen
        self._disconnect()
        self._replaced += 1
        if self._replaced > MAX_REPLACEMENTS:
            self._give_up(f"its file is damaged again and again: {problem}", writes=False)
            return
        try:
            target = set_aside(self.path, seen, problem.label, self._timeout)
        except UnavailableError as error:
            self._give_up(f"{problem}; {error}", writes=False)
            return
        if target is not None:
            what = "is damaged" if problem.label == "damaged" else "is from a newer closecall"
            self._notice(
                f"vector cache: {self.path} {what} ({problem}). It was set aside as "
                f"{target.name} and a fresh cache begun."
            )

    def _may_write(self) -> bool:
        return not self._moved() and all(
            os.access(place, os.W_OK) for place in (self.path, self.path.parent)
        )

    def _moved(self) -> bool:
        """Return whether another process has set aside the file this connection still writes."""
        return self._opened is not None and file_id(self.path) != self._opened.file_id

    def _give_up(self, reason: str, *, writes: bool) -> None:
        self._writable = False
        if writes and self._opened is not None:
            self._notice(
                f"vector cache: cannot write {self.path} ({reason}). New vectors are not kept "
                "for later runs."
            )
            return
        self._readable = False
        self._disconnect()
        self._notice(
            f"vector cache: cannot use {self.path} ({reason}). Going on without it; name "
            "another folder with --cache-dir or CLOSECALL_CACHE_DIR, or set CLOSECALL_CACHE=off."
        )

    def _notice(self, text: str) -> None:
        self.notices.append(text)
        if self._on_notice is not None:
            self._on_notice(text)

    def _guard(self) -> contextlib.AbstractContextManager[bool]:
        """Return the lock; in a forked child, begin anew first, with a connection of its own."""
        if self._pid != os.getpid():
            self._pid = os.getpid()
            self._lock = threading.RLock()
            if self._opened is not None:
                _INHERITED.append(self._opened.connection)
                self._opened = None
            self._used = {}
        return self._lock

    def __enter__(self) -> Self:
        return self

    def __exit__(
        self,
        kind: type[BaseException] | None,
        error: BaseException | None,
        trace: TracebackType | None,
    ) -> None:
        self.close()

    def __del__(self) -> None:
        with contextlib.suppress(Exception):
            self.close()

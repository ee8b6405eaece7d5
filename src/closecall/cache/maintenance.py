"""Looking after the cache file: what is in it and what may go."""

from __future__ import annotations

import sqlite3
from collections.abc import Callable
from pathlib import Path
from typing import TypeVar

from closecall.cache import schema
from closecall.cache.database import set_aside_files, transaction
from closecall.cache.entries import (
    CacheInfo,
    Pruned,
    StoredInstrument,
)
from closecall.cache.vectors import VectorCache
from closecall.errors import ConfigurationError, UnknownNameError, UsageError

T = TypeVar("T")


def require(
    cache: VectorCache, work: Callable[[sqlite3.Connection], T], *, writes: bool = False
) -> T:
    """Run ``work`` on the open file, like ``cache.attempt``.

    Raises
    ------
    ConfigurationError
        The file cannot be used.
    """
    box: list[T] = []

    def boxed(connection: sqlite3.Connection) -> None:
        box[:] = [work(connection)]

    cache.attempt(boxed, writes=writes)
    if not box:
        reason = cache.notices[-1] if cache.notices else f"cannot use {cache.path}"
        raise ConfigurationError(reason)
    return box[0]


def present(path: Path) -> bool:
    """Return whether the cache file is there.

    Raises
    ------
    ConfigurationError
        Its folder cannot be looked into.
    """
    try:
        path.stat()
    except (FileNotFoundError, NotADirectoryError):
        return False
    except OSError as error:
        raise ConfigurationError(
            f"vector cache: cannot use {path} ({error.strerror or error}). Name another folder "
            "with --cache-dir or CLOSECALL_CACHE_DIR."
        ) from error
    return True


def info(cache: VectorCache) -> CacheInfo:
    """Return what the cache holds; a missing file is not made.

    Raises
    ------
    ConfigurationError
        The file cannot be used.
    """
    path = cache.path
    aside = tuple(map(str, set_aside_files(path)))
    if not present(path):
        return CacheInfo(path=str(path), exists=False, bytes=0, rows=0, set_aside=aside)
    found = require(cache, _instruments)
    return CacheInfo(
        path=str(path),
        exists=True,
        bytes=_bytes(path),
        rows=sum(one.rows for one in found),
        instruments=found,
        set_aside=tuple(map(str, set_aside_files(path))),
    )


def prune(
    cache: VectorCache,
    *,
    max_bytes: int | None = None,
    older_than_days: int | None = None,
    instrument: str | None = None,
) -> Pruned:
    """Remove vectors and give the space back.

    Parameters
    ----------
    max_bytes
        Remove the least recently used until the file is no larger. An empty file still takes
        some 60 kB.
    older_than_days
        Remove those not used for more than so many days.
    instrument
        Touch only the vectors of this model (its name, or the first 6 or more characters of a
        digest); given alone, remove all of them.

    Raises
    ------
    UsageError
        Nothing was asked for, or a number is negative.
    UnknownNameError
        No such instrument; lists those there are.
    ConfigurationError
        The file cannot be used.
    """
    if max_bytes is None and older_than_days is None and instrument is None:
        raise UsageError("say what to remove: a largest size, an age or a model")
    for name, number in (("max_bytes", max_bytes), ("older_than_days", older_than_days)):
        if number is not None and number < 0:
            raise UsageError(f"{name} must not be negative, got {number}")
    path = cache.path
    if not present(path):
        return Pruned(path=str(path), rows=0, rows_left=0, bytes_before=0, bytes_after=0)
    before = _bytes(path)
    found = require(cache, _instruments)
    total = sum(one.rows for one in found)
    scope = "1"
    values: tuple[str, ...] = ()
    if instrument is not None:
        values = _matching(found, instrument)
        scope = f"instrument IN (SELECT id FROM instruments WHERE digest IN ({_marks(values)}))"  # noqa: S608 - marks only
    if older_than_days is not None:
        limit = cache.today() - older_than_days
        require(cache, lambda c: _delete(c, f"{scope} AND day < ?", (*values, limit)), writes=True)
    elif max_bytes is None:
        require(cache, lambda c: _delete(c, scope, values), writes=True)
    if max_bytes is not None:
        require(cache, lambda c: _shrink(c, max_bytes, scope, values), writes=True)
    require(cache, _reclaim, writes=True)
    left = sum(one.rows for one in require(cache, _instruments))
    return Pruned(
        path=str(path),
        rows=max(total - left, 0),
        rows_left=left,
        bytes_before=before,
        bytes_after=_bytes(path),
    )


def clear(cache: VectorCache) -> Pruned:
    """Remove every vector and every file once set aside; other processes may go on using it.

    Raises
    ------
    ConfigurationError
        The file cannot be used.
    """
    path, before, rows = cache.path, _bytes(cache.path), 0
    if present(path):
        rows = sum(one.rows for one in require(cache, _instruments))
        require(cache, _empty, writes=True)
        require(cache, _reclaim, writes=True)
    removed = []
    for file in set_aside_files(path):
        try:
            file.unlink()
        except OSError as error:
            raise ConfigurationError(f"cannot remove {file}: {error.strerror}") from error
        removed.append(str(file))
    return Pruned(
        path=str(path),
        rows=rows,
        rows_left=0,
        bytes_before=before,
        bytes_after=_bytes(path),
        files=tuple(removed),
    )


def _instruments(connection: sqlite3.Connection) -> tuple[StoredInstrument, ...]:
    rows = connection.execute(
        "SELECT i.digest, i.identity, i.first_used, COUNT(u.vector), MAX(u.day) "
        "FROM instruments i LEFT JOIN uses u ON u.instrument = i.id GROUP BY i.id "
        "ORDER BY 4 DESC, i.digest"
    ).fetchall()
    found = []
    for digest, identity, first, count, last in rows:
        fields = schema.read_identity(digest, identity)
        found.append(
            StoredInstrument(
                digest=digest,
                model=fields["model"],
                provider=fields["provider"],
                rows=count,
                bytes=count * 4 * fields["dims"],
                first_used=schema.day_text(first),
                last_used=schema.day_text(first if last is None else last),
            )
        )
    return tuple(found)


def _matching(found: tuple[StoredInstrument, ...], wanted: str) -> tuple[str, ...]:
    shortest = 6
    chosen = tuple(
        one.digest
        for one in found
        if one.model == wanted or (len(wanted) >= shortest and one.digest.startswith(wanted))
    )
    if not chosen:
        known = ", ".join(f"{one.model} ({one.digest[:12]})" for one in found) or "none"
        raise UnknownNameError(f"the cache holds no vectors of {wanted!r}; it holds: {known}")
    return chosen


def _delete(connection: sqlite3.Connection, where: str, values: tuple[object, ...]) -> int:
    """Remove the vectors whose ``uses`` row fits; ``where`` is one of our own texts."""
    with transaction(connection):
        connection.execute(
            f"DELETE FROM vectors WHERE id IN (SELECT vector FROM uses WHERE {where})",  # noqa: S608
            values,
        )
        gone = connection.execute(f"DELETE FROM uses WHERE {where}", values).rowcount  # noqa: S608
        connection.execute("DELETE FROM instruments WHERE id NOT IN (SELECT instrument FROM uses)")
    return gone


def _empty(connection: sqlite3.Connection) -> None:
    with transaction(connection):
        for table in schema.TABLES:
            connection.execute(f"DELETE FROM {table}")  # noqa: S608 - our own names


def _shrink(
    connection: sqlite3.Connection, max_bytes: int, scope: str, values: tuple[object, ...]
) -> None:
    """Remove the least recently used, by estimate and then by looking, until the file fits."""
    while True:
        pages, free, size = (
            connection.execute(f"PRAGMA {name}").fetchone()[0]
            for name in ("page_count", "freelist_count", "page_size")
        )
        excess = (pages - free) * size - max_bytes
        (rows,) = connection.execute("SELECT COUNT(*) FROM uses").fetchone()
        if excess <= 0 or rows == 0:
            return
        doomed = max(1, rows * excess // ((pages - free) * size))
        where = f"vector IN (SELECT vector FROM uses WHERE {scope} ORDER BY day, vector LIMIT ?)"  # noqa: S608
        if not _delete(connection, where, (*values, doomed)):
            return
        # Pages half emptied by the deletion do not count as free until the file is rewritten.
        if not _reclaim(connection):
            return


def _reclaim(connection: sqlite3.Connection) -> bool:
    """Give free pages back; False when another process or a full disk stands in the way."""
    try:
        connection.execute("VACUUM")
        connection.execute("PRAGMA wal_checkpoint(TRUNCATE)").fetchall()
    except sqlite3.OperationalError as error:
        if error.sqlite_errorcode & 0xFF in (sqlite3.SQLITE_BUSY, sqlite3.SQLITE_FULL):
            return False
        raise
    return True


def _marks(values: tuple[object, ...]) -> str:
    return ",".join("?" * len(values))


def _bytes(path: Path) -> int:
    total = 0
    for suffix in ("", "-wal"):
        try:
            total += Path(f"{path}{suffix}").stat().st_size
        except OSError:
            continue
    return total

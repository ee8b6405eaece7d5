"""Opening the cache file, recognising what cannot be trusted, and setting it aside."""

from __future__ import annotations

import contextlib
import os
import sqlite3
import stat
import sys
import time
from collections.abc import Iterator
from pathlib import Path
from typing import NamedTuple

from closecall.cache import schema
from closecall.plain import open_plain

FileId = tuple[int, int]

SIDE_FILES = ("-wal", "-shm", "-journal")

_LARGEST = 1 << 24
"""Bytes of a value or a row; a vector of 65,536 numbers takes 262,144."""

_SUPER_JOURNAL = bytes.fromhex("d9d505f920a163d7")
"""What a journal ends with that names a super-journal (sqlite.org/fileformat.html, 3)."""

# Primary result codes that speak of the surroundings (locks, rights, disk, memory), not of the
# file's content. Our statements are constant, so every other code means the content is wrong.
_SURROUNDINGS = frozenset(
    {
        sqlite3.SQLITE_PERM,
        sqlite3.SQLITE_BUSY,
        sqlite3.SQLITE_LOCKED,
        sqlite3.SQLITE_NOMEM,
        sqlite3.SQLITE_READONLY,
        sqlite3.SQLITE_INTERRUPT,
        sqlite3.SQLITE_IOERR,
        sqlite3.SQLITE_FULL,
        sqlite3.SQLITE_CANTOPEN,
        sqlite3.SQLITE_PROTOCOL,
        sqlite3.SQLITE_MISUSE,
        sqlite3.SQLITE_NOLFS,
        sqlite3.SQLITE_AUTH,
    }
)


class DamagedError(Exception):
    """The file cannot be trusted; ``label`` goes into the name it is set aside under.

    ``seen`` tells which file it was, None where the connection is the one to ask.
    """

    def __init__(
        self, reason: str, label: str = "damaged", seen: tuple[int, int] | None = None
    ) -> None:
        # SQLite quotes what it found in the file; a notice stays one short line.
        super().__init__(" ".join(reason.split())[:200])
        self.label = label
        self.seen = seen


class UnavailableError(Exception):
    """The file cannot be used now, whatever is in it; ``read_only`` when it took no write."""

    def __init__(self, reason: str, *, read_only: bool = False) -> None:
        super().__init__(reason)
        self.read_only = read_only


class Opened(NamedTuple):
    """A connection and the identity of the file behind it."""

    connection: sqlite3.Connection
    file_id: FileId | None


def translate(error: Exception) -> DamagedError | UnavailableError:
    """Return what an error met while using the file means for the file."""
    if isinstance(error, DamagedError | UnavailableError):
        return error
    if isinstance(error, schema.DamagedRowError):
        return DamagedError(str(error))
    if isinstance(error, OSError):
        return UnavailableError(error.strerror or str(error))
    if isinstance(error, sqlite3.ProgrammingError | sqlite3.InterfaceError | MemoryError):
        return UnavailableError(str(error) or type(error).__name__)
    # Python raises without a code, or a UnicodeDecodeError, when a stored text is not UTF-8:
    # damage as well.
    code = getattr(error, "sqlite_errorcode", sqlite3.SQLITE_CORRUPT) & 0xFF
    if code in _SURROUNDINGS:
        return UnavailableError(str(error), read_only=code == sqlite3.SQLITE_READONLY)
    return DamagedError(str(error))


def file_id(path: Path) -> FileId | None:
    """Return what tells this file from another of the same name, None where there is none."""
    try:
        status = path.stat()
    except OSError:
        return None
    return status.st_dev, status.st_ino


def open_database(path: Path, timeout: float) -> Opened:
    """Open the file, made where there is none, and check that its schema is ours.

    Costs a few milliseconds whatever the file's size: rows are checked when they are read.

    Raises
    ------
    DamagedError
        The file is not a database, not ours, newer, or holds more than our tables.
    UnavailableError
        The folder or the file cannot be used.
    """
    try:
        path.parent.mkdir(mode=0o700, parents=True, exist_ok=True)
        with opening_lock(path, timeout):
            _require_own_side_files(path)
            connection = sqlite3.connect(
                path, timeout=timeout, isolation_level=None, check_same_thread=False
            )
            seen = file_id(path)
            try:
                _prepare(connection)
            except (sqlite3.Error, UnicodeDecodeError, DamagedError) as error:
                connection.close()
                problem = translate(error)
                if isinstance(problem, DamagedError):
                    problem.seen = seen
                raise problem from error
            except BaseException:
                connection.close()
                raise
    except (OSError, sqlite3.Error) as error:
        raise translate(error) from error
    return Opened(connection, seen)


def _require_own_side_files(path: Path) -> None:
    """Refuse side files that would have SQLite read, write or remove a file elsewhere.

    Whoever hands over a cache chooses what lies beside it. A log that is a link has SQLite write
    to where it leads; a journal that names a super-journal, as those of transactions over several
    files do, has SQLite remove the file of that name. This cache makes neither.
    """
    real = os.path.realpath(path)  # beside which SQLite keeps them
    for suffix in SIDE_FILES:
        side = f"{real}{suffix}"
        try:
            kind = os.lstat(side).st_mode
        except FileNotFoundError:
            continue
        if not stat.S_ISREG(kind):
            raise DamagedError(f"its {suffix} file is a link or no file", seen=file_id(path))
        if suffix == "-journal" and _names_another(side):
            raise DamagedError("its journal names a file that is not its own", seen=file_id(path))


def _names_another(journal: str) -> bool:
    with open_plain(journal) as file:
        file.seek(max(0, os.fstat(file.fileno()).st_size - len(_SUPER_JOURNAL)))
        return file.read() == _SUPER_JOURNAL


def set_aside(path: Path, seen: FileId | None, label: str, timeout: float) -> Path | None:
    """Rename the file and its side files; return the new name.

    None when the file is no longer the one that was ``seen``: another process has already set
    that one aside, and what stands there now is a fresh file.
    """
    try:
        with opening_lock(path, timeout):
            if file_id(path) != seen or seen is None:
                return None
            target = _free_name(path, label)
            # The main file goes last: while it stands, no fresh file can take its name and
            # have its own side files moved away.
            for suffix in (*SIDE_FILES, ""):
                with contextlib.suppress(FileNotFoundError):
                    Path(f"{path}{suffix}").rename(f"{target}{suffix}")
            return target
    except OSError as error:
        raise UnavailableError(f"it cannot be set aside: {error.strerror or error}") from error


def set_aside_files(path: Path) -> list[Path]:
    """Return the files once set aside from this one, side files included, oldest name first."""
    try:
        files = sorted(path.parent.iterdir())
    except OSError:
        return []
    prefixes = (f"{path.name}.damaged-", f"{path.name}.newer-")
    return [file for file in files if file.name.startswith(prefixes)]


@contextlib.contextmanager
def transaction(connection: sqlite3.Connection) -> Iterator[None]:
    """Hold the file's write lock; commit at the end, roll back on any exception."""
    connection.execute("BEGIN IMMEDIATE")
    try:
        yield
        connection.execute("COMMIT")
    except BaseException:
        with contextlib.suppress(sqlite3.Error):
            if connection.in_transaction:
                connection.execute("ROLLBACK")
        raise


@contextlib.contextmanager
def opening_lock(path: Path, timeout: float) -> Iterator[None]:
    """Let one process at a time open, make or set aside the file.

    A file that is renamed while another process opens it could end up with that process's side
    files. Where the file system has no locks, there is none. A lock that is a link is refused.
    """
    flags = os.O_RDWR | os.O_CREAT
    # Whoever can write beside the file may not choose what is opened or made.
    for name in ("O_NOFOLLOW", "O_CLOEXEC"):
        flags |= getattr(os, name, 0)
    descriptor = os.open(f"{path}.lock", flags, 0o666)
    try:
        locked = _lock(descriptor, timeout)
        try:
            yield
        finally:
            if locked:
                _unlock(descriptor)
    finally:
        os.close(descriptor)


if sys.platform == "win32":
    import msvcrt

    def _try_lock(descriptor: int) -> None:
        msvcrt.locking(descriptor, msvcrt.LK_NBLCK, 1)

    def _unlock(descriptor: int) -> None:
        msvcrt.locking(descriptor, msvcrt.LK_UNLCK, 1)

else:
    import fcntl

    def _try_lock(descriptor: int) -> None:
        fcntl.flock(descriptor, fcntl.LOCK_EX | fcntl.LOCK_NB)

    def _unlock(descriptor: int) -> None:
        fcntl.flock(descriptor, fcntl.LOCK_UN)


def _lock(descriptor: int, timeout: float) -> bool:
    deadline = time.monotonic() + timeout
    while True:
        try:
            _try_lock(descriptor)
        except (BlockingIOError, PermissionError) as error:
            if time.monotonic() >= deadline:
                raise UnavailableError("another process keeps it locked") from error
            time.sleep(0.01)
        except OSError:
            return False
        else:
            return True


def _prepare(connection: sqlite3.Connection) -> None:
    # A chain of pages that leads back to itself would make a value of a gigabyte of a small file.
    connection.setlimit(sqlite3.SQLITE_LIMIT_LENGTH, _LARGEST)
    connection.execute("PRAGMA trusted_schema=OFF")
    connection.execute("PRAGMA cell_size_check=ON")
    if _is_new(connection):
        _create(connection)
    connection.execute("PRAGMA synchronous=NORMAL")
    connection.execute("PRAGMA journal_size_limit=67108864")


def _is_new(connection: sqlite3.Connection) -> bool:
    """Return whether the file is empty; raise unless it is empty or ours."""
    (application,) = connection.execute("PRAGMA application_id").fetchone()
    (version,) = connection.execute("PRAGMA user_version").fetchone()
    found = frozenset(connection.execute("SELECT type, name, sql FROM sqlite_master"))
    if not application and not version and not found:
        return True
    if application != schema.APPLICATION_ID:
        raise DamagedError("it is not a vector cache of closecall")
    if version > schema.SCHEMA_VERSION:
        raise DamagedError(
            f"its schema is version {version}, this closecall knows {schema.SCHEMA_VERSION}",
            f"newer-{version}",
        )
    if version != schema.SCHEMA_VERSION:
        raise DamagedError(f"its schema version is {version}")
    if found != schema.EXPECTED:
        odd = sorted({f"{row[0]} {row[1]}" for row in found ^ schema.EXPECTED})
        raise DamagedError(f"its schema is not ours: {', '.join(odd)[:200]}")
    return False


def _create(connection: sqlite3.Connection) -> None:
    connection.execute(f"PRAGMA page_size={schema.PAGE_SIZE}")
    # A file system without shared memory keeps its rollback journal: slower, as safe.
    connection.execute("PRAGMA journal_mode=WAL")
    with transaction(connection):
        if not _is_new(connection):
            return
        for statement in schema.STATEMENTS:
            connection.execute(statement)
        connection.execute(f"PRAGMA application_id={schema.APPLICATION_ID}")
        connection.execute(f"PRAGMA user_version={schema.SCHEMA_VERSION}")


def _free_name(path: Path, label: str) -> Path:
    stem = f"{path}.{label}"
    if label == "damaged":
        stem += time.strftime("-%Y%m%dT%H%M%SZ", time.gmtime())
    candidate, count = Path(stem), 1
    while candidate.exists():
        count += 1
        candidate = Path(f"{stem}-{count}")
    return candidate

"""The files of a run folder: their names, and reading and replacing them safely.

A folder may come from anyone, so reading follows no links, opens only regular files and bounds
every size. A document is written under a temporary name beside it, flushed to the disk and moved
into place, so a reader sees the old file or the new one, never half of one.
"""

from __future__ import annotations

import contextlib
import hashlib
import os
import re
import stat
from collections.abc import Iterator
from pathlib import Path
from typing import Any, BinaryIO, NamedTuple

from closecall.errors import RunFolderError
from closecall.runs.aef import FileDigest
from closecall.runs.wire import MAX_FILE, MAX_FILES, MAX_LINE, MAX_LINES, Document, parse

RUN = "run.json"
RESULTS = "results.ndjson"
METRICS = "metrics.json"
SUMMARY = "summary.json"
GATES = "gates.ndjson"
SEAL = "seal.json"
ATTESTATION = "attestation.dsse.json"
"""The signature over the seal; ``closecall.signing`` writes it."""
CASES = "ext/closecall/cases.ndjson"
WRITER = "ext/closecall/writer.json"
"""Who is writing, while someone is; gone from a closed run."""
TEMPORARY = ".tmp"
STAGED = tuple(name + TEMPORARY for name in (RUN, METRICS, SUMMARY, GATES, SEAL, WRITER))

_SEGMENT = r"[A-Za-z0-9_-](?:[A-Za-z0-9._-]*[A-Za-z0-9_-])?"
_PATH = re.compile(rf"{_SEGMENT}(?:/{_SEGMENT})*")
_RESERVED = re.compile(r"(?:con|prn|aux|nul|com[1-9]|lpt[1-9])(?:\..*)?", re.IGNORECASE)
_MAX_PATH_BYTES = 255
_CHUNK = 1024 * 1024
_ROOT_FILES = frozenset(
    {RUN, RESULTS, METRICS, SUMMARY, SEAL, "evidence.ndjson", GATES}
    | {"traces.otlp.jsonl", "logs.otlp.jsonl", ATTESTATION}
)
_ROOT_FOLDERS = frozenset({"blobs", "ext", "overlays"})
_UNSEALED = frozenset({SEAL, ATTESTATION})


class Line(NamedTuple):
    """One line of a file: its number from 1, its bytes without LF, the offset just after it."""

    number: int
    data: bytes
    end: int


@contextlib.contextmanager
def translated(doing: str, hint: str = "") -> Iterator[None]:
    """Turn an ``OSError`` into a ``RunFolderError`` that says what was being done."""
    try:
        yield
    except OSError as error:
        where = f" ({error.filename})" if error.filename else ""
        reason = error.strerror or str(error)
        advice = f". {hint}" if hint else ""
        raise RunFolderError(f"{doing}: {reason}{where}{advice}") from error


def open_regular(root: Path, name: str) -> BinaryIO:
    """Open a file of the folder for reading; links, pipes and devices are refused."""
    place = root
    for part in name.split("/"):
        place = place / part
        try:
            kind = os.lstat(place).st_mode
        except FileNotFoundError:
            raise RunFolderError(f"{root / name}: there is no such file in the run") from None
        except OSError as error:
            raise RunFolderError(f"{place}: {error.strerror or error}") from error
        if stat.S_ISLNK(kind):
            raise RunFolderError(f"{place}: is a link; a run folder holds its files itself")
    if not stat.S_ISREG(kind):
        raise RunFolderError(f"{place}: is not a regular file")
    flags = os.O_RDONLY | getattr(os, "O_BINARY", 0) | getattr(os, "O_NOFOLLOW", 0)
    with translated(f"{place}: cannot be opened"):
        descriptor = os.open(place, flags | getattr(os, "O_NONBLOCK", 0))
    return os.fdopen(descriptor, "rb")


def exists(root: Path, name: str) -> bool:
    """Whether something of that name is there, whatever it is."""
    with translated(f"{root / name}: cannot be looked for"):
        try:
            os.lstat(root / name)
        except (FileNotFoundError, NotADirectoryError):
            return False
    return True


def read_document(root: Path, name: str, limit: int = MAX_LINE) -> Document:
    """Read one JSON file of the folder; ``RunFolderError`` names the file and what is wrong."""
    with open_regular(root, name) as file, translated(f"{root / name}: cannot be read"):
        data = file.read(limit + 1)
    if len(data) > limit:
        raise RunFolderError(f"{root / name}: is larger than {limit} bytes")
    try:
        return parse(data)
    except ValueError as error:
        raise RunFolderError(f"{root / name}: {error}") from error


def lines(root: Path, name: str, *, growing: bool, upto: int | None = None) -> Iterator[Line]:
    """Yield the lines of a file in bounded memory.

    ``growing`` leaves out what follows the last LF, as a writer may be at it; otherwise a last
    line without LF is an error. ``upto`` ends the reading at that offset.
    """
    with open_regular(root, name) as file:
        size = os.fstat(file.fileno()).st_size
        if size > MAX_FILE:
            raise RunFolderError(f"{root / name}: is larger than {MAX_FILE} bytes")
        end, number = 0, 0
        unreadable = f"{root / name}: cannot be read"
        while upto is None or end < upto:
            with translated(unreadable):
                data = file.readline(MAX_LINE + 2)
            if not data:
                return
            number += 1
            if not data.endswith(b"\n"):
                if growing and len(data) <= MAX_LINE:
                    return
                problem = "ends without a line feed"
                if len(data) > MAX_LINE:
                    problem = f"the line is longer than {MAX_LINE} bytes"
                raise RunFolderError(f"{root / name}:{number}: {problem}")
            if number > MAX_LINES:
                raise RunFolderError(f"{root / name}:{number}: more than {MAX_LINES} lines")
            end += len(data)
            yield Line(number, data[:-1], end)


def parsed(root: Path, name: str, line: Line) -> Document:
    """Read one line as a JSON object; the error names file and line."""
    try:
        if b"\r" in line.data:
            raise ValueError("a carriage return in the line")  # noqa: TRY301 - one place to word it
        return parse(line.data)
    except ValueError as error:
        raise RunFolderError(f"{root / name}:{line.number}: {error}") from error


def all_files(root: Path) -> list[str]:
    """Return every file's path in the folder, sorted by the bytes of the path.

    Raises
    ------
    RunFolderError
        A link or anything that is no regular file; a name the format forbids; two names that
        differ only in case; more than 100,000 files.
    """
    found: list[str] = []
    folded: set[str] = set()
    waiting = [""]
    while waiting:
        prefix = waiting.pop()
        with translated(f"{root / prefix}: cannot be listed"):
            entries = sorted(os.scandir(root / prefix), key=lambda entry: entry.name)
        for entry in entries:
            path = prefix + entry.name
            if not _PATH.fullmatch(path) or _RESERVED.fullmatch(entry.name):
                raise RunFolderError(f"{root / path}: no file of a run may have that name")
            if len(path) > _MAX_PATH_BYTES or path.lower() in folded:
                raise RunFolderError(f"{root / path}: its path is too long, or taken but for case")
            folded.add(path.lower())
            if entry.is_dir(follow_symlinks=False):
                waiting.append(path + "/")
            elif entry.is_file(follow_symlinks=False):
                found.append(path)
            else:
                raise RunFolderError(f"{root / path}: is a link or no regular file")
            if len(found) > MAX_FILES:
                raise RunFolderError(f"{root}: more than {MAX_FILES} files")
    return sorted(found, key=str.encode)


def strangers(paths: list[str]) -> list[str]:
    """Return the files that no part of the format accounts for."""
    return [
        path
        for path in paths
        if path not in _ROOT_FILES and path.partition("/")[0] not in _ROOT_FOLDERS
    ]


def sealed_files(paths: list[str]) -> list[str]:
    """Return the files a seal covers."""
    return [p for p in paths if p not in _UNSEALED and not p.startswith("overlays/")]


def digest(root: Path, name: str) -> FileDigest:
    """Return sha256 and size of a file, read in pieces."""
    hashed, size = hashlib.sha256(), 0
    with open_regular(root, name) as file, translated(f"{root / name}: cannot be read"):
        while chunk := file.read(_CHUNK):
            hashed.update(chunk)
            size += len(chunk)
    return FileDigest(hashed.hexdigest(), size)


def digest_of(data: bytes) -> FileDigest:
    """Return sha256 and size of bytes that are still to be written."""
    return FileDigest(hashlib.sha256(data).hexdigest(), len(data))


def stage(root: Path, name: str, data: bytes) -> None:
    """Write a document under its temporary name and flush it to the disk."""
    with open(root / (name + TEMPORARY), "wb") as file:  # noqa: PTH123 - Path.open has no "wb" type
        file.write(data)
        file.flush()
        os.fsync(file.fileno())


def commit(root: Path, name: str) -> None:
    """Move a staged document into place."""
    os.replace(root / (name + TEMPORARY), root / name)  # noqa: PTH105 - same call, one spelling


def remove(root: Path, *names: str) -> None:
    """Remove files that may not be there."""
    for name in names:
        (root / name).unlink(missing_ok=True)


def write(root: Path, name: str, data: bytes) -> None:
    """Replace a document at once."""
    stage(root, name, data)
    commit(root, name)


def note(root: Path, name: str, data: bytes) -> None:
    """Replace a document at once that a power failure may take or leave empty."""
    (root / (name + TEMPORARY)).write_bytes(data)
    commit(root, name)


def sync_folder(folder: Path) -> None:
    """Flush the folder's own entries to the disk, where the system has such a thing."""
    if os.name == "nt":
        return
    descriptor = os.open(folder, os.O_RDONLY)
    try:
        os.fsync(descriptor)
    finally:
        os.close(descriptor)


def status_of(root: Path) -> str | None:
    """Return the status in run.json; None when there is no such file."""
    if not exists(root, RUN):
        return None
    status: Any = read_document(root, RUN).get("status")
    if status not in ("running", "completed", "aborted"):
        raise RunFolderError(f"{root / RUN}: the status {status!r} is not one closecall knows")
    return str(status)

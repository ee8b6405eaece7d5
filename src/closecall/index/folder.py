"""The folder of an index: a new one is written whole before it takes the place of the old.

::

    DIR/index.json       which generation is the index; replaced in one step
    DIR/v3/vectors.npy   (n, d) float32
    DIR/v3/rows.jsonl    id, text and metadata, one line a row
    DIR/v3/offsets.npy   (n + 1,) int64: where each line begins
    DIR/v3/ranks.npy     (n,) int64: each row's place among the ids in order
    DIR/v3/index.faiss   what faiss made of them; not for the kinds exact and flat

A writer fills ``DIR/.building``, moves it to the next generation, then replaces ``index.json``.
Killed at any moment, it leaves ``index.json`` with all that it names.
"""

from __future__ import annotations

import contextlib
import hashlib
import os
import shutil
import sys
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path

import msgspec

from closecall.atomic import whole_file
from closecall.errors import IndexFolderError, UsageError
from closecall.index.manifest import (
    FAISS,
    FILES,
    GENERATION,
    NAME,
    FileFacts,
    Manifest,
    read_manifest,
    written,
)
from closecall.storage import locking
from closecall.there import exists, is_dir, is_file

BUILDING = ".building"
LOCK = ".lock"
_PREFIX = ".closecall-"
"""What ``whole_file`` names its temporary files."""


@contextmanager
def building(folder: Path) -> Iterator[Path]:
    """Make the folder, keep other writers out meanwhile, and give an empty place for new files.

    Raises
    ------
    UsageError
        The folder holds other things, or cannot be written.
    IndexFolderError
        Another process is writing there, or it cannot be told; or no generation is left.
    """
    if "\0" in str(folder):
        raise UsageError(
            f"cannot write {str(folder)!r}: a name holds no NUL; choose another folder"
        )
    try:
        folder.mkdir(parents=True, exist_ok=True)
        _require_ours(folder)
        with _locked(folder):
            _next(folder)
            place = folder / BUILDING
            _remove(place)
            for left in folder.glob(f"{_PREFIX}*"):  # of a writer killed at its last step
                left.unlink()
            place.mkdir()
            try:
                yield place
            finally:
                _remove(place)
    except (OSError, ValueError) as error:
        if isinstance(error, OSError):
            told = f"cannot write {folder}: {error.strerror or error}; choose another folder"
            raise UsageError(told) from error
        raise


def commit(folder: Path, place: Path, manifest: Manifest) -> Manifest:
    """Make the files in ``place`` the index, and remove the generation before."""
    generation = _next(folder)
    facts = {file.name: facts_of(file) for file in sorted(place.iterdir())}
    for file in place.iterdir():
        _sync(file)
    _sync(place)
    target = folder / generation
    _remove(target)
    place.rename(target)
    _sync(folder)
    made = msgspec.structs.replace(manifest, generation=generation, files=facts)
    with whole_file(folder / NAME) as text:
        text.write(written(made))
    _sync(folder)
    for other in folder.iterdir():
        if GENERATION.fullmatch(other.name) and other.name != generation:
            _remove(other)
    return made


def verify(folder: Path, manifest: Manifest, *, names: frozenset[str] | None = None) -> None:
    """Compare the files' sizes, and the bytes of those named (None: all), with ``index.json``.

    Raises
    ------
    IndexFolderError
        A file is missing, cut short, or holds other bytes.
    """
    place = folder / manifest.generation
    if place.is_symlink():
        raise IndexFolderError(
            f"{place}: a link, where a folder was written; build the index again"
        )
    for name, facts in manifest.files.items():
        path = place / name
        try:
            if path.is_symlink() or not is_file(path):
                raise IndexFolderError(f"{path}: missing; build the index again")
            size = path.stat().st_size
            if size != facts.bytes:
                what = "cut short" if size < facts.bytes else "damaged"
                raise IndexFolderError(
                    f"{path}: {what}: {size:,} bytes, index.json says {facts.bytes:,}; "
                    "build the index again"
                )
            if (names is None or name in names) and facts_of(path) != facts:
                raise IndexFolderError(
                    f"{path}: damaged: its sha256 is not the one in index.json; "
                    "build the index again"
                )
        except OSError as error:
            raise IndexFolderError(f"{path}: {error.strerror or error}") from error


def facts_of(path: Path) -> FileFacts:
    """Return size and sha256 of a file."""
    with path.open("rb") as file:
        digest = hashlib.file_digest(file, "sha256").hexdigest()
        return FileFacts(bytes=file.tell(), sha256=digest)


def is_index(folder: Path) -> bool:
    """Whether the folder holds an ``index.json`` of any version."""
    return is_file(folder / NAME)


def require_unchanged(folder: Path, read: Manifest) -> None:
    """Refuse to write over an index that another process wrote since it was read.

    Called by whoever holds the folder, in ``building``: what was added meanwhile would be lost.

    Raises
    ------
    IndexFolderError
        It is another one now, or cannot be read any more.
    """
    if not is_index(folder):
        return
    now = read_manifest(folder)
    if (now.generation, now.files) != (read.generation, read.files):
        raise IndexFolderError(
            f"{folder}: another process changed this index since it was read; nothing was "
            "written: open it again and repeat the change, on the command line by the same command"
        )


def _require_ours(folder: Path) -> None:
    """Refuse a folder that holds anything but an index, whole or being built."""
    if (folder / NAME).is_symlink():  # what it leads to would be written
        raise UsageError(f"{folder}: its {NAME} is a link; choose a new folder")
    known = {NAME, LOCK}
    for item in folder.iterdir():
        name = item.name
        if item.name == BUILDING or GENERATION.fullmatch(item.name):
            # Such a folder is removed once a new one is there, so it must be one of ours.
            name = _stranger(item, linked=is_index(folder))
        elif item.name in known or item.name.startswith(_PREFIX):
            name = ""
        if name:
            raise UsageError(f"{folder}: holds other things ({name!r:.60}); choose a new folder")
    if is_index(folder):
        with contextlib.suppress(IndexFolderError):
            read_manifest(folder)
            return
        # Damaged or of another version: it may be replaced only where it is an index at all.
        head = (folder / NAME).read_bytes()[:4096]
        if b"closecall-index/" not in head:
            raise UsageError(f"{folder}: its {NAME} is not of closecall; choose a new folder")


def _stranger(folder: Path, *, linked: bool) -> str:
    """Return the name of something in a folder that no writer of an index puts there, else ''.

    ``linked``: whether the folder may be a link, of which only the link is removed.
    """
    if folder.is_symlink():
        return "" if linked else folder.name
    try:
        others = sorted({item.name for item in folder.iterdir()} - {*FILES, FAISS})
    except FileNotFoundError:  # its writer was done with it meanwhile
        return ""
    except NotADirectoryError:
        return folder.name
    return f"{folder.name}/{others[0]}" if others else ""


def _next(folder: Path) -> str:
    """Return the generation after those there are."""
    try:
        current = int(read_manifest(folder).generation[1:]) if is_index(folder) else 0
    except IndexFolderError:
        taken = [int(p.name[1:]) for p in folder.iterdir() if GENERATION.fullmatch(p.name)]
        current = max(taken, default=0)
    following = f"v{current + 1}"
    if not GENERATION.fullmatch(following):
        raise IndexFolderError(f"{folder}: no generation is left; build the index in a new folder")
    return following


def _remove(path: Path) -> None:
    """Remove a folder of ours; one that another process still reads may stay (Windows)."""
    if path.is_symlink():
        path.unlink()
    elif exists(path):
        shutil.rmtree(path, ignore_errors=True)


def _sync(path: Path) -> None:
    """Force a file or folder to the disk, where the system can."""
    if sys.platform == "win32" and is_dir(path):
        return
    descriptor = os.open(path, os.O_RDONLY if sys.platform != "win32" else os.O_RDWR)
    try:
        with contextlib.suppress(OSError):
            os.fsync(descriptor)
    finally:
        os.close(descriptor)


@contextmanager
def _locked(folder: Path) -> Iterator[None]:
    """Hold the folder's lock, which the system drops when the process dies."""
    flags = os.O_RDWR | os.O_APPEND | os.O_CREAT
    # A link in a folder from elsewhere may not choose which file is opened or made.
    for name in ("O_BINARY", "O_NOFOLLOW", "O_CLOEXEC"):
        flags |= getattr(os, name, 0)
    with os.fdopen(os.open(folder / LOCK, flags, 0o666), "ab") as file:
        try:
            locking.lock(file.fileno())
        except locking.BusyError:
            raise IndexFolderError(
                f"{folder}: another process is writing this index; wait for it to end"
            ) from None
        except OSError as error:
            raise IndexFolderError(
                f"{folder / LOCK}: cannot be locked: {error.strerror or error}; build the index "
                "on a file system that can lock"
            ) from error
        yield

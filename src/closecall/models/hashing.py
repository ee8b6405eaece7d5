"""sha256 of files and of the bytes read from them."""

from __future__ import annotations

import hashlib
from pathlib import Path

from closecall.errors import ModelError, ModelIntegrityError
from closecall.models.cards import ModelFile
from closecall.plain import open_plain, read_plain

MOST_GRAPH = (1 << 31) - 1
"""Bytes of the largest ONNX graph that is read: the format's own bound."""


def hash_file(path: Path) -> ModelFile:
    """Return a file's name, sha256 and size; about 2 GB/s where the CPU has SHA instructions.

    Raises
    ------
    ModelError
        If the file is missing or cannot be read.
    """
    try:
        with open_plain(path) as stream:
            digest = hashlib.file_digest(stream, "sha256").hexdigest()
            return ModelFile(path.name, digest, stream.tell())
    except FileNotFoundError:
        raise ModelError(f"{path}: no such file") from None
    except OSError as error:
        raise ModelError(f"{path}: cannot be read: {error.strerror or error}") from error


def read_file(path: Path, most: int | None = None) -> bytes:
    """Return a file's bytes.

    Parameters
    ----------
    path
        The file.
    most
        Bytes of the largest that is read; None: as many as there is memory for.

    Raises
    ------
    ModelError
        If the file is missing, cannot be read or is too large.
    """
    try:
        return read_plain(path, most)
    except FileNotFoundError:
        raise ModelError(f"{path}: no such file") from None
    except MemoryError as error:
        raise ModelError(f"{path}: there is not the memory to hold it") from error
    except OSError as error:
        raise ModelError(f"{path}: cannot be read: {error.strerror or error}") from error


def require(path: Path, data: bytes, expected: ModelFile) -> None:
    """Do nothing if ``data``, read from ``path``, are the bytes expected.

    The bytes and not the path are what is hashed, so that nobody can change the file between
    this look and the use.

    Raises
    ------
    ModelIntegrityError
        If they are not; the message holds both hashes and what to do.
    """
    _require(path, ModelFile(path.name, hashlib.sha256(data).hexdigest(), len(data)), expected)


def require_file(path: Path, expected: ModelFile) -> None:
    """Do nothing if the file at ``path`` is the one expected; hashed in pieces, none of it kept.

    Raises
    ------
    ModelError
        If the file is missing or cannot be read.
    ModelIntegrityError
        As ``require``.
    """
    _require(path, hash_file(path), expected)


def _require(path: Path, found: ModelFile, expected: ModelFile) -> None:
    if (found.sha256, found.size) != (expected.sha256, expected.size):
        raise ModelIntegrityError(
            f"{path}: damaged or changed: expected sha256 {expected.sha256} "
            f"({expected.size} bytes), found {found.sha256} ({found.size} bytes). "
            "Run 'closecall models verify' to check every model; reinstall closecall if it is "
            "the bundled one, otherwise add the model again with 'closecall models add'"
        )

"""The word table of a compiled model, found in its graph by name and read without the rest."""

from __future__ import annotations

import hashlib
import mmap
from pathlib import Path

import numpy as np
from numpy.typing import NDArray

from closecall.errors import ModelError, ModelIntegrityError
from closecall.models.onnx_fields import BYTES, VARINT, fields
from closecall.models.pair_card import WordTable
from closecall.plain import open_plain

Words = NDArray[np.float16]

_GRAPH, _TENSOR = 7, 5
"""The fields that lead to a model's weights."""

_KIND, _NAME, _RAW = 2, 8, 9
"""Fields of a tensor: its type, its name, its numbers."""

_FLOAT16 = 10
"""The format's number for 16-bit floats."""


def read_words(path: Path, tensor: str) -> bytes:
    """Return the numbers of a float16 tensor: little-endian, row by row.

    The file is mapped, so that no more of it is copied than they are. What comes back is a copy:
    whatever becomes of the file, the bytes that are hashed are the ones that are used.

    Raises
    ------
    ModelError
        If the file is missing, cannot be read, or holds no such tensor.
    """
    try:
        with (
            open_plain(path) as stream,
            mmap.mmap(stream.fileno(), 0, access=mmap.ACCESS_READ) as data,
        ):
            place = _place(data, tensor.encode())
            if place is not None:
                return data[place]
    except FileNotFoundError:
        raise ModelError(f"{path}: no such file") from None
    except OSError as error:
        raise ModelError(f"{path}: cannot be read: {error.strerror or error}") from error
    except ValueError as error:
        raise ModelError(f"{path}: not an ONNX file: {error}") from error
    raise ModelError(f"{path}: holds no float16 tensor {tensor!r}")


def checked_words(path: Path, table: WordTable, width: int) -> Words:
    """Return the word table a card names: float16, (rows, width), read-only.

    Raises
    ------
    ModelError
        As ``read_words``.
    ModelIntegrityError
        If the numbers are not those of the card.
    """
    data = read_words(path, table.tensor)
    found = hashlib.sha256(data).hexdigest()
    if found != table.sha256 or len(data) != table.rows * width * 2:
        raise ModelIntegrityError(
            f"{path}: damaged or changed: expected sha256 {table.sha256} of its tensor "
            f"{table.tensor!r} ({table.rows * width * 2} bytes), found {found} ({len(data)} "
            "bytes). Install closecall again"
        )
    return np.frombuffer(data, dtype="<f2").reshape(table.rows, width)


def _place(data: mmap.mmap, name: bytes) -> slice | None:
    """Return where the numbers of a float16 tensor stand, None where there is none."""
    for graph in fields(data, 0, len(data)):
        if graph.wire != BYTES or graph.number != _GRAPH:
            continue
        for tensor in fields(data, graph.start, graph.stop):
            if tensor.wire != BYTES or tensor.number != _TENSOR:
                continue
            parts = {one.number: one for one in fields(data, tensor.start, tensor.stop)}
            named, kind, raw = (parts.get(number) for number in (_NAME, _KIND, _RAW))
            if named is None or kind is None or raw is None:
                continue
            half = kind.wire == VARINT and kind.value == _FLOAT16
            if half and data[named.start : named.stop] == name and raw.wire == BYTES:
                return slice(raw.start, raw.stop)
    return None

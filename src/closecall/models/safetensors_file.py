"""Small safetensors files, read and written with numpy alone.

The format, as the safetensors project publishes it: eight bytes that hold the length of a header
(unsigned, little-endian), the header (a JSON object that names each tensor's type, shape and
place), and the numbers, row by row, little-endian. The places fill what follows the header
without gap or overlap. Whatever else a file says is refused: it may come from anywhere.
"""

from __future__ import annotations

import json
from collections.abc import Mapping
from pathlib import Path
from typing import Any, NamedTuple

import numpy as np
from numpy.typing import NDArray

from closecall.errors import ModelError

MAX_HEADER = 1 << 20
"""Longest header that is read, in bytes: some thousand tensors."""

MAX_RANK = 8
MAX_NAME = 200

DTYPES: dict[str, np.dtype[Any]] = {
    "F64": np.dtype("<f8"),
    "F32": np.dtype("<f4"),
    "F16": np.dtype("<f2"),
    "BF16": np.dtype("<u2"),
    "I64": np.dtype("<i8"),
    "I32": np.dtype("<i4"),
    "I8": np.dtype("i1"),
}
"""The types that are read. BF16 comes as its bits, which are the upper half of a float32."""

_LENGTH = 8
_METADATA = "__metadata__"
_FIELDS = frozenset({"dtype", "shape", "data_offsets"})
_SPELLED = {kind: name for name, kind in DTYPES.items() if name != "BF16"}


class Tensor(NamedTuple):
    """A tensor's type, shape, and its bytes ``start`` up to, not including, ``stop``."""

    dtype: str
    shape: tuple[int, ...]
    start: int
    stop: int


class TensorFile:
    """The tensors of a file whose bytes are held in memory.

    They are held rather than mapped from the disk, so that the bytes that were hashed are the
    bytes that are used, whatever becomes of the file. Arrays are views of them, not copies.

    Parameters
    ----------
    data
        The whole file.
    where
        What stands at the front of every message: the file's path.

    Raises
    ------
    ModelError
        It is no such file: cut short, overlapping, or of a type that is not read.
    """

    def __init__(self, data: bytes, where: Path | str) -> None:
        self._data = data
        self._where = where
        try:
            self._tensors = _header(data)
        except ValueError as error:
            raise ModelError(f"{where}: not a safetensors file that is read: {error}") from error

    @property
    def tensors(self) -> Mapping[str, Tensor]:
        """What the file holds, by name."""
        return self._tensors

    def array(self, name: str) -> NDArray[Any]:
        """Return a tensor's numbers, read-only; see ``DTYPES``.

        Raises
        ------
        ModelError
            There is none of that name.
        """
        tensor = self._tensors.get(name)
        if tensor is None:
            there = ", ".join(sorted(self._tensors)) or "none"
            raise ModelError(f"{self._where}: holds no tensor {name!r}; there are: {there}")
        kind = DTYPES[tensor.dtype]
        count = (tensor.stop - tensor.start) // kind.itemsize
        flat: NDArray[Any] = np.frombuffer(self._data, kind, count, tensor.start)
        return flat.reshape(tensor.shape)


def format_tensors(
    tensors: Mapping[str, NDArray[Any]], metadata: Mapping[str, str] | None = None
) -> bytes:
    """Return a file of these tensors; the same arguments give the same bytes.

    Parameters
    ----------
    tensors
        By name; float64, float32, float16, int64, int32 or int8.
    metadata
        Texts by name, kept in the header.

    Raises
    ------
    ValueError
        A type is none of those.
    """
    header: dict[str, Any] = {_METADATA: dict(metadata)} if metadata else {}
    parts: list[bytes] = []
    at = 0
    # The widest numbers first, so that each tensor stands at a multiple of its width.
    for name, array in sorted(tensors.items(), key=lambda item: (-item[1].itemsize, item[0])):
        kind = array.dtype.newbyteorder("<")
        if kind not in _SPELLED:
            raise ValueError(f"tensor {name!r}: {array.dtype} cannot be written")
        part = np.ascontiguousarray(array, kind).tobytes()
        header[name] = {
            "dtype": _SPELLED[kind],
            "shape": list(array.shape),
            "data_offsets": [at, at + len(part)],
        }
        at += len(part)
        parts.append(part)
    head = json.dumps(header, separators=(",", ":")).encode("ascii")
    head += b" " * (-len(head) % _LENGTH)
    return b"".join([len(head).to_bytes(_LENGTH, "little"), head, *parts])


def _header(data: bytes) -> dict[str, Tensor]:
    """Return the tensors of a file, or raise ValueError with what is wrong."""
    if len(data) < _LENGTH:
        raise ValueError(f"it has {len(data)} bytes")
    length = int.from_bytes(data[:_LENGTH], "little")
    if length > MAX_HEADER:
        raise ValueError(f"its header is said to have {length:,} bytes, more than {MAX_HEADER:,}")
    begin = _LENGTH + length
    if begin > len(data):
        raise ValueError(f"its header is said to have {length:,} bytes, more than there are")
    head = data[_LENGTH:begin]
    if not head.startswith(b"{"):
        raise ValueError("its header does not begin with {")
    try:
        found = json.loads(head.decode("utf-8"), object_pairs_hook=_once)
    except RecursionError as error:
        raise ValueError("its header is nested too deep") from error
    found.pop(_METADATA, None)
    tensors = {name: _tensor(name, entry, begin) for name, entry in found.items()}
    at = begin
    for name, tensor in sorted(tensors.items(), key=lambda item: item[1][2:]):
        if tensor.start != at:
            what = "overlaps the one before it" if tensor.start < at else "leaves a gap before it"
            raise ValueError(f"tensor {name!r} {what}")
        at = tensor.stop
    if at != len(data):
        raise ValueError(f"its tensors end at byte {at:,}, the file at {len(data):,}")
    return tensors


def _tensor(name: str, entry: object, begin: int) -> Tensor:
    if len(name) > MAX_NAME:
        raise ValueError(f"a tensor's name has {len(name)} characters, more than {MAX_NAME}")
    if not isinstance(entry, dict) or set(entry) != _FIELDS:
        raise ValueError(f"tensor {name!r}: expected dtype, shape and data_offsets")
    dtype, shape, offsets = entry["dtype"], entry["shape"], entry["data_offsets"]
    if not isinstance(dtype, str) or dtype not in DTYPES:
        raise ValueError(f"tensor {name!r} is {dtype!r:.40}; known are {', '.join(DTYPES)}")
    if not _counts(shape) or len(shape) > MAX_RANK:
        raise ValueError(f"tensor {name!r}: shape: expected up to {MAX_RANK} whole numbers from 0")
    if not _counts(offsets) or len(offsets) != 2:  # noqa: PLR2004 - beginning and end
        raise ValueError(f"tensor {name!r}: data_offsets: expected two whole numbers from 0")
    wanted = DTYPES[dtype].itemsize
    for size in shape:
        wanted *= size
    start, stop = offsets
    if stop - start != wanted:
        raise ValueError(
            f"tensor {name!r}: {dtype} of shape {tuple(shape)} takes {wanted:,} bytes, "
            f"data_offsets say {stop - start:,}"
        )
    return Tensor(dtype, tuple(shape), begin + start, begin + stop)


def _counts(value: object) -> bool:
    return isinstance(value, list) and all(
        isinstance(one, int) and not isinstance(one, bool) and 0 <= one < 1 << 63 for one in value
    )


def _once(pairs: list[tuple[str, Any]]) -> dict[str, Any]:
    found = dict(pairs)
    if len(found) < len(pairs):
        raise ValueError("a name stands twice in its header")
    return found

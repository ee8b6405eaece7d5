"""Tensors of a safetensors file, read without running anything and without loading it whole."""

from __future__ import annotations

import json
import math
from collections.abc import Mapping
from pathlib import Path
from typing import Any

import numpy as np
from numpy.typing import NDArray

from closecall.errors import MissingExtraError, ModelError
from closecall.models.families import FAMILIES
from closecall.there import is_file

WEIGHTS_FILE = "model.safetensors"

_PICKLES = ("pytorch_model.bin", "pytorch_model.bin.index.json", "model.pt")
_DTYPES: dict[str, np.dtype[Any]] = {
    "F32": np.dtype("<f4"),
    "F16": np.dtype("<f2"),
    "BF16": np.dtype("<u2"),
}
_HEADER_BYTES = 8

Tensor = NDArray[np.float32]


def weights_path(folder: Path) -> Path:
    """Return the path of the weights in a transformer's folder.

    Raises
    ------
    ModelError
        If there is no safetensors file; pickled weights are never opened.
    """
    path = folder / WEIGHTS_FILE
    if is_file(path):
        return path
    if is_file(folder / f"{WEIGHTS_FILE}.index.json"):
        raise ModelError(
            f"{folder}: the weights are split over several files; save the model with a larger "
            f"max_shard_size so that one {WEIGHTS_FILE} holds them"
        )
    pickled = next((name for name in _PICKLES if is_file(folder / name)), None)
    if pickled:
        raise ModelError(
            f"{folder}: holds {pickled} but no {WEIGHTS_FILE}. Pickled weights can run code when "
            f"opened and are not read; convert them with safetensors or save the model again "
            "with safe_serialization=True"
        )
    raise ModelError(f"{path}: no such file")


class Weights:
    """The tensors of one file by name, each read when asked for.

    Parameters
    ----------
    path
        A safetensors file. Its header is checked by the safetensors library.

    Raises
    ------
    MissingExtraError
        If safetensors is not installed.
    ModelError
        If the file is missing, cut short or not safetensors.
    """

    def __init__(self, path: Path) -> None:
        self._path = path
        _validate(path)
        with path.open("rb") as stream:
            length = int.from_bytes(stream.read(_HEADER_BYTES), "little")
            header: dict[str, Any] = json.loads(stream.read(length))
        header.pop("__metadata__", None)
        self._entries: Mapping[str, Mapping[str, Any]] = header
        self._start = _HEADER_BYTES + length
        # Checkpoints of a bare encoder have bare names, those of its heads begin with the
        # family's.
        prefixes = {family.prefix for family in FAMILIES.values()}
        self._prefix = next(
            (one for one in sorted(prefixes) if any(name.startswith(one) for name in header)), ""
        )

    def tensor(self, name: str, shape: tuple[int, ...], *, head: bool = False) -> Tensor:
        """Return a tensor as float32, C order; ``head``: it is no part of the encoder.

        Raises
        ------
        ModelError
            If there is none of that name, or it has another shape, an unknown type, or a value
            that is not finite.
        """
        full = name if head else self._prefix + name
        entry = self._entries.get(full)
        if entry is None:
            raise ModelError(f"{self._path}: tensor {full} is missing")
        found = tuple(entry["shape"])
        if found != shape:
            raise ModelError(
                f"{self._path}: tensor {full} has shape {found}; the configuration wants {shape}"
            )
        kind = entry["dtype"]
        if kind not in _DTYPES:
            raise ModelError(
                f"{self._path}: tensor {full} is {kind}; known are {', '.join(_DTYPES)}"
            )
        count = math.prod(shape)
        # Read and not mapped: a file that is cut short meanwhile would end the process.
        start = self._start + entry["data_offsets"][0]
        raw: NDArray[Any] = np.fromfile(self._path, _DTYPES[kind], count, offset=start)
        if len(raw) < count:
            raise ModelError(f"{self._path}: cut short while it was read, at tensor {full}")
        if kind == "BF16":  # the upper half of a float32
            raw = (raw.astype(np.uint32) << 16).view(np.float32)
        values: Tensor = raw.reshape(shape).astype(np.float32, copy=False)
        if not np.isfinite(values).all():
            raise ModelError(f"{self._path}: tensor {full} holds a value that is not finite")
        return values


def _validate(path: Path) -> None:
    """Let the safetensors library check the header against the size of the file."""
    try:
        import safetensors
    except ImportError as error:
        raise MissingExtraError("Compiling a model", "compile", ["safetensors"]) from error
    if not is_file(path):
        raise ModelError(f"{path}: no such file")
    try:
        with safetensors.safe_open(path, framework="np"):
            pass
    except (safetensors.SafetensorError, OSError, ValueError) as error:
        raise ModelError(f"{path}: not a whole safetensors file: {error}") from error

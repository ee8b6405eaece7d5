"""Vectors as text: base64 of little-endian floats, 32 or 16 bits each.

Float16 keeps 11 bits of each number, in half the bytes. Over 20,000 pairs of random unit vectors
each of 384, 1536 and 3072 numbers, half of the pairs alike, no cosine moved by more than 0.00007,
0.00003 and 0.00003. A vector is kept rounded and used rounded: the run that records it sees the
same numbers as each run that replays it. The vectors are still those of the recorded instrument,
up to that rounding, so a calibration for it still holds.
"""

from __future__ import annotations

import base64
import binascii
from typing import Any, Literal, TypeAlias

import numpy as np

from closecall.embedders.base import Vector
from closecall.errors import ConfigurationError

Floats: TypeAlias = Literal["f32", "f16"]
FLOATS: tuple[Floats, ...] = ("f32", "f16")

NOISE = 1e-6
"""Two vectors whose squared distance, by their squared length, is at most this are one recording.

A provider's answers to one text differ in their last digits. Between two such vectors a cosine
moves by at most 0.001, and none moves at all as long as the first recording is the one in use.
"""

_DTYPES: dict[str, np.dtype[Any]] = {"f32": np.dtype("<f4"), "f16": np.dtype("<f2")}


def write_vector(vector: Vector, floats: Floats) -> str:
    """Return ``f32:`` or ``f16:`` and base64.

    Raises
    ------
    ConfigurationError
        A number is too large for float16.
    """
    with np.errstate(over="ignore"):
        kept = np.asarray(vector).astype(_DTYPES[floats])
    if floats == "f16" and not np.isfinite(kept).all():
        raise ConfigurationError(
            "a vector holds a number beyond 65504, the end of float16; record f32"
        )
    return f"{floats}:{base64.b64encode(kept.tobytes()).decode('ascii')}"


def read_vector(text: str) -> Vector:
    """Return the vector: float32, (d,), finite, read-only.

    Raises
    ------
    ValueError
        With a short reason: no such spelling, no base64, not finite.
    """
    floats, colon, coded = text.partition(":")
    if not colon or floats not in _DTYPES:
        raise ValueError(f"a vector starts with f32: or f16:, got {text[:8]!r}")
    try:
        data = base64.b64decode(coded, validate=True)
    except (binascii.Error, ValueError) as error:
        raise ValueError("a vector is not base64") from error
    kind = _DTYPES[floats]
    if not data or len(data) % kind.itemsize:
        raise ValueError(
            f"a vector of {len(data)} bytes is no row of {kind.itemsize * 8}-bit floats"
        )
    vector: Vector = np.frombuffer(data, dtype=kind).astype(np.float32)
    if not np.isfinite(vector).all():
        raise ValueError("a vector holds NaN or infinity")
    vector.flags.writeable = False
    return vector


def same_vector(before: str, now: str) -> bool:
    """Return whether two spellings are of one kind and differ by no more than noise."""
    if before == now:
        return True
    if before[:4] != now[:4]:
        return False
    one, other = (read_vector(text).astype(np.float64) for text in (before, now))
    if one.shape != other.shape:
        return False
    apart, length = np.square(one - other).sum(), np.square(one).sum()
    return bool(apart <= NOISE * length)

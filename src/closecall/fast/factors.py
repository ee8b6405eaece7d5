"""By what the inputs of the bundled model's layers are divided before they are rounded."""

from __future__ import annotations

from collections.abc import Iterator
from importlib import resources

import numpy as np
from numpy.typing import NDArray

from closecall.errors import ModelError

FILE = "factors.bin"

_LAYERS = 6
_WIDTHS = {"qkv": 384, "widen": 384, "output": 1536}
# Exact in float32 up to the last bit on every machine: only these four are no powers of two.
_QUARTERS = np.array([1.0, 2.0**0.25, 2.0**0.5, 2.0**0.75], dtype=np.float32)


def stored_factors() -> dict[str, NDArray[np.float32]]:
    """Return the factors by the name of a layer's weights: float32, (in,), above 0.

    They are kept as quarters of a power of two, one signed byte each: 2 ** (byte / 4).

    Raises
    ------
    ModelError
        If the file is not whole.
    """
    data = (resources.files("closecall") / "fast" / FILE).read_bytes()
    if len(data) != _LAYERS * sum(_WIDTHS.values()):
        raise ModelError(f"closecall/fast/{FILE}: {len(data):,} bytes; install closecall again")
    quarters = np.frombuffer(data, dtype=np.int8)
    found, start = {}, 0
    for name, width in layers():
        found[name] = factors_of(quarters[start : start + width])
        start += width
    return found


def layers() -> Iterator[tuple[str, int]]:
    """Yield the name of each layer's weights and how wide its input is, in the file's order."""
    for layer in range(_LAYERS):
        for name, width in _WIDTHS.items():
            yield f"layer.{layer}.{name}", width


def factors_of(quarters: NDArray[np.int8]) -> NDArray[np.float32]:
    """Return 2 ** (quarters / 4): float32 of the same shape."""
    whole = quarters.astype(np.int32)
    return np.ldexp(_QUARTERS[whole % 4], whole // 4).astype(np.float32)


def quarters_of(largest: NDArray[np.float32], weights: NDArray[np.float32]) -> NDArray[np.int8]:
    """Return the factors of a layer, as quarters of a power of two: int8, (in,).

    SmoothQuant's rule with alpha 0.65, largest ** 0.65 / weight ** 0.35, with geometric mean 1.

    Parameters
    ----------
    largest
        (in,): the largest size each channel has on sample texts.
    weights
        (in, out): the layer's weights.
    """
    peak = np.maximum(np.abs(weights).max(axis=1), 1e-6)
    wanted = 0.65 * np.log2(np.maximum(largest, 1e-3)) - 0.35 * np.log2(peak)
    quarters: NDArray[np.int8] = np.rint(4 * (wanted - wanted.mean())).astype(np.int8)
    return quarters

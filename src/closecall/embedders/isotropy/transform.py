"""What is done to a vector: a mean taken away, and directions removed or brought to one size."""

from __future__ import annotations

import hashlib
from dataclasses import dataclass
from functools import cached_property
from typing import TypeAlias

import numpy as np
from numpy.typing import NDArray

from closecall.embedders.isotropy.methods import Method

Floats: TypeAlias = NDArray[np.float64]
Stored: TypeAlias = NDArray[np.float32]

NOISE = 1e-6
"""What is left of a unit vector is nothing but float32 noise where it is no longer than this."""

TOLERANCE = 1e-4
"""How far stored directions may be from standing at right angles."""

_FLOAT = np.dtype("<f4")


@dataclass(frozen=True, eq=False)
class Transform:
    """A frozen transform of unit vectors of ``dims`` numbers; two are one where ``digest`` is.

    Parameters
    ----------
    method
        The way of spreading.
    mean
        float32, (dims,): taken away from every vector.
    matrix
        float32, (dims, k), columns at right angles: of ``components:k`` the unit directions that
        are removed; of ``whiten:k`` the directions kept, each divided by the standard deviation
        there; (dims, 0) for ``centre``.

    Raises
    ------
    ValueError
        Shapes or numbers are none that a fit gives; the message says which.
    """

    method: Method
    mean: Stored
    matrix: Stored

    def __post_init__(self) -> None:
        if self.mean.ndim != 1 or not len(self.mean):
            raise ValueError(f"mean: expected (dims,), got shape {self.mean.shape}")
        if flaw := self.method.flaw(self.dims):
            raise ValueError(f"method: {flaw}")
        wanted = (self.dims, self.method.size)
        if self.matrix.shape != wanted:
            raise ValueError(f"matrix: expected shape {wanted}, got {self.matrix.shape}")
        if not (np.isfinite(self.mean).all() and np.isfinite(self.matrix).all()):
            raise ValueError("mean, matrix: every number is finite")
        if float(np.sqrt(np.square(self._mean).sum())) > 1 + TOLERANCE:
            raise ValueError("mean: that of unit vectors is no longer than 1")
        self._check_directions()

    def _check_directions(self) -> None:
        lengths = self._lengths
        if self.method.kind == "components" and (np.abs(lengths - 1) > TOLERANCE).any():
            raise ValueError("matrix: every direction has length 1")
        if not (lengths > 0).all():
            raise ValueError("matrix: every direction is longer than 0")
        units = self._matrix / lengths
        angles = units.T @ units - np.eye(len(lengths))
        if (np.abs(angles) > TOLERANCE).any():
            raise ValueError("matrix: directions stand at right angles")

    @property
    def dims(self) -> int:
        """How many numbers a vector has before."""
        return len(self.mean)

    @property
    def width(self) -> int:
        """How many numbers a vector has afterwards."""
        return self.method.width(self.dims)

    @cached_property
    def digest(self) -> str:
        """Sha256 (hex) over the method and every number: all that decides what comes out."""
        head = f"{self.method}\x1f{self.dims}\x1f".encode()
        return hashlib.sha256(head + packed(self.mean) + packed(self.matrix)).hexdigest()

    @cached_property
    def _mean(self) -> Floats:
        return self.mean.astype(np.float64)

    @cached_property
    def _matrix(self) -> Floats:
        return np.ascontiguousarray(self.matrix, dtype=np.float64)

    @cached_property
    def _turned(self) -> Floats:
        return np.ascontiguousarray(self._matrix.T)

    @cached_property
    def _lengths(self) -> Floats:
        found: Floats = np.sqrt(np.square(self._matrix).sum(axis=0))
        return found

    @cached_property
    def noise(self) -> float:
        """How long what comes of a unit vector may be and still be noise: see ``NOISE``."""
        return NOISE * float(self._lengths.max(initial=0.0) or 1.0)

    def apply(self, units: Floats) -> Floats:
        """Return what becomes of unit vectors, not yet brought to length 1.

        A row's numbers depend on that row alone, bit for bit: no BLAS product is used, whose
        rounding depends on how many rows stand beside it and on the machine.

        Parameters
        ----------
        units
            float64, (n, dims).

        Returns
        -------
        Floats
            float64, (n, width). About 0.2 ms a row at 384 numbers and ``whiten:256``.
        """
        centred = units - self._mean
        if self.method.kind == "centre":
            return centred
        found = np.empty((len(units), self.width), dtype=np.float64)
        for at, row in enumerate(centred):
            along = np.add.reduce(self._matrix * row[:, None], axis=0)
            found[at] = (
                along
                if self.method.kind == "whiten"
                else row - np.add.reduce(self._turned * along[:, None], axis=0)
            )
        return found


def packed(array: Stored) -> bytes:
    """Return the numbers as little-endian float32, row by row."""
    return np.ascontiguousarray(array, dtype=_FLOAT).tobytes()


def unpacked(data: bytes, shape: tuple[int, ...]) -> Stored:
    """Return the numbers of ``packed``, read-only.

    Raises
    ------
    ValueError
        They are more or fewer than the shape takes.
    """
    wanted = _FLOAT.itemsize * int(np.prod(shape))
    if len(data) != wanted:
        raise ValueError(f"{len(data)} bytes, and {shape} numbers take {wanted}")
    return np.frombuffer(data, dtype=_FLOAT).astype(np.float32, copy=False).reshape(shape)

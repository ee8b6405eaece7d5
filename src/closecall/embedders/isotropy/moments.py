"""Mean and covariance of many vectors, a block at a time, and the directions they vary in."""

from __future__ import annotations

from typing import NamedTuple

import numpy as np

from closecall.embedders.isotropy.methods import Method
from closecall.embedders.isotropy.transform import Floats, Transform
from closecall.errors import DataError

LEAST_SPREAD = 1e-7
"""Least variance along a direction, as a share of the largest, for it to be used: below that,
float32 noise in the vectors is what is seen."""

FLAT = 1e-12
"""Largest variance of unit vectors that are one and the same but for float32 noise."""


class Spectrum(NamedTuple):
    """Where vectors vary: variances (dims,), largest first, and unit directions (dims, dims).

    Directions are columns. The number of largest size in each is positive, so that the same
    vectors give the same directions.
    """

    variances: Floats
    directions: Floats

    @property
    def usable(self) -> int:
        """How many directions vary by more than noise."""
        top = float(self.variances[0])
        return int(np.count_nonzero(self.variances > LEAST_SPREAD * top)) if top > FLAT else 0

    def kept(self, method: Method) -> float:
        """Return the share of the variance in the directions that a method leaves, 0 to 1."""
        share = float(self.variances[: method.size].sum() / self.variances.sum())
        return {"centre": 1.0, "components": 1.0 - share, "whiten": share}[method.kind]


class Moments:
    """Sums over unit vectors of ``dims`` numbers, in float64.

    Memory is two arrays of (dims, dims), however many vectors come. The sums depend on the order
    of vectors in their last bits only.
    """

    def __init__(self, dims: int) -> None:
        self.count = 0
        self._sum = np.zeros(dims, dtype=np.float64)
        self._products = np.zeros((dims, dims), dtype=np.float64)

    def add(self, units: Floats) -> None:
        """Add vectors: float64, (n, dims), each of length 1."""
        self.count += len(units)
        self._sum += units.sum(axis=0)
        self._products += units.T @ units

    @property
    def mean(self) -> Floats:
        """The mean: float64, (dims,). Its squared length is the mean cosine of two vectors."""
        found: Floats = self._sum / self.count
        return found

    def covariance(self) -> Floats:
        """Return the covariance, divided by the number of vectors: float64, (dims, dims)."""
        mean = self.mean
        found: Floats = self._products / self.count - np.outer(mean, mean)
        return (found + found.T) / 2

    def spectrum(self) -> Spectrum:
        """Return variances and directions; O(dims^3), 0.1 s at 384 numbers."""
        variances, directions = np.linalg.eigh(self.covariance())
        variances, directions = variances[::-1].clip(0.0), directions[:, ::-1]
        largest = np.abs(directions).argmax(axis=0)
        signs = np.sign(directions[largest, np.arange(len(variances))])
        return Spectrum(variances, directions * signs)

    def transform(self, method: Method, spectrum: Spectrum) -> Transform:
        """Return the transform that a method makes of these vectors, whose spectrum is given.

        Raises
        ------
        DataError
            They do not vary in as many directions as it needs.
        """
        if spectrum.usable < max(method.size, 1):
            raise DataError(_too_flat(method, self.count, spectrum.usable))
        matrix = spectrum.directions[:, : method.size]
        if method.kind == "whiten":
            matrix = matrix / np.sqrt(spectrum.variances[: method.size])
        return Transform(method, self.mean.astype(np.float32), matrix.astype(np.float32))


def _too_flat(method: Method, count: int, usable: int) -> str:
    if not usable:
        return f"{method}: all {count:,} texts have the same vector, so there is nothing to spread"
    if method.kind == "whiten":
        return (
            f"{method}: {count:,} texts vary in {usable} directions by more than noise; choose "
            f"whiten:{usable} or fewer, or give more texts"
        )
    return (
        f"{method}: {count:,} texts vary in {usable} directions by more than noise; remove fewer"
    )

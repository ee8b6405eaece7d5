"""The cosine of two vectors of a run, about 4 microseconds each."""

from __future__ import annotations

import math
from collections.abc import Sequence

import numpy as np

from closecall.embedders.base import Vector
from closecall.metrics.base import DECIMALS


def cosine(a: Vector, b: Vector) -> float:
    """Return the cosine, from -1 to 1, to ``DECIMALS`` decimals.

    For (d,) float32 vectors that were found finite and not zero when they came from the
    embedder: their squares neither overflow nor vanish in float64, so the checks and scaling of
    ``similarity.cosine_similarity`` have nothing to find here. The two agree.
    """
    (found,) = cosines([a], b)
    return found


def cosines(several: Sequence[Vector], b: Vector) -> list[float]:
    """Return the cosine of each of several vectors with another, as ``cosine`` gives it."""
    y = b.astype(np.float64)
    square = float(y.dot(y))
    found = []
    for a in several:
        x = a.astype(np.float64)
        raw = float(x.dot(y)) / math.sqrt(float(x.dot(x)) * square)
        found.append(max(-1.0, min(1.0, round(raw, DECIMALS))) + 0.0)  # never -0.0
    return found

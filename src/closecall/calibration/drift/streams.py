"""Random numbers that stay the same: one raw stream for each use of a seed.

Raw PCG64 output is the one stream that numpy never changes, on any machine. One seed serves a
whole calibration, so each use takes a stream of its own: choices made from one stream would not
be independent of each other.
"""

from __future__ import annotations

from enum import IntEnum

import numpy as np
from numpy.typing import NDArray

from closecall.calibration.groups import draws


class Use(IntEnum):
    """What a stream is for; the numbers never change."""

    RESERVOIR = 1
    TO_LABEL = 2
    PERMUTATIONS = 3
    ONE_OF_REFERENCE = 4
    ONE_OF_RUN = 5
    TIES = 6


def use_seed(seed: int, use: Use) -> int:
    """Return the seed of one use, for ``draws``; a seed that is no whole number is refused."""
    draws(seed, np.zeros(0, dtype=np.int64))  # the one place that checks a seed
    return seed * 1_000_003 + 900_000 + use


def raw_stream(seed: int, use: Use) -> np.random.PCG64:
    """Return the stream of one use; ``random_raw`` gives 64 random bits at a time."""
    return np.random.PCG64(use_seed(seed, use))


def random_subsets(
    stream: np.random.PCG64, rows: int, chosen: int, size: int
) -> NDArray[np.bool_]:
    """Return (rows, size) bool: in each row another ``chosen`` of ``size`` places, at random.

    ``chosen`` lies from 1 to ``size``. The places with the smallest of ``size`` random 64-bit
    keys are chosen; that two keys are equal just there has a probability below 2**-40.
    """
    keys = stream.random_raw(rows * size).reshape(rows, size)
    last = np.partition(keys, chosen - 1, axis=1)[:, chosen - 1]
    return np.asarray(keys <= last[:, None])

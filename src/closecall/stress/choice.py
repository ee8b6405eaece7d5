"""Choices that look random and never change: one stream of numbers for each text and use.

Every text draws from a stream of its own, named by the seed, the family and the case. So what is
made of one case does not depend on which others are in the file, nor on their order.
"""

from __future__ import annotations

import hashlib
from collections.abc import Sequence
from typing import TypeVar

import numpy as np

from closecall.errors import UsageError

T = TypeVar("T")


def check_seed(seed: int) -> int:
    """Return the seed; refuse what is no whole number of at least 0."""
    if isinstance(seed, bool) or not isinstance(seed, int) or seed < 0:
        raise UsageError(f"seed must be a whole number of at least 0, got {seed!r}")
    return seed


def number_of(seed: int, *names: str) -> int:
    """Return 64 bits that stand for a seed and names; the same on any machine."""
    joined = "\0".join((str(seed), *names)).encode("utf-8", "surrogatepass")
    return int.from_bytes(hashlib.blake2b(joined, digest_size=8).digest(), "little")


class Chooser:
    """A stream of whole numbers for one text and one use; its start is drawn when first needed."""

    def __init__(self, seed: int, *names: str) -> None:
        self._seed, self._names = seed, names
        self._raw: np.random.PCG64 | None = None

    def below(self, size: int) -> int:
        """Return a whole number from 0 up to, not including, ``size``."""
        if self._raw is None:
            self._raw = np.random.PCG64(number_of(self._seed, *self._names))
        # The bias of % is below 2**-40.
        return int(self._raw.random_raw()) % size

    def one(self, items: Sequence[T]) -> T:
        """Return one of the items; there must be one."""
        return items[self.below(len(items))]

    def mixed(self, items: Sequence[T]) -> list[T]:
        """Return the items in a drawn order."""
        left = list(items)
        for at in range(len(left) - 1, 0, -1):
            other = self.below(at + 1)
            left[at], left[other] = left[other], left[at]
        return left

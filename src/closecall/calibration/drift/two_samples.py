"""Whether two samples come from the same place: distances with their permutation null.

Were both samples of one kind, which items are the first sample would be a matter of chance. So
the distance of the two is compared with its distance for many random choices of as many items
from both together: the p-value is exact for any number of items and any ties, and nothing is
assumed of the distribution. Distances are whole numbers until they are shown, so that equal ones
are equal on every machine.
"""

from __future__ import annotations

from collections.abc import Sequence
from fractions import Fraction
from typing import Any, Literal, NamedTuple, TypeAlias

import numpy as np
from numpy.typing import ArrayLike, NDArray

from closecall.calibration.drift.streams import Use, random_subsets, raw_stream
from closecall.calibration.inputs import Ints

Distance: TypeAlias = Literal["ks", "tv"]
"""``ks``: the largest difference of the two shares at or below a number (Kolmogorov-Smirnov).
``tv``: the share of cases whose value would have to change (total variation)."""

_CHUNK = 1 << 20


class Pair(NamedTuple):
    """Two samples side by side.

    ``values`` are the distinct values in order, ``first`` and ``second`` (m,) int64 how often
    each sample has each.
    """

    distance: Distance
    values: tuple[Any, ...]
    first: Ints
    second: Ints

    @property
    def sizes(self) -> tuple[int, int]:
        """How many items each sample has."""
        return int(self.first.sum()), int(self.second.sum())

    @property
    def statistic(self) -> float:
        """The distance, from 0 to 1."""
        n, m = self.sizes
        scale = n * m * (2 if self.distance == "tv" else 1)
        return int(_numerators(np.cumsum(self.first)[None, :], self)[0]) / scale

    @property
    def furthest(self) -> int:
        """Which value the two differ most at: at or below it for ``ks``, in it for ``tv``."""
        n, m = self.sizes
        lead = self.first * m - self.second * n
        return int(np.argmax(np.abs(np.cumsum(lead) if self.distance == "ks" else lead)))


def numbers(first: ArrayLike, second: ArrayLike) -> Pair:
    """Put two samples of numbers side by side, by the Kolmogorov-Smirnov distance; O(n log n)."""
    one, two = np.asarray(first), np.asarray(second)
    values, codes = np.unique(np.concatenate((one, two)), return_inverse=True)
    counts = [np.bincount(part, minlength=len(values)) for part in np.split(codes, [len(one)])]
    return Pair("ks", tuple(values.tolist()), *counts)


def kinds(first: Sequence[str], second: Sequence[str]) -> Pair:
    """Put two samples of names side by side, by total variation; O(n log n)."""
    values = tuple(sorted({*first, *second}))
    number = {value: at for at, value in enumerate(values)}
    counts = [
        np.bincount([number[value] for value in part], minlength=len(values))
        for part in (first, second)
    ]
    return Pair("tv", values, *counts)


def hits(pairs: Sequence[Pair], permutations: int, seed: int) -> list[int]:
    """Return how many of the random choices lie at least as far apart as each pair does.

    The p-value is (hits + 1) / (permutations + 1): uniform where both samples are of one kind,
    larger with ties, never 0. O(permutations * (n + m)) for pairs of one size together. The
    choices depend on the seed and the sizes only.
    """
    found = [0] * len(pairs)
    for sizes in sorted({pair.sizes for pair in pairs}):
        alike = [at for at, pair in enumerate(pairs) if pair.sizes == sizes]
        stream = raw_stream(seed, Use.PERMUTATIONS)
        total = sum(sizes)
        step = max(1, _CHUNK // total)
        for start in range(0, permutations, step):
            rows = min(step, permutations - start)
            chosen = random_subsets(stream, rows, sizes[0], total)
            below = np.cumsum(chosen, axis=1, dtype=np.int64)
            for at in alike:
                pair = pairs[at]
                observed = _numerators(np.cumsum(pair.first)[None, :], pair)[0]
                ends = np.cumsum(pair.first + pair.second) - 1
                found[at] += int(np.count_nonzero(_numerators(below[:, ends], pair) >= observed))
    return found


def holm(counts: Sequence[int], permutations: int, level: float | Fraction) -> list[bool]:
    """Return which of several p-values are significant together, by Holm's step-down rule.

    The probability of any false one is at most ``level``, however the tests depend on each other
    (Holm 1979). Compared as whole numbers.

    Parameters
    ----------
    counts
        What ``hits`` returned.
    permutations
        How many there were.
    level
        From 0 to 1.
    """
    kept = [False] * len(counts)
    for rank, at in enumerate(sorted(range(len(counts)), key=lambda at: counts[at])):
        if (counts[at] + 1) * (len(counts) - rank) > level * (permutations + 1):
            break
        kept[at] = True
    return kept


def _numerators(below: NDArray[np.int64], pair: Pair) -> NDArray[np.int64]:
    """Return n * m times the distance (twice that for ``tv``), for each row of ``below``.

    ``below`` is (rows, values): how many of the first sample have the value or a smaller one.
    With c of the first sample among k of both,
    n * m * (c / n - (k - c) / m) = c * (n + m) - k * n.
    """
    both = np.cumsum(pair.first + pair.second)
    lead = below * both[-1] - both * int(pair.first.sum())
    if pair.distance == "ks":
        return np.asarray(np.abs(lead).max(axis=1))
    return np.asarray(np.abs(np.diff(lead, axis=1, prepend=0)).sum(axis=1))

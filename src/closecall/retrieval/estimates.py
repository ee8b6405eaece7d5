"""A mean over questions with its interval: questions drawn anew, groups of them as wholes.

The interval is where the middle of the resampled means lies (percentile bootstrap, Efron 1979).
Questions of one group are drawn together, since they are about the same thing. Where every
question has the same value no resample differs from another. Then the share of questions that
have another one is bounded, from 0 seen among n (Clopper-Pearson, with a design effect for
groups), and the interval reaches as far as those could take the mean; of all 1 or all 0 that is
the exact interval of a rate. It is never of width 0.
"""

from __future__ import annotations

import math
from collections.abc import Iterator, Mapping, Sequence

import msgspec
import numpy as np
from numpy.typing import NDArray

from closecall.calibration.binomial import complement
from closecall.calibration.groups import rate_of_groups
from closecall.calibration.records import Interval, typed
from closecall.errors import UsageError

Floats = NDArray[np.float64]
Ints = NDArray[np.int64]

RESAMPLES = 2000
LEVEL = 0.95
FEWEST_UNITS = 10
"""Below it resamples vary too little, and their interval would say too much."""

PERCENTILE = "percentile bootstrap over questions"
PERCENTILE_GROUPS = "percentile bootstrap over groups of questions"

_CELLS = 2_000_000
_FLAT = 1e-12


class Estimate(msgspec.Struct, frozen=True, kw_only=True):
    """A mean over ``n`` questions in ``groups`` groups (as many as questions, without groups).

    ``count`` is how many questions have 1, where all have 0 or 1; else None. ``interval`` is None
    where there is none, and ``why`` says why.
    """

    value: float
    n: int
    groups: int
    count: int | None
    interval: Interval | None
    why: str = ""


class Drawing(msgspec.Struct, frozen=True, kw_only=True):
    """How intervals and tests are drawn; the same seed gives the same numbers anywhere."""

    resamples: int = RESAMPLES
    seed: int = 0
    level: float = LEVEL

    def __post_init__(self) -> None:
        if isinstance(self.seed, bool) or not isinstance(self.seed, int) or self.seed < 0:
            raise UsageError(f"seed must be a whole number of at least 0, got {self.seed!r}")
        if isinstance(self.resamples, bool) or not isinstance(self.resamples, int):
            raise UsageError(f"resamples must be a whole number, got {self.resamples!r}")
        self.ends()

    def ends(self) -> tuple[int, int]:
        """Return where the ends of an interval stand among sorted resamples.

        Raises
        ------
        UsageError
            The resamples are too few for an interval of this level.
        """
        outside = typed(complement(self.level)) / 2
        beyond = math.floor(outside * (self.resamples + 1))
        if beyond < 1:
            fewest = math.ceil(1 / outside) - 1
            raise UsageError(
                f"an interval at level {self.level:g} needs at least {fewest} resamples, got "
                f"{self.resamples}"
            )
        return beyond - 1, self.resamples - beyond


def estimates(
    columns: Mapping[str, Sequence[float]], groups: Sequence[str], drawing: Drawing
) -> dict[str, Estimate]:
    """Return the mean of each column with its interval, all from the same resamples.

    Parameters
    ----------
    columns
        Name to (n,) values of the same questions, each 0 to 1.
    groups
        (n,): the group of each question; of its own where it has none. Order changes nothing.
    drawing
        Resamples, seed and level. O(resamples * groups * columns) time, bounded memory.
    """
    names = list(columns)
    codes = _codes(groups)
    count = int(codes.max()) + 1
    matrix = np.array([columns[name] for name in names], dtype=np.float64).reshape(len(names), -1)
    sizes = np.bincount(codes, minlength=count)
    sums = np.array(
        [np.bincount(codes, weights=row, minlength=count) for row in matrix], dtype=np.float64
    )
    drawn = _means(sizes, sums, drawing) if count >= FEWEST_UNITS else None
    return {
        name: _estimate(matrix[at], sizes, None if drawn is None else drawn[:, at], drawing)
        for at, name in enumerate(names)
    }


def difference_interval(
    differences: Sequence[float], groups: Sequence[str], drawing: Drawing
) -> tuple[Interval | None, str]:
    """Return the interval of a mean difference over questions, or why there is none."""
    codes = _codes(groups)
    count = int(codes.max()) + 1
    given = np.array(differences, dtype=np.float64)
    if not np.any(np.abs(given) > _FLAT):
        return None, "no question differs"
    if count < FEWEST_UNITS:
        return None, _too_few(count)
    sizes = np.bincount(codes, minlength=count)
    sums = np.bincount(codes, weights=given, minlength=count).astype(np.float64)[None, :]
    found = _interval(_means(sizes, sums, drawing)[:, 0], count == given.size, drawing)
    return found, "" if found is not None else "nothing varies from question to question"


def _codes(groups: Sequence[str]) -> Ints:
    # Numbered in the order of their names, so that the order of the questions changes nothing.
    _, codes = np.unique(np.array(groups, dtype=object), return_inverse=True)
    return codes.astype(np.int64)


def _means(sizes: Ints, sums: Floats, drawing: Drawing) -> Floats:
    """Return the means of all resamples: (resamples, columns)."""
    found = [
        (weights @ sums.T) / (weights @ sizes)[:, None]
        for weights in _weights(len(sizes), drawing)
    ]
    return np.concatenate(found)


def _weights(units: int, drawing: Drawing) -> Iterator[Floats]:
    """Yield how often each unit was drawn, a few resamples at a time: (r, units)."""
    # Raw output of the generator is the one stream that numpy never changes.
    stream = np.random.PCG64(drawing.seed)
    at_once = max(1, _CELLS // units)
    for start in range(0, drawing.resamples, at_once):
        rows = min(at_once, drawing.resamples - start)
        raw = stream.random_raw(rows * units).reshape(rows, units)
        picks = (raw % np.uint64(units)).astype(np.int64)  # its bias is below 2**-40
        flat = (picks + np.arange(rows)[:, None] * units).ravel()
        yield np.bincount(flat, minlength=rows * units).reshape(rows, units).astype(np.float64)


def _estimate(values: Floats, sizes: Ints, drawn: Floats | None, drawing: Drawing) -> Estimate:
    n, groups = len(values), len(sizes)
    value = math.fsum(values) / n
    counted = bool(np.all((values == 0.0) | (values == 1.0)))
    count = int(values.sum()) if counted else None
    interval: Interval | None = None
    why = ""
    if float(np.ptp(values)) <= _FLAT:
        interval = _of_equals(value, sizes, drawing)
    elif drawn is None:
        why = _too_few(groups)
    else:
        interval = _interval(drawn, groups == n, drawing)
        why = "" if interval is not None else "nothing varies from group to group"
    return Estimate(value=value, n=n, groups=groups, count=count, interval=interval, why=why)


def _of_equals(value: float, sizes: Ints, drawing: Drawing) -> Interval | None:
    """Return how far questions with another value, 0 to 1, that were not seen may take a mean."""
    others = rate_of_groups(sizes, np.zeros_like(sizes), drawing.level)
    if others is None:
        return None
    share = others.interval.high
    return Interval(
        low=value * (1 - share),
        high=value + (1 - value) * share,
        level=drawing.level,
        method=f"{others.interval.method}, of questions with another value",
    )


def _too_few(groups: int) -> str:
    return f"{groups} independent questions or groups are too few, {FEWEST_UNITS} are needed"


def _interval(drawn: Floats, apart: bool, drawing: Drawing) -> Interval | None:  # noqa: FBT001 - whether questions stand alone
    ordered = np.sort(drawn)
    low, high = (float(ordered[end]) for end in drawing.ends())
    if high - low <= _FLAT:
        return None
    return Interval(
        low=low,
        high=high,
        level=drawing.level,
        method=PERCENTILE if apart else PERCENTILE_GROUPS,
    )

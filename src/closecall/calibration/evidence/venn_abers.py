"""How much the labels leave open about a probability: a lower and an upper value for each score.

Whoever gives the next response is going to accept it or not. Add it to the labelled rows as
rejected and fit the best rising step curve: its value there is the lower probability. Add it as
accepted: the upper one. One of the two is calibrated whatever the scores look like, as long as
rows are exchangeable; how far apart they lie says how much is not known. Few labels near a score,
wide interval. Rows that come in groups know less than the width says.

Inductive Venn-Abers prediction: Vovk, Petej and Fedorova (2015).
"""

from __future__ import annotations

from dataclasses import dataclass
from typing import TypeAlias

import numpy as np
from numpy.typing import ArrayLike

from closecall.calibration.curve import ErrorCurve, curve_of
from closecall.calibration.inputs import Floats, Ints, Labelled, round_scores

_Point: TypeAlias = tuple[int, int]


@dataclass(frozen=True, eq=False, slots=True)
class VennAbers:
    """The lower and the upper probability at every labelled score, and so at any other.

    Attributes
    ----------
    levels
        (m,) float64, the distinct labelled scores, lowest first.
    lower, upper
        (m,) float64, from 0 to 1; lower < upper, both never falling.
    n
        Labelled rows.
    decimals
        Decimals the scores were rounded to, or None.
    """

    levels: Floats
    lower: Floats
    upper: Floats
    n: int
    decimals: int | None

    def __post_init__(self) -> None:
        for array in (self.levels, self.lower, self.upper):
            array.setflags(write=False)

    def interval(self, scores: ArrayLike) -> tuple[Floats, Floats]:
        """Return the lower and the upper probability of each score; O(log m) a score.

        Parameters
        ----------
        scores
            Any shape, finite; rounded as the labelled ones were.

        Returns
        -------
        lower, upper
            float64, the shape of ``scores``. Below all labelled scores the lower one is 0, above
            all the upper one is 1.

        Raises
        ------
        NonFiniteError
            A score is NaN or infinite.
        """
        values = round_scores(scores, self.decimals)
        # As a reject the response joins the labelled rows below it, as an accept those above.
        below = np.searchsorted(self.levels, values, side="right")
        above = np.searchsorted(self.levels, values, side="left")
        return np.append(0.0, self.lower)[below], np.append(self.upper, 1.0)[above]

    def width(self, scores: ArrayLike) -> Floats:
        """Return how much is not known at each score: upper minus lower probability."""
        lower, upper = self.interval(scores)
        return upper - lower


def venn_abers(data: Labelled) -> VennAbers:
    """Prepare the intervals of labelled rows; O(n log n) time, O(n) memory.

    They are those of two isotonic regressions a score, without fitting any again. One class alone
    has intervals too: they reach from, or to, the end.
    """
    return venn_abers_of(curve_of(data))


def venn_abers_of(curve: ErrorCurve) -> VennAbers:
    """Prepare the intervals of the rows behind a curve; O(m) time, m distinct scores."""
    kept = np.diff(curve.true_accepts)[::-1].tolist()
    wrong = np.diff(curve.false_accepts)[::-1].tolist()
    above, size = _upper(kept, wrong)
    # Seen upside down, with labels exchanged, the lower probability is an upper one.
    missing, other = (part[::-1] for part in _upper(wrong[::-1], kept[::-1]))
    upper, lower = above / size, (other - missing) / other
    return VennAbers(
        levels=curve.levels[::-1].copy(),
        lower=lower,
        upper=upper,
        n=curve.accepts + curve.rejects,
        decimals=curve.decimals,
    )


def _upper(kept: list[int], wrong: list[int]) -> tuple[Ints, Ints]:
    """Return each level's upper probability as accepts over rows, in whole numbers.

    The isotonic curve is the slope of the convex hull below the points (rows, accepts) counted up
    to each level. One more accept at a level moves the points left of it by (-1, -1), seen from
    those right of it, so going up one level moves one point, and the hull changes only there.
    """
    points: list[_Point] = [(0, 0)]
    for plus, minus in zip(kept, wrong, strict=True):
        rows, accepts = points[-1]
        points.append((rows + plus + minus, accepts + plus))
    hull: list[_Point] = []  # the corners from the level at hand up, leftmost last
    for point in (*points[:0:-1], (-1, -1)):
        _push(hull, point)
    accepted, size = [], []
    for rows, accepts in points[1:]:
        left, right = hull[-1], hull[-2]
        accepted.append(right[1] - left[1])
        size.append(right[0] - left[0])
        moved = rows - 1, accepts - 1
        if _below(left, moved, right):
            hull.pop()
            _push(hull, moved)
    return np.array(accepted, dtype=np.int64), np.array(size, dtype=np.int64)


def _push(hull: list[_Point], point: _Point) -> None:
    """Put a corner to the left of all others, and drop those it takes out of the hull."""
    while len(hull) > 1 and not _below(point, hull[-1], hull[-2]):
        hull.pop()
    hull.append(point)


def _below(left: _Point, middle: _Point, right: _Point) -> bool:
    """Whether ``middle`` lies below the line from ``left`` to ``right``."""
    return (middle[1] - left[1]) * (right[0] - left[0]) < (right[1] - left[1]) * (
        middle[0] - left[0]
    )

"""How well two scores rank the same answers: the difference of their areas, with its error.

The area under the curve (AUC) is how often an accept outscores a reject, a tie counting half. It
reads only the order of scores, so it may be compared between models whose scores may not: no raw
score of one model is ever set against one of another here. It ranks over all cutoffs, most of
which nobody would use; what a model accepts at its own certified cutoff says more.

Variances are those of DeLong et al. (1988). For answers that come in groups, those of Obuchowski
(1997), which add up what the answers of a group contribute; the two agree on groups of one.
Neither knows of scores that were fitted on these very rows.
"""

from __future__ import annotations

import math
from dataclasses import dataclass
from statistics import NormalDist

import msgspec
import numpy as np

from closecall.calibration.binomial import complement
from closecall.calibration.comparing.paired import SMALLEST_P
from closecall.calibration.inputs import Bools, Floats, Ints
from closecall.calibration.records import Interval
from closecall.errors import DataError, ShapeError

DELONG = "DeLong"
CLUSTERED = "DeLong, summed over groups (Obuchowski)"

_ENOUGH = 2
_ROUNDING = 1e-28  # what rounding leaves of a variance of 0; one half step in 10**6 rows is more


class AucDifference(msgspec.Struct, frozen=True, kw_only=True):
    """Areas of two scores on the same answers; ``difference`` is B less A: above 0 favours B.

    ``p`` is the two-sided p-value of no difference, by the normal curve. ``interval`` and ``p``
    are None where the rows show no variance to go by: all of them agree on the difference (two
    scores that order alike, two that both separate perfectly), or a class has a single answer or
    group. ``groups`` is how many groups the answers form, None without groups.
    """

    auc_a: float
    auc_b: float
    difference: float
    interval: Interval | None
    p: float | None
    n_accepts: int
    n_rejects: int
    groups: int | None = None


@dataclass(frozen=True, eq=False, slots=True)
class Placements:
    """Where each answer stands among those of the other class, for one score, in half steps.

    Attributes
    ----------
    accepts
        (n1,) int64: twice the rejects below each accept, plus once those level with it.
    rejects
        (n0,) int64: twice the accepts above each reject, plus once those level with it.
    """

    accepts: Ints
    rejects: Ints

    @property
    def auc(self) -> float:
        """Area under the curve, from whole numbers."""
        return int(self.accepts.sum()) / (2 * len(self.accepts) * len(self.rejects))


def auc_difference(
    scores_a: Floats,
    scores_b: Floats,
    accept: Bools,
    level: float = 0.95,
    *,
    groups: Ints | None = None,
) -> AucDifference:
    """Compare the areas of two scores of the same answers; O(n log n) time, O(n) memory.

    Parameters
    ----------
    scores_a, scores_b
        (n,) float64, finite, each in its own range; the higher, the closer.
    accept
        (n,): what a person said of each answer; both kinds.
    level
        Confidence of the interval: the difference plus or minus a multiple of its standard error,
        cut at -1 and 1.
    groups
        (n,): the group of each answer; None where answers are independent.

    Raises
    ------
    DataError
        A class is empty.
    ShapeError
        Lengths differ.
    """
    for name, array in (("scores of B", scores_b), ("labels", accept), ("groups", groups)):
        if array is not None and array.shape != scores_a.shape:
            raise ShapeError(f"{name} {array.shape} do not fit scores of A {scores_a.shape}")
    a, b = placements(scores_a, accept), placements(scores_b, accept)
    # Half steps of one size: the area of b less that of a is the area of these differences.
    contrast = Placements(b.accepts - a.accepts, b.rejects - a.rejects)
    n_accepts, n_rejects = len(a.accepts), len(a.rejects)
    difference = contrast.auc
    interval = p = None
    found = auc_covariance([contrast], accept, groups)
    if found is not None and found[0, 0] > _ROUNDING:
        error = math.sqrt(float(found[0, 0]))
        reach = NormalDist().inv_cdf(1 - complement(level) / 2) * error
        interval = Interval(
            low=max(-1.0, difference - reach),
            high=min(1.0, difference + reach),
            level=level,
            method=DELONG if groups is None else CLUSTERED,
        )
        p = max(SMALLEST_P, math.erfc(abs(difference) / error / math.sqrt(2)))
    return AucDifference(
        auc_a=a.auc,
        auc_b=b.auc,
        difference=difference,
        interval=interval,
        p=p,
        n_accepts=n_accepts,
        n_rejects=n_rejects,
        groups=None if groups is None else len(np.unique(groups)),
    )


def placements(scores: Floats, accept: Bools) -> Placements:
    """Return the placements of each answer, from sorted scores (as Sun and Xu 2014 from ranks).

    Raises
    ------
    DataError
        A class is empty.
    """
    accepts, rejects = scores[accept], scores[~accept]
    if not (len(accepts) and len(rejects)):
        raise DataError("an area under the curve needs accepts and rejects")
    above, below = np.sort(accepts), np.sort(rejects)
    return Placements(
        accepts=(
            np.searchsorted(below, accepts, "left") + np.searchsorted(below, accepts, "right")
        ).astype(np.int64),
        rejects=(
            2 * len(above)
            - np.searchsorted(above, rejects, "left")
            - np.searchsorted(above, rejects, "right")
        ).astype(np.int64),
    )


def auc_covariance(
    found: list[Placements], accept: Bools, groups: Ints | None = None
) -> Floats | None:
    """Return the covariance matrix of areas: (m, m) for m scores of the same answers.

    Without groups it is S1 / n1 + S0 / n0, with S1 and S0 the covariances of the placements of
    accepts and of rejects (DeLong et al. 1988). With groups, placements less their area are added
    up within each group first, and what accepts and rejects of one group share counts twice
    (Obuchowski 1997).

    Parameters
    ----------
    found
        m placements of the same answers.
    accept, groups
        (n,) as for ``auc_difference``.

    Returns
    -------
    ndarray | None
        None where a class has answers in fewer than two groups (fewer than two answers).
    """
    areas = np.array([each.auc for each in found])[:, None]
    n1, n0 = len(found[0].accepts), len(found[0].rejects)
    accepts = np.array([each.accepts for each in found]) / (2 * n0) - areas
    rejects = np.array([each.rejects for each in found]) / (2 * n1) - areas
    if groups is None:
        if min(n1, n0) < _ENOUGH:
            return None
        return np.asarray(
            accepts @ accepts.T / (n1 * (n1 - 1)) + rejects @ rejects.T / (n0 * (n0 - 1))
        )
    _, codes = np.unique(groups, return_inverse=True)
    total = int(codes.max()) + 1
    k1, k0 = len(np.unique(codes[accept])), len(np.unique(codes[~accept]))
    if min(k1, k0) < _ENOUGH:
        return None
    ours, theirs = (
        np.array([np.bincount(codes[chosen], row, total) for row in rows])
        for chosen, rows in ((accept, accepts), (~accept, rejects))
    )
    ours, theirs = ours / n1, theirs / n0
    both = ours + theirs
    # His three sums, put together as squares so that what cancels leaves nothing of its size.
    few = total / (total - 1)
    return np.asarray(
        few * (both @ both.T)
        + (k1 / (k1 - 1) - few) * (ours @ ours.T)
        + (k0 / (k0 - 1) - few) * (theirs @ theirs.T)
    )

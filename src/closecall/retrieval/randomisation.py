"""Is one ranking better than another, or may it be chance? A paired randomisation test.

If two searches were alike, swapping their results for a question would change nothing: its
difference would be as likely negative as positive. The p-value is the share of all ways to sign
the differences whose sum is at least as far from 0 as the one observed (Fisher 1935; for
retrieval: Smucker, Allan and Carterette, CIKM 2007). Questions of one group are swapped together.
"""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from typing import NamedTuple

import numpy as np
from numpy.typing import NDArray

from closecall.calibration.comparing.paired import sign_flip

EXACT = "exact sign-flip"
MONTE_CARLO = "Monte Carlo sign-flip"
DRAWS = 10_000
MOST_EXACT = 16
"""Groups that differ up to which all 2**m ways are counted."""
MOST_WHOLE = 2_000
"""Whole differences up to this sum are counted out, however many groups there are."""

_CELLS = 4_000_000
_TINY = 1e-9
_BITS = 64


class Randomised(NamedTuple):
    """A two-sided p-value, above 0 and at most 1, and how it came about.

    ``differing`` groups (or questions) tell the two apart. ``draws`` ways were drawn with
    ``seed``; both are None where all ways were counted.
    """

    p: float
    method: str
    differing: int
    draws: int | None
    seed: int | None


def randomisation_test(
    differences: Sequence[float], groups: Sequence[str], *, seed: int, draws: int = DRAWS
) -> Randomised:
    """Return the p-value of no difference.

    All ways are counted where at most 16 groups differ, and where the groups' differences are
    whole numbers (hits). Otherwise ``draws`` ways are drawn, and with b of them as extreme as the
    observed one p is ``(b + 1) / (draws + 1)``: never 0 (Phipson and Smyth 2010).

    Parameters
    ----------
    differences
        (n,): the measure by B less that by A, for each question.
    groups
        (n,): the group of each question.
    seed, draws
        For the ways that are drawn.
    """
    _, codes = np.unique(np.array(groups, dtype=object), return_inverse=True)
    sums = np.bincount(codes, weights=np.array(differences, dtype=np.float64))
    scale = float(np.abs(sums).max(initial=0.0))
    sums = sums[np.abs(sums) > _TINY * max(scale, _TINY)]
    m = len(sums)
    if m == 0:
        return Randomised(1.0, EXACT, 0, None, None)
    whole = np.rint(sums)
    if np.all(np.abs(sums - whole) < _TINY) and np.abs(whole).sum() <= MOST_WHOLE:
        return Randomised(sign_flip(whole.astype(np.int64)), EXACT, m, None, None)
    # A way that ties with the observed one must count, however the floats were added up.
    bar = abs(float(sums.sum())) - _TINY * float(np.abs(sums).sum())
    if m <= MOST_EXACT:
        reached = np.zeros(1)
        for one in sums.tolist():
            reached = np.concatenate((reached + one, reached - one))
        extreme = int(np.count_nonzero(np.abs(reached) >= bar))
        return Randomised(extreme / len(reached), EXACT, m, None, None)
    extreme = sum(
        int(np.count_nonzero(np.abs(signs @ sums) >= bar)) for signs in _signs(m, draws, seed)
    )
    return Randomised((extreme + 1) / (draws + 1), MONTE_CARLO, m, draws, seed)


def _signs(m: int, draws: int, seed: int) -> Iterator[NDArray[np.float64]]:
    """Yield rows of random signs, a few at a time: (r, m) of 1 and -1."""
    # Raw output of the generator is the one stream that numpy never changes.
    stream = np.random.PCG64(seed)
    words = -(-m // _BITS)
    at_once = max(1, _CELLS // (words * _BITS))

    for start in range(0, draws, at_once):
        rows = min(at_once, draws - start)
        raw = stream.random_raw(rows * words).astype("<u8").view(np.uint8).reshape(rows, -1)
        bits = np.unpackbits(raw, axis=1, count=m, bitorder="little")
        yield bits.astype(np.float64) * 2.0 - 1.0

"""Two sets of decisions on the same answers: which errors only one of them makes, and by chance?

Answers that both decide wrongly, or both rightly, say nothing of which is better. What is left
are those that one alone gets wrong; were the two alike, each of these would fall to either with
even odds. The test of that is exact, whatever the number of answers.

With groups the even odds hold for a group as a whole, not for each answer of it.
"""

from __future__ import annotations

import msgspec
import numpy as np

from closecall.calibration.binomial import binomial_cdf
from closecall.calibration.inputs import Bools, Floats, Ints
from closecall.errors import ShapeError, UsageError

MCNEMAR = "exact McNemar"
SIGN_FLIP = "exact cluster sign-flip"

SMALLEST_P = 1e-30
"""A p-value below this is given as this: none is ever 0."""

_NEGLIGIBLE = 1e-40


class Flips(msgspec.Struct, frozen=True, kw_only=True):
    """One kind of error, counted for two sets of decisions on the same answers.

    ``only_a`` answers are decided wrongly by A alone, ``only_b`` by B alone, ``both`` by the two
    and ``neither`` by none; together they are ``n``. ``p`` is the two-sided probability of so
    uneven a share of ``only_a`` and ``only_b`` if the two were alike, above 0 and at most 1; None
    where it was not tested, and ``method`` says why. ``groups`` is how many groups tell A from B
    (those with more errors of one than of the other), None without groups.
    """

    only_a: int
    only_b: int
    both: int
    neither: int
    n: int
    p: float | None
    method: str
    groups: int | None = None

    def __post_init__(self) -> None:
        if self.only_a + self.only_b + self.both + self.neither != self.n:
            raise ValueError(f"the four counts do not add up to {self.n}")

    @property
    def errors_a(self) -> int:
        """How many of the ``n`` A decides wrongly."""
        return self.only_a + self.both

    @property
    def errors_b(self) -> int:
        """How many of the ``n`` B decides wrongly."""
        return self.only_b + self.both

    @property
    def discordant(self) -> int:
        """How many of the ``n`` one of the two alone decides wrongly."""
        return self.only_a + self.only_b


def flips(wrong_a: Bools, wrong_b: Bools, groups: Ints | None = None) -> Flips | None:
    """Count one kind of error for two sets of decisions and test whether they are alike.

    O(n) time without groups; with groups O(n log n), and at most the square of how many answers
    tell A from B.

    Parameters
    ----------
    wrong_a, wrong_b
        (n,): which answers of one class A, and B, decide wrongly; in the same order.
    groups
        (n,): the group of each answer; None where answers are independent.

    Returns
    -------
    Flips | None
        None when there are no answers.
    """
    counted = untested(wrong_a, wrong_b, MCNEMAR)
    if counted is None:
        return None
    if groups is None:
        return msgspec.structs.replace(counted, p=mcnemar(counted.only_a, counted.only_b))
    _, codes = np.unique(groups, return_inverse=True)
    ours = np.bincount(codes[wrong_a], minlength=int(codes.max()) + 1)
    theirs = np.bincount(codes[wrong_b], minlength=len(ours))
    differences = (theirs - ours).astype(np.int64)
    return msgspec.structs.replace(
        counted,
        p=sign_flip(differences),
        method=SIGN_FLIP,
        groups=int(np.count_nonzero(differences)),
    )


def untested(wrong_a: Bools, wrong_b: Bools, method: str) -> Flips | None:
    """Count as ``flips`` does, without a test; ``method`` says why. None of no answers."""
    n = len(wrong_a)
    if len(wrong_b) != n:
        raise ShapeError(
            f"{n} answers decided by A and {len(wrong_b)} by B: they must be the same"
        )
    if n == 0:
        return None
    both = int(np.count_nonzero(wrong_a & wrong_b))
    only_a = int(np.count_nonzero(wrong_a)) - both
    only_b = int(np.count_nonzero(wrong_b)) - both
    return Flips(
        only_a=only_a,
        only_b=only_b,
        both=both,
        neither=n - both - only_a - only_b,
        n=n,
        p=None,
        method=method,
    )


def mcnemar(only_a: int, only_b: int) -> float:
    """Return the two-sided p-value of the exact McNemar test, from ``SMALLEST_P`` to 1.

    Twice the probability that of ``only_a + only_b`` throws of a fair coin the rarer side comes
    up as rarely (McNemar 1947, with the binomial in place of the normal curve).
    """
    if min(only_a, only_b) < 0:
        raise UsageError(f"counts must be at least 0, got {only_a} and {only_b}")
    tail = binomial_cdf(min(only_a, only_b), only_a + only_b, 0.5)
    return min(1.0, max(SMALLEST_P, 2 * tail))


def sign_flip(differences: Ints) -> float:
    """Return the two-sided p-value of the cluster sign-flip test, from ``SMALLEST_P`` to 1.

    If A and B are alike, swapping the two within a group changes nothing: its difference is as
    likely negative as positive. The p-value is the share of all 2**m ways to sign the differences
    of m groups whose sum is at least as far from 0 as the sum observed. All ways are counted and
    none is drawn: differences are whole numbers, and the groups of one absolute difference d add
    d times a binomial number to the sum, so its distribution is a product of few polynomials.
    With one answer a group it is the exact McNemar test.

    Parameters
    ----------
    differences
        (m,) whole numbers, one a group: errors of B less errors of A.
    """
    sizes, counts = np.unique(np.abs(differences[differences != 0]), return_counts=True)
    total, observed = int((sizes * counts).sum()), abs(int(differences.sum()))
    if observed == 0:
        return 1.0
    # The sum is total - 2 * below, where below adds up the differences of negative sign;
    # ways[i] is the probability that below is start + i.
    ways, start = np.ones(1), 0
    for size, count in zip(sizes.tolist(), counts.tolist(), strict=True):
        coins, first = _trimmed(_fair_coins(count))
        spread = np.zeros(size * (len(coins) - 1) + 1)
        spread[::size] = coins
        ways, cut = _trimmed(np.convolve(ways, spread))
        start += size * first + cut
    last = (total - observed) // 2 - start
    tail = float(ways[: last + 1].sum()) if last >= 0 else 0.0
    return min(1.0, max(SMALLEST_P, 2 * tail))


def _fair_coins(count: int) -> Floats:
    """Return the probabilities of 0 to ``count`` heads: (count + 1,)."""
    upper = count - count // 2  # the most likely number of heads, or the higher of two
    heads = np.arange(upper, count)
    # Outwards from the middle each number is the last one times less than 1: nothing overflows.
    high = np.cumprod(np.append(1.0, (count - heads) / (heads + 1)))
    low = high[::-1] if count % 2 else high[:0:-1]
    ways = np.concatenate((low, high))
    return np.asarray(ways / ways.sum())


def _trimmed(ways: Floats) -> tuple[Floats, int]:
    """Drop ends that no p-value would show, and return how many went from the front."""
    kept = np.flatnonzero(ways > _NEGLIGIBLE)
    first, last = int(kept[0]), int(kept[-1])
    return ways[first : last + 1], first

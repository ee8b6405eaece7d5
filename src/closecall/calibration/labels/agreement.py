"""How often two people agree on a label, and what that leaves measurable.

Where people disagree, some labels are wrong whoever is right. A cutoff that decides every
response rightly then still seems to accept wrong ones: those that are good and were labelled
reject by mistake. No false-accept rate below that floor can be seen with such labels.
"""

from __future__ import annotations

import math
from collections import Counter
from collections.abc import Sequence

import msgspec

from closecall.calibration.binomial import (
    CLOPPER_PEARSON,
    complement,
    lower_bound,
    observed_rate,
    upper_bound,
)
from closecall.calibration.records import Interval, Rate
from closecall.errors import UsageError

KAPPA_INTERVAL = f"{CLOPPER_PEARSON} of the agreement, agreement by chance taken as known"
ERROR_INTERVAL = f"{CLOPPER_PEARSON} of the disagreement"
CORRECTED_INTERVAL = f"{CLOPPER_PEARSON} of both acceptance rates at once, noise taken as known"

_DUST = 1e-12  # a rate of exactly 0 or 1 may come out so far outside


class Agreement(msgspec.Struct, frozen=True, kw_only=True):
    """How often two labels of one item agree: ``agreed`` of ``pairs``, which is at least 1.

    ``accepts`` of the 2 * ``pairs`` labels say accept. ``kappa`` (Cohen 1960) is the agreement
    beyond what the two would reach by chance, from -1 to 1, with ``interval``; both None where
    all labels are the same, because chance would reach that too.
    """

    pairs: int
    agreed: int
    accepts: int
    kappa: float | None
    interval: Interval | None
    rate: Rate


class NoiseRates(msgspec.Struct, frozen=True, kw_only=True):
    """How many labels are wrong, from ``disagreed`` of ``pairs`` double labels.

    ``error`` is how often one person errs, with ``interval``. ``rejects`` is the share of the
    labelled rejects that are in fact acceptable, ``accepts`` the share of the labelled accepts
    that are not: they differ from ``error``, because the rarer label gathers more mistakes.
    """

    pairs: int
    disagreed: int
    error: float
    interval: Interval
    rejects: float
    accepts: float


class CorrectedRate(msgspec.Struct, frozen=True, kw_only=True):
    """A rate of acceptance with label noise taken out of it.

    ``value`` is None where it would fall outside 0 to 1: these labels cannot measure it;
    ``interval`` where all of it would: the noise is not what it was taken for. ``n`` is the
    number of labels of the class.
    """

    value: float | None
    n: int
    interval: Interval | None


class CorrectedRates(msgspec.Struct, frozen=True, kw_only=True):
    """How many rejects, and how many accepts, a cutoff truly accepts under known label noise."""

    false_accept_rate: CorrectedRate
    true_accept_rate: CorrectedRate


def agreement(pairs: Sequence[tuple[bool, bool]]) -> Agreement | None:
    """Return how two people agree on the items that both labelled; None of no pairs.

    Parameters
    ----------
    pairs
        True for accept, False for reject; the same person first in each. Where it is not known
        who labelled, the order within a pair is of little weight.
    """
    seen = Counter((bool(first), bool(second)) for first, second in pairs)
    n = seen.total()
    rate = observed_rate(seen[True, True] + seen[False, False], n)
    if rate is None:
        return None
    first = seen[True, True] + seen[True, False]
    second = seen[True, True] + seen[False, True]
    # Out of n * n, so that all is in whole numbers.
    chance = first * second + (n - first) * (n - second)
    kappa = interval = None
    if chance < n * n:
        kappa = (n * rate.count - chance) / (n * n - chance)
        low, high = (
            (n * n * end - chance) / (n * n - chance)
            for end in (rate.interval.low, rate.interval.high)
        )
        interval = Interval(
            low=max(-1.0, low), high=high, level=rate.interval.level, method=KAPPA_INTERVAL
        )
    return Agreement(
        pairs=n,
        agreed=rate.count,
        accepts=first + second,
        kappa=kappa,
        interval=interval,
        rate=rate,
    )


def noise_rates(agreed: Agreement) -> NoiseRates | None:
    """Estimate how many labels are wrong from how often two people disagree.

    Assumed: the two err independently of each other, equally often, and as often on good as on
    wrong responses; the items are a random sample; and the labels in use are those of one person.
    Then they disagree on d = 2 e (1 - e) of the items, so e = (1 - sqrt(1 - 2 d)) / 2. With q the
    share of labels that say accept, (q - e) / (1 - 2 e) of the items are acceptable, and Bayes'
    rule gives the shares of wrong labels. People who err on the same items disagree less than
    they err: then the true noise is larger.

    None where that cannot be: they disagree on half of the items or more, or no item can be
    acceptable, or none can not be.
    """
    disagreed = agreed.pairs - agreed.agreed
    rate = observed_rate(disagreed, agreed.pairs)
    if rate is None or 2 * disagreed >= agreed.pairs:
        return None
    error = _error(rate.value)
    share = agreed.accepts / (2 * agreed.pairs)
    good = (share - error) / (1 - 2 * error)
    if not 0 < good < 1:
        return None
    return NoiseRates(
        pairs=agreed.pairs,
        disagreed=disagreed,
        error=error,
        interval=Interval(
            low=_error(rate.interval.low),
            high=_error(rate.interval.high),
            level=rate.interval.level,
            method=ERROR_INTERVAL,
        ),
        rejects=good * error / (1 - share),
        accepts=(1 - good) * error / share,
    )


def noise_floor(agreed: Agreement, *, true_accepts: int, accepts: int) -> float | None:
    """Return the smallest false-accept rate that can be measured with labels so noisy.

    A cutoff that accepts no wrong response at all still accepts the good ones among the labelled
    rejects, as often as it accepts any good one: the floor is their share among the rejects times
    the true-accept rate. Assumptions as for ``noise_rates``; 0 where all pairs agree, which a few
    pairs do by chance.

    Parameters
    ----------
    agreed
        The double labels.
    true_accepts, accepts
        How many of how many labelled accepts the cutoff accepts.

    Returns
    -------
    floor
        From 0 to 1; None where it is not measured: no accepts, or ``noise_rates`` is None.
    """
    noise = noise_rates(agreed)
    kept = observed_rate(true_accepts, accepts)
    return None if noise is None or kept is None else noise.rejects * kept.value


def corrected_rates(
    accepted_rejects: int,
    rejects: int,
    accepted_accepts: int,
    accepts: int,
    *,
    r0: float,
    r1: float,
    level: float = 0.95,
) -> CorrectedRates | None:
    """Return false- and true-accept rates with known label noise taken out.

    A share ``r0`` of the labelled rejects is good and is accepted like any good response, so the
    observed rate is a mixture, (1 - r0) FAR + r0 TAR, and likewise that of the accepts; the two
    equations are solved for FAR and TAR. Assumed: mistakes have nothing to do with the score.

    Parameters
    ----------
    accepted_rejects, rejects, accepted_accepts, accepts
        How many of how many labelled rejects, and labelled accepts, the cutoff accepts.
    r0, r1
        Share of the labelled rejects that are acceptable, of the labelled accepts that are not;
        from 0 up to, not including, 1. Measured on few double labels they are uncertain
        themselves, which the intervals leave out.
    level
        Confidence of the intervals.

    Returns
    -------
    rates
        None where it is not measured: a class is empty, or ``r0`` + ``r1`` is 1 or more, so that
        labels say nothing.

    Raises
    ------
    UsageError
        A count or a share is out of range.
    """
    for name, share in (("r0", r0), ("r1", r1)):
        if not 0 <= share < 1:
            raise UsageError(f"{name} must be a share from 0 up to 1, got {share!r}")
    if not (rejects and accepts) or r0 + r1 >= 1:
        return None
    # Two intervals hold at once if each misses half as often; each has two ends.
    tail = complement(level) / 4
    a0, a1 = accepted_rejects / rejects, accepted_accepts / accepts
    low0, high0 = (bound(accepted_rejects, rejects, tail) for bound in (lower_bound, upper_bound))
    low1, high1 = (bound(accepted_accepts, accepts, tail) for bound in (lower_bound, upper_bound))

    def solved(n: int, *solutions: float) -> CorrectedRate:
        value, low, high = (found / (1 - r0 - r1) for found in solutions)
        interval = None
        if low <= 1 and high >= 0:
            interval = Interval(
                low=_share(low), high=_share(high), level=level, method=CORRECTED_INTERVAL
            )
        inside = -_DUST <= value <= 1 + _DUST
        return CorrectedRate(value=_share(value) if inside else None, n=n, interval=interval)

    return CorrectedRates(
        false_accept_rate=solved(
            rejects,
            (1 - r1) * a0 - r0 * a1,
            (1 - r1) * low0 - r0 * high1,
            (1 - r1) * high0 - r0 * low1,
        ),
        true_accept_rate=solved(
            accepts,
            (1 - r0) * a1 - r1 * a0,
            (1 - r0) * low1 - r1 * high0,
            (1 - r0) * high1 - r1 * low0,
        ),
    )


def _error(disagreement: float) -> float:
    """Return how often one person errs, 0 to 0.5, where two disagree so often."""
    return (1 - math.sqrt(max(0.0, 1 - 2 * disagreement))) / 2


def _share(value: float) -> float:
    return min(1.0, max(0.0, value))

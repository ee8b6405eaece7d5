"""When B counts as worse than A: beyond chance, or by a count that somebody chose.

The rule of every metric is one-sided: were the two runs alike, each case that only one of them
passes would fall to either with even odds (exact McNemar; with several cases a group, the exact
sign flip of whole groups). Holm's (1979) correction over the metrics keeps the probability of
calling any of them worse, where none is, at alpha or less.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence

import msgspec

from closecall.calibration.comparing.paired import Flips, mcnemar
from closecall.calibration.figures import MANY
from closecall.runs.comparing.records import (
    ALIKE,
    BETTER,
    CANNOT_TELL,
    NOT_DECIDED,
    WORSE,
    MetricCompared,
    Outcome,
)

_TINY = 0.0001


def decided(
    metrics: Sequence[MetricCompared], alpha: float, apart: Mapping[str, str]
) -> tuple[MetricCompared, ...]:
    """Return the metrics with the rule's outcome and the reason in words.

    Parameters
    ----------
    alpha
        Most probable false alarm over all of them.
    apart
        Metrics whose verdicts were made by two rules, and in what these differ: not decided.
    """
    tested = [one for one in metrics if one.flips is not None and one.metric not in apart]
    worse = _beyond_chance({one.metric: one.p_worse for one in tested}, alpha)
    better = _beyond_chance({one.metric: _p_better(one) for one in tested}, alpha)
    return tuple(
        msgspec.structs.replace(one, outcome=outcome, why=why)
        for one in metrics
        for outcome, why in [_outcome(one, apart, worse, better, alpha / max(1, len(tested)))]
    )


def fewest(alpha: float) -> int:
    """Return how many cases that tell two runs apart prove something if all speak for one.

    >>> fewest(0.05), fewest(0.01)
    (5, 7)
    """
    return next(count for count in range(1, 2000) if mcnemar(0, count) / 2 <= alpha)


def p_words(p: float) -> str:
    """Return ``p = 0.011``."""
    return f"p < {_TINY}" if p < _TINY else f"p = {p:.2g}"


def _beyond_chance(found: Mapping[str, float | None], alpha: float) -> frozenset[str]:
    """Return the metrics beyond chance, all of them truly with 1 - alpha (Holm)."""
    chosen: set[str] = set()
    values = sorted((1.0 if p is None else p, name) for name, p in found.items())
    for p, name in values:
        if p > alpha / (len(values) - len(chosen)):
            break
        chosen.add(name)
    return frozenset(chosen)


def _p_better(one: MetricCompared) -> float | None:
    flips = one.flips
    if flips is None or flips.p is None or flips.only_a <= flips.only_b:
        return None
    return flips.p / 2


def _outcome(
    one: MetricCompared,
    apart: Mapping[str, str],
    worse: frozenset[str],
    better: frozenset[str],
    alpha: float,
) -> tuple[Outcome, str]:
    flips = one.flips
    if one.metric in apart or flips is None:
        return NOT_DECIDED, _undecided(one, apart)
    counts = f"of {flips.n:,} cases {_counts(flips)}"
    if one.metric in worse and one.p_worse is not None:
        return WORSE, f"{counts}: chance is so uneven {_often(one.p_worse, flips.n)}"
    p_better = _p_better(one)
    if one.metric in better and p_better is not None:
        return BETTER, f"{counts}: chance is so uneven {_often(p_better, flips.n)}"
    if not one.verdict_flips:
        return ALIKE, f"all {flips.n:,} verdicts are the same"
    return CANNOT_TELL, _unknown(one, alpha)


def _undecided(one: MetricCompared, apart: Mapping[str, str]) -> str:
    if not one.measured:
        return f"none of {one.asked:,} cases was measured in both"
    if one.metric in apart:
        return f"verdicts of two rules are not compared: {apart[one.metric]} differs"
    return "there is no cutoff, so there are values and no verdicts"


def _unknown(one: MetricCompared, alpha: float) -> str:
    flips = one.flips
    if flips is None:
        raise TypeError("only verdicts can be too few")
    telling = flips.discordant if flips.groups is None else flips.groups
    unit = "cases" if flips.groups is None else "groups"
    head = f"cannot tell with n = {flips.n:,}"
    if not flips.discordant:
        return f"{head}: both pass the same cases; {one.verdict_flips:,} other verdicts differ"
    p = 1.0 if flips.p is None else flips.p
    said = (
        f"{head}: {_counts(flips)}, which may be chance "
        f"({p_words(p / 2 if flips.only_a != flips.only_b else p)})"
    )
    least = fewest(alpha)
    if telling < least:
        said += (
            f"; fewer than {least} {unit} that tell the two apart prove nothing, even if all "
            "speak for one"
        )
    return said


def _counts(flips: Flips) -> str:
    # What B alone does not pass, A alone passes.
    return f"{flips.only_b:,} pass in A alone and {flips.only_a:,} in B alone"


def _often(p: float, n: int) -> str:
    if p < _TINY:
        return f"less than once in 10,000 times ({p_words(p)}, one-sided)"
    digits = 2 if p < 0.01 or n >= MANY else 1  # noqa: PLR2004 - a percent
    return f"{100 * p:.{digits}f} % of the time ({p_words(p)}, one-sided)"

"""Why there is no cutoff, in words and numbers, with what would help."""

from __future__ import annotations

import math
from typing import NamedTuple

from closecall.calibration.binomial import best_limit, fewest_labels, upper_bound
from closecall.calibration.curve import ErrorCurve
from closecall.calibration.records import Clusters, Errors, Infeasible, Reason, typed
from closecall.calibration.samples import Sample, least_errors

FEWEST = 10
"""Fewest accepts, and fewest rejects, for a decision of any kind."""

_PARAMETERS = {"false_accepts": "max_far", "false_rejects": "max_frr"}
_WORDS = {"false_accepts": "reject", "false_rejects": "accept"}


class Promise(NamedTuple):
    """At most ``limit`` of one class wrong; ``delta`` None for a promise on average."""

    errors: Errors
    limit: float
    delta: float | None

    @property
    def parameter(self) -> str:
        """What a caller passed it as."""
        return _PARAMETERS[self.errors]

    @property
    def word(self) -> str:
        """The label of the class at risk."""
        return _WORDS[self.errors]

    def labels_needed(self) -> int:
        """Return the fewest independent labels that can back it, none of them wrong."""
        if self.delta is None:
            # The smallest n with limit * (n + 1) >= 1.
            return math.ceil(1 / typed(self.limit)) - 1
        return fewest_labels(self.limit, self.delta)


def out_of_reach(
    curve: ErrorCurve, sample: Sample, promise: Promise, found: Clusters | None = None
) -> Infeasible:
    """Refuse a promise that the labels could not back if every one were decided rightly."""
    effect = found.design_effect if found else 1.0
    n = len(sample.scores)
    needed = math.ceil(promise.labels_needed() * effect)
    more = max(1, needed - n)
    best = _best_limit(curve, sample, promise, effect)
    unit = f"groups with a {promise.word}" if sample.per == "group" else f"{promise.word}s"
    sure = "on average" if promise.delta is None else f"at confidence {1 - promise.delta:.6g}"
    worth = f", worth {n / effect:.0f} independent ones" if effect > 1 else ""
    advice = f"label {more} more {unit}, drawn at random"
    if best is not None:
        advice += (
            f"; or ask for {promise.parameter}={_askable(best, n / effect, promise)} at least"
        )
    return Infeasible(
        reason=Reason.PROMISE_OUT_OF_REACH,
        message=f"{promise.parameter}={promise.limit:g} {sure} needs {needed} {unit} even if none "
        f"is decided wrongly; here are {n}{worth}",
        advice=advice,
        accepts=curve.accepts,
        rejects=curve.rejects,
        errors=promise.errors,
        limit=promise.limit,
        delta=promise.delta,
        best_limit=best,
        more_accepts=more if promise.errors == "false_rejects" else None,
        more_rejects=more if promise.errors == "false_accepts" else None,
    )


def accepts_nobody(
    curve: ErrorCurve, sample: Sample, promise: Promise, found: Clusters | None = None
) -> Infeasible:
    """Refuse a promise that only accepting nobody keeps."""
    top = least_errors(curve, sample, promise.errors)
    best = _best_limit(curve, sample, promise, found.design_effect if found else 1.0)
    advice = "look at the labels of the highest scores, or use a metric that separates better"
    if best is not None:
        advice += f"; the smallest {promise.parameter} with a cutoff is {_rounded_up(best)}"
    return Infeasible(
        reason=Reason.ACCEPTS_NOBODY,
        message=f"{promise.parameter}={promise.limit:g} leaves nobody to accept: the highest "
        f"score belongs to {top} {promise.word}{'s' * (top > 1)}, more than may be accepted",
        advice=advice,
        accepts=curve.accepts,
        rejects=curve.rejects,
        errors=promise.errors,
        limit=promise.limit,
        delta=promise.delta,
        best_limit=best,
    )


def too_few(curve: ErrorCurve, promise: Promise | None, units: int) -> Infeasible:
    """Refuse any decision on fewer than ``FEWEST`` of a class.

    ``units`` is how many independent labels of the class at risk there are.
    """
    accepts, rejects = curve.accepts, curve.rejects
    more = {"false_accepts": max(0, FEWEST - rejects), "false_rejects": max(0, FEWEST - accepts)}
    if promise is not None:
        more[promise.errors] = max(more[promise.errors], promise.labels_needed() - units)
    wanted = " and ".join(f"{n} more {_WORDS[errors]}s" for errors, n in more.items() if n)
    return Infeasible(
        reason=Reason.TOO_FEW_LABELS,
        message=f"{accepts} accepts and {rejects} rejects: no decision is made from fewer than "
        f"{FEWEST} of either",
        advice=f"label at least {wanted}, drawn at random",
        accepts=accepts,
        rejects=rejects,
        errors=promise.errors if promise else None,
        limit=promise.limit if promise else None,
        delta=promise.delta if promise else None,
        more_accepts=more["false_rejects"],
        more_rejects=more["false_accepts"],
    )


def constant(curve: ErrorCurve) -> Infeasible:
    """Refuse scores that are all the same."""
    return Infeasible(
        reason=Reason.CONSTANT_SCORES,
        message=f"all {curve.accepts + curve.rejects} scores are {curve.levels[0]:g}",
        advice="check that the metric reads the fields it should; a score that never changes "
        "cannot decide",
        accepts=curve.accepts,
        rejects=curve.rejects,
    )


def inverted(curve: ErrorCurve, found: str) -> Infeasible:
    """Refuse scores that are higher for rejects; ``found`` says how one can tell."""
    return Infeasible(
        reason=Reason.INVERTED_SCORES,
        message=f"scores run the wrong way: {found}",
        advice="check that labels are not swapped; for a distance, negate the scores, so that "
        "higher means closer",
        accepts=curve.accepts,
        rejects=curve.rejects,
    )


def no_optimum(curve: ErrorCurve, objective: str) -> Infeasible:
    """Refuse an objective that is best served by accepting nobody."""
    return Infeasible(
        reason=Reason.ACCEPTS_NOBODY,
        message=f"by {objective}, accepting nobody is best on these labels",
        advice="look at the labels of the highest scores, or use a metric that separates better; "
        "by this score alone no response should be accepted",
        accepts=curve.accepts,
        rejects=curve.rejects,
    )


def _best_limit(
    curve: ErrorCurve, sample: Sample, promise: Promise, effect: float
) -> float | None:
    n, least = len(sample.scores), least_errors(curve, sample, promise.errors)
    if promise.delta is not None and effect == 1:
        return best_limit(n, promise.delta, least)
    if promise.delta is not None:
        best = upper_bound(least / effect, n / effect, promise.delta)
    else:
        best = (least + 1) / (n + 1)
        # The shortest decimal of a fraction may lie below it.
        while typed(best) * (n + 1) < least + 1:
            best = math.nextafter(best, math.inf)
    return best if best < 1 else None


def _askable(best: float, n: float, promise: Promise) -> str:
    """Return the smallest limit in few digits that these labels do back."""
    asked = _rounded_up(best)
    step = 10.0 ** -len(asked.partition(".")[2])
    while (
        promise.delta is not None
        and float(asked) + step < 1
        and fewest_labels(float(asked), promise.delta) > n
    ):
        asked = f"{float(asked) + step:.{len(asked.partition('.')[2])}f}"
    return asked


def _rounded_up(share: float) -> str:
    """Return a share to two significant digits, never below it, so that asking for it works."""
    digits = 1 - math.floor(math.log10(share))
    rounded = math.ceil(share * 10**digits) / 10**digits
    return f"{rounded:.{digits}f}" if rounded < 1 else repr(share)

"""Cutoffs that keep a promise on an error rate.

The order-statistic rule: let k be the largest number with P(Binomial(n, limit) <= k) <= delta,
where n counts the labelled rejects. Of all cutoffs that accept at most k of them, take the most
accepting one. Over the draw of the rejects, its false-accept rate exceeds the limit with
probability P(Binomial(n, limit) <= k) for continuous scores, less with ties: nothing is assumed
of the scores, and no correction for having searched is needed, since the false-accept rate only
falls as the cutoff rises. A promise on false rejects is the mirror image, on accepts.

A promise that the labels cannot back, or that only a rule accepting nobody keeps, gives an
``Infeasible``: never a cutoff.
"""

from __future__ import annotations

import math

import msgspec
import numpy as np

from closecall.calibration.binomial import (
    binomial_cdf,
    check_share,
    most_errors,
    observed_rate,
    upper_bound,
)
from closecall.calibration.curve import ErrorCurve
from closecall.calibration.groups import clusters
from closecall.calibration.inputs import Labelled
from closecall.calibration.records import (
    Certificate,
    Clusters,
    Cutoff,
    Errors,
    Infeasible,
    Optimum,
    TwoCutoffs,
    Where,
    typed,
)
from closecall.calibration.refusals import Promise, accepts_nobody, out_of_reach
from closecall.calibration.samples import Sample, all_rows, observed_errors, row_for
from closecall.errors import UsageError

ORDER_STATISTIC = "order-statistic"
CONFORMAL = "conformal"
DESIGN_EFFECT = "design-effect"


def certify(
    curve: ErrorCurve,
    limit: float,
    delta: float = 0.05,
    *,
    errors: Errors = "false_accepts",
    where: Where = "mid",
    sample: Sample | None = None,
    looks: int = 1,
) -> Cutoff | Infeasible:
    """Return the best cutoff whose error rate exceeds ``limit`` with probability <= ``delta``.

    For false accepts that is the most accepting cutoff, for false rejects the most rejecting one.
    O(m + n) time, m distinct scores.

    Parameters
    ----------
    curve
        All labelled rows: where cutoffs can stand, and the counts to report.
    limit, delta
        Between 0 and 1.
    errors
        ``false_accepts``: a share of the rejects; ``false_rejects``: a share of the accepts.
    where
        Where in the gap the cutoff stands; the promise holds anywhere in it.
    sample
        Independent scores of the class at risk, as ``one_per_group`` draws them; None takes
        every row of the class, which must then be independent.
    looks
        ``delta`` is divided by it: how many times, in all, labels or limits are looked at before
        one cutoff is chosen.

    Raises
    ------
    UsageError
        An argument is out of range.
    """
    spent = spent_delta(delta, looks)
    promise = Promise(errors, limit, spent)
    drawn = sample or all_rows(curve, errors)
    n = len(drawn.scores)
    allowed = most_errors(n, limit, spent)
    if allowed is None:
        return out_of_reach(curve, drawn, promise)
    row = row_for(curve, drawn, errors, allowed)
    if row == 0:
        return accepts_nobody(curve, drawn, promise)
    observed = observed_errors(curve, row, drawn, errors)
    certificate = Certificate(
        errors=errors,
        guarantee="exact",
        method=ORDER_STATISTIC,
        per=drawn.per,
        limit=limit,
        delta=spent,
        looks=looks,
        n=n,
        allowed=allowed,
        observed=observed,
        upper_bound=upper_bound(observed, n, spent),
        expected=(allowed + 1) / (n + 1),
        violation_probability=binomial_cdf(allowed, n, limit),
        seed=drawn.seed,
    )
    return cutoff_at(curve, row, where, certificate)


def certify_average(
    curve: ErrorCurve,
    limit: float,
    *,
    errors: Errors = "false_accepts",
    where: Where = "mid",
    sample: Sample | None = None,
) -> Cutoff | Infeasible:
    """Return the best cutoff whose error rate is at most ``limit`` on average over calibrations.

    The conformal rule: at most floor(limit * (n + 1) - 1) of n labels are decided wrongly. About
    half of all calibrations exceed the limit; ``violation_probability`` says how many.
    """
    check_share("limit", limit)
    promise = Promise(errors, limit, None)
    drawn = sample or all_rows(curve, errors)
    n = len(drawn.scores)
    # The decimal as typed: 0.29 * 100 is 28.999999999999996 in floating point.
    allowed = math.floor(typed(limit) * (n + 1)) - 1
    if allowed < 0:
        return out_of_reach(curve, drawn, promise)
    row = row_for(curve, drawn, errors, allowed)
    if row == 0:
        return accepts_nobody(curve, drawn, promise)
    certificate = Certificate(
        errors=errors,
        guarantee="average",
        method=CONFORMAL,
        per=drawn.per,
        limit=limit,
        delta=None,
        looks=1,
        n=n,
        allowed=allowed,
        observed=observed_errors(curve, row, drawn, errors),
        upper_bound=None,
        expected=(allowed + 1) / (n + 1),
        violation_probability=binomial_cdf(allowed, n, limit),
        seed=drawn.seed,
    )
    return cutoff_at(curve, row, where, certificate)


def certify_clustered(
    data: Labelled,
    curve: ErrorCurve,
    limit: float,
    delta: float = 0.05,
    *,
    errors: Errors = "false_accepts",
    where: Where = "mid",
    looks: int = 1,
) -> Cutoff | Infeasible:
    """Return a cutoff certified on all rows of grouped data, their number cut by a design effect.

    The correlation within groups is estimated at the cutoff that ignoring groups would give, and
    never taken below a floor. Approximate: the estimate is not accounted for.
    """
    if data.groups is None:
        raise UsageError("the approximate guarantee corrects for groups: pass groups")
    spent = spent_delta(delta, looks)
    promise = Promise(errors, limit, spent)
    drawn = all_rows(curve, errors)
    n = len(drawn.scores)
    provisional = most_errors(n, limit, spent)
    if provisional is None:
        return out_of_reach(curve, drawn, promise)
    at_risk = data.accept if errors == "false_rejects" else ~data.accept
    row = row_for(curve, drawn, errors, provisional)
    accepted = (
        data.scores >= curve.levels[row - 1] if row else np.zeros(data.scores.shape, np.bool_)
    )
    wrong = ~accepted if errors == "false_rejects" else accepted
    found = clusters(wrong[at_risk], data.groups[at_risk])
    allowed = _allowed_rows(found, limit, spent)
    if allowed is None:
        return out_of_reach(curve, drawn, promise, found)
    row = row_for(curve, drawn, errors, allowed)
    if row == 0:
        return accepts_nobody(curve, drawn, promise, found)
    observed = observed_errors(curve, row, drawn, errors)
    effect = found.design_effect
    certificate = Certificate(
        errors=errors,
        guarantee="approximate",
        method=DESIGN_EFFECT,
        per="row",
        limit=limit,
        delta=spent,
        looks=looks,
        n=n,
        allowed=allowed,
        observed=observed,
        upper_bound=upper_bound(observed / effect, n / effect, spent),
        expected=None,
        violation_probability=None,
        clusters=found,
    )
    return cutoff_at(curve, row, where, certificate)


def certify_both(
    curve: ErrorCurve,
    max_far: float,
    max_frr: float,
    delta: float = 0.05,
    *,
    where: Where = "mid",
    rejects: Sample | None = None,
    accepts: Sample | None = None,
    looks: int = 1,
) -> TwoCutoffs | Infeasible:
    """Return a cutoff to accept from and one to reject below, each certified at ``delta`` / 2.

    Both promises hold together with probability 1 - ``delta``. The responses between the two are
    for a person, unless one cutoff keeps both promises.
    """
    half = delta / 2
    accept = certify(curve, max_far, half, where=where, sample=rejects, looks=looks)
    if isinstance(accept, Infeasible):
        return accept
    reject = certify(
        curve, max_frr, half, errors="false_rejects", where=where, sample=accepts, looks=looks
    )
    if isinstance(reject, Infeasible):
        return reject
    return pair(curve, accept, reject, delta, samples=(rejects, accepts))


def pair(
    curve: ErrorCurve,
    accept: Cutoff,
    reject: Cutoff,
    delta: float,
    *,
    samples: tuple[Sample | None, Sample | None] = (None, None),
) -> TwoCutoffs:
    """Put two certified cutoffs together; where they overlap, one in the middle keeps both."""
    if reject.value >= accept.value:
        value = accept.value / 2 + reject.value / 2
        # Rounding must not carry the middle out of the range where both promises hold.
        value = min(max(value, accept.value), reject.value)
        accept = _moved(curve, accept, value, samples[0])
        reject = _moved(curve, reject, value, samples[1])
    between = accept.counts.false_rejects - reject.counts.false_rejects
    wrong = reject.counts.false_accepts - accept.counts.false_accepts
    unsure = observed_rate(between + wrong, curve.accepts + curve.rejects)
    if unsure is None:
        raise UsageError("a curve of no rows has no cutoffs")
    return TwoCutoffs(
        accept=accept,
        reject=reject,
        unsure=unsure,
        unsure_accepts=between,
        unsure_rejects=wrong,
        delta=delta,
    )


def cutoff_at(
    curve: ErrorCurve,
    row: int,
    where: Where,
    evidence: Certificate | Optimum,
    value: float | None = None,
) -> Cutoff:
    """Return the record of row ``row``; a ``value`` in its gap takes the place of ``where``."""
    counts = curve.counts(row)
    return Cutoff(
        value=curve.cutoff(row, where) if value is None else value,
        gap=curve.gap(row),
        where=where if value is None else None,
        decimals=curve.decimals,
        counts=counts,
        false_accept_rate=observed_rate(counts.false_accepts, counts.rejects),
        false_reject_rate=observed_rate(counts.false_rejects, counts.accepts),
        evidence=evidence,
    )


def spent_delta(delta: float, looks: int) -> float:
    """Return what one of ``looks`` may spend of ``delta``, so that all together keep it."""
    check_share("delta", delta)
    if isinstance(looks, bool) or not isinstance(looks, int) or looks < 1:
        raise UsageError(f"looks must be a whole number of at least 1, got {looks!r}")
    return delta / looks


def _allowed_rows(found: Clusters, limit: float, delta: float) -> int | None:
    """Return the most of ``found.n`` rows that may be wrong; None when not even 0."""
    effect = found.design_effect

    def backed(wrong: int) -> bool:
        return binomial_cdf(wrong / effect, found.n / effect, limit) <= delta

    if not backed(0):
        return None
    low, high = 0, found.n
    while high - low > 1:
        middle = (low + high) // 2
        low, high = (middle, high) if backed(middle) else (low, middle)
    return low


def _moved(curve: ErrorCurve, cutoff: Cutoff, value: float, sample: Sample | None) -> Cutoff:
    evidence = cutoff.evidence
    row = curve.row(value)
    if not isinstance(evidence, Certificate) or evidence.delta is None:
        raise UsageError("only two certified cutoffs make a pair")
    drawn = sample or all_rows(curve, evidence.errors)
    observed = observed_errors(curve, row, drawn, evidence.errors)
    effect = evidence.clusters.design_effect if evidence.clusters else 1
    bound = upper_bound(observed / effect, evidence.n / effect, evidence.delta)
    moved = msgspec.structs.replace(evidence, observed=observed, upper_bound=bound)
    return cutoff_at(curve, row, "mid", moved, value)

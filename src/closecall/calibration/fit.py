"""From labelled scores to a cutoff, or to the reason why there is none."""

from __future__ import annotations

from typing import NamedTuple, get_args

import msgspec
import numpy as np
from numpy.typing import ArrayLike

from closecall.calibration.binomial import check_share, complement
from closecall.calibration.curve import ErrorCurve, curve_of
from closecall.calibration.cutoffs import (
    certify,
    certify_average,
    certify_both,
    certify_clustered,
    cutoff_at,
    pair,
    spent_delta,
)
from closecall.calibration.estimators import (
    Estimator,
    bagged_cutoff,
    chosen_estimator,
    platt_cutoff,
)
from closecall.calibration.groups import clustered_rate, one_per_group
from closecall.calibration.inputs import DECIMALS, Bools, Groups, Labelled, Labels, labelled
from closecall.calibration.objectives import OBJECTIVES, best_row, plateau, value_at
from closecall.calibration.records import (
    Costs,
    Cutoff,
    Errors,
    Guarantee,
    Infeasible,
    Objective,
    Optimum,
    Reason,
    TwoCutoffs,
    Where,
)
from closecall.calibration.refusals import (
    FEWEST,
    Promise,
    constant,
    inverted,
    no_optimum,
    too_few,
)
from closecall.calibration.samples import Sample
from closecall.calibration.separation import area, separation
from closecall.errors import UsageError

_GUARANTEES = get_args(Guarantee)
_NO_SIGNAL = 0.5
_PROMISES = (Reason.PROMISE_OUT_OF_REACH, Reason.ACCEPTS_NOBODY)
_GOALS = (
    "say what the cutoff is for with one of max_far=0.05 (at most 5% of what a person rejects is "
    "accepted), max_frr=0.05, costs=Costs(false_accept=5, false_reject=1) or objective='youden'"
)


def fit_cutoff(
    scores: ArrayLike,
    labels: Labels,
    groups: Groups | None = None,
    *,
    max_far: float | None = None,
    max_frr: float | None = None,
    costs: Costs | None = None,
    objective: Objective | None = None,
    confidence: float = 0.95,
    guarantee: Guarantee = "exact",
    where: Where = "mid",
    estimator: Estimator | None = None,
    looks: int = 1,
    decimals: int | None = DECIMALS,
    seed: int = 0,
) -> Cutoff | Infeasible:
    """Return the cutoff for one goal, with its evidence, or an ``Infeasible`` that says why not.

    Exactly one goal is given. ``max_far`` and ``max_frr`` are promises and need the labels to be
    a random sample of the responses the cutoff will meet, within each class at least; the others
    only fit the labels at hand. O(n log n) time, O(n) memory.

    Parameters
    ----------
    scores
        (n,), finite; the higher, the closer. The score must not have been fitted on these rows.
    labels
        (n,): bools, ``Label``, or "accept" and "reject".
    groups
        (n,) texts or whole numbers, where several rows belong to one question: rows of a group
        are not independent.
    max_far
        Most false accepts, as a share of what a person rejects: the most accepting cutoff.
    max_frr
        Most false rejects, as a share of what a person accepts: the most rejecting cutoff.
    costs
        Least expected cost.
    objective
        The greatest ``f1``, ``youden`` (true-accept rate less false-accept rate) or ``accuracy``.
    confidence
        How sure the promise is: 0.95 lets the procedure break it in 5% of calibrations.
    guarantee
        ``exact``: with groups, one row drawn from each, and the rate is over groups.
        ``approximate``: every row of every group, with a design effect. ``average``: the rate
        keeps the limit on average only; ``confidence`` plays no part.
    where
        Where the cutoff stands between the two scores it may lie between.
    estimator
        For costs and objectives: ``empirical``, ``bagged`` or ``platt`` (costs and accuracy
        only). None picks by the number of rows.
    looks
        How many times, in all, labels or limits are looked at before one cutoff is chosen: the
        promise then holds for the chosen one too.
    decimals
        Scores are rounded to so many decimals here and when the cutoff is applied.
    seed
        For the draw of rows from groups, and for ``bagged``.

    Raises
    ------
    DataError
        Scores, labels or groups are malformed.
    UsageError
        Not one goal, or an argument that is out of range or does not fit the goal.
    """
    goals = [goal for goal in (max_far, max_frr, costs, objective) if goal is not None]
    if max_far is not None and max_frr is not None and len(goals) == 2:  # noqa: PLR2004
        raise UsageError("one cutoff keeps one promise: fit_two_cutoffs keeps both")
    if len(goals) != 1:
        raise UsageError(f"{len(goals)} goals given: {_GOALS}")
    if objective is not None and (objective == "cost" or objective not in OBJECTIVES):
        raise UsageError(f"objective must be one of f1, youden, accuracy, got {objective!r}")
    if guarantee not in _GUARANTEES:
        raise UsageError(f"guarantee must be one of {', '.join(_GUARANTEES)}, got {guarantee!r}")
    data = labelled(scores, labels, groups, decimals=decimals)
    curve = curve_of(data)
    limit = max_far if max_frr is None else max_frr
    if limit is None:
        if guarantee != "exact" or looks != 1:
            raise UsageError("guarantee and looks are for max_far and max_frr")
        found = _unsound(data, curve, None) or _optimum(
            data, curve, _Goal(objective or "cost", costs, estimator), where=where, seed=seed
        )
    else:
        if estimator is not None:
            raise UsageError("an estimator is for costs and objectives; a promise has its rule")
        if guarantee == "average" and looks != 1:
            raise UsageError("looks divide what an exact or approximate promise may spend")
        check_share("max_far" if max_frr is None else "max_frr", limit)
        terms = _Terms(
            errors="false_accepts" if max_frr is None else "false_rejects",
            limit=limit,
            delta=complement(confidence),
            where=where,
            looks=looks,
            seed=seed,
        )
        found = _unsound(data, curve, terms.promise(guarantee)) or _promised(
            data, curve, guarantee, terms
        )
        if isinstance(found, Infeasible) and found.reason in _PROMISES:
            others = (
                other
                for other in _weaker(guarantee, data)
                if isinstance(_promised(data, curve, other, terms), Cutoff)
            )
            found = msgspec.structs.replace(found, alternatives=tuple(others))
    return found if isinstance(found, Infeasible) else _with_rates(data, found)


def fit_two_cutoffs(
    scores: ArrayLike,
    labels: Labels,
    groups: Groups | None = None,
    *,
    max_far: float,
    max_frr: float,
    confidence: float = 0.95,
    guarantee: Guarantee = "exact",
    where: Where = "mid",
    looks: int = 1,
    decimals: int | None = DECIMALS,
    seed: int = 0,
) -> TwoCutoffs | Infeasible:
    """Return a cutoff to accept from and one to reject below; between them a person decides.

    Both promises hold together with ``confidence``: each gets half of what is left of it. Look at
    ``unsure`` first: it is the price. Parameters and errors are those of ``fit_cutoff``; the
    guarantee is ``exact`` or ``approximate``.
    """
    if guarantee not in {"exact", "approximate"}:
        raise UsageError(
            f"two promises that hold together are exact or approximate, not {guarantee!r}"
        )
    check_share("max_far", max_far)
    check_share("max_frr", max_frr)
    data = labelled(scores, labels, groups, decimals=decimals)
    curve = curve_of(data)
    delta = complement(confidence)
    unsound = _unsound(
        data, curve, Promise("false_accepts", max_far, spent_delta(delta / 2, looks))
    )
    if unsound is not None:
        return unsound
    if guarantee == "approximate":
        accept = certify_clustered(data, curve, max_far, delta / 2, where=where, looks=looks)
        if isinstance(accept, Infeasible):
            return accept
        reject = certify_clustered(
            data, curve, max_frr, delta / 2, errors="false_rejects", where=where, looks=looks
        )
        found = reject if isinstance(reject, Infeasible) else pair(curve, accept, reject, delta)
    else:
        found = certify_both(
            curve,
            max_far,
            max_frr,
            delta,
            where=where,
            rejects=_sample(data, "false_accepts", seed),
            accepts=_sample(data, "false_rejects", seed),
            looks=looks,
        )
    if isinstance(found, Infeasible) or data.groups is None:
        return found
    between = (data.scores >= found.reject.value) & (data.scores < found.accept.value)
    return msgspec.structs.replace(
        found,
        accept=_with_rates(data, found.accept),
        reject=_with_rates(data, found.reject),
        unsure=clustered_rate(between, data.groups),
    )


class _Terms(NamedTuple):
    """What is promised, apart from how firmly."""

    errors: Errors
    limit: float
    delta: float
    where: Where
    looks: int
    seed: int

    def promise(self, guarantee: Guarantee) -> Promise:
        spent = spent_delta(self.delta, self.looks)
        return Promise(self.errors, self.limit, None if guarantee == "average" else spent)


class _Goal(NamedTuple):
    """What to be best at, and how to find it."""

    objective: Objective
    costs: Costs | None
    estimator: Estimator | None


def _promised(
    data: Labelled, curve: ErrorCurve, guarantee: Guarantee, terms: _Terms
) -> Cutoff | Infeasible:
    errors, limit, delta, where, looks, seed = terms
    if guarantee == "approximate":
        return certify_clustered(
            data, curve, limit, delta, errors=errors, where=where, looks=looks
        )
    sample = _sample(data, errors, seed)
    if guarantee == "average":
        return certify_average(curve, limit, errors=errors, where=where, sample=sample)
    return certify(curve, limit, delta, errors=errors, where=where, sample=sample, looks=looks)


def _weaker(guarantee: Guarantee, data: Labelled) -> tuple[Guarantee, ...]:
    """Return the weaker guarantees these rows could have, the stronger first."""
    if guarantee != "exact":
        return ("average",) if guarantee == "approximate" else ()
    return ("average",) if data.groups is None else ("approximate", "average")


def _sample(data: Labelled, errors: Errors, seed: int) -> Sample | None:
    if data.groups is None:
        return None
    return one_per_group(data, accept=errors == "false_rejects", seed=seed)


def _optimum(
    data: Labelled, curve: ErrorCurve, goal: _Goal, *, where: Where, seed: int
) -> Cutoff | Infeasible:
    objective, costs, estimator = goal
    how = chosen_estimator(len(data.scores), objective) if estimator is None else estimator
    best = best_row(curve, objective, costs)
    value: float | None = None
    if how == "platt":
        if objective not in {"cost", "accuracy"}:
            raise UsageError(f"estimator 'platt' is for costs and accuracy, not for {objective}")
        value = platt_cutoff(curve, costs or Costs(false_accept=1, false_reject=1))
        if value is None:
            return inverted(curve, "a logistic curve through the scores does not rise")
    elif how == "bagged":
        value = bagged_cutoff(data, curve, objective, costs, seed)
    elif how != "empirical":
        raise UsageError(f"estimator must be one of empirical, bagged, platt, got {how!r}")
    row = best.row if value is None else curve.row(value)
    if row == 0:
        return no_optimum(curve, objective)
    optimum = Optimum(
        objective=objective,
        estimator=how,
        value=value_at(curve, row, objective, costs),
        best=best.value,
        plateau=plateau(curve, best),
        tied=best.tied,
        costs=costs,
        seed=seed if how == "bagged" else None,
    )
    return cutoff_at(curve, row, where, optimum, value)


def _unsound(data: Labelled, curve: ErrorCurve, promise: Promise | None) -> Infeasible | None:
    """Return why these labels give no decision of any kind; None when they may."""
    units = [_units(data, chosen) for chosen in (data.accept, ~data.accept)]
    if min(curve.accepts, curve.rejects) < FEWEST:
        at_risk = promise is None or promise.errors == "false_accepts"
        return too_few(curve, promise, units[at_risk])
    if len(curve.levels) == 1:
        return constant(curve)
    # An interval ends above its area, so most data need none: finding its ends takes long.
    if area(curve) >= _NO_SIGNAL:
        return None
    # Rows of one group count once: the interval must not be narrower than the groups allow.
    found = separation(curve, accepts=units[0], rejects=units[1])
    if found.interval.high >= _NO_SIGNAL:
        return None
    return inverted(
        curve,
        f"an accept outscores a reject in {found.auc:.0%} of pairs (95% interval "
        f"{found.interval.low:.0%} to {found.interval.high:.0%})",
    )


def _units(data: Labelled, chosen: Bools) -> int:
    """Return how many independent rows are chosen: groups, where there are groups."""
    if data.groups is None:
        return int(np.count_nonzero(chosen))
    return len(np.unique(data.groups[chosen]))


def _with_rates(data: Labelled, cutoff: Cutoff) -> Cutoff:
    """Return the cutoff with intervals that know of groups."""
    if data.groups is None:
        return cutoff
    accepted = data.scores >= cutoff.value
    rejects, accepts = ~data.accept, data.accept
    return msgspec.structs.replace(
        cutoff,
        false_accept_rate=clustered_rate(accepted[rejects], data.groups[rejects]),
        false_reject_rate=clustered_rate(~accepted[accepts], data.groups[accepts]),
    )

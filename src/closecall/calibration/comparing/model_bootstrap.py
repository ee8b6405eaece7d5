"""How much more of the good answers one model accepts than another, each at its own cutoff.

Two models are compared at the same promise, not at the same cutoff: each is calibrated for itself
on the same labelled answers, and what is compared is the share of accepts that each then accepts
(the true-accept rate). Cutoffs and raw scores of two models are never set against each other.

The cutoffs are estimates too. So a resample draws answers anew and calibrates both models on the
draw, and the interval is where the middle of the resampled differences lies (percentile
bootstrap, Efron 1979). Groups are drawn whole: answers to one question stay together.

Where the promise lets not one reject pass, the cutoff hangs on the single highest one, and
resamples do not know how that varies (measured, intervals at 95% then hold in 88 to 93% of
cases): there is no interval. From one allowed reject on they hold.
"""

from __future__ import annotations

import math

import msgspec
import numpy as np

from closecall.calibration.binomial import complement, most_errors, observed_rate
from closecall.calibration.comparing.model_resamples import (
    Side,
    Units,
    resampled,
    side_of,
    units_of,
    weights_of,
)
from closecall.calibration.cutoffs import spent_delta
from closecall.calibration.decisions import accepted
from closecall.calibration.goals import Goal, Rule
from closecall.calibration.groups import clustered_rate
from closecall.calibration.inputs import Bools, Floats, Labelled, round_scores
from closecall.calibration.records import (
    Infeasible,
    Interval,
    Rate,
    Reason,
    TwoCutoffs,
    typed,
)
from closecall.errors import DataError, ShapeError, UsageError

PERCENTILE = "paired percentile bootstrap, calibrated anew in each resample"
RESAMPLES = 2000

_SHOWN = 3


class BootstrapDifference(msgspec.Struct, frozen=True, kw_only=True):
    """What two models accept of the accepts, each at its own certified cutoff.

    ``tar_a`` and ``tar_b`` are the true-accept rates on all labelled answers, ``difference`` is B
    less A: above 0 favours B. A model that has no cutoff because only accepting nobody keeps the
    promise accepts none of them. ``infeasible`` of the ``resamples`` had such a model; they count
    with its rate 0, since that is what one gets from it. ``max_far``, ``confidence`` and
    ``guarantee`` are the promise, ``allowed`` how many of ``backing`` independent rejects may be
    accepted under it (one a group, where there are groups).

    ``interval`` is None where the labels allow not one reject, and no resample is drawn; and where
    the resamples do not vary, as for two models that decide alike.
    """

    tar_a: Rate
    tar_b: Rate
    difference: float
    interval: Interval | None
    max_far: float
    confidence: float
    guarantee: str
    allowed: int
    backing: int
    n: int
    n_accepts: int
    n_rejects: int
    groups: int | None
    resamples: int
    infeasible: int
    seed: int


def bootstrap_acceptance(
    a: Labelled,
    b: Labelled,
    goal: Goal,
    *,
    resamples: int = RESAMPLES,
    seed: int = 0,
    level: float = 0.95,
) -> BootstrapDifference | Infeasible:
    """Compare the true-accept rates of two models, each at its own certified cutoff.

    A resample draws as many groups (answers, without groups) with replacement as there are, those
    with accepts only, with rejects only and with both apart: a promise is conditional on how many
    rejects there are, so that number is kept. A group drawn twice counts as two groups. With
    groups, one reject is drawn of each drawn group, as calibration does. O(resamples * n) time,
    bounded memory; the order of rows changes nothing.

    Parameters
    ----------
    a, b
        The same answers in the same order, with the scores of each model, not fitted on them.
    goal
        With ``max_far`` alone, guarantee ``exact`` or ``average``.
    resamples
        So many that the interval has resamples beyond each end.
    seed
        For the resamples; the draw of ``goal.fit`` has its own.
    level
        Confidence of the interval.

    Returns
    -------
    BootstrapDifference | Infeasible
        Why there is no comparison: the labels cannot back the promise for any model, or the
        scores of a model are constant or inverted.

    Raises
    ------
    UsageError
        Another goal, or an argument that is out of range.
    DataError
        Labels or groups of the two differ.
    """
    limit = _limit(goal)
    check_same_rows(a, b)
    a, b = rounded(a, goal.decimals), rounded(b, goal.decimals)
    ends = _ends(resamples, level)
    rules = []
    for model in (a, b):
        rule = goal.fit(model)
        if isinstance(rule, Infeasible) and rule.reason is not Reason.ACCEPTS_NOBODY:
            return rule
        rules.append(rule)
    units = units_of(a, b)
    allowed = _allowed(goal, limit, units.backing)
    drawn = resamples if allowed else 0
    sides = tuple(side_of(model, units) for model in (a, b))
    differences, infeasible = _differences(units, sides, allowed, drawn, seed)
    low, high = (float(differences[end]) for end in ends) if drawn else (0.0, 0.0)
    tar_a, tar_b = (acceptance(rule, model) for rule, model in zip(rules, (a, b), strict=True))
    return BootstrapDifference(
        tar_a=tar_a,
        tar_b=tar_b,
        difference=(tar_b.count - tar_a.count) / tar_a.n,
        interval=(
            Interval(low=low, high=high, level=level, method=PERCENTILE) if low < high else None
        ),
        max_far=limit,
        confidence=goal.confidence,
        guarantee=goal.guarantee,
        allowed=allowed,
        backing=units.backing,
        n=len(a.accept),
        n_accepts=tar_a.n,
        n_rejects=len(a.accept) - tar_a.n,
        groups=None if a.groups is None else len(units.accepts),
        resamples=drawn,
        infeasible=infeasible,
        seed=seed,
    )


def rounded(data: Labelled, decimals: int | None) -> Labelled:
    """Return the rows with scores as a cutoff of so many decimals sees them."""
    return Labelled(round_scores(data.scores, decimals), data.accept, data.groups, decimals)


def passed(rule: Rule | Infeasible, data: Labelled) -> Bools:
    """Return which rows a model accepts by itself, (n,): none of them where it has no rule."""
    if isinstance(rule, Infeasible):
        return np.zeros(len(data.scores), dtype=np.bool_)
    return accepted(rule.accept if isinstance(rule, TwoCutoffs) else rule, data.scores)


def acceptance(rule: Rule | Infeasible, data: Labelled) -> Rate:
    """Return the true-accept rate of a rule on ``data``, which has accepts."""
    kept = passed(rule, data)[data.accept]
    if data.groups is None:
        rate = observed_rate(int(np.count_nonzero(kept)), len(kept))
    else:
        rate = clustered_rate(kept, data.groups[data.accept])
    if rate is None:
        raise DataError("a true-accept rate needs accepts")
    return rate


def check_same_rows(a: Labelled, b: Labelled) -> None:
    """Raise unless two models were scored on the same answers, in the same order."""
    if a.scores.shape != b.scores.shape:
        raise ShapeError(
            f"A has {len(a.scores)} scores and B {len(b.scores)}: both must be of the same answers"
        )
    if (a.groups is None) != (b.groups is None):
        raise DataError("one of the two has groups: pass the same groups for both")
    for name, ours, theirs in (("label", a.accept, b.accept), ("group", a.groups, b.groups)):
        if ours is None or theirs is None:
            continue
        wrong = np.flatnonzero(ours != theirs)
        if len(wrong):
            places = ", ".join(map(str, wrong[:_SHOWN].tolist()))
            more = f" and {len(wrong) - _SHOWN} more" if len(wrong) > _SHOWN else ""
            raise DataError(
                f"the {name}s of A and B differ at rows {places}{more}: both must be of the same "
                "answers, in the same order"
            )


def _limit(goal: Goal) -> float:
    if (
        goal.max_far is None
        or goal.max_frr is not None
        or goal.costs is not None
        or goal.objective is not None
        or goal.guarantee == "approximate"
    ):
        raise UsageError(
            "models are compared by what they accept under one promise on false accepts: a goal "
            "with max_far alone, like max_far=0.05, and guarantee 'exact' or 'average'"
        )
    return goal.max_far


def _ends(resamples: int, level: float) -> tuple[int, int]:
    """Return where the ends of the interval stand among sorted resamples."""
    outside = typed(complement(level)) / 2
    if isinstance(resamples, bool) or not isinstance(resamples, int):
        raise UsageError(f"resamples must be a whole number, got {resamples!r}")
    beyond = math.floor(outside * (resamples + 1))
    if beyond < 1:
        fewest = math.ceil(1 / outside) - 1
        raise UsageError(
            f"an interval at level {level:g} needs at least {fewest} resamples, got {resamples}"
        )
    return beyond - 1, resamples - beyond


def _allowed(goal: Goal, limit: float, backing: int) -> int:
    """Return how many independent rejects may be accepted; some number always may, here."""
    if goal.guarantee == "average":
        return math.floor(typed(limit) * (backing + 1)) - 1
    allowed = most_errors(backing, limit, spent_delta(goal.delta, goal.looks))
    if allowed is None:
        raise UsageError(f"{backing} rejects cannot back max_far={limit:g}")
    return allowed


def _differences(
    units: Units, sides: tuple[Side, ...], allowed: int, resamples: int, seed: int
) -> tuple[Floats, int]:
    """Return the sorted differences of the resamples, and how many had a model without cutoff."""
    differences = np.empty(resamples)
    infeasible = done = 0
    for picks, drawn in resampled(units, resamples, seed):
        rows = slice(done, done + len(picks))
        weights = weights_of(picks, len(units.accepts))
        (kept_a, none_a), (kept_b, none_b) = (
            side.calibrated(picks, drawn, weights, allowed) for side in sides
        )
        differences[rows] = (kept_b - kept_a) / (weights @ units.accepts)
        infeasible += int(np.count_nonzero(none_a | none_b))
        done = rows.stop
    differences.sort()
    return differences, infeasible

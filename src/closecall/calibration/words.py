"""What a cutoff promises and what backs it, in one line each, for every surface that decides."""

from __future__ import annotations

from closecall.calibration.estimators import RESAMPLES, Estimator
from closecall.calibration.figures import limit
from closecall.calibration.goals import Goal, promise_words
from closecall.calibration.records import Certificate, Optimum

UNITS = {"group": "each group counted once", "row": "each answer counted once"}
"""What a rate weighs alike."""

ESTIMATORS: dict[Estimator, str] = {
    "empirical": "the best there is on them",
    "bagged": f"the median of the best of {RESAMPLES} resamples",
    "platt": "read off a curve fitted to all of them",
}
"""How a cutoff without a promise was put where it stands; *them* are the labels."""

OBJECTIVES = {
    "f1": "F1",
    "youden": "sum of the two shares decided rightly (Youden)",
    "accuracy": "accuracy",
}
"""What an objective is called."""

_ANSWERS = {"false_accepts": "wrong answers", "false_rejects": "good answers"}
_DONE = {"false_accepts": "accepted", "false_rejects": "rejected"}


def promises_words(goal: Goal) -> str:
    """Return what is promised, one promise or both, and nothing of how firmly."""
    return " and ".join(
        promise_words(share, name)
        for name, share in (("max_far", goal.max_far), ("max_frr", goal.max_frr))
        if share is not None
    )


def goal_words(goal: Goal, *, approximate: bool = False) -> str:
    """Return what the cutoff is for, in a few words.

    ``approximate`` where the metric was fitted to labels that chose the cutoff.
    """
    if goal.promises:
        return f"{promises_words(goal)}, {_firmness(goal, approximate)}"
    if goal.costs is not None:
        costs = goal.costs
        base = "" if costs.base_rate is None else f", {limit(costs.base_rate)} of answers good"
        return (
            f"least cost, a false accept at {costs.false_accept:g} and a false reject at "
            f"{costs.false_reject:g}{base}"
        )
    return f"the best {OBJECTIVES.get(goal.objective or '', goal.objective)}"


def _firmness(goal: Goal, approximate: bool) -> str:  # noqa: FBT001 - private
    if goal.guarantee == "average":
        return "on average over calibrations"
    sure = f"confidence {limit(goal.confidence)}"
    exact = goal.guarantee == "exact" and not approximate
    return f"at {sure}" if exact else f"aimed at {sure}, not proved"


def evidence_words(evidence: Certificate | Optimum) -> str:
    """Return what backs a cutoff, in one line."""
    if isinstance(evidence, Optimum):
        return (
            f"no guarantee: {evidence.objective} {evidence.value:.3g} on the labels that chose "
            f"it, {ESTIMATORS[evidence.estimator]}"
        )
    answers, done = _ANSWERS[evidence.errors], _DONE[evidence.errors]
    drawn = f"of {evidence.n:,} {answers}"
    if evidence.per == "group":
        drawn += ", one drawn from each group,"
    found = evidence.clusters
    if found is not None and found.design_effect > 1:
        worth = evidence.n / found.design_effect
        drawn += f" in {found.groups:,} groups, worth {worth:.0f} independent ones,"
    return (
        f"{evidence.guarantee}, {UNITS[evidence.per]}: {drawn} {evidence.observed:,} "
        f"{'is' if evidence.observed == 1 else 'are'} {done} ({evidence.allowed:,} may be)"
    )

"""What can be promised with the labels so far, in a line or two, and what it still takes."""

from __future__ import annotations

from functools import lru_cache

import msgspec

from closecall.calibration.figures import limit
from closecall.calibration.goals import DEFAULT_MAX_FAR, promise_words
from closecall.calibration.labels.planning import Have, LabelPlan, PromisePlan, plan
from closecall.calibration.refusals import FEWEST
from closecall.report.label_plan import WORTH_ASKING, up
from closecall.report.words import plural

_OPTIONS = {"false_accepts": "max_far", "false_rejects": "max_frr"}
_CLASSES = {"false_accepts": "reject", "false_rejects": "accept"}


class Goal(msgspec.Struct, frozen=True, kw_only=True):
    """The promise the labels are for; at most 5% false accepts where none is named."""

    max_far: float | None = None
    max_frr: float | None = None
    confidence: float = 0.95


@lru_cache(maxsize=64)
def planned(goal: Goal, have: Have) -> LabelPlan:
    """Return the plan for a goal and the labels at hand; a few milliseconds, and kept."""
    none = goal.max_far is None and goal.max_frr is None
    return plan(
        max_far=DEFAULT_MAX_FAR if none else goal.max_far,
        max_frr=goal.max_frr,
        confidence=goal.confidence,
        have=have,
    )


def standing(goal: Goal, have: Have) -> tuple[str, ...]:
    """Return what can be promised now, and how many labels more the goal takes."""
    found = planned(goal, have)
    sure = f"at confidence {limit(goal.confidence)}"
    can = [words for words in map(_possible, found.promises) if words is not None]
    if not found.decidable:
        now = f"No promise yet: a cutoff takes {FEWEST} rejects and {FEWEST} accepts."
    elif can:
        now = f"You can promise so far: {' and '.join(can)}, {sure}."
    else:
        now = "No promise worth asking for yet."
    missing = [
        f"{plural(count, f'more {word}')}{_apart(word, found)}"
        for count, word in ((found.more_rejects, "reject"), (found.more_accepts, "accept"))
        if count
    ]
    wanted = " and ".join(
        promise_words(promise.limit, _OPTIONS[promise.errors]) for promise in found.promises
    )
    if not missing:
        return (now, "Labels enough for that. More allow a less strict cutoff.")
    return (now, f"To promise that {wanted}: {' and '.join(missing)}.")


def _possible(promise: PromisePlan) -> str | None:
    if promise.allowed is not None:
        return promise_words(promise.limit, _OPTIONS[promise.errors])
    if promise.best_limit is None or promise.best_limit > WORTH_ASKING:
        return None
    return promise_words(float(up(promise.best_limit)), _OPTIONS[promise.errors])


def _apart(word: str, found: LabelPlan) -> str:
    grouped = {_CLASSES[one.errors] for one in found.promises if one.per == "group"}
    return " in other groups" if word in grouped else ""

"""When one of two is called better, and in which words; otherwise why these labels cannot tell."""

from __future__ import annotations

import math
from collections.abc import Mapping
from typing import Literal, NamedTuple, TypeAlias

from closecall.calibration.binomial import fewest_labels
from closecall.calibration.comparing.model_bootstrap import BootstrapDifference
from closecall.calibration.comparing.paired import Flips, mcnemar
from closecall.calibration.cutoffs import spent_delta
from closecall.calibration.goals import Goal, promise_words
from closecall.calibration.records import Infeasible, Reason, typed
from closecall.calibration.refusals import FEWEST

Verdict: TypeAlias = Literal["A", "B", "cannot tell"]
CANNOT_TELL: Verdict = "cannot tell"

DOUBT = 0.5
"""More errors of another kind stand in the way of a verdict from this p-value down: a harm need
not be proven to count."""

_TINY = 0.0001
_OF_A_MODEL = (Reason.CONSTANT_SCORES, Reason.INVERTED_SCORES)


class Pair(NamedTuple):
    """What is compared: names, and the labelled answers both were applied to."""

    a: str
    b: str
    n: int
    accepts: int
    rejects: int
    groups: int | None

    def name(self, verdict: Verdict) -> str:
        """Return the name of the one that is better."""
        return self.a if verdict == "A" else self.b

    @property
    def rows(self) -> str:
        """How many answers, in words."""
        grouped = "" if self.groups is None else f" in {self.groups} groups"
        return f"n = {self.n} ({self.accepts} accepts, {self.rejects} rejects){grouped}"

    def unknown(self, why: str) -> tuple[Verdict, str]:
        """Return the verdict that there is none."""
        return CANNOT_TELL, f"cannot tell with {self.rows}: {why}"


def on_decisions(
    pair: Pair, kinds: Mapping[str, Flips], differently: int, alpha: float
) -> tuple[Verdict, str]:
    """Return the verdict on two sets of decisions.

    Parameters
    ----------
    pair
        What is compared.
    kinds
        Tested flips by what they count: "false accepts" and so on.
    differently
        How many answers are decided differently.
    alpha
        Most probability of naming one of two that are alike.
    """
    few = _too_few(pair)
    if few is not None:
        return pair.unknown(few)
    if not differently:
        return pair.unknown("every answer is decided alike")
    significant = _significant(kinds, alpha)
    if not significant:
        return pair.unknown(_by_chance(pair, kinds, differently, alpha))
    verdict = _better(kinds[significant[0]])
    gains = [kind for kind in significant if _better(kinds[kind]) == verdict]
    harms = [kind for kind in kinds if _doubtful(kinds[kind], verdict)]
    fewer = f"{pair.name(verdict)} has fewer {_listed(pair, kinds, gains, verdict)}"
    if harms:
        return pair.unknown(
            f"a trade: {fewer}, but more {_listed(pair, kinds, harms, verdict)}; "
            "which is better depends on what each costs"
        )
    others = [kind for kind in kinds if kind not in gains]
    rest = f"; nothing speaks against it in {_listed(pair, kinds, others, verdict)}"
    return verdict, f"with {pair.rows}, {fewer}{rest if others else ''}"


def on_models(
    pair: Pair,
    goal: Goal,
    acceptance: BootstrapDifference | Infeasible,
    false_rejects: Flips | None,
    alpha: float,
    *,
    at_fault: str = "",
) -> tuple[Verdict, str]:
    """Return the verdict on two models, each at its own cutoff for one promise.

    Parameters
    ----------
    pair, alpha
        As for ``on_decisions``.
    goal
        The promise.
    acceptance
        What the models accept, or why that cannot be said.
    false_rejects
        Accepts that one cutoff alone rejects, tested with the two cutoffs as they are.
    at_fault
        The name of the model an ``Infeasible`` is about.
    """
    if isinstance(acceptance, Infeasible):
        whose = f"{at_fault}: " if acceptance.reason in _OF_A_MODEL else ""
        return pair.unknown(f"{whose}{acceptance.message}; {acceptance.advice}")
    promise = promise_words(acceptance.max_far, "max_far")
    tar_a, tar_b = acceptance.tar_a, acceptance.tar_b
    told = (
        f"where {promise}, {pair.a} accepts {tar_a.count} of {tar_a.n} good answers and {pair.b} "
        f"{tar_b.count}"
    )
    if not acceptance.allowed:
        return pair.unknown(
            f"{told}, but {acceptance.backing} independent rejects leave no room for one that is "
            "accepted, so each cutoff hangs on a single reject; a comparison needs "
            f"{_with_room(goal, acceptance)} of them"
        )
    interval = acceptance.interval
    if interval is None:
        return pair.unknown(f"{told}, and resamples of these labels do not tell them apart")
    verdict: Verdict = "B" if acceptance.difference > 0 else "A"
    told += (
        f", B less A {100 * acceptance.difference:+.0f} points "
        f"({100 * interval.level:.6g}% interval {100 * interval.low:+.0f} to "
        f"{100 * interval.high:+.0f})"
    )
    if acceptance.infeasible:
        told += (
            f"; in {acceptance.infeasible} of {acceptance.resamples} resamples a model had no "
            "cutoff and counts as accepting nobody"
        )
    if not (interval.low > 0 if verdict == "B" else interval.high < 0):
        return pair.unknown(told)
    if false_rejects is None or false_rejects.p is None or false_rejects.p > alpha:
        odds = "" if false_rejects is None else f" ({_p(false_rejects)})"
        return pair.unknown(f"{told}; but too few good answers tell the two cutoffs apart{odds}")
    return verdict, f"{pair.name(verdict)} accepts more with {pair.rows}: {told}"


def _too_few(pair: Pair) -> str | None:
    if min(pair.accepts, pair.rejects) >= FEWEST:
        return None
    return f"no verdict is given on fewer than {FEWEST} accepts or {FEWEST} rejects"


def _significant(kinds: Mapping[str, Flips], alpha: float) -> list[str]:
    """Return the kinds on which the two differ, all of them truly with 1 - alpha (Holm 1979)."""
    found: list[str] = []
    for kind in sorted(kinds, key=lambda kind: _value(kinds[kind])):
        if _value(kinds[kind]) > alpha / (len(kinds) - len(found)):
            break
        found.append(kind)
    return found


def _better(flips: Flips) -> Verdict:
    return "A" if flips.only_a < flips.only_b else "B"


def _doubtful(flips: Flips, verdict: Verdict) -> bool:
    """Whether a kind of error speaks against the one about to be named."""
    worse, other = (flips.only_a, flips.only_b) if verdict == "A" else (flips.only_b, flips.only_a)
    # All of them one way is what a stricter, or a laxer, cutoff does.
    return worse > other and (other == 0 or _value(flips) <= DOUBT)


def _value(flips: Flips) -> float:
    return 1.0 if flips.p is None else flips.p


def _listed(pair: Pair, kinds: Mapping[str, Flips], chosen: list[str], verdict: Verdict) -> str:
    """Return the counts of the one named against those of the other."""
    told = []
    for kind in chosen:
        flips = kinds[kind]
        mine, theirs, other = (
            (flips.errors_a, flips.errors_b, pair.b)
            if verdict == "A"
            else (flips.errors_b, flips.errors_a, pair.a)
        )
        told.append(f"{kind}, {mine} of {flips.n} against {theirs} by {other} ({_p(flips)})")
    return " and ".join(told)


def _by_chance(pair: Pair, kinds: Mapping[str, Flips], differently: int, alpha: float) -> str:
    answers = "answer is" if differently == 1 else "answers are"
    counts = "; ".join(
        f"{kind} {flips.errors_a} of {flips.n} by {pair.a} and {flips.errors_b} by {pair.b} "
        f"({_p(flips)})"
        for kind, flips in kinds.items()
    )
    needed = next(
        count for count in range(1, 200) if mcnemar(0, count) <= alpha / max(1, len(kinds))
    )
    telling = max(
        flips.discordant if flips.groups is None else flips.groups for flips in kinds.values()
    )
    unit = "answers" if pair.groups is None else "groups"
    few = (
        f"; fewer than {needed} {unit} that tell the two apart on one kind prove nothing, even "
        "if all speak for one"
        if telling < needed
        else ""
    )
    return f"{differently} {answers} decided differently, which may be chance: {counts}{few}"


def _with_room(goal: Goal, acceptance: BootstrapDifference) -> int:
    """Return how many independent rejects let one of them be accepted."""
    if acceptance.guarantee == "average":
        # The smallest n with limit * (n + 1) >= 2.
        return math.ceil(2 / typed(acceptance.max_far)) - 1
    return fewest_labels(acceptance.max_far, spent_delta(goal.delta, goal.looks), 1)


def _p(flips: Flips) -> str:
    if flips.p is None:
        return "not tested"
    return f"p < {_TINY}" if flips.p < _TINY else f"p = {flips.p:.2g}"

"""Why there is no cutoff, in the words of the command line: what can be claimed, what to do."""

from __future__ import annotations

import re
import shlex
from collections.abc import Iterator, Sequence
from fractions import Fraction

from closecall.calibration.binomial import complement
from closecall.calibration.figures import at_most, limit, sure
from closecall.calibration.goals import Goal
from closecall.calibration.records import Costs, Infeasible, Reason
from closecall.report.calibration_terms import OPTION, PROMISED
from closecall.report.words import plural

WORTH_ASKING = 0.99
"""A limit above this is none."""

_WEAKER = {
    "approximate": "by an estimate (--guarantee approximate)",
    "average": "on average only (--guarantee average)",
}
_PARAMETER = re.compile(r"\bmax_(far|frr)=([\d.e-]+)")
_CONFIDENCE = re.compile(r"\bconfidence (0\.\d+)")


def refusal(found: Infeasible, name: str, goal: Goal, options: Sequence[str] = ()) -> list[str]:
    """Return why there is no cutoff, what these labels can back, and what to label next.

    Parameters
    ----------
    found
        What the calibration came to.
    name
        The file of labelled cases, as it was typed.
    goal
        What was asked for.
    options
        What else ``closecall plan`` needs to read that file, such as ``--group team``.
    """
    return [
        f"No cutoff: {_typed(found.message)}.",
        *_claims(found, name, goal),
        *_next(found, name, goal, options),
    ]


def _claims(found: Infeasible, name: str, goal: Goal) -> Iterator[str]:
    """Say what the labels of the file can back instead."""
    these = (
        f"The {plural(found.accepts, 'accept')} and {plural(found.rejects, 'reject')} of {name}"
    )
    errors = found.errors
    if goal.costs is not None:
        yield _cost_words(goal.costs, found)
    if errors is None or found.reason is Reason.TOO_FEW_LABELS:
        return
    offers = [_WEAKER[other] for other in found.alternatives if other in _WEAKER]
    weaker = f"{limit(found.limit)} {' or '.join(offers)}" if offers and found.limit else ""
    if found.best_limit is not None and found.best_limit <= WORTH_ASKING:
        firm = "on average" if found.delta is None else f"at confidence {sure(found.delta)}"
        least = (
            f"at most {at_most(found.best_limit)} of {PROMISED[errors]} {firm} "
            f"({OPTION[errors]} {_option(found.best_limit)})"
        )
        yield f"{these} can back {least}{f', or {weaker}' if weaker else ''}; nothing stricter."
    elif weaker:
        yield f"{these} can back {weaker}, and nothing firmer."
    else:
        yield f"{these} back no limit on {PROMISED[errors]} that is worth asking."


def _cost_words(costs: Costs, found: Infeasible) -> str:
    n = found.accepts + found.rejects
    good = found.accepts / n if costs.base_rate is None else costs.base_rate
    return (
        f"Rejecting all costs {costs.false_reject * good:.3g} per answer, accepting all "
        f"{costs.false_accept * (1 - good):.3g}; no cutoff is shown to cost less than rejecting "
        "all."
    )


def _next(found: Infeasible, name: str, goal: Goal, options: Sequence[str]) -> Iterator[str]:
    wanted = {"wrong": found.more_rejects or 0, "good": found.more_accepts or 0}
    if not any(wanted.values()):
        if found.reason is Reason.ACCEPTS_NOBODY:
            yield (
                "Look at the labels of the highest scores, or use a metric that separates better."
            )
        else:
            said = _typed(found.advice)
            yield f"{said[0].upper()}{said[1:]}."
        return
    if not goal.promises:
        yield _to_label(found, wanted)
        return
    told = "If the file also holds unlabelled answers, this picks them:"
    yield f"{_to_label(found, wanted)} {told}"
    yield f"  {_plan(name, goal, options)}"


def _to_label(found: Infeasible, wanted: dict[str, int]) -> str:
    """Say how many answers to label, at the share of wrong ones seen so far."""
    of = {"wrong": found.rejects, "good": found.accepts}
    if "groups with a" in found.message:  # how many groups have none of that label is not told
        need = " and ".join(f"{n:,} more have a {kind} one" for kind, n in wanted.items() if n)
        return f"Label the answers of more groups, picked at random, until {need}."
    if any(count and not of[kind] for kind, count in wanted.items()):
        turn = " and ".join(f"{count:,} more {kind}" for kind, count in wanted.items() if count)
        return f"Label more answers picked at random, until there are {turn} ones."
    seen = found.accepts + found.rejects
    n = max(-(-count * seen // of[kind]) for kind, count in wanted.items() if count)
    ones = [f"{count:,} of them must turn out {kind}" for kind, count in wanted.items() if count]
    return f"Label about {plural(n, 'more answer')} picked at random ({', '.join(ones)})."


def _plan(name: str, goal: Goal, options: Sequence[str]) -> str:
    typed = ["closecall", "plan", name]
    for option, share in (("--max-far", goal.max_far), ("--max-frr", goal.max_frr)):
        if share is not None:
            typed += [option, f"{share:.10g}"]
    if complement(goal.confidence) != complement(0.95):
        typed += ["--confidence", f"{goal.confidence:.10g}"]
    if goal.looks > 1:
        typed += ["--looks", str(goal.looks)]
    return shlex.join([*typed, *options, "-o", "next.jsonl"])


def _typed(message: str) -> str:
    """Return a message in what one types: ``--max-far 0.05``, a confidence as a percentage."""
    said = _PARAMETER.sub(lambda at: f"--max-{at[1]} {at[2]}", message)
    said = said.replace("max_far", "--max-far").replace("max_frr", "--max-frr")
    return _CONFIDENCE.sub(lambda at: f"confidence {sure(float(1 - Fraction(at[1])))}", said)


def _option(share: float) -> str:
    """Return a limit to type, to two digits and rounded up, so that asking for it works."""
    return f"{float(at_most(share).removesuffix('%')) / 100:.10g}"

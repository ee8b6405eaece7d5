"""From the outcomes of a case's pairs to its one measurement."""

from __future__ import annotations

from collections.abc import Sequence
from typing import NamedTuple

from closecall.metrics.base import DECIMALS, SCORE_DECIMALS
from closecall.metrics.cutoffs import PERCENT
from closecall.metrics.pairs import sides as side
from closecall.metrics.pairs.scoring import Outcome, Refused, Scored
from closecall.metrics.pairs.sides import Texts
from closecall.models.pair_labels import Labels
from closecall.records import JSON, Measured, Measurement, Tokens, Unmeasured


class Setting(NamedTuple):
    """What a metric asks of every case; ``bounded``: its values lie in 0 to 1."""

    sides: str
    question: bool
    labels: Labels
    window: int
    bounded: bool


class Asked(NamedTuple):
    """The pairs of one alternative: their places in the batch, by direction."""

    written: int
    pairs: dict[str, int]


class Plan(NamedTuple):
    """What is asked of one case; ``unread`` are the alternatives that no token came of."""

    texts: Texts
    asked: list[Asked]
    unread: dict[int, str]


class Found(NamedTuple):
    """One alternative's value and what it was made of."""

    written: int
    value: float
    outcomes: dict[str, Scored]


def measured(plan: Plan, outcomes: Sequence[Outcome], setting: Setting) -> Measurement:
    """Return what comes of a case, from the outcomes of the whole batch.

    The lowest direction counts for an alternative, and the best alternative for the case. One
    that is too long for the model is left out, the same on every run, and named; one on which
    the model failed leaves the case unmeasured.
    """
    unread = dict(plan.unread)
    found: list[Found] = []
    for one in plan.asked:
        scored: dict[str, Scored] = {}
        for direction, at in one.pairs.items():
            outcome = outcomes[at]
            if isinstance(outcome, Scored):
                scored[direction] = outcome
            elif outcome.broken:
                return Unmeasured(outcome.reason)
            else:
                unread.setdefault(one.written, _too_long(direction, outcome, setting))
        if len(scored) == len(one.pairs):
            value = min(float(o.shares[setting.labels.positive]) for o in scored.values())
            found.append(Found(one.written, value, scored))
    if not found:
        return Unmeasured(next(iter(unread.values())))
    best = max(found, key=lambda one: one.value)
    value = round(best.value, DECIMALS) + 0.0
    return Measured(
        similarity=value,
        value=value,
        score=round(PERCENT * value, SCORE_DECIMALS) if setting.bounded else None,
        details=_details(plan, best, len(found), unread, setting),
        tokens=_tokens(best, setting.sides),
    )


def _details(
    plan: Plan, best: Found, count: int, unread: dict[int, str], setting: Setting
) -> dict[str, JSON]:
    details: dict[str, JSON] = {
        side.SHOWN[direction]: {
            name or "score": round(float(share), DECIMALS) + 0.0
            for name, share in zip(setting.labels.names, scored.shares, strict=True)
        }
        for direction, scored in best.outcomes.items()
    }
    if setting.question:
        details["question"] = bool(plan.texts.question)
    windows = {
        side.SHOWN[direction]: scored.first.windows
        for direction, scored in best.outcomes.items()
        if scored.first.windows > 1
    }
    if windows:
        details["windows"] = windows
    plural = side.PLURAL.get(setting.sides)
    if plural and len(plan.texts.others) > 1:
        details[plural.lower()] = count
        details[f"best{plural[:-1]}"] = best.written
    if plural and unread:
        details[f"unread{plural}"] = sorted(unread)
    return details


def _tokens(best: Found, sides: str) -> dict[str, Tokens]:
    """Return the tokens of both texts, with the windows of either where it was cut."""
    other = side.FIELD[sides]
    found: dict[str, Tokens] = {}
    for direction, scored in best.outcomes.items():
        names = (other, "response")
        if direction == side.FROM_RESPONSE:
            names = ("response", other)
        for name, tokens in zip(names, (scored.first, scored.second), strict=True):
            if name not in found or tokens.windows > found[name].windows:
                found[name] = tokens
    return {name: found[name] for name in (other, "response")}


def _too_long(direction: str, outcome: Refused, setting: Setting) -> str:
    """Say which text leaves no room for the other, and what reads it."""
    to_response = direction == side.TO_RESPONSE
    second = "response" if to_response else side.SINGULAR[setting.sides]
    beside = f"question and the {second} leave" if setting.question else f"{second} leaves"
    remedies = ["question=false leaves out the question"] if setting.question else []
    if setting.sides == side.REFERENCE:
        turned = side.FROM_RESPONSE if to_response else side.TO_RESPONSE
        remedies.append(f"direction={turned} reads the {second} in windows")
    return (
        f"the pair has {outcome.reason}, the model reads {setting.window} at once, and the "
        f"{beside} too few of them to read the rest in windows"
        + (f"; {', '.join(remedies)}" if remedies else "")
    )

"""How many labels a promise takes, and what the labels at hand can back.

A promise on false accepts rests on labelled rejects alone, one on false rejects on accepts. With
n of them, k may be decided wrongly when P(Binomial(n, limit) <= k) <= delta; everything here asks
that one inequality for another unknown. With groups, n counts groups: one row of each is used.

>>> from closecall.calibration.labels.planning import Have, plan
>>> found = plan(max_far=0.05, reject_rate=0.2)
>>> [(need.labels, need.drawn) for need in found.promises[0].needs[:3]]
[(59, 295), (93, 465), (124, 620)]
>>> had = plan(max_far=0.05, have=Have(accepts=25, rejects=15)).promises[0]
>>> had.allowed, had.more, round(had.best_limit, 3)
(None, 44, 0.181)
"""

from __future__ import annotations

import math
from collections.abc import Iterator
from fractions import Fraction
from typing import Literal

import msgspec

from closecall.calibration.binomial import (
    best_limit,
    binomial_cdf,
    check_share,
    complement,
    fewest_labels,
    most_errors,
    observed_rate,
)
from closecall.calibration.cutoffs import spent_delta
from closecall.calibration.records import Errors, Rate, typed
from closecall.calibration.refusals import FEWEST, Promise
from closecall.errors import UsageError

ERRORS_ALLOWED = (0, 1, 2, 3, 5, 10)
LIMITS = (0.01, 0.02, 0.05, 0.1, 0.2)
POWERS = (0.5, 0.8, 0.9)

ENOUGH = 0.8
"""The power to aim for once a promise can be backed at all."""

SURE = 0.95
"""How sure ``drawn_surely`` is that enough of a class are among the labels drawn."""

_STEADY = 5
"""Dips in a row that must keep the power: it rises in steps with a small wobble."""


class Have(msgspec.Struct, frozen=True, kw_only=True):
    """Labels at hand: rows, drawn at random.

    ``accept_groups`` and ``reject_groups`` count the groups with at least one such row; None
    where every row is on its own.
    """

    accepts: int
    rejects: int
    accept_groups: int | None = None
    reject_groups: int | None = None

    def __post_init__(self) -> None:
        for name, rows in (("accept", self.accepts), ("reject", self.rejects)):
            groups = getattr(self, f"{name}_groups")
            if rows < 0 or (groups is not None and not min(rows, 1) <= groups <= rows):
                raise UsageError(f"{rows} {name}s in {groups} groups cannot be")

    def units(self, errors: Errors) -> int:
        """Return how many independent labels of the class at risk there are."""
        if errors == "false_accepts":
            return self.rejects if self.reject_groups is None else self.reject_groups
        return self.accepts if self.accept_groups is None else self.accept_groups


class Need(msgspec.Struct, frozen=True, kw_only=True):
    """Labels of the class at risk that back a promise with ``errors`` of them decided wrongly.

    ``more`` is how many of ``labels`` are missing, None without labels to count. ``drawn`` is how
    many responses to label, drawn at random, for the missing ones to be among them: on average,
    and ``drawn_surely`` with probability ``SURE``; None where the share of the class is unknown.
    """

    errors: int
    labels: int
    more: int | None
    drawn: int | None
    drawn_surely: int | None


class Aim(msgspec.Struct, frozen=True, kw_only=True):
    """Labels from which on a fixed cutoff is certified with probability ``power``.

    The cutoff's true error rate is ``true_rate``. Other fields as in ``Need``; ``errors`` is how
    many may be wrong then.
    """

    power: float
    true_rate: float
    errors: int
    labels: int
    more: int | None
    drawn: int | None
    drawn_surely: int | None


class Backing(msgspec.Struct, frozen=True, kw_only=True):
    """How many of the labels at hand may be wrong at a limit; None when they cannot back it."""

    limit: float
    allowed: int | None


class PromisePlan(msgspec.Struct, frozen=True, kw_only=True):
    """What one promise takes, and how far the labels at hand go.

    ``delta`` is what this promise may spend, after the division among looks and promises.
    ``average`` is how many labels the same limit takes as a promise on average. The fields from
    ``have`` on are None without labels to count: ``have`` is the independent labels of the class
    at risk, ``allowed`` how many of them may be wrong at ``limit``, ``best_limit`` the smallest
    limit they back with none wrong, ``more`` how many are missing for ``limit`` with none wrong.
    """

    errors: Errors
    limit: float
    delta: float
    per: Literal["row", "group"]
    needs: tuple[Need, ...]
    aims: tuple[Aim, ...]
    average: int
    have: int | None
    allowed: int | None
    best_limit: float | None
    backings: tuple[Backing, ...] | None
    more: int | None

    @property
    def backed(self) -> bool:
        """Whether the labels at hand can back it."""
        return self.more == 0


class LabelPlan(msgspec.Struct, frozen=True, kw_only=True):
    """How many labels to get.

    ``reject_rate`` is the share of rejects as given; ``observed_rejects`` the share among the
    labels at hand, used where none was given. ``decidable`` says whether there are enough labels
    of both classes for any decision. ``more_accepts`` and ``more_rejects`` are the labels missing
    for a decision and for every promise, with none wrong; ``drawn`` and ``drawn_surely`` as in
    ``Need``, for both. ``enough`` is ``drawn`` for every promise's aim at power ``ENOUGH``.
    """

    confidence: float
    looks: int
    promises: tuple[PromisePlan, ...]
    reject_rate: float | None
    observed_rejects: Rate | None
    have: Have | None
    decidable: bool | None
    more_accepts: int | None
    more_rejects: int | None
    drawn: int | None
    drawn_surely: int | None
    enough: int | None


def plan(
    *,
    max_far: float | None = None,
    max_frr: float | None = None,
    confidence: float = 0.95,
    looks: int = 1,
    reject_rate: float | None = None,
    have: Have | None = None,
) -> LabelPlan:
    """Return how many labels one promise, or two that hold together, take.

    Parameters
    ----------
    max_far, max_frr
        The promises, as for ``fit_cutoff``; both share what is left of ``confidence``.
    confidence, looks
        As for ``fit_cutoff``.
    reject_rate
        Share of responses a person would reject, between 0 and 1; None takes the share among
        the labels at hand, where both classes are there.
    have
        The labels at hand.

    Raises
    ------
    UsageError
        No promise, or an argument is out of range.
    """
    asked: list[tuple[Errors, float | None]] = [
        ("false_accepts", max_far),
        ("false_rejects", max_frr),
    ]
    given = [(errors, limit) for errors, limit in asked if limit is not None]
    if not given:
        raise UsageError("say what is promised: max_far=0.05, max_frr=0.05 or both")
    for errors, limit in given:
        check_share(Promise(errors, limit, None).parameter, limit)
    if reject_rate is not None:
        check_share("reject_rate", reject_rate)
    delta = spent_delta(complement(confidence) / len(given), looks)
    labelled = have.accepts + have.rejects if have else 0
    rejects = _share(reject_rate, have)
    promises = tuple(
        _promise(errors, limit, delta, have, _of(errors, rejects)) for errors, limit in given
    )
    missing = {} if have is None else _missing(have, promises)
    return LabelPlan(
        confidence=confidence,
        looks=looks,
        promises=promises,
        reject_rate=reject_rate,
        observed_rejects=observed_rate(have.rejects, labelled) if have else None,
        have=have,
        decidable=None if have is None else min(have.accepts, have.rejects) >= FEWEST,
        more_accepts=missing.get("false_rejects"),
        more_rejects=missing.get("false_accepts"),
        drawn=_most(drawn(n, _of(errors, rejects)) for errors, n in missing.items()),
        drawn_surely=_most(drawn_surely(n, _of(errors, rejects)) for errors, n in missing.items()),
        enough=_most(aim.drawn for found in promises for aim in found.aims if aim.power == ENOUGH),
    )


def drawn(labels: int, share: Fraction | None) -> int | None:
    """Return how many responses drawn at random hold ``labels`` of a class, on average.

    None where the class's share of the responses is unknown, or none.
    """
    if labels == 0:
        return 0
    return None if not share else math.ceil(labels / share)


def drawn_surely(labels: int, share: Fraction | None) -> int | None:
    """Return how many responses drawn at random hold that many with probability ``SURE``."""
    if labels == 0 or share == 1:
        return labels
    if not share:
        return None
    return fewest_labels(float(share), complement(SURE), labels - 1)


def steady_labels(limit: float, delta: float, rate: float, power: float) -> tuple[int, int]:
    """Return from how many labels on a fixed cutoff is certified with ``power``, and the errors.

    The cutoff's true error rate is ``rate``, below ``limit``. The chance of a certificate jumps
    up where one more error is allowed and falls until the next jump; the number returned is the
    one from which on it never falls below ``power``.
    """
    start, kept, k = fewest_labels(limit, delta), 0, 0
    first = (start, 0)
    while kept < _STEADY:
        following = fewest_labels(limit, delta, k + 1)
        if binomial_cdf(k, following - 1, rate) >= power:
            first = (start, k) if kept == 0 else first
            kept += 1
        else:
            kept = 0
        start, k = following, k + 1
    return first


def average_exceeded(labels: int, limit: float) -> float:
    """Return how probable it is that a promise on average, kept on so many labels, is exceeded.

    The conformal rule lets floor(limit * (labels + 1)) - 1 of them be decided wrongly; the true
    rate is above ``limit`` with the probability that a binomial count is no larger. Exact where
    no scores tie, else an upper bound.

    Raises
    ------
    UsageError
        Fewer labels than the promise takes, or ``limit`` is out of range.

    >>> round(average_exceeded(19, 0.05), 3)
    0.377
    """
    check_share("limit", limit)
    needed = Promise("false_accepts", limit, None).labels_needed()
    if labels < needed:
        raise UsageError(f"a promise on average takes {needed} labels, got {labels}")
    # The decimal as typed: 0.29 * 100 is 28.999999999999996 in floating point.
    return binomial_cdf(math.floor(typed(limit) * (labels + 1)) - 1, labels, limit)


def _promise(
    errors: Errors, limit: float, delta: float, have: Have | None, share: Fraction | None
) -> PromisePlan:
    units = None if have is None else have.units(errors)
    grouped = have is not None and None not in {have.accept_groups, have.reject_groups}
    needs = []
    for wrong in ERRORS_ALLOWED:
        labels = fewest_labels(limit, delta, wrong)
        needs.append(Need(errors=wrong, labels=labels, **_missing_of(labels, units, share)))
    aims = []
    for power in POWERS:
        labels, wrong = steady_labels(limit, delta, limit / 2, power)
        aims.append(
            Aim(
                power=power,
                true_rate=limit / 2,
                errors=wrong,
                labels=labels,
                **_missing_of(labels, units, share),
            )
        )
    return PromisePlan(
        errors=errors,
        limit=limit,
        delta=delta,
        per="group" if grouped else "row",
        needs=tuple(needs),
        aims=tuple(aims),
        average=Promise(errors, limit, None).labels_needed(),
        have=units,
        allowed=None if units is None else most_errors(units, limit, delta),
        best_limit=None if units is None else best_limit(units, delta),
        backings=None
        if units is None
        else tuple(Backing(limit=at, allowed=most_errors(units, at, delta)) for at in LIMITS),
        more=needs[0].more,
    )


def _missing_of(labels: int, units: int | None, share: Fraction | None) -> dict[str, int | None]:
    missing = labels if units is None else max(0, labels - units)
    return {
        "more": None if units is None else missing,
        "drawn": drawn(missing, share),
        "drawn_surely": drawn_surely(missing, share),
    }


def _missing(have: Have, promises: tuple[PromisePlan, ...]) -> dict[Errors, int]:
    """Return how many labels of each class are missing, named by the error they are at risk of."""
    missing: dict[Errors, int] = {
        "false_accepts": max(0, FEWEST - have.rejects),
        "false_rejects": max(0, FEWEST - have.accepts),
    }
    for found in promises:
        missing[found.errors] = max(missing[found.errors], found.more or 0)
    return missing


def _share(reject_rate: float | None, have: Have | None) -> Fraction | None:
    """Return the share of rejects: as typed, or counted among the labels."""
    if reject_rate is not None:
        return typed(reject_rate)
    if have is None or not (have.accepts and have.rejects):
        return None
    return Fraction(have.rejects, have.accepts + have.rejects)


def _of(errors: Errors, rejects: Fraction | None) -> Fraction | None:
    if rejects is None:
        return None
    return rejects if errors == "false_accepts" else 1 - rejects


def _most(numbers: Iterator[int | None]) -> int | None:
    """Return the largest; None when one is unknown, or there is none."""
    found = list(numbers)
    known = [number for number in found if number is not None]
    return max(known, default=None) if len(known) == len(found) else None

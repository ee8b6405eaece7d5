"""A judge's head: what it was fitted to, frozen, and what it makes of the features of a case."""

from __future__ import annotations

import hashlib
import math
from collections.abc import Mapping
from typing import Final, NamedTuple

import msgspec

from closecall.instrument import canonical_json
from closecall.metrics.base import DECIMALS
from closecall.metrics.fitted.features import (
    VERSION,
    Feature,
    Sides,
    features_of,
    joined_version,
    parted_version,
)

NAME: Final = "fitted_judge"
DEFAULT_SIDES: Sides = "references"


class Part(NamedTuple):
    """What one feature of a case adds to its log odds, beside the mean of the labels."""

    feature: Feature
    value: float
    logits: float


class JudgeHead(msgspec.Struct, frozen=True, kw_only=True):
    """A logistic head: log odds = intercept + sum of coefficient * (value - mean) / sd.

    One ``mean``, ``sd`` and ``coefficient`` a feature; those of ``coefficients`` are rounded to
    six decimals. ``version`` is that of the features, the pair model's metric in it where one of
    them is its; ``penalty`` the inverse strength C of the L2 penalty. ``trained`` is the digest of
    the cases whose labels it was fitted to.
    """

    sides: Sides
    version: str
    features: tuple[str, ...]
    means: tuple[float, ...]
    sds: tuple[float, ...]
    coefficients: tuple[float, ...]
    intercept: float
    penalty: float
    trained: str

    def __post_init__(self) -> None:
        n = len(self.features)
        if not n or any(len(col) != n for col in (self.means, self.sds, self.coefficients)):
            raise ValueError(f"judge.head: no feature, or not all columns are of {n}")
        if len(set(self.features)) != n:
            raise ValueError("judge.head.features: each stands there once")
        numbers = (*self.means, *self.sds, *self.coefficients, self.intercept, self.penalty)
        if not all(map(math.isfinite, numbers)):
            raise ValueError("judge.head: every number is finite")
        if min(self.sds) <= 0 or self.penalty <= 0:
            raise ValueError("judge.head: each sd, and the penalty, is above 0")

    @property
    def digest(self) -> str:
        """Sha256 (hex) over everything in it."""
        return hashlib.sha256(canonical_json(msgspec.to_builtins(self))).hexdigest()

    @property
    def support(self) -> str | None:
        """The version of the pair model's metric among its features, None where there is none."""
        return parted_version(self.version)[1]

    @property
    def known(self) -> tuple[Feature, ...]:
        """Its features; raises ``LookupError`` where one is not of this version."""
        there = _by_name(self)
        missing = [name for name in self.features if name not in there]
        if missing:
            raise LookupError(f"there is no feature {missing[0]!r:.80} of {self.sides}")
        return tuple(there[name] for name in self.features)

    def parts(self, values: Mapping[str, float]) -> list[Part]:
        """Return what each feature adds, the largest first; they and the intercept are it all."""
        found = [
            Part(one, values[one.name], coefficient * (values[one.name] - mean) / sd)
            for one, mean, sd, coefficient in zip(
                self.known, self.means, self.sds, self.coefficients, strict=True
            )
        ]
        return sorted(found, key=lambda part: (-abs(part.logits), part.feature.name))

    def logit(self, values: Mapping[str, float]) -> float:
        """Return the log odds that a person accepts."""
        return self.intercept + math.fsum(part.logits for part in self.parts(values))


def judge_id(sides: Sides) -> str:
    """Return the id of a judge on these sides.

    >>> judge_id("references"), judge_id("context")
    ('fitted_judge', 'fitted_judge:sides=context')
    """
    return NAME if sides == DEFAULT_SIDES else f"{NAME}:sides={sides}"


def version_of(head: JudgeHead) -> str:
    """Return the version of a judge: that of its features, and 12 digits of its head."""
    return f"{head.version}+{head.digest[:12]}"


def flaw_of(head: JudgeHead) -> str | None:
    """Return what does not fit this version of the features, None where all does.

    Which pair model it was fitted with is not looked at: that is for whoever uses the head.
    """
    plain, support = parted_version(head.version)
    # Spelled as it is spelled here, so that one head has one version.
    if plain != VERSION or head.version != joined_version(support):
        return f"version: of the features {head.version!r:.80}, here is {VERSION!r}"
    names = _by_name(head)
    for name, coefficient in zip(head.features, head.coefficients, strict=True):
        if name not in names:
            return f"features: there is no {name!r:.80}"
        if names[name].sign * coefficient < 0:
            return f"coefficients: that of {name} has the wrong sign"
    return None


def _by_name(head: JudgeHead) -> dict[str, Feature]:
    there = features_of(head.sides, support=head.support is not None)
    return {one.name: one for one in there}


def chance(logit: float) -> float:
    """Return the probability with these log odds, rounded to ``DECIMALS``.

    >>> chance(0.0), chance(-800.0), chance(800.0)
    (0.5, 0.0, 1.0)
    """
    return round(0.5 * (1.0 + math.tanh(0.5 * logit)), DECIMALS) + 0.0

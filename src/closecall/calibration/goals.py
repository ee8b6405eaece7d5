"""What a cutoff is for: one promise, two, a cost or an objective, and how firmly."""

from __future__ import annotations

from typing import TypeAlias

import msgspec

from closecall.calibration.binomial import complement
from closecall.calibration.estimators import Estimator
from closecall.calibration.figures import limit as limit_words
from closecall.calibration.fit import fit_cutoff, fit_two_cutoffs
from closecall.calibration.inputs import DECIMALS, Labelled
from closecall.calibration.records import (
    Costs,
    Cutoff,
    Guarantee,
    Infeasible,
    Objective,
    TwoCutoffs,
    Where,
)
from closecall.errors import UsageError

Rule: TypeAlias = Cutoff | TwoCutoffs
"""What decides: one cutoff, or two with a band between them that is left to a person."""

DEFAULT_MAX_FAR = 0.05


class Goal(msgspec.Struct, frozen=True, kw_only=True):
    """The goal of a calibration; the fields are the parameters of ``fit_cutoff``.

    One of ``max_far``, ``max_frr``, ``costs`` and ``objective`` is given, or both of the first
    two for two cutoffs; anything else raises ``UsageError``. What their values may be is checked
    by ``fit``.
    """

    max_far: float | None = None
    max_frr: float | None = None
    costs: Costs | None = None
    objective: Objective | None = None
    confidence: float = 0.95
    guarantee: Guarantee = "exact"
    where: Where = "mid"
    estimator: Estimator | None = None
    looks: int = 1
    decimals: int | None = DECIMALS
    seed: int = 0

    def __post_init__(self) -> None:
        given = [
            name
            for name in ("max_far", "max_frr", "costs", "objective")
            if getattr(self, name) is not None
        ]
        if len(given) != 1 and given != ["max_far", "max_frr"]:
            raise UsageError(
                f"a goal is one of max_far, max_frr, costs and objective, or max_far with max_frr "
                f"for two cutoffs; got {', '.join(given) or 'none of them'}"
            )
        if self.two and self.estimator is not None:
            raise UsageError("an estimator is for costs and objectives; a promise has its rule")

    @property
    def two(self) -> bool:
        """Whether two cutoffs are asked for."""
        return self.max_far is not None and self.max_frr is not None

    @property
    def promises(self) -> bool:
        """Whether an error rate is promised."""
        return self.max_far is not None or self.max_frr is not None

    @property
    def delta(self) -> float:
        """How often the procedure may break its promises, before any division."""
        return complement(self.confidence)

    def fit(self, data: Labelled) -> Rule | Infeasible:
        """Return the rule for these rows, or why there is none."""
        groups = data.groups
        if self.max_far is not None and self.max_frr is not None:
            return fit_two_cutoffs(
                data.scores,
                data.accept,
                groups,
                max_far=self.max_far,
                max_frr=self.max_frr,
                confidence=self.confidence,
                guarantee=self.guarantee,
                where=self.where,
                looks=self.looks,
                decimals=self.decimals,
                seed=self.seed,
            )
        return fit_cutoff(
            data.scores,
            data.accept,
            groups,
            max_far=self.max_far,
            max_frr=self.max_frr,
            costs=self.costs,
            objective=self.objective,
            confidence=self.confidence,
            guarantee=self.guarantee,
            where=self.where,
            estimator=self.estimator,
            looks=self.looks,
            decimals=self.decimals,
            seed=self.seed,
        )


def promise_words(limit: float, of: str) -> str:
    """Return the promise in words, of ``max_far`` or ``max_frr``."""
    if of not in {"max_far", "max_frr"}:
        raise UsageError(f"a promise is max_far or max_frr, not {of!r}")
    share = limit_words(limit)
    if of == "max_far":
        return f"at most {share} of wrong answers are accepted"
    return f"at most {share} of good answers are rejected"

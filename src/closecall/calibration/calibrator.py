"""``Calibrator``: from scores and labels in arrays to a cutoff, in scikit-learn's manner."""

from __future__ import annotations

from typing import Any, Self

import numpy as np
from numpy.typing import ArrayLike, NDArray

from closecall.calibration.curve import curve_of
from closecall.calibration.decisions import accepted
from closecall.calibration.estimators import Estimator
from closecall.calibration.evidence.held_out import HeldOut, held_out
from closecall.calibration.evidence.probability import ProbabilityMap, fit_probability, probability
from closecall.calibration.evidence.venn_abers import VennAbers, venn_abers
from closecall.calibration.goals import DEFAULT_MAX_FAR, Goal, Rule
from closecall.calibration.inputs import DECIMALS, Floats, Groups, Labels, labelled
from closecall.calibration.records import (
    Costs,
    Cutoff,
    Decision,
    Guarantee,
    Infeasible,
    Objective,
    Where,
)
from closecall.calibration.sample import units
from closecall.calibration.separation import Separation, separation
from closecall.errors import NoCutoffError, UsageError

_PARAMETERS = (
    *("max_far", "max_frr", "costs", "objective", "confidence", "guarantee", "where"),
    *("estimator", "looks", "decimals", "seed"),
)


class Calibrator:
    """Fit a cutoff on labelled scores, look at what backs it, apply it to others.

    The parameters are those of ``fit_cutoff``; with both ``max_far`` and ``max_frr`` there are
    two cutoffs. Without a goal, at most 5% of what a person rejects is accepted. They are kept as
    attributes, so that ``get_params`` and ``sklearn.base.clone`` work.

    >>> scores = [at / 100 for at in range(100)]
    >>> labels = ["reject"] * 60 + ["accept"] * 40
    >>> fitted = Calibrator(max_far=0.05).fit(scores, labels)
    >>> fitted.rule_.value, fitted.predict([0.4, 0.9]).tolist()
    (0.595, [False, True])
    >>> fitted.held_out_.false_accept_rate is None  # four fifths of 60 rejects cannot promise 5%
    True

    Answers to one question are alike. Say which belong together, and the promise is about
    questions: one reject is drawn from each.

    >>> asked = [f"question {at % 80}" for at in range(100)]
    >>> Calibrator(max_far=0.05).fit(scores, labels, groups=asked).rule_.evidence.per
    'group'

    Attributes
    ----------
    rule_
        A ``Cutoff``, ``TwoCutoffs``, or ``Infeasible`` with the reason why there is none.
    separation_
        How often an accept outscores a reject, with an interval; None where a class is empty.
    held_out_
        What cross-validation, by group, says of the whole procedure; None where there is no rule.
    probability_
        The map to the probability that a person accepts; None where scores do not rise with it.
    """

    rule_: Rule | Infeasible
    separation_: Separation | None
    held_out_: HeldOut | None
    probability_: ProbabilityMap | None

    def __init__(
        self,
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
    ) -> None:
        self.max_far = max_far
        self.max_frr = max_frr
        self.costs = costs
        self.objective = objective
        self.confidence = confidence
        self.guarantee = guarantee
        self.where = where
        self.estimator = estimator
        self.looks = looks
        self.decimals = decimals
        self.seed = seed

    def __repr__(self) -> str:
        default = type(self)().get_params()
        given = {k: v for k, v in self.get_params().items() if v != default[k]}
        made = f"Calibrator({', '.join(f'{k}={v!r}' for k, v in given.items())})"
        rule = getattr(self, "rule_", None)
        if rule is None:
            return made
        # Two lines at most, so that a notebook shows what was found.
        return f"{made}\n  {' '.join(repr(rule).split())}"

    def get_params(self, deep: bool = True) -> dict[str, Any]:  # noqa: FBT001, FBT002 - its API
        """Return the parameters by name, as scikit-learn asks for them."""
        del deep
        return {name: getattr(self, name) for name in _PARAMETERS}

    def set_params(self, **params: Any) -> Self:
        """Set parameters by name."""
        for name, value in params.items():
            if name not in _PARAMETERS:
                raise UsageError(f"Calibrator has no {name!r}; it has {', '.join(_PARAMETERS)}")
            setattr(self, name, value)
        return self

    def fit(self, scores: ArrayLike, labels: Labels, groups: Groups | None = None) -> Self:
        """Choose the cutoff, cross-validate the choice, and map scores to probabilities.

        Parameters
        ----------
        scores
            (n,), finite; the higher, the closer.
        labels
            (n,): bools, ``Label``, or "accept" and "reject". Of 0 and 1 pass ``y == 1``: a number
            does not say which of the two is good.
        groups
            (n,) texts or whole numbers, where several rows belong to one question.
        """
        data = labelled(scores, labels, groups, decimals=self.decimals)
        goal = self._goal()
        curve = curve_of(data)
        self.rule_ = goal.fit(data)
        both = curve.accepts > 0 and curve.rejects > 0
        self.separation_ = (
            separation(curve, accepts=units(data, data.accept), rejects=units(data, ~data.accept))
            if both
            else None
        )
        self.held_out_ = self.probability_ = None
        self._venn_abers: VennAbers | None = None
        if not isinstance(self.rule_, Infeasible):
            self.held_out_ = held_out(data, goal.fit, seed=self.seed)
            self.probability_ = fit_probability(data)
            self._venn_abers = venn_abers(data)
        return self

    def predict(self, scores: ArrayLike) -> NDArray[np.bool_]:
        """Return which scores are accepted; with two cutoffs, the unsure ones are not.

        Raises
        ------
        NoCutoffError
            There is no cutoff; the message says why.
        """
        rule = self._rule()
        return accepted(rule if isinstance(rule, Cutoff) else rule.accept, scores)

    def decide(self, scores: ArrayLike) -> list[Decision]:
        """Return the decision on each of the scores, (n,)."""
        rule = self._rule()
        certain = self.predict(scores)
        if isinstance(rule, Cutoff):
            return [Decision.ACCEPT if yes else Decision.REJECT for yes in certain]
        possible = accepted(rule.reject, scores)
        return [
            Decision.ACCEPT if yes else Decision.UNSURE if maybe else Decision.REJECT
            for yes, maybe in zip(certain, possible, strict=True)
        ]

    def predict_proba(self, scores: ArrayLike) -> Floats:
        """Return (n, 2): the probabilities that a person rejects, and that one accepts.

        On data like the labels. They do not decide: the cutoff does.

        Raises
        ------
        NoCutoffError
            There is no cutoff, or scores do not rise with acceptance.
        """
        self._rule()
        if self.probability_ is None:
            raise NoCutoffError("scores do not rise with acceptance: no probability can be told")
        accept = probability(self.probability_, scores)
        return np.column_stack((1 - accept, accept))

    def probability_interval(self, scores: ArrayLike) -> tuple[Floats, Floats]:
        """Return the two Venn-Abers probabilities of each score; their distance is ignorance."""
        self._rule()
        if self._venn_abers is None:
            raise NoCutoffError("fit before asking for probabilities")
        return self._venn_abers.interval(scores)

    def _goal(self) -> Goal:
        params = self.get_params()
        if all(params[name] is None for name in ("max_far", "max_frr", "costs", "objective")):
            params["max_far"] = DEFAULT_MAX_FAR
        return Goal(**params)

    def _rule(self) -> Rule:
        rule = getattr(self, "rule_", None)
        if rule is None:
            raise UsageError("this Calibrator is not fitted: call fit(scores, labels) first")
        if isinstance(rule, Infeasible):
            raise NoCutoffError(f"{rule.message}; {rule.advice}")
        found: Rule = rule
        return found

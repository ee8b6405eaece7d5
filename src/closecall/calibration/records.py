"""What a calibration says: a cutoff with its evidence, or why there is none.

Frozen records, all of them JSON as they stand: integers, finite floats, text and None. Nothing
here needs numpy or scipy.

*Accept* and *reject* are what a person said of a response. A false accept is a response a person
rejects and the cutoff accepts; a false reject is one a person accepts and the cutoff rejects.
The false-accept rate is a share of the rejects, the false-reject rate a share of the accepts.
"""

from __future__ import annotations

import functools
import math
from enum import StrEnum
from fractions import Fraction
from typing import Literal, TypeAlias

import msgspec

from closecall.errors import UsageError

Where: TypeAlias = Literal["mid", "strict", "loose"]
"""Where in the gap between two observed scores a cutoff stands: in the middle, on the higher
score, or just above the lower one. All accept the same labelled rows."""

Errors: TypeAlias = Literal["false_accepts", "false_rejects"]
"""Which error a promise is about."""

Guarantee: TypeAlias = Literal["exact", "average", "approximate"]
"""``exact``: the procedure breaks the promise with a probability that is known and at most delta.
``average``: the rate keeps the promise on average over calibrations; how often it exceeds the
limit is told by ``Certificate.violation_probability``. ``approximate``: as exact, corrected for
groups by an estimated design effect."""

Objective: TypeAlias = Literal["cost", "f1", "youden", "accuracy"]

MOST_DECIMALS = 15
"""Decimals of a score between 0 and 1 that a float64 can tell apart."""


class Decision(StrEnum):
    """What a cutoff, or a pair of them, says of a score."""

    ACCEPT = "accept"
    REJECT = "reject"
    UNSURE = "unsure"


class Reason(StrEnum):
    """Why there is no cutoff."""

    TOO_FEW_LABELS = "too_few_labels"
    """Fewer than ten accepts or ten rejects: no decision of any kind."""
    CONSTANT_SCORES = "constant_scores"
    """Every score is the same."""
    INVERTED_SCORES = "inverted_scores"
    """Accepts score lower than rejects."""
    PROMISE_OUT_OF_REACH = "promise_out_of_reach"
    """Even with no error at all the labels are too few to back the promise."""
    ACCEPTS_NOBODY = "accepts_nobody"
    """The only rule that qualifies accepts no response at all."""
    NO_JUDGE = "no_judge"
    """Too few labels to fit a judge, or it is no better than a score that needs none."""


class Counts(msgspec.Struct, frozen=True, kw_only=True):
    """What a cutoff does to labelled responses, in integers.

    A false accept is a response a person rejects and the cutoff accepts; a false reject is one
    a person accepts and the cutoff rejects.
    """

    true_accepts: int
    false_rejects: int
    false_accepts: int
    true_rejects: int

    def __post_init__(self) -> None:
        if min(self.true_accepts, self.false_rejects, self.false_accepts, self.true_rejects) < 0:
            raise ValueError("counts: none is below 0")

    @property
    def accepts(self) -> int:
        """How many a person accepts."""
        return self.true_accepts + self.false_rejects

    @property
    def rejects(self) -> int:
        """How many a person rejects."""
        return self.false_accepts + self.true_rejects


class Interval(msgspec.Struct, frozen=True, kw_only=True):
    """A range for an unknown quantity, with its confidence level and how it was made."""

    low: float
    high: float
    level: float
    method: str


class Rate(msgspec.Struct, frozen=True, kw_only=True):
    """``count`` of ``n``, as integers, with an interval for the rate behind them; n >= 1."""

    count: int
    n: int
    interval: Interval

    def __post_init__(self) -> None:
        if not 0 <= self.count <= self.n or self.n < 1:
            raise ValueError(f"{self.count} of {self.n} is not a rate")

    @property
    def value(self) -> float:
        """The observed share, for display: counts are never recomputed from it."""
        return self.count / self.n


class Gap(msgspec.Struct, frozen=True, kw_only=True):
    """Every cutoff t with ``low < t <= high`` accepts the same labelled rows.

    Both ends are observed scores; ``low`` is None below the lowest.
    """

    low: float | None
    high: float

    def holds(self, value: float) -> bool:
        """Whether a cutoff of ``value`` lies in the gap."""
        return value <= self.high and (self.low is None or self.low < value)


class Costs(msgspec.Struct, frozen=True, kw_only=True):
    """What one false accept and one false reject cost, in any common unit, both above 0.

    ``base_rate`` is the share of acceptable responses where the cutoff will be used; None takes
    the share among the labelled rows.
    """

    false_accept: float
    false_reject: float
    base_rate: float | None = None

    def __post_init__(self) -> None:
        for name in ("false_accept", "false_reject"):
            cost = getattr(self, name)
            if not (math.isfinite(cost) and cost > 0):
                raise UsageError(f"{name} must be a finite cost above 0, got {cost!r}")
        if self.base_rate is not None and not 0 < self.base_rate < 1:
            raise UsageError(
                f"base_rate must lie between 0 and 1, got {self.base_rate!r}: "
                "it is the share of acceptable responses"
            )


class Clusters(msgspec.Struct, frozen=True, kw_only=True):
    """How rows of one group move together, for one kind of error.

    ``correlation`` is the estimate of the correlation within a group, None where the rows cannot
    say (no errors, or no group of two); ``used`` is the larger of it and a floor. ``n`` rows in
    ``groups`` groups then weigh as much as ``n / design_effect`` independent ones.
    """

    n: int
    groups: int
    correlation: float | None
    used: float
    design_effect: float


class Certificate(msgspec.Struct, frozen=True, kw_only=True, tag="certificate"):
    """A promise on an error rate and what backs it.

    The promise: at most ``limit`` of the class is decided wrongly. ``errors`` names the error,
    ``per`` whether the rate weighs every row or every group alike. ``n`` labels of the class were
    used, ``allowed`` of them may be decided wrongly, ``observed`` are.

    With guarantee ``exact``, ``violation_probability`` is the probability, over the draw of the
    labels, that the procedure's rate exceeds ``limit``: equal to it for continuous scores, at
    most it with ties. With ``average`` it is the same number, which is large by nature; the rate
    itself is at most ``expected`` on average. With ``approximate`` it is None.

    ``delta`` is what this certificate may spend, after the division among ``looks`` and among the
    promises made together; None for ``average``. ``upper_bound`` is the one-sided bound at
    1 - delta on the rate at this one cutoff, at most ``limit``; None for ``average``. ``seed``
    drew one row a group, where groups were given and the guarantee is not ``approximate``.
    """

    errors: Errors
    guarantee: Guarantee
    method: str
    per: Literal["row", "group"]
    limit: float
    delta: float | None
    looks: int
    n: int
    allowed: int
    observed: int
    upper_bound: float | None
    expected: float | None
    violation_probability: float | None
    clusters: Clusters | None = None
    seed: int | None = None

    def __post_init__(self) -> None:
        if not 0 < self.limit < 1:
            raise ValueError(f"limit: {self.limit!r} does not lie between 0 and 1")
        if self.delta is not None and not 0 < self.delta < 1:
            raise ValueError(f"delta: {self.delta!r} does not lie between 0 and 1")
        if min(self.n, self.observed, self.allowed) < 0 or self.looks < 1:
            raise ValueError("n, observed and allowed are at least 0, and looks at least 1")

    @property
    def exact(self) -> bool:
        """Whether the promise holds with the stated probability, without approximation."""
        return self.guarantee == "exact"


class Optimum(msgspec.Struct, frozen=True, kw_only=True, tag="optimum"):
    """What a cutoff without a promise is best at, on the labelled rows.

    ``value`` is the objective there (a cost is per response, smaller is better), optimistic since
    the rows chose the cutoff. ``best`` is the best value any cutoff has on these rows,
    ``plateau`` the range of neighbouring cutoffs that share it, from the highest down, and
    ``tied`` how many rules share it in all.
    """

    objective: Objective
    estimator: Literal["empirical", "bagged", "platt"]
    value: float
    best: float
    plateau: Gap | None
    tied: int
    costs: Costs | None = None
    seed: int | None = None


class Cutoff(msgspec.Struct, frozen=True, kw_only=True, tag="one"):
    """Accept a response if and only if its score, rounded to ``decimals``, is at least ``value``.

    ``decimals`` None means scores are compared as they come. ``where`` is None where a rule of
    its own put the cutoff in its gap: an estimator, or two promises kept by one. ``counts`` and
    the rates are what the cutoff does to the labelled rows it was chosen on; a rate is None where
    its class is empty.
    """

    value: float
    gap: Gap
    where: Where | None
    decimals: int | None
    counts: Counts
    false_accept_rate: Rate | None
    false_reject_rate: Rate | None
    evidence: Certificate | Optimum

    def __post_init__(self) -> None:
        if self.decimals is not None and not 0 <= self.decimals <= MOST_DECIMALS:
            raise ValueError(f"decimals: allowed are 0 to {MOST_DECIMALS} and null")
        if not math.isfinite(self.value) or not self.gap.holds(self.value):
            raise ValueError(f"{self.value!r} is no cutoff in {self.gap}")

    def __repr__(self) -> str:
        return f"Cutoff({self.value:.10g}: {_backed(self.evidence)}; {_done(self.counts)})"


class TwoCutoffs(msgspec.Struct, frozen=True, kw_only=True, tag="two"):
    """Accept from ``accept`` up, reject below ``reject``, unsure between.

    Both promises hold together with probability 1 - ``delta`` at least. Where one cutoff keeps
    both, the two are the same and nothing is ever unsure. ``unsure`` counts the labelled rows
    between them.
    """

    accept: Cutoff
    reject: Cutoff
    unsure: Rate
    unsure_accepts: int
    unsure_rejects: int
    delta: float

    def __post_init__(self) -> None:
        if self.reject.value > self.accept.value:
            raise ValueError("the rejecting cutoff stands above the accepting one")

    def __repr__(self) -> str:
        accept, reject = self.accept, self.reject
        return (
            f"TwoCutoffs(accept from {accept.value:.10g}: {_backed(accept.evidence)},\n"
            f"  reject below {reject.value:.10g}: {_backed(reject.evidence)}; "
            f"{self.unsure.count} of {self.unsure.n} unsure)"
        )

    @property
    def abstains(self) -> bool:
        """Whether any score is left unsure."""
        return self.reject.value < self.accept.value


class Infeasible(msgspec.Struct, frozen=True, kw_only=True):
    """There is no cutoff: ``message`` says why, ``advice`` what to do.

    ``accepts`` and ``rejects`` are the labelled rows. ``best_limit`` is the smallest limit these
    labels can back with a cutoff that accepts somebody, None where there is none. ``more_accepts``
    and ``more_rejects`` are how many more labels at least are needed (groups with such a label,
    where groups were given); None where no number of labels is known to be enough.
    ``alternatives`` names other guarantees that the same labels do give a cutoff for.
    """

    reason: Reason
    message: str
    advice: str
    accepts: int
    rejects: int
    errors: Errors | None = None
    limit: float | None = None
    delta: float | None = None
    best_limit: float | None = None
    more_accepts: int | None = None
    more_rejects: int | None = None
    alternatives: tuple[Guarantee, ...] = ()

    def __repr__(self) -> str:
        return f"Infeasible({self.reason.value}: {self.message};\n  {self.advice})"


def _backed(evidence: Certificate | Optimum) -> str:
    """Return what backs a cutoff, in a few words."""
    if isinstance(evidence, Optimum):
        return f"no guarantee, {evidence.objective} {evidence.value:.3g}"
    return f"{evidence.errors.replace('_', ' ')} at most {evidence.limit:g}, {evidence.guarantee}"


def _done(counts: Counts) -> str:
    """Return the errors among the labels."""
    return (
        f"{counts.false_accepts} of {counts.rejects} rejects accepted, "
        f"{counts.false_rejects} of {counts.accepts} accepts rejected"
    )


@functools.lru_cache(maxsize=256)
def typed(number: float) -> Fraction:
    """Return the decimal a person typed: 0.05 is 1/20 here, not the nearest binary fraction."""
    return Fraction(repr(float(number)))

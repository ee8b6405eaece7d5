"""A calibration as a run uses it: what decides, on what grounds, and how near is too near."""

from __future__ import annotations

from typing import TYPE_CHECKING, Literal

import msgspec

from closecall.calibration.records import Certificate, Decision, Guarantee

if TYPE_CHECKING:
    from closecall.calibration.artefact import Calibration


JUDGED = "; the judge was fitted to the same labels"
"""Said of a promise whose labels also fitted the metric."""


class Applied(msgspec.Struct, frozen=True, kw_only=True):
    """The part of a calibration that a run keeps, so that old runs can be read without the file.

    ``reject`` is None with one cutoff. ``bands`` are the ranges of scores that are close calls,
    both ends in them. ``evidence`` is that of each promise. ``cases`` is the digest of the cases
    whose labels chose the cutoff. ``uncalibrated`` marks a cutoff that was used although it was
    fitted with something else. ``max_far``, ``max_frr`` and ``confidence`` are its promise in
    numbers, ``guarantee`` how firm it is and ``per`` what its rate weighs alike, rows or groups;
    None where no promise is made.
    """

    path: str
    digest: str
    created: str
    metric: str
    accept: float
    reject: float | None
    decimals: int | None
    promise: str
    evidence: str
    bands: tuple[tuple[float, float], ...]
    labels: int
    cases: str
    uncalibrated: bool = False
    max_far: float | None = None
    max_frr: float | None = None
    confidence: float | None = None
    guarantee: Guarantee | None = None
    per: Literal["row", "group"] | None = None

    @classmethod
    def of(cls, made: Calibration, path: str, *, uncalibrated: bool = False) -> Applied:
        """Return what a run needs of a calibration."""
        from closecall.calibration.words import evidence_words, goal_words

        accept, reject = made.accept_cutoff, made.reject_cutoff
        backed = [accept] if reject is None else [accept, reject]
        proof = accept.evidence if isinstance(accept.evidence, Certificate) else None
        return cls(
            path=path,
            digest=made.digest,
            created=made.created,
            metric=made.metric.id,
            accept=accept.value,
            reject=None if reject is None else reject.value,
            decimals=accept.decimals,
            promise=goal_words(made.goal, approximate=made.approximate),
            evidence="; ".join(evidence_words(cutoff.evidence) for cutoff in backed)
            + (JUDGED if made.approximate else ""),
            bands=tuple((band.low, band.high) for band in made.close_calls),
            labels=made.data.used,
            cases=made.data.digest,
            uncalibrated=uncalibrated,
            max_far=made.goal.max_far,
            max_frr=made.goal.max_frr,
            confidence=None if proof is None else made.goal.confidence,
            guarantee=None
            if proof is None
            else "approximate"
            if made.approximate
            else proof.guarantee,
            per=None if proof is None else proof.per,
        )

    def rounded(self, score: float) -> float:
        """Return a score as it is compared with the cutoffs."""
        from closecall.calibration.inputs import round_score

        return round_score(score, self.decimals)

    def decide(self, score: float) -> Decision:
        """Return the decision on a score, by the rule of ``decisions.decide``."""
        value = self.rounded(score)
        if value >= self.accept:
            return Decision.ACCEPT
        unsure = self.reject is not None and value >= self.reject
        return Decision.UNSURE if unsure else Decision.REJECT

    def close(self, score: float) -> bool:
        """Whether a score is a close call."""
        value = self.rounded(score)
        return any(low <= value <= high for low, high in self.bands)

    @property
    def words(self) -> str:
        """What every surface says of this cutoff: the promise, its evidence and its date."""
        day = self.created.partition("T")[0]
        if self.uncalibrated:
            return (
                f"UNCALIBRATED: fitted {day} with another embedder or metric, so nothing is known "
                "of its errors here"
            )
        return f"calibrated {day} on {self.labels:,} labels: {self.promise}; {self.evidence}"

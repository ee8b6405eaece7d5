"""``fitted_judge``: how likely a person accepts, by a head that a calibration holds.

It cannot be asked for by name alone: the coefficients come from labels, and live in the
calibration file those labels made.
"""

from __future__ import annotations

from collections.abc import Sequence

from closecall.embedders.base import TextKey, VectorLookup
from closecall.errors import CalibrationFileError
from closecall.metrics.base import DECIMALS, SCORE_DECIMALS, BatchMetric, LoadingMetric, MetricSpec
from closecall.metrics.cutoffs import PERCENT, UNIT, checked_cutoff
from closecall.metrics.fitted.head import (
    NAME,
    JudgeHead,
    Part,
    chance,
    flaw_of,
    judge_id,
    version_of,
)
from closecall.metrics.fitted.reading import read, texts_of, with_support
from closecall.metrics.fitted.support import support_as_fitted, supports
from closecall.records import JSON, Case, Measured, Measurement, Unmeasured

SHOWN = 5
"""Contributions that a verdict is explained by."""


class FittedJudge:
    """``fitted_judge``: 0 to 1, how likely a person accepts; no default cutoff.

    The details explain each number: what the features with the largest part added to the log
    odds, beside a case that is in all features the mean of the labels. A large part says what the
    head went by, not what is wrong with the answer.

    Parameters
    ----------
    head
        From a calibration: ``calibration.judge.head``.
    cutoff
        0 to 1. None (default): a number without a verdict; the calibration has the cutoff.

    Raises
    ------
    CalibrationFileError
        The head was fitted on other features than there are.
    InstrumentMismatchError
        It was fitted with another pair model than there is.
    """

    NAME = NAME

    def __init__(self, head: JudgeHead, cutoff: float | None = None) -> None:
        flaw = flaw_of(head)
        if flaw is not None:
            raise CalibrationFileError(
                f"the judge in the calibration does not fit this version of closecall: {flaw}; "
                "fit it anew with: closecall calibrate FILE --judge"
            )
        self.head = head
        self._support: BatchMetric | None = None
        if head.support is not None:
            self._support = support_as_fitted(head.sides, head.support)
        self.cutoff = None if cutoff is None else checked_cutoff(self.NAME, cutoff, 0.0, UNIT)
        self.spec = MetricSpec(
            id=judge_id(head.sides),
            name=self.NAME,
            version=version_of(head),
            needs=(head.sides, "response"),
            default_cutoff=None,
            low=0.0,
            high=UNIT,
            description="How likely a person accepts, by a head fitted to labels.",
            # Only where it is used: runs of judges without it keep their identity.
            options={"sides": head.sides, **({"support": True} if head.support else {})},
            fitted_on=(head.trained,),
            quantity="judged acceptance",
            # What the guards find is among the features of the large heads, weighed there.
            guarded="negation_differ" not in head.features,
        )

    def __repr__(self) -> str:
        return f"FittedJudge({self.spec.id!r}, {self.spec.version}, cutoff={self.cutoff})"

    def texts(self, case: Case) -> tuple[TextKey, ...] | Unmeasured:
        """Return the texts to embed token by token, or why nothing can be measured."""
        return texts_of(case, self.head.sides)

    def load(self) -> None:
        """Load the pair model, where the head weighs what it says; again it does nothing.

        Raises
        ------
        ConfigurationError
            It cannot be run here.
        """
        if isinstance(self._support, LoadingMetric):
            self._support.load()

    def measure(self, case: Case, vectors: VectorLookup) -> Measurement:
        """Measure one case; two or three milliseconds with the vectors at hand.

        The pair model adds its own, where the head weighs what it says; see ``answer_support``.
        """
        return self.measure_batch([case], vectors)[0]

    def measure_batch(self, cases: Sequence[Case], vectors: VectorLookup) -> Sequence[Measurement]:
        """Return one measurement a case, in order; the pair model reads them all at once."""
        support = supports(self._support, cases, vectors)
        return [
            self._measured(case, vectors, own) for case, own in zip(cases, support, strict=True)
        ]

    def _measured(
        self, case: Case, vectors: VectorLookup, support: Measurement | None
    ) -> Measurement:
        found = with_support(read(case, self.head.sides, vectors), self.head.sides, support)
        if isinstance(found, Unmeasured):
            return found
        parts = self.head.parts(found.features)
        logit = self.head.logit(found.features)
        value = chance(logit)
        details: dict[str, JSON] = {
            "logit": round(logit, DECIMALS) + 0.0,
            "bias": self.head.intercept,
            "contributions": [_shown(part) for part in parts[:SHOWN]],
            "others": round(sum(part.logits for part in parts[SHOWN:]), DECIMALS) + 0.0,
            "explanation": explanation(parts),
        }
        if self.head.sides == "references" and len(case.references) > 1:
            details["bestReference"] = found.best
        return Measured(
            similarity=value,
            value=value,
            score=round(PERCENT * value, SCORE_DECIMALS),
            details=details,
            tokens=found.tokens,
        )


def explanation(parts: list[Part]) -> str:
    """Return the largest contributions in words, those for acceptance first."""
    shown = [part for part in parts[:SHOWN] if round(part.logits, 2)]
    speaking = [
        (word, [part for part in shown if (part.logits > 0) == positive])
        for word, positive in (("for", True), ("against", False))
    ]
    said = [
        f"{word}: {', '.join(f'{part.feature.words} ({part.logits:+.2f})' for part in some)}"
        for word, some in speaking
        if some
    ]
    return "; ".join(said) or "nothing stands out: all is near the mean of the labels"


def _shown(part: Part) -> dict[str, JSON]:
    return {
        "feature": part.feature.name,
        "words": part.feature.words,
        "value": part.value,
        "contribution": round(part.logits, DECIMALS) + 0.0,
    }

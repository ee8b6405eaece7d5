"""The calibration file: a cutoff, all that backs it, and what it may be used with.

One JSON object. It is bound to the metric's version and to the instrument, whose canary vectors
it holds; it keeps the labelled texts (unless told not to), so that the same labels can be scored
again after the embedder changed. ``store`` writes and reads it.
"""

from __future__ import annotations

from typing import TypeAlias

import msgspec

from closecall.calibration.cautions import Caution
from closecall.calibration.drift.canary_record import CanaryRecord
from closecall.calibration.evidence.close_calls import CloseCalls
from closecall.calibration.evidence.held_out import HeldOut
from closecall.calibration.evidence.locked import LockedTest
from closecall.calibration.evidence.probability import BetaMap, PlattMap
from closecall.calibration.evidence.slices import SliceTable
from closecall.calibration.evidence.slicing import Slicer
from closecall.calibration.goals import Goal
from closecall.calibration.head.judge import Judge
from closecall.calibration.labels.agreement import Agreement
from closecall.calibration.labels.audit import Conflict, LabelAudit
from closecall.calibration.records import Counts, Cutoff, Interval, TwoCutoffs
from closecall.calibration.sample import Sample
from closecall.instrument import Instrument
from closecall.metrics.base import MetricSpec

SCHEMA = "closecall-calibration/1"


class MetricFacts(msgspec.Struct, frozen=True, kw_only=True, omit_defaults=True):
    """The metric whose values the cutoff is compared with.

    ``judges`` names the chat models that gave them, as ``--judge-model`` takes them.
    """

    id: str
    name: str
    version: str
    needs: tuple[str, ...]
    low: float | None
    high: float | None
    judges: tuple[str, ...] = ()

    @classmethod
    def of(cls, spec: MetricSpec) -> MetricFacts:
        """Return the facts of a metric."""
        return cls(
            id=spec.id,
            name=spec.name,
            version=spec.version,
            needs=spec.needs,
            low=spec.low,
            high=spec.high,
        )


class SeparationFacts(msgspec.Struct, frozen=True, kw_only=True):
    """How often an accept outscores a reject: a measure of ranking, not of the cutoff."""

    auc: float
    interval: Interval


class OtherPromise(msgspec.Struct, frozen=True, kw_only=True):
    """What the same labels say of another limit: its cutoff and counts, or the labels it lacks.

    ``counts`` are of all rows that chose it; ``observed`` of ``n`` independent ones of the class
    at risk are decided wrongly. ``more`` is how many of these lack at least, None where the limit
    has a cutoff and where no number of labels is known to be enough.

    Informative: one promise is chosen before the labels are looked at; see ``Goal.looks``.
    """

    limit: float
    value: float | None
    counts: Counts | None
    observed: int | None
    n: int
    more: int | None


class DataFacts(msgspec.Struct, frozen=True, kw_only=True):
    """The labels that were used, and every row that was not.

    ``digest`` is that of the cases of the whole file. ``used`` rows chose the cutoff: so many
    ``accepts`` and ``rejects``, in ``groups`` groups (None where every row is on its own);
    ``locked`` ones only tested it. These, ``unlabelled``, ``merged``, ``unmeasured`` (labelled,
    without a score, by reason), those of ``conflicts`` and those of ``Sample.trained`` are all
    ``rows``. For ``attributed`` of the pairs of ``agreement`` two annotators are named. ``joined``
    groups shared an item with another and count as one with it. ``made_up`` labels are of answers
    that ``closecall stress`` edited.
    """

    name: str
    digest: str
    rows: int
    unlabelled: int
    used: int
    accepts: int
    rejects: int
    groups: int | None
    grouped_by: str
    locked: int
    merged: int
    conflicts: tuple[Conflict, ...]
    unmeasured: dict[str, int]
    truncated: int
    active: int
    agreement: Agreement | None
    noise_floor: float | None
    attributed: int = 0
    joined: int = 0
    made_up: int = 0


Probability: TypeAlias = PlattMap | BetaMap


class Calibration(msgspec.Struct, frozen=True, kw_only=True, omit_defaults=True):
    """Everything a calibration found, with the identity of what it may be used with.

    ``tried`` counts the calibrations on these very labels, this one included. ``embedder`` is the
    name the embedder was asked for by. Of the optional parts: ``held_out`` is None when the
    labels are too few to split; ``locked`` when they are too few to set a third aside, or it was
    not wanted; ``probability`` when scores do not rise with acceptance. ``judge`` is there where
    the metric is a head that was fitted to labels of this very file.
    """

    schema: str
    digest: str
    created: str
    producer: str
    metric: MetricFacts
    embedder: str
    window: str
    instrument: Instrument
    instrument_digest: str
    goal: Goal
    rule: Cutoff | TwoCutoffs
    separation: SeparationFacts
    promises: tuple[OtherPromise, ...]
    held_out: HeldOut | None
    locked: LockedTest | None
    slices: SliceTable
    close_calls: tuple[CloseCalls, ...]
    probability: Probability | None
    audit: LabelAudit
    data: DataFacts
    cautions: tuple[Caution, ...]
    tried: int
    slicer: Slicer
    canaries: CanaryRecord
    sample: Sample
    judge: Judge | None = None

    def __repr__(self) -> str:
        return (
            f"Calibration({self.metric.id} by {self.embedder}, made {self.created} of "
            f"{self.data.used} labels,\n  {self.rule!r})"
        )

    @property
    def approximate(self) -> bool:
        """Whether labels that chose the cutoff had a part in fitting the metric."""
        return self.judge is not None and self.judge.approximate

    @property
    def accept_cutoff(self) -> Cutoff:
        """The cutoff to accept from."""
        return self.rule if isinstance(self.rule, Cutoff) else self.rule.accept

    @property
    def reject_cutoff(self) -> Cutoff | None:
        """The cutoff to reject below, where there are two that differ."""
        if isinstance(self.rule, Cutoff) or not self.rule.abstains:
            return None
        return self.rule.reject

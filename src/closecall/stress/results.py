"""What a stress test found: records without behaviour beyond their own sums."""

from __future__ import annotations

import msgspec

from closecall.calibration.records import Rate
from closecall.records import Case, State
from closecall.stress.cost import PairCost
from closecall.stress.edits import Kind
from closecall.stress.sources import Base


class Example(msgspec.Struct, frozen=True, kw_only=True):
    """One edited answer that was decided wrongly, or of those without a cutoff the highest."""

    id: str
    source: str
    before: str
    after: str
    response: str
    value: float


class FamilyResult(msgspec.Struct, frozen=True, kw_only=True):
    """One family of edits under one metric.

    Of ``measured`` answers in ``groups`` groups, ``accepted``, ``rejected`` and ``unsure`` were
    decided, ``scored`` had no cutoff; ``absent`` counts those not measured by reason. ``held`` of
    them the cutoff accepts and a guard holds back, so they are unsure or rejected. ``rate`` is
    the share decided wrongly, unsure ones included in its n: false accepts of a wrong family,
    false rejects of a harmless one; its interval allows for several answers to one question. None
    where nothing was decided. ``median`` is of the values. ``as_high`` counts the measured that a
    cutoff at ``MetricStress.harmless_low`` would accept, None where there is none.
    """

    family: str
    kind: Kind
    measured: int
    groups: int
    accepted: int
    rejected: int
    unsure: int
    scored: int
    held: int
    absent: dict[str, int]
    median: float | None
    as_high: int | None
    rate: Rate | None
    example: Example | None

    @property
    def errors(self) -> int:
        """How many were decided wrongly."""
        return self.accepted if self.kind == "wrong" else self.rejected

    @property
    def by_score(self) -> int:
        """How many the cutoff alone accepts, whatever guards do then."""
        return self.accepted + self.held


class MetricStress(msgspec.Struct, frozen=True, kw_only=True):
    """All families under one metric, each in the order of ``stress.edits.FAMILIES``.

    ``cutoff`` None: there are no verdicts. ``harmless_low`` is the value that at least nine in ten
    harmless edits reach, of those that change a text; None where there are none. ``high`` is the
    upper end of the metric's scale, None where it has none. ``cost`` is that of a pair model, None
    for other metrics.
    """

    metric: str
    high: float | None
    cutoff: float | None
    cutoff_source: str
    cutoff_note: str
    harmless_low: float | None
    families: tuple[FamilyResult, ...]
    cost: PairCost | None = None

    def of(self, kind: Kind) -> tuple[FamilyResult, ...]:
        """Return the families of one kind that have answers."""
        return tuple(
            one for one in self.families if one.kind == kind and (one.measured or one.absent)
        )


class FamilyMade(msgspec.Struct, frozen=True, kw_only=True):
    """How many answers a family made, and from how many texts it tried to."""

    family: str
    kind: Kind
    made: int
    tried: int


class Verdict(msgspec.Struct, frozen=True, kw_only=True):
    """What one metric made of one edited answer; ``reason`` says why, or why there is none."""

    metric: str
    state: State
    value: float | None
    reason: str


class EditedAnswer(msgspec.Struct, frozen=True, kw_only=True):
    """One edited answer with every metric's verdict."""

    id: str
    source: str
    group: str
    family: str
    kind: Kind
    before: str
    after: str
    response: str
    verdicts: tuple[Verdict, ...]


class StressResult(msgspec.Struct, frozen=True, kw_only=True):
    """The outcome of ``stress_test``.

    ``seen`` rows gave ``sources`` texts in ``groups`` groups; ``left_out`` counts rows by reason.
    ``answers`` holds every edited answer, ``cases`` the same as labelled cases, for a file.
    """

    name: str
    model: str
    base: Base
    seed: int
    most: int | None
    seen: int
    sources: int
    groups: int
    left_out: dict[str, int]
    made: tuple[FamilyMade, ...]
    metrics: tuple[MetricStress, ...]
    answers: tuple[EditedAnswer, ...]
    cases: tuple[Case, ...]

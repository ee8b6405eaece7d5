"""Whether the cases of a run look like those their cutoff was calibrated on.

Watched while the run goes on, in bounded memory, and told at its end: what changed, and which
cases to label to know whether the cutoff still holds.
"""

from __future__ import annotations

from collections.abc import Iterable, Sequence
from datetime import datetime
from typing import Any, NamedTuple

import msgspec

from closecall.calibration.artefact import Calibration
from closecall.calibration.drift.age import age_warning
from closecall.calibration.drift.profile import Profile, ProfileBuilder
from closecall.calibration.drift.shift import ShiftReport, find_shift, to_label
from closecall.calibration.labels.items import WAYS, group_of
from closecall.errors import UsageError
from closecall.records import Case, Measured
from closecall.runs.calibrations import Given
from closecall.runs.results import CaseResult
from closecall.runs.values import now_utc

SEED = 0


class Watched(msgspec.Struct, frozen=True, kw_only=True):
    """What the monitor found for one metric.

    ``to_label`` names cases drawn at random, to be labelled where something changed.
    ``age`` says when the calibration is old, None when it is not.
    """

    metric: str
    shift: ShiftReport
    age: str | None
    to_label: tuple[str, ...]


TEXTS = frozenset({"input", "response", "context"})
"""Slicings whose values are texts of cases."""


class Look(NamedTuple):
    """What the monitor notes of a case: characters of its response, references, slices, group."""

    length: int
    references: int
    slices: dict[str, str]
    group: str


class Monitor:
    """Profiles a run for each of its calibrations.

    With ``texts`` False nothing of what it finds quotes a text of a case: a calibration that is
    sliced by one is not compared in that. Values of metadata, tags and groups may be quoted.
    """

    def __init__(self, given: Sequence[Given], *, texts: bool = True) -> None:
        self._given = [one.made for one in given]
        self._left_out = frozenset() if texts else TEXTS
        self._builders = [ProfileBuilder(seed=SEED) for _ in given]

    def add(self, rows: Iterable[CaseResult]) -> None:
        """Take decided cases, in order."""
        for row in rows:
            self.take(row, self.looks(row))

    def looks(self, row: CaseResult) -> list[Look | None]:
        """Return what is noted of a case beside its scores, None where it was not measured."""
        return [
            None
            if _value(row, made) is None
            else Look(
                len(row.case.response or ""),
                len(row.case.references),
                self._slices(made.slicer.of(row.case)),
                _group(row.case, made),
            )
            for made in self._given
        ]

    def take(self, row: CaseResult, looks: Sequence[Look | None]) -> None:
        """Take one decided case, the next in order, with what ``looks`` noted of it."""
        for made, builder, look in zip(self._given, self._builders, looks, strict=True):
            value = _value(row, made)
            if value is not None and look is not None:
                builder.add(
                    row.case.id,
                    value,
                    look.length,
                    look.references,
                    look.slices,
                    group=look.group,
                )

    def finish(self, now: str | None = None) -> tuple[Watched, ...]:
        """Compare the run with each calibration's labels; ``now`` is ISO 8601."""
        moment = datetime.fromisoformat(now or now_utc())
        return tuple(
            self._watched(made, builder.profile(), moment)
            for made, builder in zip(self._given, self._builders, strict=True)
        )

    def _watched(self, made: Calibration, run: Profile, now: datetime) -> Watched:
        shift = find_shift(self._reference(made), run, seed=SEED)
        return Watched(
            metric=made.metric.id,
            shift=shift,
            age=age_warning(made.created, now, run.n),
            to_label=to_label(run, seed=SEED) if shift.findings else (),
        )

    def _reference(self, made: Calibration) -> Profile:
        """Return the profile of the labelled cases."""
        sample = made.sample
        builder = ProfileBuilder(seed=SEED)
        trained = frozenset(sample.trained)
        for at, case_id in enumerate(sample.ids):
            if at in trained:  # a judge scores what it was fitted to otherwise than what is new
                continue
            builder.add(
                case_id,
                sample.scores[at],
                sample.lengths[at],
                sample.references[at],
                self._slices(sample.slices_of_row(at)),
                group=sample.groups[at],
            )
        return builder.profile()

    def _slices(self, found: dict[str, str]) -> dict[str, str]:
        if self._left_out.isdisjoint(found):
            return found
        return {name: value for name, value in found.items() if name not in self._left_out}


def _value(row: CaseResult, made: Calibration) -> float | None:
    found = next((r for r in row.results if r.metric == made.metric.id), None)
    if found is None or not isinstance(found.measurement, Measured):
        return None
    return found.measurement.value


def _group(case: Case, made: Calibration) -> str:
    """Return the group of a case as the calibration grouped its labels."""
    field = made.data.grouped_by
    if field.split(", else ")[0] not in WAYS:
        try:
            return group_of(case, field)[0]
        except UsageError:  # this case lacks the field
            pass
    return group_of(case)[0]


def to_json(watched: Sequence[Watched]) -> list[dict[str, Any]]:
    """Return JSON values; ``from_json`` reads them back."""
    built: list[dict[str, Any]] = msgspec.to_builtins(list(watched))
    return built


def from_json(value: object) -> tuple[Watched, ...]:
    """Read them back; raises ``msgspec.ValidationError``."""
    return msgspec.convert(value, tuple[Watched, ...])

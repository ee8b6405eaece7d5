"""What became of a gate."""

from __future__ import annotations

from enum import StrEnum

import msgspec

from closecall.calibration.records import Interval
from closecall.runs.gate_rule import Gate


class GateState(StrEnum):
    """What became of a gate. Only the first lets a run pass."""

    PASSED = "passed"
    FAILED = "failed"
    INCONCLUSIVE = "inconclusive"
    """The interval lies on both sides of the limit, or there is none: more cases would tell."""
    NOT_MEASURED = "not_measured"
    """It depends on cases that were not measured, or no case is there to ask."""


class GateResult(msgspec.Struct, frozen=True, kw_only=True):
    """A gate with what was found.

    ``value`` is over the ``measured`` of the ``asked`` cases, None where there is none; ``count``
    is the number of hits behind a rate. ``limit`` is what it was compared with. ``margin`` is how
    far the value lies on the side of the limit that the rule wants; below 0 it misses by so much.
    ``lowest`` and ``highest`` are what the value would be with every absent case at its worst and
    at its best; both None where none is absent or the scale has no ends. ``more`` is about how
    many further cases would settle what is inconclusive, if they were like these. ``reason`` says
    in words why the state is what it is.
    """

    gate: Gate
    rule: str
    metric: str
    state: GateState
    value: float | None
    limit: float | None
    margin: float | None
    measured: int
    asked: int
    count: int | None = None
    interval: Interval | None = None
    lowest: float | None = None
    highest: float | None = None
    more: int | None = None
    reason: str = ""
    notes: tuple[str, ...] = ()
    absent: dict[str, int] = {}

    @property
    def passed(self) -> bool:
        """Whether the gate passed."""
        return self.state is GateState.PASSED

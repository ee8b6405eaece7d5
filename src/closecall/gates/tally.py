"""What a gate needs of a run, added up as the cases come.

Memory holds one entry a group (about 120 bytes), 24 bytes more a group for each gate that has an
interval, and of a median, a percentile or an extreme 8 bytes a case.
"""

from __future__ import annotations

import hashlib
from array import array
from typing import Any, NamedTuple

from closecall.calibration.labels.items import group_of
from closecall.records import Case, Label, Measured, State
from closecall.runs.gate_rule import CASCADE, SLICE, Filter, Gate
from closecall.runs.header import MetricPlan
from closecall.runs.results import CaseResult, MetricResult

MAX_REASONS = 3
"""Different reasons for absences that a gate tells."""

_LABELS = {"false_accept": Label.REJECT, "false_reject": Label.ACCEPT}
_HITS = {
    "pass_rate": State.PASSED,
    "fail_rate": State.FAILED,
    "all": State.PASSED,
    "none": State.PASSED,
}
_GROUPED = frozenset({"mean", "quantile", "rate", "upper"})
_WRONG = {Label.REJECT: State.PASSED, Label.ACCEPT: State.FAILED}


class Kept(NamedTuple):
    """What the cases that come still carry: their texts and tags, and their metadata.

    A run folder has only what is short of the metadata, which leaves open whether a case has the
    value; with --no-content it has neither metadata, texts nor tags.
    """

    content: bool = True
    metadata: bool = True


class Groups:
    """Numbers the groups of cases as they come, for all gates at once.

    ``ungrouped`` says that a case came whose group is not known, as its question was not kept.
    """

    def __init__(self, kept: Kept) -> None:
        self.kept = kept
        self.ungrouped = False
        self._numbers: dict[bytes, int] = {}

    def number(self, case: Case) -> int:
        """Return the number of a case's group."""
        if not self.kept.content and case.group is None and case.label is None:
            self.ungrouped = True
        name = group_of(case)[0].encode("utf-8", errors="surrogatepass")
        digest = hashlib.blake2b(name, digest_size=16).digest()
        return self._numbers.setdefault(digest, len(self._numbers))


class GateTally:
    """Adds up one gate.

    Attributes
    ----------
    asked, measured
        Cases the gate is about, and those of them with a number.
    sizes, sums, absences
        Of each group: how many were measured, what they add up to (values of a mean, else those
        for which the rule's condition holds) and how many were not measured. All in one group
        where the gate has no interval.
    values
        Of a median, a percentile or an extreme.
    """

    def __init__(self, gate: Gate, plan: MetricPlan, at: int, groups: Groups) -> None:
        self.gate, self.plan, self.groups = gate, plan, groups
        self.at = at
        self.kind = gate.kind
        self.label = _LABELS.get(gate.aggregate.rpartition("_")[0])
        self.asked = 0
        self.measured = 0
        self.sizes, self.sums, self.absences = array("q"), array("d"), array("q")
        self.values = array("d")
        self.reasons: dict[str, int] = {}
        found = (_unkept(one, groups.kept) for one in gate.where)
        self.unkept = next(filter(None, found), None)

    @property
    def absent(self) -> int:
        """How many were asked for and not measured."""
        return self.asked - self.measured

    def add(self, row: CaseResult, group: int, *, matches: bool | None = None) -> None:
        """Count one case, of this group; ``matches``: whether the gate is about it, if known."""
        if self.unkept or (self.label is not None and row.case.label is not self.label):
            return
        result = row.deciding[0] if self.gate.metric == CASCADE else row.results[self.at]
        if result.state is State.NOT_APPLICABLE:
            return
        if not (self.matches(row.case) if matches is None else matches):
            return
        self.asked += 1
        if self.kind not in _GROUPED:
            group = 0
        if group >= len(self.sizes):
            for column in (self.sizes, self.sums, self.absences):
                column.extend([0] * (group + 1 - len(column)))
        measurement = result.measurement
        if not isinstance(measurement, Measured):
            self.absences[group] += 1
            reason = measurement.cause
            if reason in self.reasons or len(self.reasons) < MAX_REASONS:
                self.reasons[reason] = self.reasons.get(reason, 0) + 1
            return
        self.measured += 1
        self.sizes[group] += 1
        if self.kind in {"quantile", "extreme"}:
            self.values.append(measurement.value)
        of_mean = self.kind == "mean"
        self.sums[group] += measurement.value if of_mean else self._hit(result, measurement)

    def _hit(self, result: MetricResult, measured: Measured) -> bool:
        if self.gate.test is not None:
            return self.gate.test.holds(measured.value)
        wanted = _HITS.get(self.gate.aggregate)
        if self.label is not None:
            wanted = _WRONG[self.label]
        return result.state is wanted

    def matches(self, case: Case) -> bool:
        """Return whether the gate is about a case."""
        return all(_matches(case, one) for one in self.gate.where)


def _unkept(one: Filter, kept: Kept) -> str | None:
    """Return why a filter cannot be applied to these cases, None where it can."""
    if one.field.startswith(SLICE):
        if kept.metadata:
            return None
        return (
            f"the run folder keeps not all metadata, so {one.field} is not known for sure; a tag "
            "is kept (where tag = ...)"
        )
    if one.field == "label" or kept.content:
        return None
    return f"the run was made without content, so it keeps no {one.field}s"


def _matches(case: Case, one: Filter) -> bool:
    if one.field == "tag":
        found = one.value in case.tags
    elif one.field == "label":
        found = case.label == one.value
    elif one.field == "group":
        found = case.group == one.value
    else:
        found = _spelt(_reach(case.metadata, one.field.removeprefix(SLICE))) == one.value
    return found == one.equal


def _reach(value: Any, path: str) -> Any:
    if isinstance(value, dict) and path in value:
        return value[path]
    for part in path.split("."):
        value = value.get(part) if isinstance(value, dict) else None
    return value


def _spelt(value: Any) -> str | None:
    """Return a value of metadata as it is typed in a filter; None for what cannot be."""
    if isinstance(value, bool):
        return "true" if value else "false"
    return str(value) if isinstance(value, str | int | float) else None

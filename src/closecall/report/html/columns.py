"""What the page knows of every case without its texts: one list a fact, in the file's order."""

from __future__ import annotations

from typing import Any

from closecall.records import Label, Measured, State
from closecall.report.slices import SliceColumns, Units
from closecall.runs.header import RunHeader
from closecall.runs.results import CaseResult, MetricResult

STATES = tuple(State)
"""A state is written as the digit of its place here."""

LABELS = (None, Label.ACCEPT, Label.REJECT)
"""A label is written as the digit of its place here."""

BORDERLINE, HELD, TRUNCATED, UNKNOWN = 1, 2, 4, 8
"""Bits of a result's flags."""

_STATE_CODE = {state: code for code, state in enumerate(STATES)}
_LABEL_CODE = {label: code for code, label in enumerate(LABELS)}


class Names:
    """Texts numbered in the order they are first met."""

    def __init__(self) -> None:
        self._numbers: dict[str, int] = {}

    def number(self, name: str) -> int:
        """Return the number of a text."""
        return self._numbers.setdefault(name, len(self._numbers))

    def __iter__(self) -> Any:
        return iter(self._numbers)


class MetricColumns:
    """One metric over all cases: ``values`` has None where there is no number."""

    def __init__(self, metric: str) -> None:
        self.metric = metric
        self.states = bytearray()
        self.values: list[float | None] = []
        self.flags = bytearray()

    def add(self, result: MetricResult) -> None:
        """Add the next case."""
        found = result.measurement
        self.states.append(_STATE_CODE[result.state])
        flags = BORDERLINE * result.borderline | HELD * bool(result.held)
        if isinstance(found, Measured):
            self.values.append(found.value)
            seen = found.tokens.values()
            flags |= TRUNCATED * any(t.truncated for t in seen)
            flags |= UNKNOWN * any(t.unknown for t in seen)
        else:
            self.values.append(None)
        self.flags.append(flags)


class Columns:
    """The columns of a run.

    ``states`` and ``labels`` hold places in ``STATES`` and ``LABELS``; ``scores`` the case's
    score, 0 to 100, None where it has none. ``units`` numbers what is exchangeable (the group,
    else the question, else the case itself), ``groups`` the group as the file names it, -1 where
    it has none; ``tags`` numbers each case's tags. ``slices`` notes the fields of the metadata.
    """

    def __init__(self, header: RunHeader) -> None:
        self.ids: list[str] = []
        self.states = bytearray()
        self.labels = bytearray()
        self.scores: list[float | None] = []
        self.units: list[int] = []
        self.groups: list[int] = []
        self.tags: list[tuple[int, ...]] = []
        self.metrics = tuple(MetricColumns(plan.id) for plan in header.metrics)
        self.tag_names, self.group_names = Names(), Names()
        self.slices = SliceColumns(header)
        self._units = Units()

    def __len__(self) -> int:
        return len(self.ids)

    def add(self, row: CaseResult) -> None:
        """Add the next case."""
        case = row.case
        self.ids.append(case.id)
        self.states.append(_STATE_CODE[row.state])
        self.labels.append(_LABEL_CODE[case.label])
        self.scores.append(row.score)
        unit = self._units.number(case)
        self.units.append(unit)
        self.slices.add(row, unit)
        self.groups.append(-1 if case.group is None else self.group_names.number(case.group))
        self.tags.append(tuple(self.tag_names.number(tag) for tag in dict.fromkeys(case.tags)))
        for column, result in zip(self.metrics, row.results, strict=True):
            column.add(result)

    def to_json(self) -> dict[str, Any]:
        """Return the columns as the page's scripts read them."""
        return {
            "ids": self.ids,
            "states": _digits(self.states),
            "labels": _digits(self.labels),
            "scores": self.scores,
            "units": self.units,
            "groups": self.groups,
            "groupNames": list(self.group_names),
            "tags": self.tags,
            "tagNames": list(self.tag_names),
            "fields": [
                {"name": name, "values": values, "codes": list(codes)}
                for name, values, codes in self.slices.codes()
            ],
            "metrics": [
                {
                    "states": _digits(one.states),
                    "values": one.values,
                    "flags": "".join(format(flags, "x") for flags in one.flags),
                }
                for one in self.metrics
            ],
        }


def _digits(codes: bytearray) -> str:
    return "".join(map(str, codes))

"""What a test measured, as text on its report, and back: so it comes from any worker, by any way.

What many records have in common, the plans and the instrument, is written once a process.
"""

from __future__ import annotations

import json
from collections.abc import Iterable, Mapping
from typing import TYPE_CHECKING, Any, NamedTuple

import msgspec

from closecall.instrument import Instrument
from closecall.records import Case, Measured, Measurement, State, Unmeasured
from closecall.runs.header import MetricPlan
from closecall.runs.results import CaseResult, MetricResult

if TYPE_CHECKING:
    from closecall.asserting.session import Record


class Part(NamedTuple):
    """What records have in common: how they were measured."""

    plans: tuple[MetricPlan, ...]
    embedder: str
    instrument: Instrument
    judges: tuple[str, ...]


class Line(NamedTuple):
    """One record, and the name of its part."""

    part: str
    row: CaseResult


class Parts:
    """Writes records, each part once."""

    def __init__(self) -> None:
        self._names: dict[str, str] = {}

    def write(self, records: Iterable[Record]) -> str:
        """Return records as ASCII text, with the parts that were not written before."""
        new: dict[str, Any] = {}
        rows = []
        for one in records:
            part = Part(one.plans, one.embedder, one.instrument, one.judges)
            name, written = self._named(part)
            if written is not None:
                new[name] = written
            rows.append({"part": name, **_row(one.row)})
        # A lone surrogate of a text is no UTF-8, and stays as it is in ASCII.
        return json.dumps({"parts": new, "rows": rows})

    def _named(self, part: Part) -> tuple[str, Any]:
        import hashlib

        built = msgspec.to_builtins(part._asdict())
        spelt = json.dumps(built, sort_keys=True)
        if spelt in self._names:
            return self._names[spelt], None
        name = hashlib.sha256(spelt.encode()).hexdigest()[:16]
        self._names[spelt] = name
        return name, built


def read(document: Mapping[str, Any]) -> tuple[dict[str, Part], list[Line]]:
    """Return the new parts and the records of one report."""
    parts = {
        name: Part(
            tuple(msgspec.convert(one["plans"], list[MetricPlan])),
            one["embedder"],
            msgspec.convert(one["instrument"], Instrument),
            tuple(one["judges"]),
        )
        for name, one in document["parts"].items()
    }
    return parts, [Line(one["part"], _read_row(one)) for one in document["rows"]]


def _row(row: CaseResult) -> dict[str, Any]:
    # Metadata may hold what is no JSON.
    case = msgspec.structs.replace(row.case, metadata={})
    return {
        "case": msgspec.to_builtins(case),
        "results": [msgspec.to_builtins(one, enc_hook=str) for one in row.results],
        "ms": row.duration_ms,
    }


def _read_row(one: Mapping[str, Any]) -> CaseResult:
    return CaseResult(
        case=msgspec.convert(one["case"], Case),
        results=tuple(_result(result) for result in one["results"]),
        duration_ms=one["ms"],
    )


def _result(one: Mapping[str, Any]) -> MetricResult:
    found = one["measurement"]
    state = State(one["state"])
    kind: type[Measurement] = Measured if state.measured else Unmeasured
    return MetricResult(
        metric=one["metric"],
        state=state,
        measurement=msgspec.convert(found, kind),
        cutoff=one["cutoff"],
        reason=one["reason"],
        borderline=one["borderline"],
        held=tuple(one["held"]),
        duration_ms=one["duration_ms"],
    )

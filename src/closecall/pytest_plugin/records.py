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
    """Writes records, each part until a report that has it was told."""

    def __init__(self) -> None:
        self._names: dict[str, str] = {}
        self._told: set[str] = set()

    def write(self, records: Iterable[Record]) -> str:
        """Return records as ASCII text, with the parts that were not told before."""
        new: dict[str, Any] = {}
        rows = []
        for one in records:
            part = Part(one.plans, one.embedder, one.instrument, one.judges)
            name, built = self._named(part)
            if name not in self._told:
                new[name] = built
            rows.append({"part": name, **_row(one.row)})
        # A lone surrogate of a text is no UTF-8, and stays as it is in ASCII.
        return json.dumps({"parts": new, "rows": rows})

    def told(self, text: str) -> None:
        """Note that what ``write`` returned went on its way: not every report does.

        Of a test that is tried again a plugin may tell the last try alone.
        """
        self._told.update(json.loads(text)["parts"])

    def _named(self, part: Part) -> tuple[str, Any]:
        import hashlib

        built = msgspec.to_builtins(part._asdict())
        spelt = json.dumps(built, sort_keys=True)
        if spelt not in self._names:
            self._names[spelt] = hashlib.sha256(spelt.encode()).hexdigest()[:16]
        return self._names[spelt], built


def whole(value: Any) -> Any:
    r"""Return JSON with half characters, which UTF-8 cannot hold, spelt out (``\ud83d``)."""
    if isinstance(value, str):
        return value.encode("utf-8", "backslashreplace").decode("utf-8")
    if isinstance(value, Mapping):
        return {whole(name): whole(one) for name, one in value.items()}
    return [whole(one) for one in value] if isinstance(value, list) else value


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

"""From what the tests measured to run folders like those of ``closecall eval``.

A row is an assertion or a marked case, by the name of its test. Each metric has a result for each
row, as in any run; one that a test does not ask for does not apply to it. What cannot stand in one
run, such as two embedders, makes a second one.
"""

from __future__ import annotations

import re
from collections.abc import Mapping, Sequence
from pathlib import Path
from typing import Any

import msgspec

from closecall._version import __version__
from closecall.datasets import cases_digest
from closecall.embedders.absent import is_absent
from closecall.errors import ClosecallError
from closecall.instrument import Instrument
from closecall.pytest_plugin.records import Line, Part, whole
from closecall.pytest_plugin.settings import Settings
from closecall.records import State, Unmeasured
from closecall.runs import sinks
from closecall.runs.definition import definition_digest
from closecall.runs.evaluate import new_run_id
from closecall.runs.folder import RunFolder
from closecall.runs.header import DatasetFacts, MetricPlan, RunHeader
from closecall.runs.record import Run
from closecall.runs.results import CaseResult, MetricResult
from closecall.runs.stored import load_run
from closecall.runs.summary import RunTally
from closecall.runs.values import now_utc

NAME = "pytest"

_BATCH = 256
_ADVICE = re.compile(r"(?<=\. )(?:Continue it with: |Choose another).*--aef DIR$", re.DOTALL)
_NEXT = "Choose another folder: --closecall-aef DIR"
"""What to type here, where errors of a run folder say what ``closecall eval`` takes."""

_NOT_ASKED = "the test does not ask for this metric"


class Bundle:
    """Rows that can stand in one run."""

    def __init__(self) -> None:
        self.plans: dict[str, MetricPlan] = {}
        self.judges: dict[str, None] = {}
        self.embedder = ""
        self.instrument: Instrument | None = None
        self.rows: list[CaseResult] = []

    def takes(self, part: Part) -> bool:
        """Whether rows measured so can stand beside those that are here."""
        mine, other = self.instrument, part.instrument
        same = mine is None or is_absent(mine) or is_absent(other) or mine.digest == other.digest
        return same and all(
            _same(self.plans[plan.id], plan) for plan in part.plans if plan.id in self.plans
        )

    def add(self, part: Part, row: CaseResult) -> None:
        """Add a row."""
        for plan in part.plans:
            self.plans.setdefault(plan.id, plan)
        self.judges |= dict.fromkeys(part.judges)
        if self.instrument is None or is_absent(self.instrument):
            self.embedder, self.instrument = part.embedder, part.instrument
        self.rows.append(row)

    def whole(self) -> list[CaseResult]:
        """Return the rows, each with a result for every metric."""
        return [msgspec.structs.replace(row, results=self._results(row)) for row in self.rows]

    def _results(self, row: CaseResult) -> tuple[MetricResult, ...]:
        found = {result.metric: result for result in row.results}
        return tuple(found.get(name) or _not_asked(plan) for name, plan in self.plans.items())


def write_runs(
    lines: Mapping[str, Sequence[Line]], parts: Mapping[str, Part], settings: Settings
) -> tuple[list[Run], str]:
    """Return the runs, each in a folder of its own unless none is wanted; and what went wrong.

    Whatever process measured a row, it stands in the same place: rows are in the order of their
    tests' names.
    """
    runs: list[Run] = []
    problem = ""
    run_id = new_run_id()
    for number, bundle in enumerate(_bundles(lines, parts), start=1):
        rows = bundle.whole()
        header = _header(bundle, rows, run_id if number == 1 else f"{run_id}-{number}")
        try:
            place = _place(settings, run_id, number)
            runs.append(_in_memory(header, rows) if place is None else _write(header, rows, place))
        except (ClosecallError, OSError) as error:
            problem = f"no run folder: {_ADVICE.sub(_NEXT, str(error))}"
            runs.append(_in_memory(header, rows))
    return runs, problem


def _bundles(lines: Mapping[str, Sequence[Line]], parts: Mapping[str, Part]) -> list[Bundle]:
    bundles: list[Bundle] = []
    for nodeid in sorted(lines):
        for number, line in enumerate(lines[nodeid], start=1):
            part = parts[line.part]
            name = whole(nodeid if number == 1 else f"{nodeid} #{number}")
            case = msgspec.structs.replace(line.row.case, id=name)
            bundle = next((one for one in bundles if one.takes(part)), None)
            if bundle is None:
                bundle = Bundle()
                bundles.append(bundle)
            bundle.add(part, msgspec.structs.replace(line.row, case=case))
    return bundles


def _same(one: MetricPlan, other: MetricPlan) -> bool:
    """Whether two plans decide alike; the version also tells with what no text was embedded."""
    return one == msgspec.structs.replace(other, evaluator_version=one.evaluator_version)


def _not_asked(plan: MetricPlan) -> MetricResult:
    return MetricResult(
        metric=plan.id,
        state=State.NOT_APPLICABLE,
        measurement=Unmeasured(_NOT_ASKED, State.NOT_APPLICABLE),
        cutoff=plan.cutoff,
        reason=_NOT_ASKED,
    )


def _header(bundle: Bundle, rows: Sequence[CaseResult], run_id: str) -> RunHeader:
    instrument = bundle.instrument
    if instrument is None:
        raise TypeError("a bundle has rows, and each an instrument")
    plans = tuple(bundle.plans.values())
    digest = cases_digest([row.case for row in rows])
    asked: dict[str, Any] = {
        "cases": digest,
        "metrics": [msgspec.to_builtins(plan) for plan in plans],
        "instrument": msgspec.to_builtins(instrument),
    }
    return RunHeader(
        run_id=run_id,
        name=NAME,
        started_at=now_utc(),
        ended_at=None,
        producer_version=__version__,
        dataset=DatasetFacts(path=None, format=NAME, digest=digest, rows=len(rows)),
        metrics=plans,
        embedder=bundle.embedder,
        instrument=instrument,
        instrument_digest=instrument.digest,
        definition_digest=definition_digest(asked),
        judges=tuple(bundle.judges),
    )


def _place(settings: Settings, run_id: str, number: int) -> Path | None:
    if not settings.keeps:
        return None
    tail = "" if number == 1 else f"-{number}"
    if settings.folder is not None:
        return settings.folder.with_name(f"{settings.folder.name}{tail}")
    return sinks.default_place(f"{run_id}{tail}", settings.root)


def _write(header: RunHeader, rows: Sequence[CaseResult], place: Path) -> Run:
    folder = RunFolder.create(
        place,
        sinks.run_json(header),
        sinks.declared(header.metrics),
        paths=[plan.id for plan in header.metrics],
    )
    with folder:
        sink = sinks.FolderSink(folder, header)
        tally = RunTally.of(header)
        for at in range(0, len(rows), _BATCH):
            sink.add(rows[at : at + _BATCH])
        tally.add(rows)
        folder.close(summary=sinks.summary_json(header, tally.metrics))
    return load_run(place)


def _in_memory(header: RunHeader, rows: Sequence[CaseResult]) -> Run:
    tally = RunTally.of(header)
    tally.add(rows)
    return Run(
        header=header,
        metrics=tally.summaries(),
        cases=tally.counts(0),
        _rows=lambda: iter(rows),
    )

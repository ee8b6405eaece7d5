"""A finished run as reports see it, whether it lies in memory or in a folder."""

from __future__ import annotations

from collections.abc import Callable, Iterator
from dataclasses import dataclass, field
from pathlib import Path

from closecall.runs.header import RunHeader
from closecall.runs.results import CaseResult
from closecall.runs.summary import CaseCounts, MetricSummary, exit_code


@dataclass(frozen=True, repr=False)
class Run:
    """The outcome of ``evaluate``.

    ``metrics`` and ``cases`` are the counts; iterate the run for one ``CaseResult`` a case, in
    the order of the file. ``folder`` is the run folder, None when none was written.
    ``duration_ms`` is known to the process that did the run, None to others.
    """

    header: RunHeader
    metrics: tuple[MetricSummary, ...]
    cases: CaseCounts
    folder: Path | None = None
    duration_ms: float | None = None
    _rows: Callable[[], Iterator[CaseResult]] = field(repr=False, default=lambda: iter(()))

    def __iter__(self) -> Iterator[CaseResult]:
        return self._rows()

    def __repr__(self) -> str:
        cases = self.cases
        return (
            f"<Run {self.header.name}: {cases.passed} passed, {cases.failed} failed, "
            f"{cases.unmeasured} not measured of {cases.total}; exit code {self.exit_code}>"
        )

    def __len__(self) -> int:
        return self.cases.total

    @property
    def exit_code(self) -> int:
        """0 all passed, 1 a case failed, 11 something asked for was not measured."""
        return exit_code(self.cases)

    @property
    def passed(self) -> bool:
        """Whether everything asked for was measured and passed."""
        return self.exit_code == 0

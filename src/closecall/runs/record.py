"""A finished run as reports see it, whether it lies in memory or in a folder."""

from __future__ import annotations

from collections.abc import Callable, Iterator
from dataclasses import dataclass, field
from pathlib import Path
from typing import TYPE_CHECKING, Any

import msgspec

from closecall.runs.header import RunHeader
from closecall.runs.results import UNCALIBRATED_CUTOFF, CaseResult
from closecall.runs.spending import Count
from closecall.runs.summary import (
    EXIT_FAILED,
    EXIT_PASSED,
    EXIT_UNMEASURED,
    CaseCounts,
    MetricSummary,
    exit_code,
)

if TYPE_CHECKING:
    from closecall.embedders.base import Usage
    from closecall.runs.monitor import Watched
    from closecall.runs.spending import Spending
    from closecall.runs.twice import Recomputed
    from closecall.subjects.agreement import Repeats

EXIT_UNCALIBRATED = 6


class Answers(msgspec.Struct, frozen=True, kw_only=True):
    """What a subject answered in a run, or in the part of it that ended it.

    ``cut`` answers were cut off at the most tokens allowed; ``missing`` times a case got none.
    Tokens are as reported, without the ``unreported`` answers; None where none was reported.
    """

    answers: Count
    cut: Count
    missing: Count
    unreported: Count
    prompt_tokens: Count | None
    completion_tokens: Count | None


@dataclass(frozen=True, repr=False)
class Run:
    """The outcome of ``evaluate``.

    ``metrics`` and ``cases`` are the counts; iterate the run for one ``CaseResult`` a case, in
    the order of the file. ``folder`` is the run folder, None when none was written; ``url`` where
    that is kept on object storage, if it is.
    ``duration_ms`` is known to the process that did the run, None to others. ``watched`` says,
    for each calibrated metric, whether the cases look like those it was calibrated on.
    ``cascade`` has the counts and errors of all rungs together. ``usage`` is what a
    provider reported; None where the embedder is on this machine. ``gates`` holds what became of
    each gate (``GateResult``) and ``gates_code`` the exit code they give, where there are any.
    ``repeats`` says of each metric what several runs of the cases came to; None with one run.
    ``spending`` counts tokens by role and model; None where nothing was asked of any provider.
    ``recomputed`` counts the cases of a fast run that were measured twice, those before it was
    resumed included; None of others, and of a run that is only read.
    """

    header: RunHeader
    metrics: tuple[MetricSummary, ...]
    cases: CaseCounts
    folder: Path | None = None
    url: str | None = None
    duration_ms: float | None = None
    watched: tuple[Watched, ...] = ()
    cascade: MetricSummary | None = None
    usage: Usage | None = None
    answered: Answers | None = None
    gates: tuple[Any, ...] = ()
    gates_code: int | None = None
    repeats: tuple[Repeats, ...] | None = None
    spending: Spending | None = None
    recomputed: Recomputed | None = None
    _rows: Callable[[], Iterator[CaseResult]] = field(repr=False, default=lambda: iter(()))

    def __iter__(self) -> Iterator[CaseResult]:
        return self._rows()

    def __repr__(self) -> str:
        cases = self.cases
        return (
            f"<Run {self.header.name}: {cases.passed} passed, {cases.failed} failed, "
            f"{cases.inconclusive} unsure, {cases.unmeasured} not measured of {cases.total}; "
            f"exit code {self.exit_code}>"
        )

    def __len__(self) -> int:
        return self.cases.total

    @property
    def place(self) -> str | None:
        """Where the run is kept: its URL, else its folder; None when neither was written."""
        return self.url or (None if self.folder is None else str(self.folder))

    @property
    def exit_code(self) -> int:
        """0 all passed, 1 a case failed, 11 something was not measured or left unsure.

        6 where nothing failed but a cutoff was used that belongs to another embedder or metric.
        With gates it is they that decide; see ``gates.evaluate.gates_exit``. A shard of a run with
        gates decides nothing: 0, or 11 where something was not measured.
        """
        if self.gates_code is not None:
            return self.gates_code
        if self.undecided:
            left = self.cases.unmeasured or self.cases.bad_rows
            return EXIT_UNMEASURED if left else EXIT_PASSED
        code = exit_code(self.cases)
        return EXIT_UNCALIBRATED if code != EXIT_FAILED and self.uncalibrated else code

    @property
    def undecided(self) -> bool:
        """Whether this is a shard of a run with gates, which are decided when it is merged."""
        return self.header.shard is not None and bool(self.header.asked.get("gates"))

    @property
    def uncalibrated(self) -> bool:
        """Whether a cutoff was used although it was fitted with something else."""
        return any(plan.cutoff_source == UNCALIBRATED_CUTOFF for plan in self.header.metrics)

    @property
    def passed(self) -> bool:
        """Whether everything asked for was measured and passed."""
        return self.exit_code == 0

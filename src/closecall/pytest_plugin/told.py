"""The section at the end of pytest's report: what was measured, and how close it was."""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from typing import TYPE_CHECKING

from closecall.report.overview import Overview, overview
from closecall.report.words import plural, shorten, visible
from closecall.runs.record import Run

if TYPE_CHECKING:
    import pytest

WORST = 3

_MEANING = {
    0: "all of them measured and passed",
    1: "not all passed",
    6: "a cutoff belongs to another embedder or metric",
    11: "not all could be measured and decided",
}


def tell(reporter: pytest.TerminalReporter, runs: Sequence[Run], notes: Sequence[str]) -> None:
    """Write the section."""
    reporter.section("closecall")
    for run in runs:
        for line in lines_of(run):
            reporter.write_line(visible(line))
    for note in notes:
        reporter.write_line(f"note: {visible(note)}", yellow=True)


def lines_of(run: Run) -> Iterator[str]:
    """Yield what is said of a run: a metric a paragraph, the outcome, and where it lies."""
    seen = overview(run, worst=WORST)
    for row in seen.rows:
        yield (
            f"{row.metric}: {row.counts} passed / measured / asked, cutoff {row.cutoff} "
            f"({row.cutoff_note})"
        )
        low = ", ".join(
            f"{one.value} {shorten(one.case_id, 100)} ({one.state})"
            for one in seen.worst.get(row.metric, ())
        )
        if low:
            yield f"  lowest: {low}"
    yield from _absent(seen)
    yield _outcome(run)
    if run.folder is not None:
        yield f"run folder: {run.folder}"


def _absent(seen: Overview) -> Iterator[str]:
    yield from (f"not measured: {line}" for line in seen.absent)
    yield from (f"held back by a guard: {line}" for line in seen.held)


def _outcome(run: Run) -> str:
    cases = run.cases
    parts = (
        (cases.passed, "passed"),
        (cases.failed, "failed"),
        (cases.scored, "scored without a cutoff"),
        (cases.inconclusive, "left unsure"),
        (cases.unmeasured, "not measured"),
        (cases.not_applicable, "not applicable"),
    )
    said = ", ".join(f"{count:,} {word}" for count, word in parts if count)
    meaning = _MEANING.get(run.exit_code, "")
    return f"{said} of {plural(cases.total, 'answer')}: {meaning}"

"""The first section: what was asked, with what, what came of it, and how sure that is."""

from __future__ import annotations

from collections.abc import Iterator
from typing import TYPE_CHECKING, Any, NamedTuple

from closecall.calibration.figures import count_of
from closecall.calibration.records import Rate
from closecall.report import gates as gates_report
from closecall.report.html.slices import section
from closecall.report.overview import cutoff_words, overview
from closecall.report.spending import HEADINGS as SPENT_HEADINGS
from closecall.report.spending import spending_notes, spending_rows
from closecall.report.words import blind, embedder_words, plural, rate
from closecall.runs.gate_results import GateState
from closecall.runs.header import MetricPlan, RunHeader
from closecall.runs.record import EXIT_UNCALIBRATED, Run
from closecall.runs.results import CALIBRATED_CUTOFF, NO_CUTOFF, UNCALIBRATED_CUTOFF
from closecall.runs.summary import EXIT_FAILED, EXIT_PASSED, EXIT_UNMEASURED, MetricSummary

if TYPE_CHECKING:
    from closecall.report.html.page import Page

_SHORT_DIGEST = 12

_GATE_BADGES = {
    GateState.PASSED: "passed",
    GateState.FAILED: "failed",
    GateState.INCONCLUSIVE: "inconclusive",
    GateState.NOT_MEASURED: "not_measured",
}

_TONES = {EXIT_PASSED: "good", EXIT_FAILED: "bad", EXIT_UNCALIBRATED: "bad"}

_NOT_CALIBRATED = ("inconclusive", "!", "not calibrated")
_BADGES = {
    CALIBRATED_CUTOFF: ("passed", "\u2713", "calibrated"),
    UNCALIBRATED_CUTOFF: ("failed", "\u2717", "UNCALIBRATED"),
    NO_CUTOFF: ("not_measured", "\u2013", "no cutoff"),
}
"""What stands before a cutoff's origin: a colour, a sign and a word."""


class Share(NamedTuple):
    """So many cases became this; ``start`` and ``width`` are percentages of the bar."""

    state: str
    words: str
    cases: int
    start: float
    width: float


class Errors(NamedTuple):
    """What the labels say of one metric's cutoff, in words."""

    metric: str
    cutoff: str
    let_through: str
    turned_away: str
    unsure: str


class Drawn(NamedTuple):
    """One metric's row with what its number is and where its cutoff comes from."""

    metric: str
    description: str
    counts: str
    mean: str
    median: str
    cutoff: str
    note: str
    badge: tuple[str, str, str]
    judges: str


def context(page: Page) -> dict[str, Any]:
    """Return what the overview says; the same words as the table's."""
    run = page.run
    seen = overview(page.named)
    plans = run.header.metrics
    gates = sorted(run.gates, key=lambda one: _WEIGHT.index(one.state))
    return {
        "seen": seen,
        "tone": _TONES.get(run.exit_code, "warn"),
        "exit_code": run.exit_code,
        "exit_words": exit_words(run),
        "shares": list(shares(run)),
        "total": run.cases.total,
        "metrics": [
            Drawn(
                metric=row.metric,
                description=plan.description,
                counts=row.counts,
                mean=row.mean,
                median=row.median,
                cutoff=row.cutoff,
                note=row.cutoff_note,
                badge=_BADGES.get(plan.cutoff_source, _NOT_CALIBRATED),
                judges=", ".join(plan.judges),
            )
            for row, plan in zip(seen.rows, plans, strict=True)
        ],
        "errors": [one for m in run.metrics if (one := _errors(m, run.header)) is not None],
        "errors_notes": [line for line in seen.labelled if "these very labels" in line],
        "gate_headings": gates_report.HEADINGS,
        "gates": [
            (_GATE_BADGES[one.state], cells)
            for one, cells in zip(gates, gates_report.gate_rows(gates), strict=True)
        ],
        "lists": [
            (heading, lines)
            for heading, lines in (
                *seen.runs.items(),
                ("Cascade", seen.cascade),
                ("Not measured", seen.absent),
                ("Held back by guards, the first", seen.held),
                ("Unsure, beside the nearest labelled answers", seen.unsure),
                ("Notes", seen.notes),
            )
            if lines
        ],
        "slices": section(page.columns.slices.slices()),
        "spent_headings": SPENT_HEADINGS,
        "spent": spending_rows(run.spending),
        "spent_notes": spending_notes(run.spending),
        "asked": list(_asked(run)),
        "instrument": list(_instrument(run.header)),
        "blind": blind(plan.id for plan in plans),
    }


_WEIGHT = (GateState.FAILED, GateState.INCONCLUSIVE, GateState.NOT_MEASURED, GateState.PASSED)
"""Gates by what matters first."""


def exit_words(run: Run) -> str:
    """Return what the exit code of a run means, in a sentence without a full stop."""
    failed = sum(one.state is GateState.FAILED for one in run.gates)
    unsure = any(one.state is not GateState.PASSED for one in run.gates)
    words = {
        EXIT_PASSED: "Every gate passed"
        if run.gates
        else "Everything asked for was measured and passed",
        EXIT_FAILED: f"{plural(failed, 'gate')} failed"
        if run.gates
        else f"{plural(run.cases.failed, 'case')} failed",
        EXIT_UNCALIBRATED: "A cutoff was used that belongs to another embedder or metric",
        EXIT_UNMEASURED: "Nothing failed, but a gate cannot tell"
        if unsure
        else "Nothing failed, but something was not measured or left unsure",
    }
    return words.get(run.exit_code, f"Ended with exit code {run.exit_code}")


def shares(run: Run) -> Iterator[Share]:
    """Yield the cases by what became of them, as parts of one bar."""
    cases = run.cases
    start = 0.0
    for state, words, count in (
        ("passed", "passed", cases.passed),
        ("scored", "scored without a cutoff", cases.scored),
        ("inconclusive", "left unsure", cases.inconclusive),
        ("failed", "failed", cases.failed),
        ("not_measured", "not measured", cases.unmeasured),
        ("not_applicable", "not applicable", cases.not_applicable),
    ):
        if count:
            width = round(100 * count / cases.total, 3)
            yield Share(state, words, count, round(start, 3), width)
            start += width


def _errors(summary: MetricSummary, header: RunHeader) -> Errors | None:
    counts = summary.labelled
    if counts is None or summary.cutoff is None:
        return None
    rejects = counts.rejects + summary.unsure_rejects
    accepts = counts.accepts + summary.unsure_accepts
    unsure = (
        f"{rate(summary.unsure_rejects, rejects)} of the wrong, "
        f"{rate(summary.unsure_accepts, accepts)} of the right"
        if summary.inconclusive
        else "none"
    )
    return Errors(
        metric=summary.metric,
        cutoff=cutoff_words(header, summary) + (" with guards" if summary.held_back else ""),
        let_through=_rate(summary.false_accept_rate, counts.false_accepts, rejects),
        turned_away=_rate(summary.false_reject_rate, counts.false_rejects, accepts),
        unsure=unsure,
    )


def _rate(found: Rate | None, count: int, n: int) -> str:
    return rate(count, n) if found is None else count_of(found)


def _asked(run: Run) -> Iterator[tuple[str, str]]:
    header, data = run.header, run.header.dataset
    yield "Cases", data.path or "given in Python"
    yield "Read", f"{plural(data.rows, 'row')}, {data.format}"
    if run.header.shard is not None:
        shard = run.header.shard
        where = f"cases {shard.first + 1:,} to {shard.stop:,} of {data.rows:,}"
        yield "Part", f"{shard}: {where}; the run is decided when all are merged"
    if data.bad_rows:
        yield "Left out", f"{plural(data.bad_rows, 'row')} that could not be read"
    if data.mapping:
        yield "Mapping", ", ".join(f"{field}={column}" for field, column in data.mapping.items())
    yield "Dataset digest", data.digest.removeprefix("sha256:")[:_SHORT_DIGEST]
    yield "Started", _time(header.started_at)
    yield "Ended", _time(header.ended_at or "")
    if header.subject:
        yield "Subject", " ".join(filter(None, (header.subject, header.subject_version)))
    if header.answered_by is not None:
        yield "Answered by", f"{header.answered_by.name} ({header.answered_by.kind})"
    if header.runs > 1:
        yield (
            "Runs of each case",
            f"{header.runs}, a case passes in {100 * header.success_threshold:g} % of them",
        )
    if header.judges:
        yield "Judges", ", ".join(header.judges)
    if header.cascade:
        yield "Cascade", " then ".join(plan.id for plan in header.metrics)
    yield from _guards(header.metrics)
    yield "Texts in this page", "yes" if header.content else "no, the run kept none"


def _guards(plans: tuple[MetricPlan, ...]) -> Iterator[tuple[str, str]]:
    from closecall.runs.results import guards_words

    told = dict.fromkeys(guards_words(plan.guards) for plan in plans if plan.guards)
    if told:
        yield "Guards", "; ".join(told)


def _instrument(header: RunHeader) -> Iterator[tuple[str, str]]:
    from closecall.embedders.absent import is_absent

    made = header.instrument
    yield "Embedder", embedder_words(made)
    if not is_absent(made):
        if made.revision:
            yield "Revision", made.revision[:_SHORT_DIGEST]
        yield "Vectors", f"{made.dims:,} dimensions, {made.precision}"
        if made.max_tokens:
            yield "Window", f"{made.max_tokens:,} tokens, {_WINDOWS.get(made.window, made.window)}"
        if made.weights:
            yield "Weights", made.weights[:_SHORT_DIGEST]
        yield "Instrument digest", header.instrument_digest[:_SHORT_DIGEST]
    yield "Definition digest", header.definition_digest.removeprefix("sha256:")[:_SHORT_DIGEST]
    yield "Run", header.run_id
    yield "Made by", f"closecall {header.producer_version}"


_WINDOWS = {
    "chunk": "longer texts in several windows",
    "truncate": "longer texts cut",
    "error": "longer texts not measured",
}


def _time(stamp: str) -> str:
    """Return ``2026-03-14 09:00:00 UTC`` of an ISO time."""
    return stamp.partition(".")[0].replace("T", " ").removesuffix("Z") + " UTC" if stamp else "-"

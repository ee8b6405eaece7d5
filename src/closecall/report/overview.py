"""What the table and the Markdown report say, worked out once.

Memory holds the worst few cases of each metric, whatever the size of the run.
"""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from typing import TYPE_CHECKING, NamedTuple

from closecall.calibration.records import Rate
from closecall.records import Unmeasured
from closecall.report.agreement import agreement_lines
from closecall.report.cascade import cascade_lines
from closecall.report.gates import gate_lines, gates_verdict
from closecall.report.nearest_labelled import UnsureLines
from closecall.report.repeats import repeat_lines, repeats_heading
from closecall.report.words import embedder_words, number, plural, rate, shorten
from closecall.report.worst import Worst, decimals, worst_cases
from closecall.runs.header import RunHeader
from closecall.runs.record import Run
from closecall.runs.results import CUTOFF_WORDS, guards_words
from closecall.runs.summary import MetricSummary

if TYPE_CHECKING:
    from closecall.embedders.base import Usage
    from closecall.runs.record import Answers

WORST = 5
MAX_REASONS = 5
NAMED_CASES = 3
NAMED_TO_LABEL = 10


class MetricRow(NamedTuple):
    """One metric's line; ``cutoff_note`` says where the cutoff comes from."""

    metric: str
    counts: str
    mean: str
    median: str
    cutoff: str
    cutoff_note: str


class Overview(NamedTuple):
    """Everything a person reads first."""

    title: str
    reading: tuple[str, ...]
    rows: tuple[MetricRow, ...]
    labelled: tuple[str, ...]
    cascade: tuple[str, ...]
    gates: tuple[str, ...]
    runs: dict[str, tuple[str, ...]]
    absent: tuple[str, ...]
    notes: tuple[str, ...]
    held: tuple[str, ...]
    unsure: tuple[str, ...]
    worst: dict[str, tuple[Worst, ...]]
    verdict: str


def overview(run: Run, worst: int = WORST) -> Overview:
    """Return the overview of a run.

    With ``worst`` 0 no case is looked at, so none is named; otherwise one pass over the cases,
    and a second where some were not measured.
    """
    unsure = UnsureLines(worst)
    lowest = worst_cases(run, worst, unsure.look) if worst else {}
    return Overview(
        title=_title(run),
        reading=run.header.dataset.reading,
        rows=tuple(_row(m, run.header) for m in run.metrics),
        labelled=()
        if run.cascade
        else tuple(line for m in run.metrics for line in _labelled(m, run.header)),
        cascade=tuple(cascade_lines(run)),
        gates=tuple(gate_lines(run.gates)),
        runs={repeats_heading(run): tuple(repeat_lines(run))},
        absent=tuple(_absent(run, _first_absent(run) if worst else {})),
        notes=tuple(_notes(run)),
        held=tuple(_first_held(run, worst)) if worst else (),
        unsure=tuple(unsure.lines(run.cases.inconclusive)),
        worst=lowest,
        verdict=_verdict(run),
    )


def _title(run: Run) -> str:
    header = run.header
    part = "" if header.shard is None else f", {header.shard}"
    return (
        f"{header.name}{part}: {plural(run.cases.total, 'case')}, "
        f"{embedder_words(header.instrument)}"
    )


def _row(summary: MetricSummary, header: RunHeader) -> MetricRow:
    high = next(plan.high for plan in header.metrics if plan.id == summary.metric)
    digits = decimals(high)
    return MetricRow(
        metric=summary.metric,
        counts=f"{summary.passed:,} / {summary.measured:,} / {summary.asked:,}"
        if summary.cutoff is not None
        else f"- / {summary.measured:,} / {summary.asked:,}",
        mean=number(summary.mean, digits),
        median=number(summary.median, digits),
        cutoff=cutoff_words(header, summary),
        cutoff_note=summary.cutoff_note or CUTOFF_WORDS[summary.cutoff_source],
    )


def cutoff_words(header: RunHeader, summary: MetricSummary) -> str:
    """Return the cutoff as it is compared, of two the lower one first; a dash without any."""
    if summary.cutoff is None:
        return "-"
    used = next(plan.calibration for plan in header.metrics if plan.id == summary.metric)
    below = "" if used is None or used.reject is None else f"{used.reject:.10g} / "
    return f"{below}{summary.cutoff:.10g}"


def _labelled(summary: MetricSummary, header: RunHeader) -> list[str]:
    counts = summary.labelled
    if counts is None or summary.cutoff is None:
        return []
    rejects = counts.rejects + summary.unsure_rejects
    accepts = counts.accepts + summary.unsure_accepts
    wrong, right = plural(rejects, "wrong answer"), plural(accepts, "right answer")
    let_in = f"{_error(counts.false_accepts, rejects, summary.false_accept_rate)} let through"
    turned = f"{_error(counts.false_rejects, accepts, summary.false_reject_rate)} turned away"
    head = f"{summary.metric}, cutoff {cutoff_words(header, summary)}"
    if summary.held_back:
        head += " with guards"
    lines = [
        f"{head}, {wrong} by label: {let_in} (false accepts)",
        f"{head}, {right} by label: {turned} (false rejects)",
    ]
    if summary.inconclusive:
        lines.append(
            f"{head}, left to a person: {rate(summary.unsure_rejects, rejects)} of the wrong, "
            f"{rate(summary.unsure_accepts, accepts)} of the right"
        )
    used = next(plan.calibration for plan in header.metrics if plan.id == summary.metric)
    if used is not None and used.cases == header.dataset.digest:
        lines.append(
            f"{head}: these very labels chose the cutoff, so its errors look smaller here than "
            "they are"
        )
    return lines


def _error(count: int, n: int, found: Rate | None) -> str:
    if found is None:
        return rate(count, n)
    from closecall.calibration.figures import count_of

    return count_of(found)


def _absent(run: Run, named: dict[tuple[str, str], list[str]]) -> list[str]:
    """Say what was not measured and why, naming the first cases of each reason."""
    lines = []
    for summary in run.metrics:
        for reason, count in list(summary.absent.items())[:MAX_REASONS]:
            ids = named.get((summary.metric, reason), [])
            listed = ", ".join(shorten(case_id, 40) for case_id in ids)
            which = f" ({listed}{', ...' if count > len(ids) else ''})" if ids else ""
            lines.append(f"{summary.metric}: {plural(count, 'case')}: {reason}{which}")
        rest = sum(list(summary.absent.values())[MAX_REASONS:])
        if rest:
            lines.append(f"{summary.metric}: {plural(rest, 'case')}: other reasons")
    return lines


def _first_absent(run: Run) -> dict[tuple[str, str], list[str]]:
    if not any(summary.absent for summary in run.metrics):
        return {}
    named: dict[tuple[str, str], list[str]] = {}
    for row in run:
        for result in row.results:
            if isinstance(result.measurement, Unmeasured):
                ids = named.setdefault((result.metric, result.measurement.cause), [])
                if len(ids) < NAMED_CASES:
                    ids.append(row.case.id)
    return named


def _notes(run: Run) -> list[str]:
    notes = []
    for m in run.metrics:
        notes += _held(m)
        if m.truncated:
            notes.append(
                f"{m.metric}: {plural(m.truncated, 'case')} with a text longer than the model's "
                "window, read only in part"
            )
        if m.unknown:
            notes.append(
                f"{m.metric}: {plural(m.unknown, 'case')} with words or signs the model does not "
                "know; it reads each of them as the same unknown one"
            )
        if m.not_applicable and run.cascade is None:
            notes.append(f"{m.metric}: does not apply to {plural(m.not_applicable, 'case')}")
        if m.borderline:
            bands = _bands(run.header, m.metric)
            notes.append(
                f"{m.metric}: {plural(m.borderline, 'case')} so near the cutoff that rounding "
                "on another machine could turn the verdict"
                if bands is None
                else f"{m.metric}: {plural(m.borderline, 'close call')}, within {bands}"
            )
    notes += agreement_lines(run.metrics)
    notes += _watched(run)
    if run.answered is not None:
        times = "case" if run.repeats is None else "request"
        notes += _answers(run.answered, times, tokens=run.spending is None)
    if run.recomputed is not None:
        notes.append(run.recomputed.words)
    if run.usage is not None:
        notes.append(_used(run.usage))
    if run.cases.bad_rows:
        problems = run.header.dataset.problems
        notes.append(
            f"{plural(run.cases.bad_rows, 'row')} of the file could not be read and left out"
            f"{'; the first problems:' if problems else ''}"
        )
        notes += [f"  {problem}" for problem in problems[:MAX_REASONS]]
    return notes


def _held(m: MetricSummary) -> list[str]:
    """Say what the guards did, and what they were to do where nothing was held back."""
    if not m.guards:
        return []
    told = guards_words(m.guards)
    if not m.held_back:
        return [f"{m.metric}: guards held back none of {plural(m.passed, 'accept')} ({told})"]
    by = ", ".join(f"{name} {count:,}" for name, count in m.held_by.items())
    of = m.passed + m.held_back
    head = f"{m.metric}: guards held back {rate(m.held_back, of)} of what the cutoff accepts"
    lines = [f"{head} ({by}): {told}; --guards off accepts them"]
    if m.held_accepts or m.held_rejects:
        lines.append(
            f"{m.metric}: of those, {plural(m.held_rejects, 'wrong answer')} and "
            f"{plural(m.held_accepts, 'right answer')} by label"
        )
    return lines


def _answers(found: Answers, times: str, *, tokens: bool) -> list[str]:
    """Say what the subject did; an answer that was cut off may be judged for what it lacks."""
    if not found.answers and not found.missing:
        return ["every case has a response already, so the subject was asked nothing"]
    told = f"the subject gave {plural(found.answers, 'answer')}"
    if found.missing:
        told += f", and none to {plural(found.missing, times)}"
    # What was spent stands in a section of its own, apart from what was replayed.
    if tokens and found.prompt_tokens is not None and found.completion_tokens is not None:
        told += (
            f"; {found.prompt_tokens:,} + {found.completion_tokens:,} tokens, as its provider "
            "reports"
        )
        if found.unreported:
            told += f", without {plural(found.unreported, 'answer')} that it did not count"
    lines = [told]
    if found.cut:
        lines.append(
            f"{found.cut:,} of {plural(found.answers, 'answer')} cut off at the most tokens "
            "allowed; --max-tokens raises that"
        )
    return lines


def _used(usage: Usage) -> str:
    """Say what the provider reported; what it did not report is no zero."""
    told = f"{plural(usage.replies, 'request')} answered by the provider"
    if usage.prompt_tokens is not None:
        return f"{told}: {usage.prompt_tokens:,} tokens, as it reports"
    if not usage.replies:
        return f"{told}: everything came from the cache"
    return (
        f"{told}: {usage.reported:,} tokens reported, and {usage.unreported:,} of the answers do "
        "not say how many they took"
    )


def _first_held(run: Run, most: int) -> Iterator[str]:
    """Yield the first cases that a guard held back, each with what it found."""
    if not any(summary.held_back for summary in run.metrics):
        return
    shown = 0
    for row in run:
        held = next((result for result in row.results if result.held), None)
        if held is None:
            continue
        words = held.reason.removeprefix("held back by a guard, ").partition("; high ")[0]
        yield f"{shorten(row.case.id, 40)} ({held.state}): {shorten(words, 160)}"
        shown += 1
        if shown == most:
            return


def _bands(header: RunHeader, metric: str) -> str | None:
    """Return the ranges of close calls of a calibrated metric."""
    used = next(plan.calibration for plan in header.metrics if plan.id == metric)
    if used is None:
        return None
    ranges = (f"{low:.10g} to {high:.10g}" for low, high in used.bands)
    return " and ".join(dict.fromkeys(ranges))  # two cutoffs may be one, which has one range


def _watched(run: Run) -> list[str]:
    """Say where the cases differ from those a cutoff was calibrated on, and what to do."""
    notes = []
    for found in run.watched:
        head = f"{found.metric}, against the labels of its calibration"
        for finding in found.shift.findings:
            code = f"{finding.code}: " if finding.code else ""
            notes.append(f"{head}: {code}{finding.words}")
        if found.shift.findings:
            notes += [f"{head}: {note}" for note in found.shift.notes]
            ids = ", ".join(shorten(case_id, 40) for case_id in found.to_label[:NAMED_TO_LABEL])
            left = len(found.to_label) - NAMED_TO_LABEL
            more = f" and {left} more (--format json lists them)" if left > 0 else ""
            notes.append(f"{head}: label these, drawn at random: {ids}{more}")
        if found.age:
            notes.append(f"{found.metric}: W15: {found.age}")
    return notes


def _verdict(run: Run) -> str:
    cases = run.cases
    parts: Sequence[tuple[int, str]] = (
        (cases.passed, "passed"),
        (cases.failed, "failed"),
        (cases.scored, "scored without a cutoff"),
        (cases.inconclusive, "left unsure"),
        (cases.unmeasured, "not measured"),
        (cases.not_applicable, "not applicable"),
    )
    said = ", ".join(f"{count:,} {word}" for count, word in parts if count)
    warned = "UNCALIBRATED: " if run.uncalibrated else ""
    judged = gates_verdict(run.gates, run)
    warned += f"{judged}; " if judged else ""
    return (
        f"{warned}{said or 'nothing'} of {plural(cases.total, 'case')}; exit code "
        f"{run.exit_code}{_of_shard(run)}"
    )


def _of_shard(run: Run) -> str:
    shard = run.header.shard
    if shard is None:
        return ""
    gates = "its gates are" if run.undecided else "the run is"
    return f" of {shard}; {gates} decided when all are merged (closecall runs merge)"

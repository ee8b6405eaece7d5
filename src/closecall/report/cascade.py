"""What each rung of a cascade decided, how often it erred, and what it cost."""

from __future__ import annotations

from collections.abc import Iterator, Sequence

from closecall.calibration.figures import count_of, limit
from closecall.report.words import plural, rate
from closecall.runs.applied import Applied
from closecall.runs.cascade import promises
from closecall.runs.record import Run
from closecall.runs.summary import MetricSummary


def cascade_lines(run: Run) -> Iterator[str]:
    """Yield the cascade rung by rung, then as a whole; nothing for other runs.

    Errors of a rung are those on the answers that came to it, which are the hard ones.
    """
    if run.cascade is None:
        return
    total = run.cases.total
    for number, rung in enumerate(run.metrics, 1):
        decided = rung.passed + rung.failed
        absent = rung.asked - rung.measured
        moved = "moved on" if number < len(run.metrics) else "left unsure"
        line = (
            f"rung {number}, {rung.metric}: {plural(rung.asked, 'case')} came to it, "
            f"{rate(decided, total)} of all decided here ({rung.passed:,} accepted, "
            f"{rung.failed:,} rejected), {rung.inconclusive:,} {moved}"
        )
        if absent:
            line += f", {absent:,} not measured"
        if rung.duration_ms is not None and rung.asked:
            each = rung.duration_ms / rung.asked
            line += f"; {rung.duration_ms / 1000:.1f} s, {each:.2f} ms a case"
        yield line
        yield from _errors(f"rung {number}", rung)
    yield from _errors("all rungs together", run.cascade)
    yield from _own_labels(run)
    yield added_up([plan.calibration for plan in run.header.metrics if plan.calibration])


def added_up(used: Sequence[Applied]) -> str:
    """Return what the promises of all rungs come to, in words."""
    added = promises(used)
    if added is None:
        return (
            "the rungs' promises do not add up to one for the cascade: they are about different "
            "rates, hold on average only, or say nothing together"
        )
    parts = []
    if added.max_far is not None:
        parts.append(f"at most {limit(added.max_far)} of wrong answers are accepted")
    if added.max_frr is not None:
        parts.append(f"at most {limit(added.max_frr)} of good answers are rejected")
    firm = f"at confidence {100 * added.confidence:.10g} %"
    if not added.exact:
        firm = f"aimed {firm}, which is approximate and not proved"
    weighed = "" if added.per == "row" else "; rates of answers drawn one from each group"
    return f"the rungs' promises add up to: {' and '.join(parts)}, {firm}{weighed}"


def _own_labels(run: Run) -> Iterator[str]:
    own = [
        plan.id
        for plan in run.header.metrics
        if plan.calibration is not None and plan.calibration.cases == run.header.dataset.digest
    ]
    if own and run.cascade is not None and run.cascade.labelled is not None:
        yield (
            f"these very labels chose the cutoffs of {', '.join(own)}, so the errors look smaller "
            "here than they are"
        )


def _errors(head: str, found: MetricSummary) -> Iterator[str]:
    counts = found.labelled
    if counts is None:
        return
    told = []
    if found.false_accept_rate is not None:
        told.append(f"{count_of(found.false_accept_rate)} of the wrong ones let through")
    if found.false_reject_rate is not None:
        told.append(f"{count_of(found.false_reject_rate)} of the right ones turned away")
    if told:
        yield f"{head}, by label: {', '.join(told)}"

"""What two embedders that should be one disagree on, in words."""

from __future__ import annotations

from collections.abc import Iterator

from closecall.report.words import plural, rate, shorten
from closecall.runs.parity import NO_CUTOFF, Apart, Parity

SHOWN = 20
"""Flips named; JSON has them all."""


def parity_lines(found: Parity) -> Iterator[str]:
    """Yield the comparison line by line."""
    yield f"{plural(found.cases, 'case')}, {plural(found.texts, 'text')}, {found.metric}"
    for line in found.identities:
        yield f"  {line}"
    if found.components is None:
        yield "vectors     not compared"
    else:
        low = found.lowest_cosine
        yield f"vectors     {_apart(found.components)} in a component; lowest cosine {low:.8f}"
    yield "scores      " + (
        "none measured by both"
        if found.scores is None
        else f"{_apart(found.scores)} over {plural(found.scores.n, 'case')}"
    )
    if found.unlike_absences:
        yield f"            {plural(found.unlike_absences, 'case')} measured by one of them only"
    if found.cutoff == NO_CUTOFF:
        yield "verdicts    none: the metric has no cutoff; --calibration or --cutoff gives one"
        return
    cutoff = f"cutoff {found.cutoff}"
    if found.calibrated is not None:
        cutoff += f", calibrated with {found.calibrated.upper()}"
    if not found.decided:
        yield f"verdicts    none: no case was measured by both, so nothing was decided ({cutoff})"
        return
    yield f"verdicts    {rate(len(found.flips), found.decided)} flip ({cutoff})"
    if found.decided < found.cases:
        yield f"            {plural(found.cases - found.decided, 'case')} without two verdicts"
    for flip in found.flips[:SHOWN]:
        a, b = (_value(value) for value in (flip.value_a, flip.value_b))
        yield (f"  {shorten(flip.id, 40)}: {flip.state_a} at {a} by A, {flip.state_b} at {b} by B")
    if len(found.flips) > SHOWN:
        yield f"  and {len(found.flips) - SHOWN:,} more (--json lists them)"


def _apart(apart: Apart) -> str:
    return (
        f"differ by {apart.median:.2g} (median), {apart.p99:.2g} (99 in 100), "
        f"{apart.largest:.2g} (largest)"
    )


def _value(value: float | None) -> str:
    return "none" if value is None else f"{value:.6f}"

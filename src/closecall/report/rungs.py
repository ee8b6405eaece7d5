"""The rungs of a cascade as they were calibrated: each with its share, and the sum of them."""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from itertools import takewhile

from closecall.calibration.figures import limit
from closecall.calibration.records import Infeasible
from closecall.report import calibration as report
from closecall.report.cascade import added_up
from closecall.report.no_cutoff import refusal
from closecall.runs.applied import Applied
from closecall.runs.rungs import Rung


def lines(rungs: Sequence[Rung], name: str) -> Iterator[str]:
    """Yield what became of each rung, in short, and what they promise together.

    ``name`` is the file of labelled cases, as it was typed.
    """
    for number, rung in enumerate(rungs, 1):
        goal, found = rung.goal, rung.found
        yield (
            f"Rung {number}, {rung.metric}: at most {limit(goal.max_far or 0)} of wrong answers "
            f"accepted and {limit(goal.max_frr or 0)} of good ones rejected, at confidence "
            f"{100 * goal.confidence:.4g} %"
        )
        said = refusal(found, name, goal) if isinstance(found, Infeasible) else report.lines(found)
        yield from (f"  {line.lstrip()}" for line in takewhile(bool, said))
        yield ""
    made = [rung.found for rung in rungs if not isinstance(rung.found, Infeasible)]
    if len(made) < len(rungs):
        yield "Nothing was written: a cascade needs every one of its rungs."
        return
    if made[-1].reject_cutoff is None:
        yield f"{rungs[-1].metric} leaves nothing unsure, so no rung comes after it."
    whole = added_up([Applied.of(one, "") for one in made])
    yield f"{whole[:1].upper()}{whole[1:]}."


__all__ = ["lines"]

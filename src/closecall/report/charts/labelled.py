"""What the pictures of labelled scores say alike."""

from __future__ import annotations

from collections.abc import Sequence
from typing import TYPE_CHECKING

from closecall.report.charts.chart import At

if TYPE_CHECKING:
    from closecall.calibration.curve import ErrorCurve


def titled(what: str, of: str) -> str:
    """Return the title, with what was scored."""
    return f"{what}: {of}" if of else what


def one_sided(what: str, curve: ErrorCurve) -> str:
    """Return why a picture of two classes cannot be drawn."""
    return sides(what, curve.accepts, curve.rejects)


def sides(what: str, accepts: int, rejects: int) -> str:
    """Return why a picture of two classes cannot be drawn, of so many labels."""
    if not (accepts or rejects):
        there = "no labelled answer"
    elif accepts:
        there = f"{accepts:,} accepted and none rejected"
    else:
        there = f"{rejects:,} rejected and none accepted"
    return (
        f"{what} needs answers that people accept and answers that they reject: there is {there}."
    )


def cut_words(cutoffs: Sequence[At]) -> str:
    """Return where the cutoffs stand, for a screen reader."""
    return "".join(f" {cutoff.name} at {cutoff.value:.10g}." for cutoff in cutoffs)

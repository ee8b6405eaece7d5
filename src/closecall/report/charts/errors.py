"""What each cutoff does: errors against the cutoff, precision and recall against the cutoff."""

from __future__ import annotations

from collections.abc import Sequence
from typing import TYPE_CHECKING

from closecall.report.charts.chart import At, Chart, Drawn, Line, Look, Mark, NoChart, Rule
from closecall.report.charts.labelled import cut_words, one_sided, titled
from closecall.report.charts.scales import score_axis, share_axis

if TYPE_CHECKING:
    from closecall.calibration.curve import ErrorCurve
    from closecall.report.charts.chart import Axis

ERRORS = "errors"
PRECISION = "precision"


def errors(
    curve: ErrorCurve,
    *,
    cutoffs: Sequence[At] = (),
    limit: At | None = None,
    score: str = "score",
    of: str = "",
) -> Drawn:
    """Return false accepts and false rejects against the cutoff, as shares of their class.

    Parameters
    ----------
    curve
        Labelled scores, swept. Only its distinct scores are cutoffs: between two the line is
        level.
    cutoffs
        Shown as lines.
    limit
        The most of the promised error, a share, with its name: shown as a line across.
    score
        What the scores are, for the axis.
    of
        What was scored, for the title.
    """
    title = titled("Errors against the cutoff", of)
    if curve.accepts == 0 or curve.rejects == 0:
        return NoChart(ERRORS, title, one_sided("This picture", curve))
    wrong = [count / curve.rejects for count in curve.false_accepts.tolist()]
    missed = [count / curve.accepts for count in curve.false_rejects.tolist()]
    n = curve.accepts + curve.rejects
    return Chart(
        kind=ERRORS,
        title=title,
        told=(
            f"Share of {curve.rejects:,} rejects accepted, falling, and share of "
            f"{curve.accepts:,} accepts rejected, rising, as the cutoff rises."
            f"{cut_words(cutoffs)}"
        ),
        x=_axis(curve, cutoffs, score),
        y=share_axis("share of the class decided wrongly"),
        marks=(
            _line("reject", f"false accepts, of {curve.rejects:,}", _stairs(curve, wrong)),
            _line("accept", f"false rejects, of {curve.accepts:,}", _stairs(curve, missed)),
            *_limit(limit),
            *(Rule("limit", "x", cutoff.value, cutoff.name) for cutoff in cutoffs),
        ),
        notes=(f"n = {n:,} labelled answers, {len(curve.levels):,} distinct scores",),
    )


def precision(
    curve: ErrorCurve, *, cutoffs: Sequence[At] = (), score: str = "score", of: str = ""
) -> Drawn:
    """Return precision and recall against the cutoff, for the mix of labels as it is.

    Precision is the share of good answers among the accepted, recall the share of good answers
    that are accepted. Parameters as for ``errors``.
    """
    title = titled("Precision and recall against the cutoff", of)
    if curve.accepts == 0 or curve.rejects == 0:
        return NoChart(PRECISION, title, one_sided("This picture", curve))
    kept, wrong = curve.true_accepts.tolist(), curve.false_accepts.tolist()
    good, bad = curve.accepts, curve.rejects
    share = good / (good + bad)
    # Row 0 accepts nobody: there precision has no value, and recall is 0.
    precise = [right / (right + other) for right, other in zip(kept[1:], wrong[1:], strict=True)]
    recalled = [count / curve.accepts for count in kept]
    return Chart(
        kind=PRECISION,
        title=title,
        told=(
            f"Precision and recall of {curve.accepts:,} accepts and {curve.rejects:,} rejects "
            f"against the cutoff. With every answer accepted, precision is {share:.3f}."
            f"{cut_words(cutoffs)}"
        ),
        x=_axis(curve, cutoffs, score),
        y=share_axis("share"),
        marks=(
            Line(
                "one",
                "precision: good ones among the accepted",
                _level(curve.levels.tolist(), precise),
            ),
            _line("other", "recall: good ones that are accepted", _stairs(curve, recalled)),
            *(Rule("limit", "x", cutoff.value, cutoff.name) for cutoff in cutoffs),
        ),
        notes=(f"n = {good:,} accepts and {bad:,} rejects; precision is for this mix of the two",),
    )


def _axis(curve: ErrorCurve, cutoffs: Sequence[At], score: str) -> Axis:
    ends = [float(curve.levels[0]), float(curve.levels[-1]), *(one.value for one in cutoffs)]
    return score_axis(f"cutoff on the {score}", ends)


def _limit(limit: At | None) -> tuple[Mark, ...]:
    return () if limit is None else (Rule("limit", "y", limit.value, limit.name),)


def _line(look: Look, name: str, corners: tuple[tuple[float, float], ...]) -> Line:
    return Line(look, name, corners, stairs=True)


def _stairs(curve: ErrorCurve, shares: list[float]) -> tuple[tuple[float, float], ...]:
    """Return the corners of shares by row: row 0 holds just above the highest score."""
    levels = curve.levels.tolist()
    return ((levels[0], shares[0]), *_level(levels, shares[1:]))


def _level(levels: list[float], shares: list[float]) -> tuple[tuple[float, float], ...]:
    """Return the corners: every cutoff from the next lower score up to this one does the same."""
    corners = []
    for at, (level, share) in enumerate(zip(levels, shares, strict=True)):
        corners.append((level, share))
        if at + 1 < len(levels):
            corners.append((levels[at + 1], share))
    return tuple(corners)

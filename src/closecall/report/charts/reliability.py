"""Which share of answers people accept, score by score."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from itertools import pairwise
from typing import TYPE_CHECKING, NamedTuple

from closecall.report.charts.chart import At, Chart, Dot, Dots, Drawn, Line, NoChart, Rule
from closecall.report.charts.labelled import cut_words, one_sided, titled
from closecall.report.charts.scales import score_axis, share_axis

if TYPE_CHECKING:
    from closecall.calibration.curve import ErrorCurve

RELIABILITY = "reliability"

BINS = 10
FEWEST = 20
"""A bin has at least so many answers; a share of fewer says next to nothing."""

LEVEL = 0.95
_SMOOTH = 60


class Bin(NamedTuple):
    """Answers that score from ``low`` to ``high``, both observed: how many people accept."""

    low: float
    high: float
    mean: float
    accepts: int
    n: int


def bins_of(curve: ErrorCurve, bins: int = BINS) -> tuple[Bin, ...]:
    """Return bins with about equally many answers, lowest scores first; ties stay together.

    At most ``bins`` of them, and so few that each can hold ``FEWEST``.
    """
    levels = curve.levels.tolist()[::-1]
    kept = _per_level(curve.true_accepts.tolist())
    wrong = _per_level(curve.false_accepts.tolist())
    n = curve.accepts + curve.rejects
    parts = max(1, min(bins, n // FEWEST))
    found: list[Bin] = []
    first, seen = 0, 0
    for at in range(len(levels)):
        seen += kept[at] + wrong[at]
        if seen * parts >= n * (len(found) + 1):
            accepts, rejects = sum(kept[first : at + 1]), sum(wrong[first : at + 1])
            weight = accepts + rejects
            mean = (
                sum(levels[row] * (kept[row] + wrong[row]) for row in range(first, at + 1))
                / weight
            )
            found.append(Bin(levels[first], levels[at], mean, accepts, weight))
            first = at + 1
    return tuple(found)


def reliability(
    curve: ErrorCurve,
    *,
    fitted: Callable[[Sequence[float]], Sequence[float]] | None = None,
    cutoffs: Sequence[At] = (),
    score: str = "score",
    of: str = "",
) -> Drawn:
    """Return the share accepted in bins of the score, with 95% intervals.

    Parameters
    ----------
    curve
        Labelled scores, swept.
    fitted
        Scores to the probabilities that a person accepts, drawn as a line; None draws none.
    cutoffs
        Shown as lines.
    score
        What the scores are, for the axis.
    of
        What was scored, for the title.
    """
    from closecall.calibration.binomial import clopper_pearson

    title = titled("Which share of answers people accept, by score", of)
    if curve.accepts == 0 or curve.rejects == 0:
        return NoChart(RELIABILITY, title, one_sided("This picture", curve))
    bins = bins_of(curve)
    dots = []
    for one in bins:
        ends = clopper_pearson(one.accepts, one.n, LEVEL)
        dots.append(
            Dot(
                one.mean,
                one.accepts / one.n,
                None,
                (ends.low, ends.high),
                f"{one.accepts:,} of {one.n:,} accepted, scores {one.low:.6g} to {one.high:.6g}",
                "",
            )
        )
    low, high = float(curve.levels[-1]), float(curve.levels[0])
    line: tuple[Line, ...] = ()
    if fitted is not None and high > low:
        places = [low + (high - low) * at / _SMOOTH for at in range(_SMOOTH + 1)]
        line = (
            Line("guide", "fitted probability", tuple(zip(places, fitted(places), strict=True))),
        )
    n = curve.accepts + curve.rejects
    shown = [low, high, *(one.value for one in cutoffs)]
    return Chart(
        kind=RELIABILITY,
        title=title,
        told=(
            f"Share of {n:,} labelled answers that people accept, in {len(bins)} bins: "
            + "; ".join(f"{one.accepts:,} of {one.n:,} near {one.mean:.3g}" for one in bins)
            + f".{cut_words(cutoffs)}"
        ),
        x=score_axis(score, shown),
        y=share_axis("accepted by people, share"),
        marks=(
            *line,
            Dots("one", "share accepted, with 95% interval", tuple(dots)),
            *(Rule("limit", "x", cutoff.value, cutoff.name) for cutoff in cutoffs),
        ),
        notes=(
            f"n = {n:,} labelled answers in {len(bins)} bins of {_from_to(bins)}",
            "equal scores are never parted; intervals treat answers as independent",
        ),
    )


def _from_to(bins: Sequence[Bin]) -> str:
    least, most = min(one.n for one in bins), max(one.n for one in bins)
    return f"{least:,}" if least == most else f"{least:,} to {most:,}"


def _per_level(totals: list[int]) -> list[int]:
    """Return the counts of each distinct score, lowest first, of running totals from the top."""
    return [after - before for before, after in pairwise(totals)][::-1]

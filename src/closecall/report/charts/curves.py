"""ROC and DET: what every cutoff would do, without the scores themselves."""

from __future__ import annotations

from collections.abc import Sequence
from typing import TYPE_CHECKING

from closecall.report.charts.chart import At, Chart, Dot, Dots, Drawn, Line, NoChart
from closecall.report.charts.labelled import one_sided, titled
from closecall.report.charts.scales import deviate, deviate_axis, share_axis

if TYPE_CHECKING:
    from closecall.calibration.curve import ErrorCurve

FALSE_ACCEPTS = "false accepts, share of rejects"
FALSE_REJECTS = "false rejects, share of accepts"

ROC = "roc"
DET = "det"

_LEVEL = 0.95


def roc(curve: ErrorCurve, *, cutoffs: Sequence[At] = (), of: str = "") -> Drawn:
    """Return the receiver operating characteristic, a corner for each distinct score.

    Parameters
    ----------
    curve
        Labelled scores, swept.
    cutoffs
        Shown as points with 95% intervals that treat rows as independent.
    of
        What was scored, for the title.
    """
    title = titled("Accepts kept against rejects let in (ROC)", of)
    if curve.accepts == 0 or curve.rejects == 0:
        return NoChart(ROC, title, one_sided("A ROC curve", curve))
    points = tuple(
        (wrong / curve.rejects, kept / curve.accepts)
        for wrong, kept in zip(
            curve.false_accepts.tolist(), curve.true_accepts.tolist(), strict=True
        )
    )
    area = _area(curve)
    return Chart(
        kind=ROC,
        title=title,
        told=(
            f"ROC curve of {curve.accepts:,} accepts and {curve.rejects:,} rejects; the area "
            f"under it is {area:.3f}: so often an accept scores above a reject."
            f"{_said(curve, cutoffs)}"
        ),
        x=share_axis(FALSE_ACCEPTS),
        y=share_axis("accepts kept, share of accepts"),
        marks=(
            Line("guide", "scores that say nothing", ((0.0, 0.0), (1.0, 1.0))),
            Line("one", f"area {area:.3f}", points, stairs=True),
            *_dots(curve, cutoffs, kept=True),
        ),
        notes=(f"{_counted(curve)}, {len(curve.levels):,} distinct scores",),
        height=420,
    )


def det(curve: ErrorCurve, *, cutoffs: Sequence[At] = (), of: str = "") -> Drawn:
    """Return the detection error trade-off: both error rates, on axes of normal deviates.

    Martin, Doddington, Kamm, Ordowski and Przybocki (1997). Where both classes are normal it is a
    straight line; the nearer to the lower left corner, the better. Rates of 0 and 1 have no place
    on such axes and are left out.

    Parameters
    ----------
    curve
        Labelled scores, swept.
    cutoffs
        Shown as points with 95% intervals that treat rows as independent.
    of
        What was scored, for the title.
    """
    title = titled("False rejects against false accepts (DET)", of)
    if curve.accepts == 0 or curve.rejects == 0:
        return NoChart(DET, title, one_sided("A DET curve", curve))
    rates = [
        (wrong / curve.rejects, missed / curve.accepts)
        for wrong, missed in zip(
            curve.false_accepts.tolist(), curve.false_rejects.tolist(), strict=True
        )
        if 0 < wrong < curve.rejects and 0 < missed < curve.accepts
    ]
    if not rates:
        return NoChart(
            DET,
            title,
            "A DET curve needs cutoffs that make both errors: these scores part "
            f"{curve.accepts:,} accepts and {curve.rejects:,} rejects without any such.",
        )
    x = deviate_axis(FALSE_ACCEPTS, min(x for x, _ in rates), max(x for x, _ in rates))
    y = deviate_axis(FALSE_REJECTS, min(y for _, y in rates), max(y for _, y in rates))
    return Chart(
        kind=DET,
        title=title,
        told=(
            f"DET curve of {curve.accepts:,} accepts and {curve.rejects:,} rejects, both error "
            f"rates on axes of normal deviates.{_said(curve, cutoffs)}"
        ),
        x=x,
        y=y,
        marks=(
            Line("one", "", tuple((deviate(a), deviate(b)) for a, b in rates), stairs=True),
            *_dots(curve, cutoffs, kept=False),
        ),
        notes=(f"{_counted(curve)}; rates of 0% and 100% lie beyond the axes",),
        height=420,
    )


def _counted(curve: ErrorCurve) -> str:
    return f"n = {curve.accepts:,} accepts and {curve.rejects:,} rejects"


def _area(curve: ErrorCurve) -> float:
    from closecall.calibration.separation import separation

    return separation(curve).auc


def _said(curve: ErrorCurve, cutoffs: Sequence[At]) -> str:
    told = []
    for cutoff in cutoffs:
        counts = curve.counts(curve.row(cutoff.value))
        told.append(
            f" {cutoff.name}: {counts.false_accepts:,} of {counts.rejects:,} rejects accepted, "
            f"{counts.false_rejects:,} of {counts.accepts:,} accepts rejected."
        )
    return "".join(told)


def _dots(curve: ErrorCurve, cutoffs: Sequence[At], *, kept: bool) -> tuple[Dots, ...]:
    from closecall.calibration.binomial import clopper_pearson

    found = []
    for cutoff in cutoffs:
        counts = curve.counts(curve.row(cutoff.value))
        good, bad = counts.accepts, counts.rejects
        mine = counts.true_accepts if kept else counts.false_rejects
        across = clopper_pearson(counts.false_accepts, bad, _LEVEL)
        along = clopper_pearson(mine, good, _LEVEL)
        told = (
            f"{cutoff.name}: {counts.false_accepts:,} of {bad:,} rejects accepted, "
            f"{counts.false_rejects:,} of {good:,} accepts rejected"
        )
        x, y = counts.false_accepts / bad, mine / good
        ranges = ((across.low, across.high), (along.low, along.high))
        if kept:
            found.append(Dot(x, y, *ranges, told, cutoff.name))
        elif 0 < x < 1 and 0 < y < 1:
            (a, b), (c, d) = (tuple(map(_bent, pair)) for pair in ranges)
            found.append(Dot(deviate(x), deviate(y), (a, b), (c, d), told, cutoff.name))
    return (Dots("limit", "", tuple(found)),) if found else ()


def _bent(rate: float) -> float:
    """Return the deviate of an interval's end; one at 0 or 1 ends far beyond any axis."""
    return deviate(min(max(rate, 1e-9), 1 - 1e-9))

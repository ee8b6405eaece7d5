"""Scores with their labels and cutoffs, from wherever they come: what every picture is made of."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from dataclasses import dataclass
from functools import cached_property
from typing import TYPE_CHECKING

from closecall.calibration.figures import plain
from closecall.errors import UsageError
from closecall.records import Label, Measured
from closecall.report.charts import curves, distributions, errors, reliability
from closecall.report.charts.chart import At, Chart, Drawn, NoChart
from closecall.report.charts.labelled import sides

if TYPE_CHECKING:
    from closecall.calibration.artefact import Calibration
    from closecall.calibration.curve import ErrorCurve
    from closecall.runs.applied import Applied
    from closecall.runs.record import Run

KINDS = ("distributions", "roc", "det", "errors", "precision", "reliability")
"""The pictures of labelled scores."""


@dataclass(frozen=True, kw_only=True)
class Scores:
    """Scores of one metric.

    ``accepts``, ``rejects`` and ``unlabelled`` are values on the metric's own scale, rounded as
    the cutoffs are compared; ``absent`` answers have none. ``limit`` is what is promised of the
    false accepts, with its name. ``fitted`` maps scores to probabilities, None where no curve was
    fitted. ``note`` says something that belongs below each picture.
    """

    metric: str
    accepts: tuple[float, ...]
    rejects: tuple[float, ...]
    unlabelled: tuple[float, ...] = ()
    absent: int = 0
    cutoffs: tuple[At, ...] = ()
    limit: At | None = None
    fitted: Callable[[Sequence[float]], Sequence[float]] | None = None
    note: str = ""

    @cached_property
    def curve(self) -> ErrorCurve | None:
        """The labelled scores, swept; None without any."""
        from closecall.calibration.curve import error_curve

        if not (self.accepts or self.rejects):
            return None
        labels = [True] * len(self.accepts) + [False] * len(self.rejects)
        return error_curve([*self.accepts, *self.rejects], labels, decimals=None)

    @property
    def two_sided(self) -> bool:
        """Whether there are accepts and rejects."""
        return bool(self.accepts and self.rejects)


def draw(kind: str, scores: Scores) -> Drawn:
    """Return the picture of this kind.

    Without any label the distributions are those of all scores together.

    Raises
    ------
    UsageError
        There is no such kind.
    """
    if kind not in KINDS:
        raise UsageError(f"there is no picture {kind!r}; pictures: {', '.join(KINDS)}")
    return _noted(_drawn(kind, scores), scores, kind)


def _drawn(kind: str, scores: Scores) -> Drawn:  # noqa: PLR0911 - one for each kind
    score, of, cutoffs = f"{scores.metric} score", scores.metric, scores.cutoffs
    if kind == "distributions" and (scores.accepts or scores.rejects):
        return distributions.distributions(
            scores.accepts, scores.rejects, cutoffs=cutoffs, score=score, of=of
        )
    if kind == "distributions":
        return distributions.distribution(scores.unlabelled, cutoffs=cutoffs, score=score, of=of)
    curve = scores.curve
    if curve is None:
        return NoChart(kind, f"{kind}: {of}", sides("This picture", 0, 0))
    if kind == "roc":
        return curves.roc(curve, cutoffs=cutoffs, of=of)
    if kind == "det":
        return curves.det(curve, cutoffs=cutoffs, of=of)
    if kind == "errors":
        return errors.errors(curve, cutoffs=cutoffs, limit=scores.limit, score=score, of=of)
    if kind == "precision":
        return errors.precision(curve, cutoffs=cutoffs, score=score, of=of)
    return reliability.reliability(
        curve, fitted=scores.fitted, cutoffs=cutoffs, score=score, of=of
    )


def _noted(drawn: Drawn, scores: Scores, kind: str) -> Drawn:
    """Add what is not in the picture: answers without a label, and without a score."""
    if not isinstance(drawn, Chart):
        return drawn
    left = []
    if scores.unlabelled and (kind != "distributions" or scores.two_sided):
        left.append(f"{len(scores.unlabelled):,} without a label")
    if scores.absent:
        left.append(f"{scores.absent:,} without a score")
    notes = [f"not drawn: {', '.join(left)}"] if left else []
    if scores.note:
        notes.append(scores.note)
    return drawn._replace(notes=(*drawn.notes, *notes))


def of_calibration(made: Calibration) -> Scores:
    """Return the labelled scores that chose a cutoff; those set aside as a test are not among."""
    from closecall.calibration.evidence.probability import probability

    data = made.sample.labelled(made.goal.decimals)
    kept = ~(made.sample.marked(made.sample.locked) | made.sample.marked(made.sample.trained))
    fitted = made.probability
    aside = len(data.scores) - int(kept.sum())
    return Scores(
        metric=made.metric.id,
        accepts=tuple(data.scores[kept & data.accept].tolist()),
        rejects=tuple(data.scores[kept & ~data.accept].tolist()),
        cutoffs=cutoffs_of(
            made.accept_cutoff.value,
            None if made.reject_cutoff is None else made.reject_cutoff.value,
        ),
        limit=limit_of(made.goal.max_far),
        fitted=None
        if fitted is None
        else lambda scores: probability(fitted, list(scores)).tolist(),
        note="these labels chose the cutoff, so its errors look smaller than they are"
        + (f"; {aside:,} set aside are not drawn" if aside else ""),
    )


def of_run(run: Run, metric: str | None = None) -> Scores:
    """Return the scores of one metric over a run; memory for one number a measured case.

    Raises
    ------
    UsageError
        The run has no such metric, or several and none was named.
    """
    named = metric_of(run, metric)
    at = [plan.id for plan in run.header.metrics].index(named)
    plan = run.header.metrics[at]
    values: dict[Label | None, list[float]] = {None: [], Label.ACCEPT: [], Label.REJECT: []}
    absent = 0
    for row in run:
        found = row.results[at].measurement
        if isinstance(found, Measured):
            value = (
                found.value if plan.calibration is None else plan.calibration.rounded(found.value)
            )
            values[row.case.label].append(value)
        else:
            absent += 1
    return Scores(
        metric=named,
        accepts=tuple(values[Label.ACCEPT]),
        rejects=tuple(values[Label.REJECT]),
        unlabelled=tuple(values[None]),
        absent=absent,
        cutoffs=plan_cutoffs(plan.cutoff, plan.calibration),
        limit=None if plan.calibration is None else limit_of(plan.calibration.max_far),
        note="errors of the cutoff alone: what guards hold back is not counted"
        if plan.guards
        else "",
    )


def metric_of(run: Run, metric: str | None) -> str:
    """Return the metric to draw: the one named, else the only one.

    Raises
    ------
    UsageError
        The run has no such metric, or several and none was named.
    """
    known = [plan.id for plan in run.header.metrics]
    if metric is None and len(known) == 1:
        return known[0]
    if metric in known:
        return str(metric)
    what = "say which metric" if metric is None else f"there is no metric {metric!r} in this run"
    raise UsageError(f"{what}: -m {' or -m '.join(known)}")


def plan_cutoffs(cutoff: float | None, used: Applied | None) -> tuple[At, ...]:
    """Return the cutoffs of a run's metric."""
    if cutoff is None:
        return ()
    return cutoffs_of(cutoff, None if used is None else used.reject)


def cutoffs_of(accept: float, reject: float | None) -> tuple[At, ...]:
    """Return one cutoff, or the two of a rule that leaves some unsure, lower one first."""
    if reject is None:
        return (At(accept, f"cutoff {plain(accept)}"),)
    return (
        At(reject, f"reject below {plain(reject)}"),
        At(accept, f"accept from {plain(accept)}"),
    )


def limit_of(max_far: float | None) -> At | None:
    """Return the line of a promise on false accepts."""
    if max_far is None:
        return None
    return At(max_far, f"promised: at most {100 * max_far:.10g}% false accepts")

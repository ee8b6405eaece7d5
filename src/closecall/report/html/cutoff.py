"""The section of the cutoff: how accepts and rejects are spread, and what each cutoff would do.

Errors are counted on the labelled cases of the run or, where it has not both accepts and rejects,
on the labels of its calibration. Without scripts the pictures, a table of cutoffs and the evidence
stand; with them one cutoff, or two, can be dragged.
"""

from __future__ import annotations

from collections.abc import Iterator
from pathlib import Path
from typing import TYPE_CHECKING, Any, NamedTuple

from closecall.calibration.artefact import Calibration
from closecall.calibration.figures import count_of, plain
from closecall.records import Label
from closecall.report.charts.chart import Chart
from closecall.report.charts.scores import (
    KINDS,
    Scores,
    draw,
    limit_of,
    of_calibration,
    plan_cutoffs,
)
from closecall.report.charts.svg import svg
from closecall.report.html.columns import LABELS
from closecall.report.html.cutoff_evidence import Evidence, evidence
from closecall.report.html.cutoff_table import Row, rows

if TYPE_CHECKING:
    from closecall.report.html.columns import Columns, MetricColumns
    from closecall.report.html.page import Page
    from closecall.runs.header import MetricPlan
    from closecall.runs.summary import MetricSummary

OWN, FITTED, NONE = "own", "fitted", "none"
"""Whose labels errors are counted on: the run's, those of its calibration, nobody's."""


class Picture(NamedTuple):
    """A chart in the page: ``markup`` is SVG of our own making, or ``sentence`` says why not."""

    kind: str
    title: str
    markup: Any
    sentence: str


class Metric(NamedTuple):
    """What the section says of one metric."""

    number: int
    id: str
    note: str
    words: str
    basis: str
    counted: str
    issued: tuple[str, ...]
    pictures: tuple[Picture, ...]
    table: tuple[Row, ...]
    two: bool
    guards: bool
    evidence: Evidence | None
    missing: str
    advice: str


def context(page: Page) -> dict[str, Any]:
    """Return each metric of the run with its pictures, its table of cutoffs and its evidence."""
    found: list[Metric] = []
    data: list[dict[str, Any]] = []
    blocks: dict[str, Any] = {}
    for at, plan in enumerate(page.run.header.metrics):
        made, missing = _calibration(plan)
        scores, basis = _scores(page.columns, page.columns.metrics[at], plan, made)
        if not (scores.accepts or scores.rejects or scores.unlabelled) and made is None:
            continue
        found.append(_metric(page, at, scores, basis, (made, missing)))
        if basis == FITTED:
            blocks[f"labels-{at}"] = {
                "accepts": sorted(scores.accepts, reverse=True),
                "rejects": sorted(scores.rejects, reverse=True),
            }
        data.append(_data(at, plan, basis))
    return {"metrics": found, "data": {"metrics": data}, "blocks": blocks}


def _calibration(plan: MetricPlan) -> tuple[Calibration | None, str]:
    """Return the calibration of a metric, or why its file says nothing here.

    The run folder holds what decided; the rest of the evidence is in the file, if it is still
    where it was and still the same.
    """
    from closecall.calibration.store import load_calibration
    from closecall.errors import CalibrationFileError

    used = plan.calibration
    if used is None:
        return None, ""
    again = (
        "Slices, held-out errors and the labels worth a second look are not in this report; put "
        "the file back and make the report again."
    )
    if used.uncalibrated:
        return None, (
            "The cutoff was fitted with another embedder or metric: what was promised there says "
            "nothing of this run."
        )
    name = Path(used.path).name
    if not used.path:
        return None, f"The calibration was given in Python, not in a file. {again}"
    try:
        made = load_calibration(used.path)
    except CalibrationFileError:
        return (
            None,
            f"The calibration file {name} is not there any more, or cannot be read. {again}",
        )
    if made.digest != used.digest:
        return None, f"The calibration file {name} was made anew since this run. {again}"
    return made, ""


def _scores(
    columns: Columns, column: MetricColumns, plan: MetricPlan, made: Calibration | None
) -> tuple[Scores, str]:
    """Return the scores that errors are counted on, and whose labels they have."""
    used = plan.calibration
    values: dict[Label | None, list[float]] = {label: [] for label in LABELS}
    absent = 0
    for code, value in zip(columns.labels, column.values, strict=True):
        if value is None:
            absent += 1
        else:
            values[LABELS[code]].append(value if used is None else used.rounded(value))
    own = Scores(
        metric=plan.id,
        accepts=tuple(values[Label.ACCEPT]),
        rejects=tuple(values[Label.REJECT]),
        unlabelled=tuple(values[None]),
        absent=absent,
        cutoffs=plan_cutoffs(plan.cutoff, used),
        limit=None if used is None or used.uncalibrated else limit_of(used.max_far),
        fitted=None if made is None else of_calibration(made).fitted,
    )
    if own.two_sided:
        return own, OWN
    if made is not None:
        return of_calibration(made), FITTED
    return own, NONE


def _metric(
    page: Page, at: int, scores: Scores, basis: str, kept: tuple[Calibration | None, str]
) -> Metric:
    plan, summary = page.run.header.metrics[at], page.run.metrics[at]
    used, (made, missing) = plan.calibration, kept
    two = used is not None and used.reject is not None
    return Metric(
        number=at,
        id=plan.id,
        note=plan.cutoff_note,
        words=_words(plan),
        basis=basis,
        counted=_counted(page, plan, scores, basis),
        issued=tuple(_issued(summary, basis)),
        pictures=tuple(_pictures(scores, basis, at)),
        table=rows(scores) if basis != NONE else (),
        two=two,
        guards=bool(plan.guards),
        evidence=None if made is None else evidence(made, page.columns.ids),
        missing=missing,
        advice=_advice(page, plan) if basis == NONE or used is None else "",
    )


def _words(plan: MetricPlan) -> str:
    if plan.cutoff is None:
        return "no cutoff"
    used = plan.calibration
    if used is not None and used.reject is not None:
        return f"accept from {plain(used.accept)}, reject below {plain(used.reject)}"
    return f"cutoff {plain(plan.cutoff)}"


def _counted(page: Page, plan: MetricPlan, scores: Scores, basis: str) -> str:
    good, bad = f"{len(scores.accepts):,}", f"{len(scores.rejects):,}"
    used = plan.calibration
    if basis == OWN:
        told = (
            f"Errors are counted on the labelled cases of this run that were measured: {good} "
            f"accepts and {bad} rejects."
        )
        if used is not None and used.cases == page.run.header.dataset.digest:
            told += (
                " These very labels chose the cutoff, so its errors look smaller than they are."
            )
        return told
    if basis == FITTED:
        return (
            "This run has not both accepts and rejects, so errors are counted on the labels that "
            f"chose the cutoff: {good} accepts and {bad} rejects. There they look smaller than "
            "they are."
        )
    if scores.accepts or scores.rejects:
        return (
            f"Of the labelled cases {good} are accepts and {bad} rejects: without both, no error "
            "of a cutoff is known."
        )
    return "No case of this run has a label, so no error of any cutoff is known."


def _issued(summary: MetricSummary, basis: str) -> Iterator[str]:
    """Yield the errors of the issued cutoff with intervals that allow for groups."""
    if basis != OWN:
        return
    for what, whose, rate in (
        ("False accepts", "answers labelled reject", summary.false_accept_rate),
        ("False rejects", "answers labelled accept", summary.false_reject_rate),
    ):
        if rate is not None:
            yield f"{what}, of {whose}: {count_of(rate)}"


def _pictures(scores: Scores, basis: str, at: int) -> Iterator[Picture]:
    from markupsafe import Markup

    for kind in KINDS if basis != NONE else KINDS[:1]:
        drawn = draw(kind, scores)
        if isinstance(drawn, Chart):
            # Escaped by the renderer: see ``charts.svg``.
            markup = Markup(svg(drawn, f"cutoff-{at}-{kind}"))  # noqa: S704
            yield Picture(kind, drawn.title, markup, "")
        else:
            yield Picture(kind, drawn.title, None, drawn.sentence)


def _advice(page: Page, plan: MetricPlan) -> str:
    """Return what to type to have labels, and a cutoff of one's own."""
    from shlex import quote

    file = quote(Path(page.run.header.dataset.path or "CASES").name)
    metric = quote(plan.id)
    return (
        f"closecall plan {file}  says how many labels a promise needs and which come next\n"
        f"closecall label {file}  accepts and rejects answers by single keys\n"
        f"closecall calibrate {file} -m {metric} -o cutoff.json  chooses a cutoff from the labels"
    )


def _data(at: int, plan: MetricPlan, basis: str) -> dict[str, Any]:
    used = plan.calibration
    return {
        "at": at,
        "id": plan.id,
        "accept": plan.cutoff,
        "reject": None if used is None else used.reject,
        "decimals": None if used is None else used.decimals,
        "basis": basis,
        "guards": bool(plan.guards),
        "promised": used is not None and not used.uncalibrated,
    }

"""Two cutoffs, or two models, on the same labelled cases.

Each scores the cases with its own embedder and decides by its own cutoff. Decisions, rankings and
what a promise costs are compared; a score of one is never set against a score of the other.
"""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from contextlib import suppress
from pathlib import Path
from typing import Any

import msgspec

from closecall.calibration.artefact import Calibration
from closecall.calibration.binomial import complement
from closecall.calibration.comparing.comparison import (
    Comparison,
    compare_decisions,
    compare_models,
)
from closecall.calibration.comparing.delong import auc_difference
from closecall.calibration.comparing.model_bootstrap import RESAMPLES, bootstrap_acceptance
from closecall.calibration.goals import DEFAULT_MAX_FAR, Goal
from closecall.calibration.inputs import labelled
from closecall.calibration.labels.items import group_of
from closecall.calibration.labels.label_facts import warn_active, warn_made_up
from closecall.calibration.labels.rows import LabelledRows, group_digest
from closecall.embedders.base import Embedder
from closecall.errors import DataError, UsageError
from closecall.metrics.base import Metric
from closecall.metrics.registry import DEFAULT as DEFAULT_METRIC
from closecall.records import Case
from closecall.runs.calibrations import One, apply, embedder_of, load_calibrations, window_of
from closecall.runs.compared import Candidate, Compared
from closecall.runs.paired_rows import (
    Cases,
    LabelledCases,
    PairedRows,
    Reading,
    Side,
    paired_rows,
    read_labelled,
    sides_of,
)

DIFFERENCES = 3
"""Named of those that tell apart two instruments of one model."""


def compare_cutoffs(
    a: One,
    b: One,
    cases: Cases,
    *,
    embedders: tuple[Embedder | str | None, Embedder | str | None] = (None, None),
    metrics: tuple[Metric | None, Metric | None] = (None, None),
    level: float = 0.95,
    reading: Reading | None = None,
) -> Compared:
    """Compare the decisions of two calibrations on the same labelled cases.

    Parameters
    ----------
    a, b
        Calibrations, or their files.
    cases
        Labelled cases that neither was calibrated on.
    embedders
        The embedder of each; None: the one its calibration names.
    metrics
        The metric of each, where it is none that a name stands for.
    level
        Confidence of the verdict and of every interval.
    reading
        How to read the cases and score them.

    Raises
    ------
    InstrumentMismatchError
        A calibration does not belong to its embedder. Raised before any case is embedded.
    DataError
        A file is not a calibration; no case is labelled, or none is measured by both.
    UsageError
        The two are one and the same, or an argument is out of range.
    """
    how = reading or Reading()
    complement(level)
    given = [load_calibrations([one])[0] for one in (a, b)]
    if given[0].made.digest == given[1].made.digest:
        raise UsageError(
            f"{given[0].name} and {given[1].name} are the same calibration: give two that differ"
        )
    sides = sides_of(
        [
            one.metric if metric is None else metric
            for one, metric in zip(given, metrics, strict=True)
        ],
        [
            embedder_of([one]) if embedder is None else embedder
            for one, embedder in zip(given, embedders, strict=True)
        ],
        [window_of([one]) for one in given],
        how.threads,
    )
    read = read_labelled(cases, sides, how)
    rules = [
        apply([one], [side.metric], side.embedder, side.spec, None, uncalibrated=False)[one.metric]
        for one, side in zip(given, sides, strict=True)
    ]
    rows = paired_rows(read, sides, how)
    ours, theirs = rows.a.labelled(), rows.b.labelled()
    names = _apart([Path(one.path).stem or at for one, at in zip(given, "AB", strict=True)])
    found = compare_decisions(
        ours.accept,
        [rules[0].decide(row.score) for row in rows.a.rows],
        [rules[1].decide(row.score) for row in rows.b.rows],
        ours.groups,
        names=names,
        level=level,
    )
    same_score = sides[0].score == sides[1].score
    if not same_score and found.accepts and found.rejects:
        auc = auc_difference(ours.scores, theirs.scores, ours.accept, level, groups=ours.groups)
        found = msgspec.structs.replace(found, auc=auc)
    about = [
        {
            "words": rule.words,
            "calibration": rule.digest,
            "known": _known(one.made, rows.a),
        }
        for rule, one in zip(rules, given, strict=True)
    ]
    return _compared(read, rows, sides, found, about, same_score=same_score)


def compare_embedders(
    cases: Cases,
    embedders: tuple[Embedder | str | None, Embedder | str | None] = (None, None),
    goal: Goal | None = None,
    metrics: tuple[str | Metric, str | Metric] = (DEFAULT_METRIC, DEFAULT_METRIC),
    *,
    level: float = 0.95,
    resamples: int = RESAMPLES,
    reading: Reading | None = None,
) -> Compared:
    """Compare two embedders, or two metrics, by what each accepts under one promise.

    The calibration of both is made again inside each resample, so their cutoffs are as uncertain
    here as they would be in use.

    Parameters
    ----------
    cases
        Labelled cases.
    embedders, metrics
        Of the two; at least one of the pairs differs. An embedder that is None is the bundled
        model.
    goal
        The promise, on false accepts alone; None: at most 5% of wrong answers accepted. Its seed
        draws the resamples too.
    level, resamples
        Confidence of the verdict; how many resamples of the groups.
    reading
        How to read the cases and score them.

    Raises
    ------
    DataError
        No case is labelled, none is measured by both, or labels were picked by score.
    UsageError
        The two are the same, the goal is not a promise on false accepts, or an argument is out
        of range. Raised before any case is embedded.
    """
    how = reading or Reading()
    goal = goal or Goal(max_far=DEFAULT_MAX_FAR)
    # Two rows are too few for any answer, but enough to hear what is wrong with the rest.
    two = labelled([0.0, 1.0], [False, True], decimals=goal.decimals)
    bootstrap_acceptance(two, two, goal, resamples=resamples, seed=goal.seed, level=level)
    sides = sides_of(metrics, embedders, (None, None), how.threads)
    if sides[0].score == sides[1].score:
        raise UsageError(
            f"the two are the same, {sides[0].metric.spec.id} with "
            f"{sides[0].embedder.instrument.model}: name two embedders, or two metrics"
        )
    read = read_labelled(cases, sides, how)
    if read.facts.active:
        raise DataError(
            f"{read.name}: {warn_active(read.facts)}, and models are compared under a promise on "
            "such a rate. Leave these labels out (--leave-out-active)"
        )
    if made_up := warn_made_up(read.facts):
        raise DataError(
            f"{read.name}: {made_up}, and models are compared under a promise on such a rate"
        )
    rows = paired_rows(read, sides, how)
    found = compare_models(
        rows.a.labelled(goal.decimals),
        rows.b.labelled(goal.decimals),
        goal,
        names=_apart(_model_names(sides)),
        level=level,
        resamples=resamples,
        seed=goal.seed,
    )
    return _compared(read, rows, sides, found, [{}, {}], goal=goal)


def _compared(
    read: LabelledCases,
    rows: PairedRows,
    sides: Sequence[Side],
    found: Comparison,
    about: Sequence[dict[str, Any]],
    *,
    same_score: bool = False,
    goal: Goal | None = None,
) -> Compared:
    a, b = (
        Candidate(
            name=name,
            metric=side.metric.spec.id,
            model=model,
            instrument=side.embedder.instrument.digest,
            unmeasured=reasons,
            **more,
        )
        for name, side, model, reasons, more in zip(
            (found.a, found.b), sides, _models(sides), rows.unmeasured, about, strict=True
        )
    )
    return Compared(
        a=a,
        b=b,
        data=read.name,
        digest=read.digest,
        rows=read.rows,
        left_out=rows.left_out,
        grouped_by=rows.a.grouped_by,
        picked=read.facts.active,
        same_score=same_score,
        goal=goal,
        comparison=found,
    )


def _apart(names: Sequence[str]) -> tuple[str, str]:
    a, b = names
    return (a, b) if a != b else (f"{a} (A)", f"{b} (B)")


def _model_names(sides: Sequence[Side]) -> list[str]:
    """Return what tells the two apart: the models, the metrics, or both."""
    models, metrics = _models(sides), [side.metric.spec.id for side in sides]
    if metrics[0] == metrics[1]:
        return models
    if sides[0].score[1] == sides[1].score[1]:
        return metrics
    return [f"{metric} with {model}" for metric, model in zip(metrics, models, strict=True)]


def _models(sides: Sequence[Side]) -> list[str]:
    """Return the names of the models; of two called the same, with what differs."""
    a, b = (msgspec.to_builtins(side.embedder.instrument) for side in sides)
    apart = [name for name in a if a[name] != b[name]]
    if not apart or a["model"] != b["model"]:
        return [a["model"], b["model"]]
    shown = apart[:DIFFERENCES]
    return [
        f"{one['model']} ({', '.join(f'{name} {one[name]!s:.12}' for name in shown)})"
        for one in (a, b)
    ]


def _known(made: Calibration, rows: LabelledRows) -> int:
    """Return how many rows belong to a group, or a question, whose labels chose this cutoff."""
    sample = made.sample
    aside = frozenset(sample.locked)
    chose = [row for row in range(len(sample.ids)) if row not in aside]
    seen = {sample.groups[row] for row in chose}
    if sample.texts is not None:
        for row in chose:
            seen.update(_question(Case(id="", input=sample.texts[row].input)))
    return sum(not seen.isdisjoint(_names_of(row.case, made.data.grouped_by)) for row in rows.rows)


def _names_of(case: Case, grouped_by: str) -> Iterator[str]:
    """Yield every name a calibration may have for the group of this case."""
    yield group_digest(group_of(case)[0])
    with suppress(UsageError):  # it was grouped by a field that this case lacks
        yield group_digest(group_of(case, grouped_by)[0])
    yield from _question(case)


def _question(case: Case) -> Iterator[str]:
    """Yield the name of the group that a case's question makes, if it has one."""
    if case.input and case.input.strip():
        yield group_digest(group_of(msgspec.structs.replace(case, group=None))[0])


__all__ = ["Compared", "Reading", "compare_cutoffs", "compare_embedders"]

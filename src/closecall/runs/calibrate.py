"""``calibrate``: from a file of labelled cases to a calibration. The command line calls this."""

from __future__ import annotations

import dataclasses
import os
import time
from collections.abc import Callable, Iterable, Mapping
from datetime import UTC, datetime
from pathlib import Path
from typing import TYPE_CHECKING, Any

from closecall.calibration.artefact import Calibration
from closecall.calibration.build import History, Material, build
from closecall.calibration.drift.canary_record import record_canaries
from closecall.calibration.evidence.slicing import Slicer
from closecall.calibration.goals import DEFAULT_MAX_FAR, Goal
from closecall.calibration.labels.items import group_of
from closecall.calibration.labels.label_facts import (
    label_facts,
    refuse_active,
    refuse_made_up,
)
from closecall.calibration.labels.rows import LabelledRows, collect
from closecall.calibration.records import Infeasible
from closecall.datasets import OnBadRow
from closecall.embedders.base import Embedder
from closecall.embedders.registry import DEFAULT
from closecall.errors import (
    DataError,
    UsageError,
)
from closecall.metrics.base import Metric
from closecall.metrics.registry import DEFAULT as DEFAULT_METRIC
from closecall.metrics.registry import load_metric
from closecall.records import Case
from closecall.runs.asked import PathLike, chosen_embedder, read_cases
from closecall.runs.evaluate import evaluate
from closecall.runs.judged_by import with_judge_specs
from closecall.runs.judging import Judging, Measurements, Wanted, build_judged
from closecall.runs.live import Judging as JudgingModels
from closecall.runs.live import with_judge_models
from closecall.runs.monitor import TEXTS
from closecall.runs.runner import Progress
from closecall.runs.stale_cache import drop_stale_vectors

if TYPE_CHECKING:
    from closecall.cassettes import Cassette

DECIDING = frozenset({"label", "group", "input"})
"""Fields, besides the metric's own, that a calibration turns on: none may have two readings."""

LAST_SECOND = 253_402_300_799
"""That of the year 9999, the last that a date of four digits can say."""

PICKED = "left out, because the label was picked by score"


def calibrate(
    cases: PathLike | Iterable[Case | Mapping[str, Any]],
    metric: str | Metric = DEFAULT_METRIC,
    embedder: Embedder | str | None = None,
    goal: Goal | None = None,
    *,
    group: str | None = None,
    slices: Iterable[str] = (),
    lock: bool = True,
    keep_texts: bool = True,
    leave_out_active: bool = False,
    judge: Wanted = False,
    judge_model: JudgingModels | None = None,
    cassette: Cassette | None = None,
    previous: Calibration | None = None,
    window: str | None = None,
    threads: int | None = None,
    mapping: Mapping[str, str] | None = None,
    on_bad_row: OnBadRow = "fail",
    cache: bool | PathLike = True,
    progress: Progress | None = None,
    on_notice: Callable[[str], None] | None = None,
) -> Calibration | Infeasible:
    """Score labelled cases and choose the cutoff for a goal, with the evidence for it.

    Parameters
    ----------
    cases
        A case file or cases, as ``evaluate`` takes them; rows without a label are not scored.
    metric
        The metric whose values are cut.
    embedder
        An embedder or a name; None: the bundled model.
    goal
        What the cutoff is for; None: at most 5% of wrong answers accepted, at confidence 95%.
    group
        The field that says which rows belong together; see ``rows.collect``.
    slices
        More fields to look at value by value, besides those that are always looked at.
    lock
        Whether to set a third aside, where there are labels enough, to test the cutoff once.
    keep_texts
        Whether the calibration keeps the labelled texts, which ``refresh`` needs. Without them
        it still holds ids, scores, and the values of slices; one that is a whole text is dropped.
    leave_out_active
        Leave out labels that were picked by score, which no promise can rest on.
    judge
        True (or ``crossed``) fits a judge to the labels and calibrates that: all rows train it and
        choose the cutoff, so the promise is approximate. ``split``: half of the groups train it
        and the others choose, so the promise is exact. It is kept only where it is better than
        the best single score by more than one standard error.
    judge_model, cassette
        The chat model, by name or as an object, of a metric that asks one, and where all that
        leaves the process is recorded; as ``judge`` and ``cassette`` of ``evaluate``.
    previous
        An earlier calibration on mostly the same labels, so that tries are counted.
    window, threads, mapping, on_bad_row, cache, progress, on_notice
        As for ``evaluate``.

    Returns
    -------
    Calibration or Infeasible
        ``save_calibration`` writes a calibration to a file.

    Raises
    ------
    DataError, UsageError, ConfigurationError
        As for ``evaluate``; also where no case has a label, a field to group or slice by is not
        there, or a promise is asked of labels that were picked by score or made by ``closecall
        stress``. Raised before any text is embedded.
    """
    wanted = goal or Goal(max_far=DEFAULT_MAX_FAR)
    judging = Judging.of(judge, metric, wanted)
    asked = tuple(slices)
    texts = sorted(TEXTS.intersection(asked))
    if texts and not keep_texts:
        raise UsageError(
            f"the values of {' and '.join(texts)} are texts of cases, which the calibration is "
            "not to keep: slice by another field, or keep the texts"
        )
    measuring: list[Metric] = []
    told: tuple[str, ...] = ()
    needs: Iterable[str]
    if judging is None:
        loaded = load_metric(metric) if isinstance(metric, str) else metric
        measuring, told = with_judge_models([loaded], judge_model, cassette, on_notice)
        needs = measuring[0].spec.needs
        # The canaries alone are embedded then, which is no reason to ask a provider.
        embedder = DEFAULT if embedder is None and not measuring[0].spec.embeds else embedder
    else:
        needs = judging.needs
    spec, used = chosen_embedder(embedder, window, threads, cassette)
    source, file = read_cases(cases, mapping, on_bad_row, DECIDING.union(needs))
    labelled = [case for case in source if case.label is not None]
    name = "cases" if file.path is None else Path(file.path).name
    if not labelled:
        raise DataError(
            f"{name}: none of {file.rows:,} rows has a label. Label them in a column 'label' with "
            "accept or reject (--map label=COLUMN reads another column); closecall plan says how "
            "many"
        )
    facts = label_facts(labelled)
    unlabelled, picked = file.rows - len(labelled), facts.active if leave_out_active else 0
    if picked:
        ids = set(facts.active_ids)
        labelled = [case for case in labelled if case.id not in ids]
        if not labelled:
            raise DataError(f"{name}: all {picked:,} labels were picked by score")
        facts = label_facts(labelled)
    if wanted.promises:
        refuse_active(facts)
        refuse_made_up(facts)
    for case in labelled:
        group_of(case, group)
    Slicer.fit(labelled, asked)
    drop_stale_vectors(previous, used, cache, on_notice)
    if judging is not None:
        judging = judging.settled(labelled)
        measuring = judging.metrics()
    run = evaluate(
        labelled,
        measuring,
        used,
        guards="off",
        cassette=cassette,
        cache=cache,
        progress=progress,
        on_notice=on_notice,
    )
    found = None if judging is None else Measurements(judging.known, run)
    rows = collect(found or ((row.case, row.results[0].measurement) for row in run), group)
    rows = dataclasses.replace(
        rows,
        seen=file.rows,
        unlabelled=unlabelled,
        unmeasured={**rows.unmeasured, **({PICKED: picked} if picked else {})},
    )
    require_rows(rows, name)
    slicer = Slicer.fit(rows.cases, asked)
    material = Material(
        rows=rows,
        facts=facts,
        slicer=slicer,
        slices=[slicer.of(case) for case in rows.cases],
        name=name,
        digest=file.digest,
        metric=measuring[0].spec,
        embedder=spec,
        window=used.instrument.window,
        instrument=used.instrument,
        canaries=record_canaries(used),
    )
    how: dict[str, Any] = {
        "created": timestamp(),
        "history": history_of(previous, material, lock=lock),
        "keep_texts": keep_texts,
    }
    if judging is None or found is None:
        return with_judge_specs(build(material, wanted, **how), measuring[0], told)
    return build_judged(material, found, judging, wanted, **how)


def timestamp() -> str:
    """Return the time in UTC, or the one that SOURCE_DATE_EPOCH names, for files that repeat."""
    epoch = os.environ.get("SOURCE_DATE_EPOCH", "")
    seconds = int(epoch) if epoch.isascii() and epoch.isdigit() else int(time.time())
    if seconds > LAST_SECOND:
        raise UsageError(f"SOURCE_DATE_EPOCH={epoch}: seconds since 1970 before the year 10000")
    return datetime.fromtimestamp(seconds, UTC).strftime("%Y-%m-%dT%H:%M:%SZ")


def require_rows(rows: LabelledRows, name: str) -> None:
    """Refuse labels of which none is left, and say what became of them."""
    if rows.rows:
        return
    if rows.conflicts:
        at = rows.conflicts[0]
        raise DataError(
            f"{name}: every item that could be measured carries both labels, {len(rows.conflicts)}"
            f" in all; the first stands at {', '.join(place or at.ids[0] for place in at.places)}"
        )
    reason = next(iter(rows.unmeasured))
    raise DataError(f"{name}: none of the labelled rows could be measured: {reason}")


def history_of(previous: Calibration | None, material: Material, *, lock: bool) -> History:
    """Return what an earlier calibration says of the labels: one on mostly the same is a try."""
    if previous is None:
        return History(lock=lock)
    if previous.data.digest == material.digest and previous.data.grouped_by != (
        material.rows.grouped_by
    ):
        # Other names for the groups of the same cases: what was set aside then is in play now.
        groups = frozenset(row.group for row in material.rows.rows)
        uses = 0 if previous.locked is None else previous.locked.uses
        return History(tried=previous.tried + 1, lock=lock, tested=groups, uses=uses, chose=groups)
    before = set(previous.sample.groups)
    shared = before & {row.group for row in material.rows.rows}
    if 2 * len(shared) < len(before):
        return History(lock=lock)
    return History(tried=previous.tried + 1, lock=lock, **tested(previous))


def tested(calibration: Calibration) -> dict[str, Any]:
    """Return which groups tested a cutoff before and how often, and which chose one."""
    found, sample = calibration.locked, calibration.sample
    groups = frozenset(sample.groups[row] for row in sample.locked)
    return {
        "tested": groups,
        "uses": 0 if found is None else found.uses,
        "chose": frozenset(sample.groups) - groups,
    }


__all__ = ["calibrate", "history_of", "require_rows", "tested", "timestamp"]

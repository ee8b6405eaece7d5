"""``refresh``: a calibration made again from its own labelled texts; no label is asked for."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from typing import TYPE_CHECKING

import msgspec

from closecall.calibration.artefact import Calibration
from closecall.calibration.build import History, Material, build
from closecall.calibration.decisions import decide
from closecall.calibration.drift.canary_record import record_canaries
from closecall.calibration.labels.label_facts import label_facts
from closecall.calibration.labels.rows import LabelledRow, LabelledRows
from closecall.calibration.records import Infeasible
from closecall.embedders.base import Embedder
from closecall.errors import (
    CalibrationFileError,
    ConfigurationError,
    InstrumentMismatchError,
    UsageError,
)
from closecall.metrics.base import Metric
from closecall.metrics.registry import load_metric
from closecall.records import Case, Label, Measured
from closecall.runs.asked import GIVEN, PathLike, chosen_embedder
from closecall.runs.calibrate import require_rows, tested, timestamp
from closecall.runs.evaluate import evaluate
from closecall.runs.judged_by import judge_option, with_judge_specs
from closecall.runs.judging import Judging, Measurements, build_judged, judging_again
from closecall.runs.live import Judging as JudgingModels
from closecall.runs.live import with_judge_models
from closecall.runs.runner import Progress
from closecall.runs.stale_cache import drop_stale_vectors

if TYPE_CHECKING:
    from closecall.cassettes import Cassette


class Refreshed(msgspec.Struct, frozen=True, kw_only=True):
    """A calibration made again from its stored texts.

    ``flipped`` has the labelled rows it now decides otherwise: id, decision then, decision now.
    """

    before: Calibration
    after: Calibration | Infeasible
    flipped: tuple[tuple[str, str, str], ...]


def refresh(
    calibration: Calibration,
    embedder: Embedder | str | None = None,
    *,
    metric: Metric | None = None,
    judge_model: JudgingModels | None = None,
    cassette: Cassette | None = None,
    window: str | None = None,
    threads: int | None = None,
    cache: bool | PathLike = True,
    progress: Progress | None = None,
    on_notice: Callable[[str], None] | None = None,
) -> Refreshed:
    """Score the stored labelled texts again, with the embedder as it is now, and choose anew.

    No label is asked for: they are about the texts, not about the embedder. The same rows stay
    set aside. A judge is fitted anew. Where the embedder keeps its identity and yet gives other
    vectors, what the cache holds of it is dropped.

    Parameters
    ----------
    calibration
        One that kept its texts.
    embedder
        An embedder or a name; None: by the name that the calibration has.
    metric
        The metric itself, where it is none that a name stands for. It may be of a newer version.
    judge_model, cassette
        The chat model of a metric that asks one, and where all that leaves the process is
        recorded; as ``judge`` and ``cassette`` of ``evaluate``.
    window
        What to do with long texts, for an embedder given by name; None: as before.
    threads, cache, progress, on_notice
        As for ``evaluate``.

    Raises
    ------
    CalibrationFileError
        The texts were not kept.
    InstrumentMismatchError
        ``metric`` is another one.
    UsageError, ConfigurationError
        As for ``evaluate``.
    """
    sample = calibration.sample
    if sample.texts is None:
        raise CalibrationFileError(
            "this calibration was made without its texts, so they cannot be scored again: "
            "calibrate anew from the labelled file"
        )
    judging = judging_again(calibration)
    measuring = _measuring(calibration, judging, metric)
    try:
        measuring, told = with_judge_models(measuring, judge_model, cassette, on_notice)
    except ConfigurationError as error:
        if judge_model is not None or not calibration.metric.judges:
            raise
        made_with = judge_option(calibration.metric.judges)
        raise ConfigurationError(f"{error}. The calibration was made with {made_with}") from error
    if embedder is None:
        embedder = calibration.embedder
        if embedder.startswith(GIVEN):
            raise UsageError(
                f"the embedder was a {embedder.removeprefix(GIVEN)} given in Python: give it again"
            )
    if window is None and isinstance(embedder, str):
        window = calibration.window
    spec, used = chosen_embedder(embedder, window, threads, cassette)
    cases = [
        Case(
            id=case_id,
            input=texts.input,
            response=texts.response,
            references=texts.references,
            context=texts.context,
            label=Label.ACCEPT if mark == "a" else Label.REJECT,
            place=place,
        )
        for case_id, place, mark, texts in zip(
            sample.ids, sample.places, sample.accept, sample.texts, strict=True
        )
    ]
    drop_stale_vectors(calibration, used, cache, on_notice)
    run = evaluate(
        cases,
        measuring,
        used,
        guards="off",
        cassette=cassette,
        cache=cache,
        progress=progress,
        on_notice=on_notice,
    )
    data = calibration.data
    rows, kept = [], []
    unmeasured = dict(data.unmeasured)
    for at, row in enumerate(run):
        found = row.results[0].measurement
        if not isinstance(found, Measured):
            unmeasured[found.cause] = unmeasured.get(found.cause, 0) + 1
            continue
        cut = any(tokens.truncated for tokens in found.tokens.values())
        rows.append(
            LabelledRow(cases[at], found.value, sample.accept[at] == "a", sample.groups[at], cut)
        )
        kept.append(at)
    measured = LabelledRows(
        rows=tuple(rows),
        grouped_by=data.grouped_by,
        seen=data.rows,
        unlabelled=data.unlabelled,
        merged=data.merged,
        conflicts=data.conflicts,
        agreement=data.agreement,
        attributed=data.attributed,
        joined=data.joined,
        unmeasured=unmeasured,
    )
    require_rows(measured, data.name)
    material = Material(
        rows=measured,
        facts=msgspec.structs.replace(
            label_facts(()),
            active=data.active,
            made_up=data.made_up,
            unstated=max(0, data.used + data.locked + len(sample.trained) - data.active),
        ),
        slicer=calibration.slicer,
        slices=[sample.slices_of_row(at) for at in kept],
        name=data.name,
        digest=data.digest,
        metric=measuring[0].spec,
        embedder=spec,
        window=used.instrument.window,
        instrument=used.instrument,
        canaries=record_canaries(used),
    )
    history = History(
        tried=calibration.tried, lock=calibration.locked is not None, **tested(calibration)
    )
    after: Calibration | Infeasible
    if judging is None:
        built = build(material, calibration.goal, created=timestamp(), history=history)
        after = with_judge_specs(built, measuring[0], told)
    else:
        after = build_judged(
            material,
            Measurements(judging.known, run, cases),
            judging,
            calibration.goal,
            created=timestamp(),
            history=history,
        )
    flipped = () if isinstance(after, Infeasible) else _flipped(calibration, after, kept)
    return Refreshed(before=calibration, after=after, flipped=flipped)


def _measuring(
    calibration: Calibration, judging: Judging | None, metric: Metric | None
) -> list[Metric]:
    """Return what the texts are scored with."""
    if judging is not None:
        if metric is not None:
            raise UsageError("a judge is fitted anew from the labels: leave the metric out")
        return judging.metrics()
    chosen = load_metric(calibration.metric.id) if metric is None else metric
    if chosen.spec.id != calibration.metric.id:
        raise InstrumentMismatchError(
            f"the calibration is for {calibration.metric.id}, not for {chosen.spec.id}"
        )
    return [chosen]


def _flipped(
    before: Calibration, after: Calibration, kept: Sequence[int]
) -> tuple[tuple[str, str, str], ...]:
    """Return which rows are decided otherwise now; ``kept`` are those of then that still count."""
    then, now = before.sample, after.sample
    pairs = (
        (case_id, decide(before.rule, then.scores[at]), decide(after.rule, score))
        for case_id, score, at in zip(now.ids, now.scores, kept, strict=True)
    )
    return tuple((case_id, was.value, new.value) for case_id, was, new in pairs if was is not new)


__all__ = ["Refreshed", "refresh"]

"""Going on with a run that was cut off."""

from __future__ import annotations

from collections.abc import Callable, Mapping
from pathlib import Path
from typing import TYPE_CHECKING, Any

from closecall.errors import RunFolderError, StorageError
from closecall.metrics.guards.policy import GuardPolicy
from closecall.metrics.registry import JUDGE, is_named
from closecall.runs.asked import GIVEN, PathLike
from closecall.runs.budget import Budget
from closecall.runs.destination import Destination, destination_of
from closecall.runs.evaluate import BUDGET, FAST, LABELS, evaluate
from closecall.runs.header import RunHeader
from closecall.runs.live import IN_PYTHON
from closecall.runs.prices import Prices
from closecall.runs.record import Run
from closecall.runs.runner import Progress
from closecall.runs.work import Watch
from closecall.there import is_file

if TYPE_CHECKING:
    from closecall.cassettes import Cassette


def resume(
    folder: PathLike | Destination,
    *,
    threads: int | None = None,
    cassette: Cassette | None = None,
    budget: Budget | str | int | None = None,
    prices: Prices | Mapping[str, Any] | None = None,
    cache: bool | PathLike = True,
    progress: Progress | None = None,
    watch: Watch | None = None,
    on_notice: Callable[[str], None] | None = None,
) -> Run:
    """Go on with a run that was cut off, as its own header says.

    ``budget`` is for the whole run, what was spent before included; None: as it began. ``prices``
    are as of ``evaluate``.

    A run that had ended is returned as it is, with a notice, so that a second try after a crash
    always ends with the report.

    Raises
    ------
    RunFolderError
        The folder holds no run, its cases came from Python and not from a file, or
        the file, the model, a metric or a calibration is not what it was.
    CalibrationFileError
        A calibration cannot be read.
    """
    place = destination_of(folder)
    header = place.header()
    if header.ended_at is not None:
        return _finished(place, on_notice)
    given = [
        what
        for what, in_python in (
            ("cases", header.dataset.path is None),
            ("embedder", header.embedder.startswith(GIVEN)),
            (
                "metrics",
                any(
                    not is_named(plan.name)
                    # A judge is made from the calibration.
                    and not (plan.name == JUDGE and plan.calibration is not None)
                    for plan in header.metrics
                ),
            ),
            (
                "calibration",
                any(plan.calibration and not plan.calibration.path for plan in header.metrics),
            ),
            ("judge", any(name.startswith(IN_PYTHON) for name in header.judges)),
            ("subject", header.answered_by is not None and header.subject_plan is None),
        )
        if in_python
    ]
    if header.dataset.path is None or given:
        raise RunFolderError(
            f"{place.place}: the {' and '.join(given)} of this run were given in Python, so only "
            "the program that gave them can go on: evaluate(cases, ..., aef=folder, resume=True)"
        )
    _require_calibrations(place.place, header)
    try:
        return evaluate(
            header.dataset.path,
            [plan.id for plan in header.metrics],
            header.embedder,
            cutoffs={
                p.id: p.cutoff
                for p in header.metrics
                if p.cutoff is not None and p.calibration is None
            },
            calibration=[p.calibration.path for p in header.metrics if p.calibration is not None]
            or None,
            uncalibrated=any(p.calibration and p.calibration.uncalibrated for p in header.metrics),
            cascade=header.cascade,
            judge=list(header.judges) or None,
            answers=header.subject_plan,
            runs=header.runs,
            success_threshold=header.success_threshold,
            cassette=cassette,
            budget=_kept_budget(header) if budget is None else budget,
            prices=prices,
            guards=GuardPolicy(next((p.guards for p in header.metrics if p.guards), {})),
            window=header.instrument.window,
            threads=threads,
            mapping=header.dataset.mapping,
            on_bad_row=header.dataset.on_bad_row,
            name=header.name,
            subject=header.subject,
            subject_version=header.subject_version,
            content=header.content,
            aef=place,
            resume=True,
            shard=None if header.shard is None else (header.shard.index, header.shard.count),
            cache=cache,
            progress=progress,
            watch=watch,
            labelled=kept_labels(header, on_notice),
            asked=header.asked,
            fast=header.asked.get(FAST) is True,
            on_notice=on_notice,
        )
    except (RunFolderError, StorageError):
        if place.header().ended_at is None:
            raise
        # Another process went on with it too, and has ended it meanwhile.
        return _finished(place, on_notice)


def _kept_budget(header: RunHeader) -> str | None:
    kept = header.asked.get(BUDGET)
    return kept if isinstance(kept, str) else None


def kept_labels(header: RunHeader, on_notice: Callable[[str], None] | None) -> str | bool | None:
    """Return where labelled answers come from; what is only shown stops no run that goes on."""
    kept = header.asked.get(LABELS)
    if isinstance(kept, str) and not is_file(Path(kept)):
        if on_notice is not None:
            on_notice(f"{kept} is not there any more: no labelled answers beside unsure ones")
        return None
    return kept if isinstance(kept, str | bool) else None


def _require_calibrations(folder: str, header: RunHeader) -> None:
    """Refuse calibrations that are others now, before a metric is looked for that one held."""
    if not any(plan.calibration for plan in header.metrics):
        return
    from closecall.calibration.store import load_calibration

    for plan in header.metrics:
        then = plan.calibration
        if then is None:
            continue
        now = load_calibration(then.path)
        if (now.metric.id, now.digest) != (plan.id, then.digest):
            raise RunFolderError(
                f"{folder}: cannot go on, because this is no longer the run that was begun. "
                f"Changed: the calibration of {plan.id} ({then.path} held {then.digest[:12]} "
                f"then, and {now.digest[:12]} for {now.metric.id} now). Put the file back, or "
                "start a new run with another --aef DIR."
            )


def _finished(place: Destination, on_notice: Callable[[str], None] | None) -> Run:
    """Return a closed run; one whose writer died before its seal is sealed first."""
    problems = place.problems()
    if problems:
        raise RunFolderError(
            f"{place.place}: this run had ended, and its folder is not what it was then: "
            f"{problems[0]}. closecall verify says it all"
        )
    if on_notice is not None:
        on_notice(f"{place.place}: this run had ended; nothing was left to do")
    return place.load()

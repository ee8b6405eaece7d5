"""Going on with a run on workers that was cut off, as its own header says."""

from __future__ import annotations

import os
from collections.abc import Callable, Mapping, Sequence
from typing import Any

import msgspec

from closecall.errors import RunFolderError
from closecall.metrics.guards.policy import GuardPolicy
from closecall.metrics.registry import JUDGE, is_named
from closecall.ray.cluster import is_here
from closecall.ray.evaluate import evaluate_dataset
from closecall.ray.running import ENGINE
from closecall.runs.asked import GIVEN
from closecall.runs.claim import quoted
from closecall.runs.gate_rule import Gate
from closecall.runs.header import RunHeader
from closecall.runs.parts.folder import PartsFolder
from closecall.runs.record import Run
from closecall.runs.resuming import kept_labels
from closecall.runs.runner import Progress


class Engine(msgspec.Struct, frozen=True):
    """What a run's header keeps of its workers, as ``evaluate_dataset`` was given it."""

    concurrency: int | tuple[int, int] | None = None
    num_cpus: float = 1
    num_gpus: float = 0
    address: str | None = None
    aef: str | None = None


def begun_on_ray(header: RunHeader) -> Mapping[str, Any] | None:
    """Return what a run's header keeps of its workers; None for a run of one process."""
    kept = header.asked.get(ENGINE)
    return kept if isinstance(kept, dict) and kept.get("name") == "ray" else None


def resume_dataset(
    output: str | os.PathLike[str],
    *,
    concurrency: int | None = None,
    address: str | None = None,
    threads: int | None = None,
    gates: Sequence[Gate | str] = (),
    progress: Progress | None = None,
    on_notice: Callable[[str], None] | None = None,
) -> Run:
    """Have workers do what a run that was cut off lacks; a run that had ended is returned.

    Parameters
    ----------
    output
        The parts folder.
    concurrency, address
        Other workers than the run was begun with; None: as it began. A cluster on another machine
        is only gone to where the caller names it.
    threads, gates, progress, on_notice
        As of ``evaluate_dataset``.

    Raises
    ------
    RunFolderError
        There is no such run, it was given things in Python, it is no longer what it was, or it was
        begun on a cluster elsewhere.
    """
    place = os.fspath(output)
    header = PartsFolder(output).header()
    kept = begun_on_ray(header)
    if kept is None:
        raise RunFolderError(f"{place}: this run was not begun on workers")
    try:
        engine = msgspec.convert(kept, Engine)
    except msgspec.ValidationError as error:
        raise RunFolderError(f"{place}: the run's header: asked.{ENGINE}: {error}") from error
    address = _reached(place, address, engine.address)
    named = all(
        is_named(plan.name) or (plan.name == JUDGE and plan.calibration is not None)
        for plan in header.metrics
    )
    filed = all(plan.calibration is None or plan.calibration.path for plan in header.metrics)
    if not named or not filed or header.embedder.startswith(GIVEN) or not header.dataset.path:
        raise RunFolderError(
            f"{place}: the embedder, metrics or calibrations of this run were given "
            "in Python, so only the program that gave them can go on: evaluate_dataset(..., "
            "output=folder, resume=True)"
        )
    if engine.aef is not None and on_notice is not None:
        # A header may come from anyone, and is not what decides where else files are written.
        on_notice(
            f"this run was to be written to {engine.aef} as well; once it has ended: "
            f"closecall runs merge {quoted(place)} -o {quoted(engine.aef)}"
        )
    applied = [plan.calibration for plan in header.metrics if plan.calibration is not None]
    run: Run = evaluate_dataset(
        header.dataset.path,
        [plan.id for plan in header.metrics],
        header.embedder,
        output=output,
        cutoffs={
            plan.id: plan.cutoff
            for plan in header.metrics
            if plan.cutoff is not None and plan.calibration is None
        },
        calibration=[one.path for one in applied] or None,
        uncalibrated=any(one.uncalibrated for one in applied),
        guards=GuardPolicy(next((plan.guards for plan in header.metrics if plan.guards), {})),
        cascade=header.cascade,
        window=header.instrument.window,
        threads=threads,
        mapping=header.dataset.mapping,
        on_bad_row=header.dataset.on_bad_row,
        labelled=kept_labels(header, on_notice),
        name=header.name,
        subject=header.subject,
        subject_version=header.subject_version,
        content=header.content,
        gates=gates,
        concurrency=concurrency or engine.concurrency,
        num_cpus=engine.num_cpus,
        num_gpus=engine.num_gpus,
        address=address,
        resume=True,
        progress=progress,
        asked=header.asked,
        on_notice=on_notice,
    )
    return run


def _reached(place: str, given: str | None, kept: str | None) -> str | None:
    """Return the cluster to go on with.

    Whoever is connected to may run code here, so no file decides that.
    """
    if given is not None or kept is None or kept == "auto" or is_here(kept):
        return given or kept
    raise RunFolderError(
        f"{place}: this run was begun on the Ray cluster at {kept}; a folder alone sends no "
        f"process to another machine. To go on there: --ray-address {quoted(kept)} (in Python: "
        "address=)"
    )

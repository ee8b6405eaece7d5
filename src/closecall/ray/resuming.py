"""Going on with a run on workers that was cut off, as its own header says."""

from __future__ import annotations

import os
from collections.abc import Callable, Mapping, Sequence
from typing import Any

from closecall.errors import RunFolderError
from closecall.metrics.guards.policy import GuardPolicy
from closecall.metrics.registry import JUDGE, is_named
from closecall.ray.evaluate import evaluate_dataset
from closecall.ray.running import ENGINE
from closecall.runs.asked import GIVEN
from closecall.runs.evaluate import LABELS
from closecall.runs.gate_rule import Gate
from closecall.runs.header import RunHeader
from closecall.runs.parts.folder import PartsFolder
from closecall.runs.record import Run
from closecall.runs.runner import Progress


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
        Other workers than the run was begun with; None: as it began.
    threads, gates, progress, on_notice
        As of ``evaluate_dataset``.

    Raises
    ------
    RunFolderError
        There is no such run, it was given things in Python, or it is no longer what it was.
    """
    header = PartsFolder(output).header()
    kept = begun_on_ray(header)
    if kept is None:
        raise RunFolderError(f"{os.fspath(output)}: this run was not begun on workers")
    named = all(
        is_named(plan.name) or (plan.name == JUDGE and plan.calibration is not None)
        for plan in header.metrics
    )
    filed = all(plan.calibration is None or plan.calibration.path for plan in header.metrics)
    if not named or not filed or header.embedder.startswith(GIVEN) or not header.dataset.path:
        raise RunFolderError(
            f"{os.fspath(output)}: the embedder, metrics or calibrations of this run were given "
            "in Python, so only the program that gave them can go on: evaluate_dataset(..., "
            "output=folder, resume=True)"
        )
    workers = kept["concurrency"]
    applied = [plan.calibration for plan in header.metrics if plan.calibration is not None]
    run: Run = evaluate_dataset(
        header.dataset.path,
        [plan.id for plan in header.metrics],
        header.embedder,
        output=output,
        aef=kept["aef"],
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
        labelled=header.asked.get(LABELS),
        name=header.name,
        subject=header.subject,
        subject_version=header.subject_version,
        content=header.content,
        gates=gates,
        concurrency=concurrency or (tuple(workers) if isinstance(workers, list) else workers),
        num_cpus=kept["num_cpus"],
        num_gpus=kept["num_gpus"],
        address=address or kept["address"],
        resume=True,
        progress=progress,
        asked=header.asked,
        on_notice=on_notice,
    )
    return run

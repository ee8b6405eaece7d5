"""``closecall eval --engine ray``: the same run, measured by the workers of a Ray cluster."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from typing import TYPE_CHECKING, Any

import click

from closecall.cli.options import cutoffs, pairs, typed_window

if TYPE_CHECKING:
    from closecall.runs.gate_rule import Gate
    from closecall.runs.header import RunHeader
    from closecall.runs.record import Run

RAY = "ray"

_NOT_THERE = {
    "judges": "a chat model that judges is asked by one process, which counts what it costs",
    "endpoint": "answers are asked for by one process, which counts what they cost",
    "model": "answers are asked for by one process, which counts what they cost",
    "subject_command": "answers are asked for by one process",
    "runs": "only answers that are asked for are repeated",
    "record": "a recording is written by one process",
    "replay": "a recording is read by one process",
    "record_missing": "a recording is written by one process",
    "budget": "one process has to count what is spent",
    "shard": "the workers share the cases among themselves already",
    "aef": "workers write --parts DIR; a run folder is made of it with aef= of "
    "closecall.ray.evaluate_dataset",
    "no_aef": "workers write --parts DIR",
    "fast": "workers score in float32",
    "cache_dir": "workers share no cache of vectors",
}
_ONLY_THERE = {
    "workers": "says how many workers --engine ray has",
    "ray_address": "says where the cluster of --engine ray is",
}


def on_ray(context: click.Context, options: Mapping[str, Any], before: RunHeader | None) -> bool:
    """Whether workers do a run, or did what is gone on with; refuse what does not go with that.

    Raises
    ------
    click.UsageError
        Names the option, and says why.
    """
    kept = None if before is None else before.asked.get("engine")
    ray = options["engine"] == RAY or (isinstance(kept, dict) and kept.get("name") == RAY)
    typed = click.core.ParameterSource.COMMANDLINE
    for name, why in (_NOT_THERE if ray else _ONLY_THERE).items():
        if context.get_parameter_source(name) is typed:
            (option,) = (one.opts[-1] for one in context.command.params if one.name == name)
            raise click.UsageError(
                f"{option} does not go with --engine ray: {why}" if ray else f"{option} {why}"
            )
    if options["engine"] == RAY and options["parts"] is None:
        raise click.UsageError(
            "--engine ray needs --parts DIR, a folder that all workers share, or a URL"
        )
    return ray


def run_on_ray(
    file: str | None,
    place: str,
    options: Mapping[str, Any],
    gates: Sequence[Gate],
    kept: Mapping[str, Any],
    **common: Any,
) -> Run:
    """Do a run on workers, or go on with the one in ``place`` where there is no file."""
    from closecall.ray import evaluate_dataset
    from closecall.ray.resuming import resume_dataset
    from closecall.runs.evaluate import DEFAULT_METRIC

    workers = {
        "concurrency": options["workers"],
        "address": options["ray_address"],
        "threads": options["threads"],
        "gates": gates,
    }
    if file is None:
        return resume_dataset(place, **workers, **common)
    typed = click.core.ParameterSource.COMMANDLINE
    context = click.get_current_context()
    given = context.get_parameter_source("part_cases") is typed
    run: Run = evaluate_dataset(
        file,
        list(options["names"]) or None,
        options["embedder"],
        output=place,
        cutoffs=cutoffs(options["cutoff"], options["names"] or (DEFAULT_METRIC,)),
        calibration=list(options["calibration"]) or None,
        uncalibrated=options["uncalibrated"],
        guards=options["guards"],
        cascade=options["cascade"],
        labelled=str(options["labels"] or "") or bool(options["calibration"]) or None,
        window=typed_window(context),
        mapping=pairs(options["mapping"], "--map", "FIELD=COLUMN") or None,
        on_bad_row=options["on_bad_row"],
        name=options["name"],
        subject=options["subject"],
        subject_version=options["subject_version"],
        content=not options["no_content"],
        part_size=options["part_cases"] if given else None,
        asked=kept,
        **workers,
        **common,
    )
    return run

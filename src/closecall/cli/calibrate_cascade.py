"""``closecall calibrate --cascade``: one calibration a rung, in a folder that ``eval`` takes."""

from __future__ import annotations

import re
import sys
from pathlib import Path
from typing import TYPE_CHECKING, Any

import click

from closecall.cli.calibrate import approximate_needs_groups, how, previous_at, recording
from closecall.cli.calibrate_options import goal_of
from closecall.cli.outputs import removed_if_empty
from closecall.cli.places import Place
from closecall.cli.progress import Progress
from closecall.cli.say import say, say_json
from closecall.errors import NoCutoffError, UsageError
from closecall.there import exists, is_dir

if TYPE_CHECKING:
    from closecall.calibration.goals import Goal
    from closecall.cli.live_options import Tape
    from closecall.runs.rungs import Rung


def calibrate_rungs(
    file: Place, context: click.Context, options: dict[str, Any], tape: Tape | None
) -> int:
    """Calibrate the rungs, write them once all keep their share, and print what was found."""
    with removed_if_empty(options["output"]):
        return _calibrate_rungs(file, context, options, tape)


def _calibrate_rungs(
    file: Place, context: click.Context, options: dict[str, Any], tape: Tape | None
) -> int:
    goal = _goal(options)
    folder: Path | None = options["output"]
    from closecall.runs.rungs import calibrate_cascade, cascade_rungs

    named = context.get_parameter_source("metric") is click.core.ParameterSource.COMMANDLINE
    settings = how(options)
    reading = {name: settings[name] for name in ("mapping", "on_bad_row")}
    metrics = cascade_rungs(str(file), options["metric"] if named else None, **reading)
    places = _places(folder, [metric.spec.id for metric in metrics])
    before = {
        metric.spec.id: previous_at(place, file)
        for metric, place in zip(metrics, places, strict=False)
    }
    with (
        Progress(quiet=options["quiet"]) as progress,
        recording(tape, quiet=options["quiet"]) as cassette,
        approximate_needs_groups(goal),
    ):
        rungs = calibrate_cascade(
            str(file),
            metrics,
            options["embedder"],
            goal,
            previous=before,
            cassette=cassette,
            progress=progress,
            **settings,
        )
    return _conclude(rungs, str(file), places, options)


def _goal(options: dict[str, Any]) -> Goal:
    for name in ("judge", "judge_split"):
        if options[name]:
            raise click.UsageError(
                f"--cascade and --{name.replace('_', '-')} exclude each other: calibrate the "
                "judge with --two-cutoffs, and name it as a rung with eval --calibration"
            )
    if options["max_far"] is None or options["max_frr"] is None:
        raise click.UsageError(
            "--cascade shares two promises among its rungs: add --max-far RATE and --max-frr RATE"
        )
    return goal_of({**options, "two_cutoffs": True})


def _places(folder: Path | None, metrics: list[str]) -> list[Path]:
    """Return the file of each rung; none where nothing is kept.

    Raises
    ------
    UsageError
        The folder is none, or holds what is no rung of this cascade: ``eval`` would take it.
    """
    if folder is None:
        return []
    if exists(folder) and not is_dir(folder):
        raise UsageError(f"-o {folder}: that is a file; --cascade writes a folder of calibrations")
    names = [
        f"{number}-{re.sub(r'[^A-Za-z0-9_.-]+', '-', metric)}.json"
        for number, metric in enumerate(metrics, 1)
    ]
    others = [path.name for path in folder.iterdir()] if is_dir(folder) else []
    strange = sorted(set(others) - set(names))
    if strange:
        raise UsageError(
            f"-o {folder}: that folder holds {strange[0]}, which is no rung of this cascade; name "
            "another, or one that is not there yet"
        )
    return [folder / name for name in names]


def _conclude(rungs: list[Rung], name: str, places: list[Path], options: dict[str, Any]) -> int:
    """Write the rungs if all keep their share, print what was found, return the exit code."""
    from closecall.calibration.records import Infeasible
    from closecall.calibration.store import save_calibration
    from closecall.report.rungs import lines
    from closecall.report.wrapped import columns, wrapped

    made = [rung.found for rung in rungs if not isinstance(rung.found, Infeasible)]
    whole = len(made) == len(rungs)
    if whole and places:
        for one, place in zip(made, places, strict=False):
            save_calibration(one, place)
        for place in places[len(made) :]:
            place.unlink(missing_ok=True)  # of a cascade that was longer
    if options["form"] == "json":
        say_json([_document(rung) for rung in rungs])
    else:
        for line in wrapped(list(lines(rungs, name)), columns(sys.stdout)):
            say(line)
    if not whole:
        return NoCutoffError.exit_code
    if not places:
        say("closecall: not saved; keep it with -o FOLDER", err=True)
    elif not options["quiet"]:
        folder, more = places[0].parent, " --cascade" if len(rungs) > 1 else ""
        say(
            f"closecall: written to {folder}; use it with: closecall eval ANSWERS --calibration "
            f"{folder}{more}",
            err=True,
        )
    return 0


def _document(rung: Rung) -> dict[str, Any]:
    import msgspec

    document = msgspec.to_builtins(rung.found)
    shown = {k: v for k, v in document.items() if k not in {"sample", "canaries"}}
    return {"rung": rung.metric, "goal": msgspec.to_builtins(rung.goal), **shown}

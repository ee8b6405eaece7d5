"""The run of ``closecall eval``: on the workers of a cluster, or by this process."""

from __future__ import annotations

from pathlib import Path
from typing import TYPE_CHECKING, Any, NamedTuple

import click

from closecall.cli.eval_ray import run_on_ray
from closecall.cli.eval_resume import told_how_to_go_on
from closecall.cli.gating import GateWatch, ShardGates, kept_gates
from closecall.cli.live_options import Tape, drop_unasked, opened, repeats_of, subject_plan, told
from closecall.cli.options import cutoffs, pairs, typed_window
from closecall.cli.places import Place, renamed
from closecall.cli.progress import Progress
from closecall.cli.say import say

if TYPE_CHECKING:
    from closecall.cassettes import Cassette
    from closecall.runs.header import RunHeader
    from closecall.runs.parts.folder import PartsFolder
    from closecall.runs.record import Run


class Asked(NamedTuple):
    """What a run is held against and recorded in, and what of it its header keeps.

    ``before`` is the header of the run that is gone on with.
    """

    watch: GateWatch | ShardGates | None
    tape: Tape | None
    kept: dict[str, Any]
    before: RunHeader | None


def run_cases(
    file: Place | None, resume: Path | None, options: dict[str, Any], asked: Asked
) -> Run:
    """Do a run, or go on with the one in ``resume`` where there is no file.

    An interrupt, a spent budget and an error that leaves something to go on with say the command
    that does.
    """
    from closecall.errors import BudgetError, ClosecallError
    from closecall.runs.evaluate import new_run_id
    from closecall.runs.price_file import find_prices

    place: Path | None = resume or options["aef"]
    to: PartsFolder | None = options["to"]
    prices, live = find_prices(), {"answers": subject_plan(options), **repeats_of(options)}
    before = asked.before
    uncached = options["no_cache"] or (before is not None and before.asked.get("cache") is False)
    many = (options["runs"] if before is None else before.runs) > 1
    since = None if before is None else before.started_at
    with (
        Progress(quiet=options["quiet"], unit="answers" if many else "cases") as progress,
        opened(asked.tape, since) as cassette,
    ):
        run_id = new_run_id()
        if place is None and to is None and not options["no_aef"]:
            place = _default_place(run_id)
        common: dict[str, Any] = {
            "progress": progress,
            "on_notice": lambda text: say(f"closecall: {renamed(text)}", err=True),
        }
        with told_how_to_go_on(place, to):
            try:
                if options["on_ray"] and to is not None:
                    cases = None if file is None else str(file)
                    gates = kept_gates(asked.kept) or ()
                    return run_on_ray(cases, to.place, options, gates, asked.kept, **common)
                common |= {
                    "threads": options["threads"],
                    "budget": options["budget"],
                    "prices": prices,
                    "cache": options["cache_dir"] or not uncached,
                    "cassette": cassette,
                    "watch": asked.watch,
                }
                if file is None:
                    from closecall.runs.resuming import resume as go_on

                    run = go_on(to or str(place), **common)
                else:
                    common |= {"run_id": run_id, "aef": to or place, "asked": asked.kept}
                    run = _evaluated(file, options, **live, **common)
            except (ClosecallError, KeyboardInterrupt) as error:
                progress.stop()
                if isinstance(error, BudgetError):
                    _say_recorded(cassette, asked.tape, 0, quiet=options["quiet"])
                raise
        whole = file is not None and asked.tape is not None and asked.tape.mode == "record"
        dropped = drop_unasked(cassette, run) if cassette is not None and whole else 0
        _say_recorded(cassette, asked.tape, dropped, quiet=options["quiet"])
        return run


def _evaluated(file: Place, options: dict[str, Any], **common: Any) -> Run:
    """Do a run in this process, from its first case."""
    from closecall.runs import evaluate as runs

    return runs.evaluate(
        str(file),
        list(options["names"]) or None,
        options["embedder"],
        cutoffs=cutoffs(options["cutoff"], options["names"] or (runs.DEFAULT_METRIC,)),
        calibration=list(options["calibration"]) or None,
        uncalibrated=options["uncalibrated"],
        guards=options["guards"],
        cascade=options["cascade"],
        fast=options["fast"],
        labelled=str(options["labels"] or "") or bool(options["calibration"]) or None,
        judge=list(options["judges"]) or None,
        window=typed_window(click.get_current_context()),
        mapping=pairs(options["mapping"], "--map", "FIELD=COLUMN") or None,
        on_bad_row=options["on_bad_row"],
        name=options["name"],
        subject=options["subject"],
        subject_version=options["subject_version"],
        content=not options["no_content"],
        shard=options["shard"],
        **common,
    )


def _say_recorded(
    cassette: Cassette | None, tape: Tape | None, dropped: int, *, quiet: bool
) -> None:
    if cassette is not None and tape is not None and not quiet:
        said = told(cassette, replay=tape.mode == "replay", dropped=dropped)
        say(f"closecall: {said}", err=True)


def _default_place(run_id: str) -> Path | None:
    from closecall.runs.sinks import default_place

    try:
        return default_place(run_id)
    except OSError as error:
        say(
            f"closecall: no run folder, so this run cannot be resumed: .closecall/runs cannot be "
            f"made here ({error.strerror or error}); name one with --aef DIR",
            err=True,
        )
        return None

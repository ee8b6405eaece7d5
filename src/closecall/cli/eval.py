"""``closecall eval``: a file of cases to a verdict."""

from __future__ import annotations

from collections.abc import Iterable, Iterator
from pathlib import Path
from typing import TYPE_CHECKING, Any

import click

from closecall.cli.eval_options import BELONG_TO_RUN, eval_options
from closecall.cli.gating import GateWatch, wanted_gates
from closecall.cli.live_options import cassette_of, subject_plan, told
from closecall.cli.options import cutoffs, pairs, typed_window
from closecall.cli.outputs import require_writable
from closecall.cli.pipes import may_close
from closecall.cli.progress import Progress
from closecall.cli.say import say

if TYPE_CHECKING:
    from closecall.runs.record import Run

EXAMPLES = """\b
Examples:
  closecall eval answers.jsonl
  closecall eval answers.csv -m embed_answer_similarity,embed_response_context
  closecall eval answers.csv --map response=bot_answer --cutoff embed_answer_similarity=62
  closecall eval answers.jsonl --format json -o report.json
  closecall eval answers.jsonl --calibration cutoff.json
  closecall eval answers.jsonl --calibration cheap.json --calibration strong.json --cascade
  closecall eval cases.jsonl --endpoint https://desk.example/v1 --model desk-7b --record tape
  closecall eval answers.jsonl --gate 'pass_rate(answer_alignment) >= 0.9'
  closecall eval --resume .closecall/runs/run-20260314T090000Z-1f2e3d4c

\b
Exit codes: 0 all measured and passed, 1 a gate failed or, without gates, a case failed its
cutoff, 2 usage, 3 configuration, 4 input data or calibration file, 5 a replay lacks a
recording, 6 the calibration belongs to another embedder or metric,
11 otherwise green but something was not measured or left unsure, or a gate cannot tell,
130 interrupted (resumable).
"""


MANY_RUNS = 50
"""Beyond so many folders in the default place the run says how to remove some."""


@click.command("eval", epilog=EXAMPLES)
@click.argument("file", required=False, type=click.Path(path_type=Path))
@eval_options
@click.pass_context
def command(
    context: click.Context, /, file: Path | None, resume: Path | None, **options: Any
) -> int:
    """Score every case of FILE (JSONL, JSON, CSV, TSV or YAML) and decide each by its cutoff."""
    if file is None and resume is None:
        raise click.UsageError("give a FILE of cases, or --resume DIR")
    if file is not None and resume is not None:
        raise click.UsageError("--resume goes on as the run began; leave out FILE")
    if resume is not None:
        _refuse_beside_resume(context)
    if options["aef"] and options["no_aef"]:
        raise click.UsageError("--aef and --no-aef exclude each other")
    if options["cache_dir"] and options["no_cache"]:
        raise click.UsageError("--cache-dir and --no-cache exclude each other")
    form = _format(options["form"], options["output"])
    place = resume or options["aef"]
    if options["output"] is not None and str(options["output"]) != "-":
        require_writable(options["output"], _inputs(file, place, options["calibration"]), place)
    surely = options["gate_mode"] == "interval"
    asked = wanted_gates(options["gates"], surely=surely, found=not options["no_gates"])
    watch = GateWatch(asked) if asked else None
    run = _run(file, resume, options, watch)
    run = run if watch is None else watch.decided(run)
    _report(run, form, options["output"], quiet=options["quiet"])
    if resume is None and options["aef"] is None and not options["quiet"]:
        _say_how_many(run)
    return run.exit_code


def _format(form: str | None, output: Path | None) -> str:
    from closecall.report.formats import format_of

    if form is None:
        return "table" if output is None or str(output) == "-" else format_of(output)
    return form


def _inputs(
    file: Path | None, place: Path | None, calibrations: Iterable[Path]
) -> Iterator[tuple[Path, str]]:
    """Yield the files given, and those the run in ``place`` was begun with."""
    cases, calibration = "the file of cases", "the calibration"
    if file is not None:
        yield file, cases
    yield from ((path, calibration) for path in calibrations)
    from closecall.runs.files import RUN

    if place is not None and (place / RUN).is_file():
        from closecall.errors import RunFolderError
        from closecall.runs.stored import header_of

        try:
            header = header_of(place)
        except RunFolderError:
            return  # said when the run is opened
        if header.dataset.path is not None:
            yield Path(header.dataset.path), cases
        used = (plan.calibration for plan in header.metrics)
        yield from ((Path(one.path), calibration) for one in used if one and one.path)


def _run(
    file: Path | None, resume: Path | None, options: dict[str, Any], gates: GateWatch | None
) -> Run:
    from closecall.errors import ConfigurationError, RunFolderError
    from closecall.runs import evaluate as runs

    place: Path | None = resume or options["aef"]
    common: dict[str, Any] = {
        "threads": options["threads"],
        "cache": options["cache_dir"] or not options["no_cache"],
        "on_notice": lambda text: say(f"closecall: {text}", err=True),
    }
    plan, judges = subject_plan(options), list(options["judges"]) or None
    scenario = options["name"] or (resume or file or Path("default")).stem
    with (
        Progress(quiet=options["quiet"]) as progress,
        cassette_of(options, scenario) as cassette,
    ):
        common |= {"progress": progress, "cassette": cassette}
        if gates:
            common["watch"] = gates
        run_id = runs.new_run_id()
        if place is None and not options["no_aef"]:
            place = _default_place(run_id)
        before = _written(place)
        try:
            if resume is not None:
                from closecall.runs.resuming import resume as go_on

                return go_on(resume, **common)
            run = runs.evaluate(
                str(file),
                list(options["names"]) or None,
                options["embedder"],
                cutoffs=cutoffs(options["cutoff"], options["names"] or (runs.DEFAULT_METRIC,)),
                calibration=list(options["calibration"]) or None,
                uncalibrated=options["uncalibrated"],
                guards=options["guards"],
                cascade=options["cascade"],
                judge=judges,
                answers=plan,
                window=typed_window(click.get_current_context()),
                mapping=pairs(options["mapping"], "--map", "FIELD=COLUMN") or None,
                on_bad_row=options["on_bad_row"],
                name=options["name"],
                subject=options["subject"],
                subject_version=options["subject_version"],
                content=not options["no_content"],
                aef=place,
                run_id=run_id,
                **common,
            )
        except KeyboardInterrupt:
            progress.stop()
            _say_how_to_go_on(place)
            raise
        except (ConfigurationError, RunFolderError):
            if _written(place) > before:
                _say_how_to_go_on(place)
            raise
        if cassette is not None and not options["quiet"]:
            say(f"closecall: {told(cassette, replay=options['replay'] is not None)}", err=True)
        return run


def _written(place: Path | None) -> int:
    """Return the bytes of results in a run folder, 0 where there is none."""
    from closecall.runs.files import RESULTS

    try:
        return 0 if place is None else (place / RESULTS).stat().st_size
    except OSError:
        return 0


def _say_how_to_go_on(place: Path | None) -> None:
    from closecall.runs import files
    from closecall.runs.claim import quoted

    if place is not None and files.exists(place, files.RUN):
        say(f"\nGo on with: closecall eval --resume {quoted(place)}", err=True)


def _say_how_many(run: Run) -> None:
    """Say how to remove runs that nobody looks at any more; nothing is removed by itself."""
    if run.folder is None:
        return
    place = run.folder.parent
    try:
        runs = sorted(path for path in place.iterdir() if path.is_dir())
    except OSError:
        return
    if len(runs) > MANY_RUNS:
        say(
            f"closecall: {len(runs)} run folders are kept in {place}; remove the oldest with: "
            f"closecall runs prune --keep {MANY_RUNS}",
            err=True,
        )


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


def _refuse_beside_resume(context: click.Context) -> None:
    """Refuse options that would make another run of it; its own header says what is asked."""
    typed = click.core.ParameterSource.COMMANDLINE
    given = [
        parameter.opts[0]
        for parameter in context.command.params
        if parameter.name in BELONG_TO_RUN
        and context.get_parameter_source(parameter.name) is typed
    ]
    if given:
        raise click.UsageError(f"--resume goes on as the run began; leave out {', '.join(given)}")


def _report(run: Run, form: str, output: Path | None, *, quiet: bool) -> None:
    import sys

    from closecall.report.formats import save, write

    if output is None or str(output) == "-":
        with may_close(sys.stdout):
            write(run, form, sys.stdout)
    else:
        save(run, form, output)
    if quiet:
        return
    if form != "table" or output is not None:
        from closecall.report.overview import overview

        seen = overview(run, worst=0)
        for line in (*seen.reading, *seen.notes, seen.verdict):
            say(f"closecall: {line}", err=True)
    if run.folder is not None:
        say(f"closecall: run folder {run.folder}", err=True)

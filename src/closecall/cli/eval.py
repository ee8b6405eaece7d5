"""``closecall eval``: a file of cases to a verdict."""

from __future__ import annotations

from collections.abc import Iterable, Iterator
from pathlib import Path
from typing import TYPE_CHECKING, Any

import click

from closecall.cli.live_options import cassette_of, live_options, subject_plan, told
from closecall.cli.options import (
    cutoffs,
    embedder_options,
    guards_option,
    pairs,
    typed_window,
)
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
  closecall eval --resume .closecall/runs/run-20260314T090000Z-1f2e3d4c

\b
Exit codes: 0 all measured and passed, 1 a case failed its cutoff, 2 usage, 3 configuration,
4 input data or calibration file, 6 the calibration belongs to another embedder or metric,
11 otherwise green but something was not measured or left unsure, 130 interrupted (resumable).
"""


MANY_RUNS = 50
"""Beyond so many folders in the default place the run says how to remove some."""

BELONG_TO_RUN = frozenset(
    {
        "names",
        "cutoff",
        "calibration",
        "uncalibrated",
        "guards",
        "cascade",
        "judges",
        "endpoint",
        "model",
        "system_prompt_file",
        "temperature",
        "max_tokens",
        "subject_command",
        "embedder",
        "window",
        "mapping",
        "on_bad_row",
        "aef",
        "no_aef",
        "name",
        "subject",
        "subject_version",
        "no_content",
    }
)
"""Options that a run begins with and goes on with."""


@click.command("eval", epilog=EXAMPLES)
@click.argument("file", required=False, type=click.Path(path_type=Path))
@click.option(
    "-m",
    "--metrics",
    "names",
    multiple=True,
    metavar="NAMES",
    help="Comma-separated, also repeated.  [default: embed_answer_similarity]",
)
@click.option(
    "--cutoff",
    "cutoff",
    multiple=True,
    metavar="NAME=VALUE",
    help="Accept from this value on, for one metric; repeatable.",
)
@click.option(
    "--calibration",
    "calibration",
    multiple=True,
    type=click.Path(path_type=Path, dir_okay=False),
    metavar="FILE.json",
    help="Decide with this calibration (see closecall calibrate); repeatable, one a metric. "
    "-m, --embedder and --window then default to its own.",
)
@click.option(
    "--uncalibrated",
    is_flag=True,
    help="Use the cutoff although it was fitted with another embedder or metric version; the run "
    "then says UNCALIBRATED and never exits with 0.",
)
@click.option(
    "--cascade",
    is_flag=True,
    help="The calibrations decide one after another, in the order given, the cheap one first: "
    "what one leaves unsure between its two cutoffs, or a guard holds back, moves on.",
)
@guards_option
@live_options
@embedder_options
@click.option(
    "--map",
    "mapping",
    multiple=True,
    metavar="FIELD=COLUMN",
    help="Read FIELD (input, response, references, context, id, label, group, tags) "
    "from this column; a.b reaches into an object.",
)
@click.option(
    "--on-bad-row",
    type=click.Choice(["fail", "skip"]),
    default="fail",
    show_default=True,
    help="Rows that cannot be read: stop, or leave out and count.",
)
@click.option(
    "--format",
    "form",
    type=click.Choice(["table", "json", "csv", "markdown", "junit"]),
    help="Format of the report.  [default: table, or what -o's suffix says]",
)
@click.option(
    "-o",
    "--output",
    type=click.Path(path_type=Path, dir_okay=False),
    help="Write the report to this file.",
)
@click.option(
    "--aef",
    type=click.Path(path_type=Path, file_okay=False),
    metavar="DIR",
    help="Run folder.  [default: a new one under .closecall/runs/]",
)
@click.option("--no-aef", is_flag=True, help="Write no run folder; the run cannot be resumed.")
@click.option(
    "--resume",
    type=click.Path(path_type=Path, file_okay=False),
    metavar="DIR",
    help="Go on with a run that was cut off; its folder says everything else.",
)
@click.option(
    "--no-content",
    is_flag=True,
    help="Keep the texts of cases out of the run folder; ids, labels and values of slices stay.",
)
@click.option("--name", help="What to call the run.  [default: the file's name]")
@click.option("--subject", help="The assistant whose answers these are.")
@click.option("--subject-version", help="Its version.")
@click.option(
    "--cache-dir",
    type=click.Path(path_type=Path, file_okay=False),
    help="Folder of the vector cache.",
)
@click.option("--no-cache", is_flag=True, help="Neither read nor write the vector cache.")
@click.option("-q", "--quiet", is_flag=True, help="No progress and no summary line.")
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
    run = _run(file, resume, options)
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


def _run(file: Path | None, resume: Path | None, options: dict[str, Any]) -> Run:
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
    from closecall.runs.claim import quoted

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
            f"rm -r {quoted(runs[0])}  or all with: rm -r {quoted(place)}",
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

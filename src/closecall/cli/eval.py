"""``closecall eval``: a file of cases to a verdict."""

from __future__ import annotations

from collections.abc import Iterator
from pathlib import Path
from typing import TYPE_CHECKING, Any

import click

from closecall.cli.options import cutoffs, embedder_options, pairs
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
  closecall eval --resume .closecall/runs/run-20260314T090000Z-1f2e3d4c

\b
Exit codes: 0 all measured and passed, 1 a case failed its cutoff, 2 usage, 3 configuration,
4 input data, 11 otherwise green but something was not measured, 130 interrupted (resumable).
"""


MANY_RUNS = 50
"""Beyond so many folders in the default place the run says how to remove some."""

BELONG_TO_RUN = frozenset(
    {
        "names",
        "cutoff",
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
@click.option("--no-content", is_flag=True, help="Keep the texts of cases out of the run folder.")
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
    _require_writable(options["output"], file, resume or options["aef"])
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


def _require_writable(output: Path | None, file: Path | None, place: Path | None) -> None:
    """Find out before the work that its report cannot be written, or would replace something.

    That is the file of cases, also of a run that is resumed, and whatever is in a run folder.
    """
    import tempfile

    from closecall.errors import UsageError

    if output is None or str(output) == "-":
        return
    try:
        if output.exists() and not output.is_file():
            return  # a pipe or a device says so itself
        for cases in _files_of_cases(file, place):
            if cases.exists() and output.exists() and output.samefile(cases):
                raise UsageError(f"-o {output}: that is the file of cases; it would be lost")
        inside = _run_folder_around(output.resolve(), place)
        if inside is not None:
            raise UsageError(
                f"-o {output}: {inside} is a run folder, which a report would damage; write it "
                "beside the folder"
            )
        output.parent.mkdir(parents=True, exist_ok=True)
        with tempfile.TemporaryFile(dir=output.parent):
            pass
    except OSError as error:
        raise UsageError(f"cannot write {output}: {error.strerror or error}") from error


def _files_of_cases(file: Path | None, place: Path | None) -> Iterator[Path]:
    """Yield the file given, and the one the run in ``place`` was begun with."""
    if file is not None:
        yield file
    from closecall.runs.files import RUN

    if place is not None and (place / RUN).is_file():
        from closecall.errors import RunFolderError
        from closecall.runs.stored import header_of

        try:
            path = header_of(place).dataset.path
        except RunFolderError:
            return  # said when the run is opened
        if path is not None:
            yield Path(path)


def _run_folder_around(output: Path, place: Path | None) -> Path | None:
    from closecall.runs.files import RESULTS, RUN

    if place is not None and output.is_relative_to(place.resolve()):
        return place
    around = (p for p in output.parents if (p / RUN).is_file() and (p / RESULTS).is_file())
    return next(around, None)


def _run(file: Path | None, resume: Path | None, options: dict[str, Any]) -> Run:
    from closecall.errors import ConfigurationError, RunFolderError
    from closecall.runs import evaluate as runs

    place: Path | None = resume or options["aef"]
    common: dict[str, Any] = {
        "threads": options["threads"],
        "cache": options["cache_dir"] or not options["no_cache"],
        "on_notice": lambda text: say(f"closecall: {text}", err=True),
    }
    with Progress(quiet=options["quiet"]) as progress:
        common["progress"] = progress
        run_id = runs.new_run_id()
        if place is None and not options["no_aef"]:
            place = _default_place(run_id)
        before = _written(place)
        try:
            if resume is not None:
                return runs.resume(resume, **common)
            return runs.evaluate(
                str(file),
                list(options["names"]) or runs.DEFAULT_METRIC,
                options["embedder"],
                cutoffs=cutoffs(options["cutoff"], options["names"] or (runs.DEFAULT_METRIC,)),
                window=options["window"],
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

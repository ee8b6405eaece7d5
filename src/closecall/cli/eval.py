"""``closecall eval``: a file of cases to a verdict."""

from __future__ import annotations

from collections.abc import Iterable, Iterator
from pathlib import Path
from typing import TYPE_CHECKING, Any, NamedTuple

import click

from closecall.cli.eval_options import BELONG_TO_RUN, eval_options
from closecall.cli.eval_ray import on_ray, run_on_ray
from closecall.cli.gating import (
    GateWatch,
    ShardGates,
    keeping,
    kept_gates,
    require_verdicts,
    wanted_gates,
)
from closecall.cli.kept_run import placed
from closecall.cli.live_options import (
    Tape,
    drop_unasked,
    opened,
    repeats_of,
    subject_plan,
    tape_of,
    told,
)
from closecall.cli.options import cutoffs, pairs, require_one_cache, require_parts, typed_window
from closecall.cli.outputs import require_writable
from closecall.cli.pipes import may_close
from closecall.cli.places import CASES, Place, Url, renamed, shown, writing
from closecall.cli.progress import Progress
from closecall.cli.say import say

if TYPE_CHECKING:
    from closecall.cassettes import Cassette
    from closecall.runs.header import RunHeader
    from closecall.runs.parts.folder import PartsFolder
    from closecall.runs.record import Run

EXAMPLES = """\b
Examples:
  closecall eval answers.jsonl
  closecall eval answers.csv -m embed_answer_similarity,embed_response_context
  closecall eval answers.csv --map response=bot_answer --cutoff embed_answer_similarity=62
  closecall eval answers.jsonl --format json -o report.json
  closecall eval answers.jsonl --format markdown >> "$GITHUB_STEP_SUMMARY"
  closecall eval answers.jsonl --calibration cutoff.json
  closecall eval answers.jsonl --calibration cheap.json --calibration strong.json --cascade
  closecall eval cases.jsonl --endpoint https://desk.example/v1 --model desk-7b --record tape
  closecall eval cases.jsonl --subject-command ./desk --runs 5 --success-threshold 0.8
  closecall eval cases.jsonl --model openai:gpt-4o-mini --budget 200_000
  closecall eval answers.jsonl --gate 'pass_rate(answer_alignment) >= 0.9'
  closecall eval --resume .closecall/runs/run-20260314T090000Z-1f2e3d4c
  closecall eval answers.parquet --parts runs/big --shard 2/8
  closecall eval answers.parquet --parts runs/big --engine ray --workers 8
  closecall eval s3://bucket/answers.jsonl --aef s3://bucket/runs/r1

\b
Exit codes: 0 all measured and passed, 1 a gate failed or, without gates, a case failed its
cutoff, 2 usage, 3 configuration, 4 input data or calibration file, 5 a replay lacks a
recording, 6 the calibration belongs to another embedder or metric,
8 the budget is spent (resumable),
11 otherwise green but something was not measured or left unsure, or a gate cannot tell,
130 interrupted (resumable).
"""


MANY_RUNS = 50
"""Beyond so many folders in the default place the run says how to remove some."""


@click.command("eval", epilog=EXAMPLES)
@click.argument("file", required=False, type=CASES)
@eval_options
@click.pass_context
def command(
    context: click.Context, /, file: Place | None, resume: Place | None, **options: Any
) -> int:
    """Score every case of FILE and decide each by its cutoff.

    FILE is JSONL, JSON, CSV, TSV, YAML or Parquet, or a folder of Parquet files.

    FILE, and wherever a run or recording is kept, may be a URL of object storage.
    """
    if file is None and resume is None:
        raise click.UsageError("give a FILE of cases, or --resume DIR")
    if file is not None and resume is not None:
        raise click.UsageError("--resume goes on as the run began; leave out FILE")
    if resume is not None:
        _refuse_beside_resume(context)
    if options["aef"] and options["no_aef"]:
        raise click.UsageError("--aef and --no-aef exclude each other")
    if options["parts"] and (options["aef"] or options["no_aef"]):
        raise click.UsageError("--parts stands for a run folder: leave out --aef and --no-aef")
    if resume is None:
        require_parts(context, in_parts=options["parts"] is not None)
    require_one_cache(options)
    form = _format(options["form"], options["output"])
    begun, take_over = resume is not None, options["take_over"]
    parts = _parts(resume, options)
    options["to"] = parts
    if parts is not None:
        local = None if isinstance(resume or options["parts"], Url) else Path(parts.place)
        return _evaluated(file, local if begun else None, {**options, "aef": local}, form)
    with writing(resume or options["aef"], resume=begun, take_over=take_over) as place:
        return _evaluated(file, place if begun else None, {**options, "aef": place}, form)


def _parts(resume: Place | None, options: dict[str, Any]) -> PartsFolder | None:
    """Return where a run in parts goes, or lies that is gone on with; None for a run folder."""
    where = resume or options["parts"]
    if where is None:
        return None
    from closecall.runs.parts.folder import PartsFolder, is_parts_folder

    if resume is not None and not is_parts_folder(str(resume)):
        return None
    return PartsFolder(str(where), cases=options["part_cases"])


def _evaluated(file: Place | None, resume: Path | None, options: dict[str, Any], form: str) -> int:
    place: Path | None = options["aef"]
    if options["output"] is not None and str(options["output"]) != "-":
        require_writable(options["output"], _inputs(file, place, options["calibration"]), place)
    surely = options["gate_mode"] == "interval"
    to: PartsFolder | None = options["to"]
    before = _header(resume) if to is None else _header_at(to)
    options["on_ray"] = on_ray(click.get_current_context(), options, before)
    kept = {} if before is None else before.asked
    gates = kept_gates(kept) if not options["gates"] else None
    if gates is None:
        gates = wanted_gates(options["gates"], surely=surely, found=not options["no_gates"])
    if options["fast"]:
        require_verdicts(gates or ())
    watch = GateWatch(gates, typed=bool(options["gates"])) if gates else None
    later = options["shard"] is not None or (before is not None and before.shard is not None)
    scenario = options["name"] or (file or Path("default")).stem
    tape = tape_of(options, scenario, kept.get("cassette", {}))
    asked: dict[str, Any] = {
        "gates": keeping(gates),
        "mode": None if tape is None else tape.mode,
        "cassette": {"scenario": scenario} if tape is None else tape.kept(),
    }
    run = placed(
        _run(
            file,
            resume,
            options,
            Asked(ShardGates(gates) if gates and later else watch, tape, asked, before),
        )
    )
    if watch is not None and not later:
        run = watch.decided(run, lambda text: say(f"closecall: {text}", err=True))
    _report(run, form, options["output"], quiet=options["quiet"])
    if resume is None and options["aef"] is None and to is None and not options["quiet"]:
        _say_how_many(run)
    return run.exit_code


def _format(form: str | None, output: Path | None) -> str:
    from closecall.report.formats import format_of

    if form is None:
        return "table" if output is None or str(output) == "-" else format_of(output)
    return form


def _inputs(
    file: Place | None, place: Path | None, calibrations: Iterable[Path]
) -> Iterator[tuple[Place, str]]:
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


class Asked(NamedTuple):
    """What a run is held against and recorded in, and what of it its header keeps.

    ``before`` is the header of the run that is gone on with.
    """

    watch: GateWatch | ShardGates | None
    tape: Tape | None
    kept: dict[str, Any]
    before: RunHeader | None


def _header(resume: Path | None) -> RunHeader | None:
    """Return the header of the run that is gone on with, which keeps what that needs."""
    from closecall.errors import RunFolderError
    from closecall.runs.stored import header_of

    try:
        return None if resume is None else header_of(resume)
    except RunFolderError:
        return None  # said when the run is opened


def _header_at(to: PartsFolder) -> RunHeader | None:
    """Return the header of a run in parts; None where there is none yet."""
    from closecall.errors import ClosecallError

    try:
        return to.header()
    except ClosecallError:
        return None  # said when the run is opened


def _run(file: Place | None, resume: Path | None, options: dict[str, Any], asked: Asked) -> Run:
    from closecall.errors import (
        BudgetError,
        ConfigurationError,
        ReplayMissError,
        RunFolderError,
    )
    from closecall.runs import evaluate as runs
    from closecall.runs.price_file import find_prices

    place: Path | None = resume or options["aef"]
    to: PartsFolder | None = options["to"]
    common: dict[str, Any] = {
        "threads": options["threads"],
        "budget": options["budget"],
        "prices": find_prices(),
        "cache": options["cache_dir"] or not options["no_cache"],
        "on_notice": lambda text: say(f"closecall: {renamed(text)}", err=True),
    }
    plan, judges = subject_plan(options), list(options["judges"]) or None
    repeats = repeats_of(options)
    before = asked.before
    many = (options["runs"] if before is None else before.runs) > 1
    since = None if before is None else before.started_at
    with (
        Progress(quiet=options["quiet"], unit="answers" if many else "cases") as progress,
        opened(asked.tape, since) as cassette,
    ):
        common |= {"progress": progress, "cassette": cassette, "watch": asked.watch}
        run_id = runs.new_run_id()
        if place is None and to is None and not options["no_aef"]:
            place = _default_place(run_id)
        written, begun = _written(place), _is_run(place)
        try:
            if options["on_ray"] and to is not None:
                cases = None if file is None else str(file)
                told_to = {name: common[name] for name in ("progress", "on_notice")}
                gates = kept_gates(asked.kept) or ()
                return run_on_ray(cases, to.place, options, gates, asked.kept, **told_to)
            if file is None:
                from closecall.runs.resuming import resume as go_on

                run = go_on(to or str(place), **common)
                _say_recorded(cassette, asked.tape, 0, quiet=options["quiet"])
                return run
            run = runs.evaluate(
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
                judge=judges,
                answers=plan,
                **repeats,
                window=typed_window(click.get_current_context()),
                mapping=pairs(options["mapping"], "--map", "FIELD=COLUMN") or None,
                on_bad_row=options["on_bad_row"],
                name=options["name"],
                subject=options["subject"],
                subject_version=options["subject_version"],
                content=not options["no_content"],
                aef=to or place,
                shard=options["shard"],
                run_id=run_id,
                asked=asked.kept,
                **common,
            )
        except KeyboardInterrupt:
            progress.stop()
            _say_how_to_go_on(to or place)
            raise
        except BudgetError:
            progress.stop()
            _say_recorded(cassette, asked.tape, 0, quiet=options["quiet"])
            _say_how_to_go_on(to or place, " --budget MORE")
            raise
        except (ConfigurationError, ReplayMissError, RunFolderError) as error:
            progress.stop()
            missed = isinstance(error, ReplayMissError) and _is_run(place) and not begun
            if missed or _written(place) > written:
                _say_how_to_go_on(to or place)
            raise
        recording = cassette is not None and asked.tape is not None and asked.tape.mode == "record"
        dropped = drop_unasked(cassette, run) if cassette is not None and recording else 0
        _say_recorded(cassette, asked.tape, dropped, quiet=options["quiet"])
        return run


def _say_recorded(
    cassette: Cassette | None, tape: Tape | None, dropped: int, *, quiet: bool
) -> None:
    if cassette is not None and tape is not None and not quiet:
        said = told(cassette, replay=tape.mode == "replay", dropped=dropped)
        say(f"closecall: {said}", err=True)


def _is_run(place: Path | None) -> bool:
    from closecall.runs import files

    return place is not None and files.exists(place, files.RUN)


def _written(place: Path | None) -> int:
    """Return the bytes of results in a run folder, or its parts; 0 where there are none."""
    from closecall.runs.files import RESULTS

    if place is None:
        return 0
    try:
        return (place / RESULTS).stat().st_size
    except OSError:
        return len(list((place / "parts").glob("part-*")))


def _say_how_to_go_on(place: Path | PartsFolder | None, more: str = "") -> None:
    from closecall.runs import files
    from closecall.runs.claim import quoted

    if isinstance(place, Path):
        there, where = files.exists(place, files.RUN), shown(place)
    else:
        there = place is not None and _header_at(place) is not None
        where = "" if place is None else place.place
    if there:
        say(f"\nGo on with: closecall eval --resume {quoted(where)}{more}", err=True)


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
    if run.place is not None:
        say(f"closecall: run folder {run.place}", err=True)

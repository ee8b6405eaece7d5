"""``closecall eval``: a file of cases to a verdict."""

from __future__ import annotations

from collections.abc import Iterator
from pathlib import Path
from typing import TYPE_CHECKING, Any

import click

from closecall.cli.eval_options import eval_options
from closecall.cli.eval_ray import on_ray
from closecall.cli.eval_resume import header_before, refuse_beside_resume
from closecall.cli.eval_run import Asked, run_cases
from closecall.cli.gating import (
    GateWatch,
    ShardGates,
    keeping,
    kept_gates,
    require_verdicts,
    wanted_gates,
)
from closecall.cli.kept_run import placed
from closecall.cli.live_options import tape_of
from closecall.cli.options import require_one_cache, require_parts
from closecall.cli.outputs import require_writable
from closecall.cli.pipes import may_close
from closecall.cli.places import CASES, Place, Url, writing
from closecall.cli.say import say
from closecall.cli.signing import key_of, sign_finished
from closecall.there import is_dir, is_file

if TYPE_CHECKING:
    from closecall.runs.parts.folder import PartsFolder
    from closecall.runs.record import Run

_KEPT = {
    "labels": "the file of labels",
    "sign_with": "the key",
    "passphrase_file": "the passphrase",
    "system_prompt_file": "the system prompt",
}
"""Options that name a file, and what would be lost if the report were written over it."""

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
  closecall eval answers.jsonl --aef runs/monday --sign sign.key
  closecall eval answers.parquet --parts runs/big --shard 2/8
  closecall eval answers.parquet --parts runs/big --engine ray --workers 8
  closecall eval s3://bucket/answers.jsonl --aef s3://bucket/runs/r1

\b
Exit codes: 0 all measured and passed, 1 a gate failed or, without gates, a case failed its
cutoff, 2 usage, 3 configuration, 4 input data or calibration file, 5 a replay lacks a
recording, 6 the calibration belongs to another embedder or metric,
8 the budget is spent (resumable),
11 otherwise green but something was not measured or left unsure, or a gate cannot tell,
130 interrupted and 143 ended by SIGTERM (resumable).
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
        refuse_beside_resume(context)
    if options["aef"] and options["no_aef"]:
        raise click.UsageError("--aef and --no-aef exclude each other")
    if options["parts"] and (options["aef"] or options["no_aef"]):
        raise click.UsageError("--parts stands for a run folder: leave out --aef and --no-aef")
    if resume is None:
        require_parts(context, in_parts=options["parts"] is not None)
    require_one_cache(options)
    if options["sign_with"] and options["no_aef"]:
        raise click.UsageError("--sign signs the run folder: leave out --no-aef")
    options["signer"] = key_of(options["sign_with"], options["passphrase_file"])
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
        require_writable(options["output"], _inputs(file, place, options), place)
    surely = options["gate_mode"] == "interval"
    to: PartsFolder | None = options["to"]
    before = header_before(to or resume)
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
    if options["no_cache"]:
        asked["cache"] = False
    run = placed(
        run_cases(
            file,
            resume,
            options,
            Asked(ShardGates(gates) if gates and later else watch, tape, asked, before),
        )
    )
    if options["signer"] is not None:
        sign_finished(run, options["signer"], quiet=options["quiet"])
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
    file: Place | None, place: Path | None, options: dict[str, Any]
) -> Iterator[tuple[Place, str]]:
    """Yield the files given, and those the run in ``place`` was begun with."""
    cases, calibration = "the file of cases", "the calibration"
    if file is not None:
        yield file, cases
    yield from ((path, calibration) for path in options["calibration"])
    for name, what in _KEPT.items():
        if options[name] is not None:
            yield options[name], what
    from closecall.runs.files import RUN

    if place is not None and is_file(place / RUN):
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


def _say_how_many(run: Run) -> None:
    """Say how to remove runs that nobody looks at any more; nothing is removed by itself."""
    if run.folder is None:
        return
    place = run.folder.parent
    try:
        runs = sorted(path for path in place.iterdir() if is_dir(path))
    except OSError:
        return
    if len(runs) > MANY_RUNS:
        say(
            f"closecall: {len(runs)} run folders are kept in {place}; remove the oldest with: "
            f"closecall runs prune --keep {MANY_RUNS}",
            err=True,
        )


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

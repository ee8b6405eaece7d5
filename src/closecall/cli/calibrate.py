"""``closecall calibrate``: from labelled cases to a cutoff and its evidence, in one file."""

from __future__ import annotations

import shutil
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path
from typing import TYPE_CHECKING, Any

import click

from closecall.cli.calibrate_options import calibrate_options, goal_of
from closecall.cli.calibrated import conclude
from closecall.cli.live_options import Tape, cassette_options, opened, tape_of, told
from closecall.cli.options import embedder_options, pairs, require_one_cache, typed_window
from closecall.cli.outputs import require_writable
from closecall.cli.places import CASES, Place
from closecall.cli.progress import Progress
from closecall.cli.say import say
from closecall.there import is_dir

if TYPE_CHECKING:
    from closecall.calibration.artefact import Calibration
    from closecall.calibration.goals import Goal
    from closecall.cassettes import Cassette
    from closecall.runs.judging import Wanted

EXAMPLES = """\b
Examples:
  closecall calibrate labelled.jsonl -o cutoff.json
  closecall calibrate labelled.csv --max-far 0.1 --group question_id --slice product -o cutoff.json
  closecall calibrate labelled.jsonl --max-far 0.1 --max-frr 0.2 --two-cutoffs -o cutoff.json
  closecall calibrate labelled.jsonl --cost-fa 5 --cost-fr 1 --base-rate 0.8 -o cutoff.json
  closecall calibrate labelled.jsonl --judge -o judge.json
  closecall calibrate labelled.jsonl --cascade --max-far 0.1 --max-frr 0.2 -o rungs
  closecall calibrate labelled.jsonl -m llm_groundedness --judge-model openai:gpt-4o-mini \
      --record tape -o marks.json
  closecall eval answers.jsonl --calibration cutoff.json
  closecall calibrate --refresh cutoff.json

\b
Exit codes: 0 there is a cutoff, 2 usage, 3 configuration, 4 input data or calibration file,
5 a replay lacks a recording, 7 no cutoff keeps what was asked, and no file is written (it says how
many labels would do).
"""


@click.command("calibrate", epilog=EXAMPLES)
@click.argument("file", required=False, type=CASES)
@click.option(
    "-m",
    "--metric",
    default="embed_answer_similarity",
    show_default=True,
    help="The metric to choose a cutoff for.",
)
@embedder_options
@calibrate_options
@cassette_options
@click.pass_context
def command(
    context: click.Context, /, file: Place | None, refresh: Path | None, **options: Any
) -> int:
    """Choose the cutoff for a metric from the labelled cases of FILE, and say how wrong it is.

    FILE is a case file whose column "label" says accept or reject; rows without a label are not
    scored. Nothing is promised that the labels cannot back: then there is no cutoff, and the
    message says how many labels would do.
    """
    if (file is None) == (refresh is None):
        raise click.UsageError("give a FILE of labelled cases, or --refresh CALIBRATION")
    require_one_cache(options)
    if refresh is not None:
        _refuse_beside_refresh(context)
        tape = tape_of(options, f"calibrate-{refresh.stem}", {})
        return _refresh(refresh, {**options, "window": typed_window(context)}, tape)
    if file is None:
        raise click.UsageError("give a FILE of labelled cases")
    tape = tape_of(options, f"calibrate-{file.stem}", {})
    if options["cascade"]:
        from closecall.cli.calibrate_cascade import calibrate_rungs

        return calibrate_rungs(file, context, options, tape)
    return _calibrate(file, options, tape)


def _calibrate(file: Place, options: dict[str, Any], tape: Tape | None) -> int:
    goal = goal_of(options)
    previous = previous_at(options["output"], file)
    from closecall.runs.calibrate import calibrate

    with (
        Progress(quiet=options["quiet"]) as progress,
        recording(tape, quiet=options["quiet"]) as cassette,
        approximate_needs_groups(goal),
    ):
        found = calibrate(
            str(file),
            options["metric"],
            options["embedder"],
            goal,
            judge=_judge(options),
            previous=previous,
            cassette=cassette,
            progress=progress,
            **how(options),
        )
    return conclude(found, str(file), goal, options)


def how(options: dict[str, Any]) -> dict[str, Any]:
    """Return what was typed about rows, files and models, as ``calibrate`` takes it."""
    return {
        "group": options["group"],
        "slices": options["slices"],
        "lock": not options["no_lock"],
        "keep_texts": not options["no_content"],
        "leave_out_active": options["leave_out_active"],
        "judge_model": list(options["judge_models"]) or None,
        "window": options["window"],
        "threads": options["threads"],
        "mapping": pairs(options["mapping"], "--map", "FIELD=COLUMN") or None,
        "on_bad_row": options["on_bad_row"],
        "cache": options["cache_dir"] or not options["no_cache"],
        "on_notice": lambda text: say(f"closecall: {text}", err=True),
    }


def _judge(options: dict[str, Any]) -> Wanted:
    if options["judge"] and options["judge_split"]:
        raise click.UsageError("--judge and --judge-split exclude each other")
    return "split" if options["judge_split"] else options["judge"]


def _refresh(path: Path, options: dict[str, Any], tape: Tape | None) -> int:
    from closecall.calibration.records import Infeasible
    from closecall.calibration.store import load_calibration
    from closecall.runs.refresh import refresh

    before = load_calibration(path)
    output = options["output"] or path
    backup = path.with_name(f"{path.name}.bak") if options["output"] is None else None
    if not (output.exists() and output.samefile(path)):
        previous_at(output, None)
    if backup is not None:
        previous_at(backup, None)
    options = {**options, "output": output}
    with (
        Progress(quiet=options["quiet"]) as progress,
        recording(tape, quiet=options["quiet"]) as cassette,
    ):
        found = refresh(
            before,
            options["embedder"],
            judge_model=list(options["judge_models"]) or None,
            cassette=cassette,
            window=options["window"],
            threads=options["threads"],
            cache=options["cache_dir"] or not options["no_cache"],
            progress=progress,
            on_notice=lambda text: say(f"closecall: {text}", err=True),
        )
    if backup is not None and not isinstance(found.after, Infeasible):
        shutil.copyfile(path, backup)
        if not options["quiet"]:
            say(f"closecall: what {path} was is kept as {backup}", err=True)
    return conclude(found.after, path.name, before.goal, options, found)


@contextmanager
def recording(tape: Tape | None, *, quiet: bool) -> Iterator[Cassette | None]:
    """Open a cassette, and say at the end what became of it.

    What a calibration did not ask for is kept: unlike a run it need not measure every row.
    """
    with opened(tape) as cassette:
        yield cassette
        if cassette is not None and tape is not None and not quiet:
            say(f"closecall: {told(cassette, replay=tape.mode == 'replay')}", err=True)


@contextmanager
def approximate_needs_groups(goal: Goal) -> Iterator[None]:
    """Say in options what is missing where no two rows belong together."""
    from closecall.errors import UsageError

    try:
        yield
    except UsageError as error:
        if goal.guarantee != "approximate" or "pass groups" not in str(error):
            raise
        raise UsageError(
            "--guarantee approximate is for answers that belong together, and here every row "
            "stands alone: leave it out, since exact is firmer, or name with --group FIELD what "
            "rows have in common"
        ) from error


def previous_at(output: Path | None, file: Place | None) -> Calibration | None:
    """Return the calibration that stands where the new one goes, so that tries are counted.

    Anything else there is not replaced: it would be lost.
    """
    from closecall.calibration.store import load_calibration
    from closecall.errors import CalibrationFileError, UsageError

    if output is None:
        return None
    if str(output) == "-":
        raise UsageError("-o -: name a file; --format json prints what was found")
    if is_dir(output):
        raise UsageError(f"-o {output}: that is a folder; a calibration is written to a file")
    require_writable(output, [] if file is None else [(file, "the file of cases")])
    if not output.is_file():
        return None
    try:
        return load_calibration(output)
    except CalibrationFileError as error:
        raise UsageError(
            f"-o {output}: that file is there and is no calibration of this version "
            f"({error}); move it away or name another"
        ) from error


def _refuse_beside_refresh(context: click.Context) -> None:
    typed = click.core.ParameterSource.COMMANDLINE
    allowed = {
        "refresh",
        "output",
        "embedder",
        "window",
        "threads",
        "form",
        "cache_dir",
        "no_cache",
        "quiet",
        "judge_models",
        "record",
        "replay",
        "record_missing",
        "take_over",
    }
    given = [
        parameter.opts[0]
        for parameter in context.command.params
        if parameter.name not in allowed
        and context.get_parameter_source(parameter.name or "") is typed
    ]
    if given:
        raise click.UsageError(
            f"--refresh keeps the goal and the labels of its file; leave out {', '.join(given)}"
        )

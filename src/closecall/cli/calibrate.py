"""``closecall calibrate``: from labelled cases to a cutoff and its evidence, in one file."""

from __future__ import annotations

import shutil
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path
from typing import TYPE_CHECKING, Any

import click

from closecall.cli.calibrated import conclude
from closecall.cli.options import embedder_options, pairs, typed_window
from closecall.cli.outputs import require_writable
from closecall.cli.progress import Progress
from closecall.cli.say import say

if TYPE_CHECKING:
    from closecall.calibration.artefact import Calibration
    from closecall.calibration.goals import Goal

EXAMPLES = """\b
Examples:
  closecall calibrate labelled.jsonl -o cutoff.json
  closecall calibrate labelled.csv --max-far 0.1 --group question_id --slice product -o cutoff.json
  closecall calibrate labelled.jsonl --max-far 0.1 --max-frr 0.2 --two-cutoffs -o cutoff.json
  closecall calibrate labelled.jsonl --cost-fa 5 --cost-fr 1 --base-rate 0.8 -o cutoff.json
  closecall eval answers.jsonl --calibration cutoff.json
  closecall calibrate --refresh cutoff.json

\b
Exit codes: 0 there is a cutoff, 2 usage, 3 configuration, 4 input data or calibration file,
7 no cutoff keeps what was asked, and no file is written (it says how many labels would do).
"""


PERCENT = 100


def _fraction(percentage: str) -> str:
    return f"{float(percentage) / PERCENT:.10g}"


class Share(click.FloatRange):
    """A share between 0 and 1; a percentage is told how to be typed."""

    def __init__(self) -> None:
        super().__init__(0, 1, min_open=True, max_open=True)

    def convert(
        self, value: Any, param: click.Parameter | None, ctx: click.Context | None
    ) -> float:
        """Return the number, or say what to type instead."""
        try:
            share: float = super().convert(value, param, ctx)
        except click.BadParameter as error:
            number = str(value).strip().removesuffix("%")
            if number.replace(".", "", 1).isdecimal() and 0 < float(number) < PERCENT:
                said = f"{error.message.rstrip('.')}; for {number}% type {_fraction(number)}"
                raise click.BadParameter(said, ctx=ctx, param=param) from error
            raise
        return share


@click.command("calibrate", epilog=EXAMPLES)
@click.argument("file", required=False, type=click.Path(path_type=Path))
@click.option(
    "-m",
    "--metric",
    default="embed_answer_similarity",
    show_default=True,
    help="The metric to choose a cutoff for.",
)
@embedder_options
@click.option(
    "--max-far",
    type=Share(),
    metavar="RATE",
    help="At most this share of wrong answers is accepted.  [default: 0.05, if no goal is given]",
)
@click.option(
    "--max-frr",
    type=Share(),
    metavar="RATE",
    help="At most this share of good answers is rejected.",
)
@click.option(
    "--two-cutoffs",
    is_flag=True,
    help="Keep both --max-far and --max-frr; answers between the two cutoffs are left unsure.",
)
@click.option("--cost-fa", type=float, help="What accepting a wrong answer costs.")
@click.option("--cost-fr", type=float, help="What rejecting a good answer costs.")
@click.option(
    "--base-rate",
    type=Share(),
    help="Share of good answers where the cutoff will be used, for costs.  "
    "[default: as among the labels]",
)
@click.option(
    "--objective",
    type=click.Choice(["f1", "youden", "accuracy"]),
    help="The best cutoff by this measure, without a promise.",
)
@click.option(
    "--confidence",
    type=Share(),
    default=0.95,
    show_default=True,
    help="How sure a promise is.",
)
@click.option(
    "--guarantee",
    type=click.Choice(["exact", "approximate", "average"]),
    default="exact",
    show_default=True,
    help="exact: proved, one row a group. approximate: all rows, corrected for groups. average: "
    "the rate keeps its limit on average only.",
)
@click.option(
    "--looks",
    type=click.IntRange(min=1),
    default=1,
    show_default=True,
    help="How many limits or label batches you will look at in all; a promise then holds for "
    "whichever you choose.",
)
@click.option(
    "--group",
    metavar="FIELD",
    help="Field that says which rows belong together.  [default: group, else the question]",
)
@click.option(
    "--slice",
    "slices",
    multiple=True,
    metavar="FIELD",
    help="Also report each value of this field; repeatable.",
)
@click.option(
    "--map",
    "mapping",
    multiple=True,
    metavar="FIELD=COLUMN",
    help="Read FIELD (label, response, references, ...) from this column.",
)
@click.option(
    "--on-bad-row",
    type=click.Choice(["fail", "skip"]),
    default="fail",
    show_default=True,
    help="Rows that cannot be read: stop, or leave out and count.",
)
@click.option(
    "--leave-out-active",
    is_flag=True,
    help="Leave out labels that were picked by score, which no promise can rest on.",
)
@click.option(
    "--no-lock",
    is_flag=True,
    help="Use every label to choose the cutoff; by default a third is set aside to test it, from "
    "600 labels with 180 rejects on.",
)
@click.option(
    "--no-content",
    is_flag=True,
    help="Keep the texts out of the file; ids, scores and values of slices stay. It cannot be "
    "refreshed then.",
)
@click.option(
    "--seed",
    type=click.IntRange(min=0),
    default=0,
    show_default=True,
    help="Draws the row of each group, the folds and the rows set aside.",
)
@click.option(
    "--refresh",
    type=click.Path(path_type=Path, dir_okay=False),
    metavar="CALIBRATION",
    help="Score the labelled texts in this file again, with the embedder as it is now, and choose "
    "the cutoff anew; writes to -o, or in place, with the file of before kept as CALIBRATION.bak.",
)
@click.option(
    "-o",
    "--output",
    type=click.Path(path_type=Path, dir_okay=False),
    metavar="FILE.json",
    help="Where to write the calibration.",
)
@click.option(
    "--format",
    "form",
    type=click.Choice(["text", "json"]),
    default="text",
    show_default=True,
    help="How to print what was found.",
)
@click.option(
    "--cache-dir",
    type=click.Path(path_type=Path, file_okay=False),
    help="Folder of the vector cache.",
)
@click.option("--no-cache", is_flag=True, help="Neither read nor write the vector cache.")
@click.option("-q", "--quiet", is_flag=True, help="No progress.")
@click.pass_context
def command(
    context: click.Context, /, file: Path | None, refresh: Path | None, **options: Any
) -> int:
    """Choose the cutoff for a metric from the labelled cases of FILE, and say how wrong it is.

    FILE is a case file whose column "label" says accept or reject; rows without a label are not
    scored. Nothing is promised that the labels cannot back: then there is no cutoff, and the
    message says how many labels would do.
    """
    if (file is None) == (refresh is None):
        raise click.UsageError("give a FILE of labelled cases, or --refresh CALIBRATION")
    if options["cache_dir"] and options["no_cache"]:
        raise click.UsageError("--cache-dir and --no-cache exclude each other")
    if refresh is not None:
        _refuse_beside_refresh(context)
        return _refresh(refresh, {**options, "window": typed_window(context)})
    if file is None:
        raise click.UsageError("give a FILE of labelled cases")
    return _calibrate(file, options)


def _goal(options: dict[str, Any]) -> Goal:
    from closecall.calibration.goals import DEFAULT_MAX_FAR, Goal
    from closecall.calibration.records import Costs

    fa, fr = options["cost_fa"], options["cost_fr"]
    if (fa is None) != (fr is None):
        raise click.UsageError("costs come in pairs: give both --cost-fa and --cost-fr")
    if options["base_rate"] is not None and fa is None:
        raise click.UsageError("--base-rate goes with --cost-fa and --cost-fr")
    far, frr = options["max_far"], options["max_frr"]
    both = far is not None and frr is not None
    if both and not options["two_cutoffs"]:
        raise click.UsageError(
            "one cutoff keeps one promise: add --two-cutoffs to keep both --max-far and --max-frr"
        )
    if options["two_cutoffs"] and not both:
        raise click.UsageError(
            "--two-cutoffs keeps both promises: add "
            + " and ".join(
                f"{option} RATE"
                for option, given in (("--max-far", far), ("--max-frr", frr))
                if given is None
            )
        )
    costs = (
        None
        if fa is None
        else Costs(false_accept=fa, false_reject=fr, base_rate=options["base_rate"])
    )
    given = [
        far is not None or frr is not None,
        costs is not None,
        options["objective"] is not None,
    ]
    if sum(given) > 1:
        raise click.UsageError("choose one goal: a promise, costs or an objective")
    if not any(given):
        far = DEFAULT_MAX_FAR
    if options["guarantee"] != "exact" and not (far or frr):
        raise click.UsageError("--guarantee is for --max-far and --max-frr")
    return Goal(
        max_far=far,
        max_frr=frr,
        costs=costs,
        objective=options["objective"],
        confidence=options["confidence"],
        guarantee=options["guarantee"],
        looks=options["looks"],
        seed=options["seed"],
    )


def _calibrate(file: Path, options: dict[str, Any]) -> int:
    goal = _goal(options)
    previous = _previous(options["output"], file)
    from closecall.runs.calibrate import calibrate

    with Progress(quiet=options["quiet"]) as progress, _approximate_needs_groups(goal):
        found = calibrate(
            str(file),
            options["metric"],
            options["embedder"],
            goal,
            group=options["group"],
            slices=options["slices"],
            lock=not options["no_lock"],
            keep_texts=not options["no_content"],
            leave_out_active=options["leave_out_active"],
            previous=previous,
            window=options["window"],
            threads=options["threads"],
            mapping=pairs(options["mapping"], "--map", "FIELD=COLUMN") or None,
            on_bad_row=options["on_bad_row"],
            cache=options["cache_dir"] or not options["no_cache"],
            progress=progress,
            on_notice=lambda text: say(f"closecall: {text}", err=True),
        )
    return conclude(found, str(file), goal, options)


def _refresh(path: Path, options: dict[str, Any]) -> int:
    from closecall.calibration.records import Infeasible
    from closecall.calibration.store import load_calibration
    from closecall.runs.calibrate import refresh

    before = load_calibration(path)
    output = options["output"] or path
    backup = path.with_name(f"{path.name}.bak") if options["output"] is None else None
    if not (output.exists() and output.samefile(path)):
        _previous(output, None)
    if backup is not None:
        _previous(backup, None)
    options = {**options, "output": output}
    with Progress(quiet=options["quiet"]) as progress:
        found = refresh(
            before,
            options["embedder"],
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
def _approximate_needs_groups(goal: Goal) -> Iterator[None]:
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


def _previous(output: Path | None, file: Path | None) -> Calibration | None:
    """Return the calibration that stands where the new one goes, so that tries are counted.

    Anything else there is not replaced: it would be lost.
    """
    from closecall.calibration.store import load_calibration
    from closecall.errors import CalibrationFileError, UsageError

    if output is None:
        return None
    if str(output) == "-":
        raise UsageError("-o -: name a file; --format json prints what was found")
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

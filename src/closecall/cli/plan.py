"""``closecall plan``: how many labels a promise takes, and which cases to label next."""

from __future__ import annotations

from collections.abc import Iterable
from pathlib import Path
from typing import TYPE_CHECKING, Any, NamedTuple

import click

from closecall.cli.options import (
    case_options,
    embedder_options,
    group_option,
    pairs,
    print_option,
)
from closecall.cli.places import LocalType
from closecall.cli.progress import Progress
from closecall.cli.say import say, say_json

if TYPE_CHECKING:
    from closecall.calibration.labels.label_stock import Pool, Stock
    from closecall.calibration.labels.labelling import Batch
    from closecall.calibration.labels.planning import LabelPlan
    from closecall.datasets import Dataset

EXAMPLES = """\b
Examples:
  closecall plan --max-far 0.05
  closecall plan --max-far 0.05 --reject-rate 0.2
  closecall plan answers.jsonl --max-far 0.1
  closecall plan answers.csv --group question_id -o next.csv
  closecall plan answers.jsonl --batch improve --cutoff 62 --size 60 -o next.jsonl

\b
A certify batch is a random sample: the promise rests on it. An improve batch looks closer around
one cutoff and sharpens what is known of it; no promise can rest on it. Each row says which it is
(column sampling). A batch has the columns of FILE: label every row (accept or reject), add the
rows to FILE, and run the command that is printed.

\b
A cutoff that you have seen is a look. Planning is none, nor is a refusal for too few labels.

\b
Exit codes: 0 planned, 2 usage, 3 configuration, 4 input data.
"""

MOST = 200
"""Cases in a batch where no promise lacks labels, or none can say how many it takes."""

WIDEST, NARROWEST = 100, 40
"""Columns that lines are wrapped at, at most and at least."""

OF_FILE = (
    "group",
    "mapping",
    "on_bad_row",
    "kind",
    "size",
    "seed",
    "output",
    "cutoff",
    "metric",
    "embedder",
    "window",
    "threads",
    "quiet",
)
"""Options that say how to read a file, or what to draw from it."""

OF_IMPROVE = ("cutoff", "metric", "embedder", "window", "threads")


COUNTED = LocalType("what to label is labelled beside the file; fetch it first")


@click.command("plan", epilog=EXAMPLES)
@click.argument("file", required=False, type=COUNTED)
@click.option(
    "--max-far",
    type=click.FloatRange(0, 1, min_open=True, max_open=True),
    metavar="RATE",
    help="At most this share of wrong answers is accepted.  [default: 0.05, if neither is given]",
)
@click.option(
    "--max-frr",
    type=click.FloatRange(0, 1, min_open=True, max_open=True),
    metavar="RATE",
    help="At most this share of good answers is rejected.",
)
@click.option(
    "--confidence",
    type=click.FloatRange(0, 1, min_open=True, max_open=True),
    default=0.95,
    show_default=True,
    help="How sure the promise is.",
)
@click.option(
    "--looks",
    type=click.IntRange(min=1),
    default=1,
    show_default=True,
    help="How many cutoffs you will see in all before you choose: one for each limit, and one "
    "each time you calibrate on more labels.",
)
@click.option(
    "--reject-rate",
    type=click.FloatRange(0, 1, min_open=True, max_open=True),
    metavar="RATE",
    help="Share of your answers that are wrong.  [default: as among the labels of FILE]",
)
@group_option
@case_options("label, response, references, ...")
@click.option(
    "--batch",
    "kind",
    type=click.Choice(["certify", "improve"]),
    default="certify",
    show_default=True,
    help="What to label next: a random sample, or a sample stratified by score.",
)
@click.option(
    "--size",
    type=click.IntRange(min=1),
    help="Cases in the batch.  [default: as many as make it 95% sure that the labels a promise "
    f"lacks are among them; {MOST} at most where it lacks none]",
)
@click.option(
    "--cutoff",
    type=float,
    metavar="VALUE",
    help="For --batch improve: the cutoff to look closer at.",
)
@click.option(
    "-m",
    "--metric",
    default="embed_answer_similarity",
    show_default=True,
    help="For --batch improve: the metric the cutoff is of.",
)
@embedder_options
@click.option("--seed", type=click.IntRange(min=0), default=0, show_default=True)
@click.option(
    "-o",
    "--output",
    type=click.Path(path_type=Path, dir_okay=False),
    metavar="BATCH",
    help="Write the batch there, ready to be labelled: .jsonl, .json, .csv or .tsv. Never over a "
    "file that is there.",
)
@print_option("How to print the plan.")
@click.option("-q", "--quiet", is_flag=True, help="No progress.")
@click.pass_context
def command(context: click.Context, /, file: Path | None, **options: Any) -> int:
    """Say how many labels a promise takes, what those in FILE can back, and what to label next.

    FILE is a case file. Rows with a label (accept or reject) are counted, and a batch to label
    next is drawn from the others. Without FILE, only the numbers.
    """
    if file is None:
        _refuse(context, OF_FILE, "only with a FILE of cases")
        _say_numbers(_plan(options), options)
        return 0
    if options["kind"] != "improve":
        _refuse(context, OF_IMPROVE, "only with --batch improve")
    elif options["cutoff"] is None:
        raise click.UsageError(
            "--batch improve looks closer at one cutoff: give it with --cutoff VALUE"
        )
    _require_free(options["output"], file)
    return _plan_file(file, options)


class _Drawn(NamedTuple):
    """A batch, and what is to be said beside it."""

    batch: Batch
    unmeasured: int = 0


def _plan(options: dict[str, Any], stock: Stock | None = None) -> LabelPlan:
    from closecall.calibration.goals import DEFAULT_MAX_FAR
    from closecall.calibration.labels.planning import plan

    far, frr = options["max_far"], options["max_frr"]
    return plan(
        max_far=DEFAULT_MAX_FAR if far is None and frr is None else far,
        max_frr=frr,
        confidence=options["confidence"],
        looks=options["looks"],
        reject_rate=options["reject_rate"],
        have=None if stock is None else stock.have,
    )


def _say_numbers(found: LabelPlan, options: dict[str, Any]) -> None:
    import msgspec

    from closecall.report.label_plan import needs

    if options["form"] == "json":
        say_json({"plan": msgspec.to_builtins(found), "labels": None, "batch": None})
        return
    _say_lines(needs(found))


def _plan_file(file: Path, options: dict[str, Any]) -> int:
    import msgspec

    from closecall.calibration.labels.label_stock import take_stock
    from closecall.cli.batch_file import require_flat, write_batch
    from closecall.cli.next_step import next_lines
    from closecall.datasets import open_dataset
    from closecall.datasets._as_written import layout_of
    from closecall.report.label_plan import batch_lines, standing
    from closecall.report.words import plural

    output = options["output"]
    dataset = open_dataset(
        file,
        mapping=pairs(options["mapping"], "--map", "FIELD=COLUMN") or None,
        on_bad_row=options["on_bad_row"],
    )
    layout = layout_of(dataset)
    if output is not None:
        require_flat(output, layout, options["group"])
    scan = dataset.scan()
    stock, pool = take_stock(dataset, options["group"])
    found = _plan(options, stock)
    size = options["size"] or (MOST if options["kind"] == "improve" else _size(found))
    drawn = _draw(dataset, pool, size, options) if size else None
    labelled = 0
    if drawn is not None:
        labelled = len({pick.id for pick in drawn.batch.picks} - set(pool.unlabelled))
    written = None
    if output is not None and drawn is not None and drawn.batch.picks:
        written = write_batch(dataset, layout, drawn.batch, output)
    if options["form"] == "json":
        say_json(
            {
                "plan": msgspec.to_builtins(found),
                "labels": {**msgspec.to_builtins(stock), "bad_rows": scan.bad_rows},
                "batch": drawn
                and {**msgspec.to_builtins(drawn.batch), "unmeasured": drawn.unmeasured},
            }
        )
    else:
        said = standing(found, stock, file.name)
        if scan.bad_rows:
            said.append(f"  Left out: {plural(scan.bad_rows, 'row')} that could not be read.")
        if drawn is not None:
            said += batch_lines(drawn.batch, drawn.unmeasured, labelled)
        batch = None if drawn is None else drawn.batch
        _say_lines([*said, *next_lines(file, options, found, stock, batch, written)])
    _say_written(drawn, output, written=written is not None)
    return 0


def _size(found: LabelPlan) -> int:
    """Return how many to label next: what a promise lacks, else what makes it likely to pass."""
    if found.drawn_surely is None:
        return MOST
    return found.drawn_surely or min(MOST if found.enough is None else found.enough, MOST)


def _draw(dataset: Dataset, pool: Pool, size: int, options: dict[str, Any]) -> _Drawn:
    from closecall.calibration.labels.labelling import certify_batch

    if options["kind"] == "improve":
        return _improve(dataset, pool, size, options)
    return _Drawn(
        certify_batch(
            pool.undrawn, pool.groups, size=size, seed=options["seed"], labels=pool.labels
        )
    )


def _improve(dataset: Dataset, pool: Pool, size: int, options: dict[str, Any]) -> _Drawn:
    """Score the cases and draw by score; labels there are say where rejects are likely."""
    from closecall.calibration.labels.labelling import LEAST, improve_batch
    from closecall.calibration.labels.strata import expected_rejects
    from closecall.errors import UsageError
    from closecall.metrics.registry import load_metric
    from closecall.records import Label, Measured
    from closecall.runs.evaluate import evaluate

    if size < 2 * LEAST:
        raise UsageError(f"--size {size}: an improve batch has at least {2 * LEAST} cases")
    metric = load_metric(options["metric"], options["cutoff"])
    open_ids = set(pool.unlabelled)
    with Progress(quiet=options["quiet"]) as progress:
        run = evaluate(
            [case for case in dataset if case.label is not None or case.id in open_ids],
            metric,
            options["embedder"],
            window=options["window"],
            threads=options["threads"],
            progress=progress,
            on_notice=lambda text: say(f"closecall: {text}", err=True),
        )
    seen: list[tuple[float, bool]] = []
    scored: list[tuple[str, float]] = []
    unmeasured = 0
    for row in run:
        measured = row.results[0].measurement
        if row.case.label is None and not isinstance(measured, Measured):
            unmeasured += 1
        elif isinstance(measured, Measured) and row.case.label is None:
            scored.append((row.case.id, measured.value))
        elif isinstance(measured, Measured):
            seen.append((measured.value, row.case.label is Label.ACCEPT))
    scores = [score for _, score in scored]
    rejects = expected_rejects(
        scores, [score for score, _ in seen], [accept for _, accept in seen]
    )
    batch = improve_batch(
        [case for case, _ in scored],
        scores,
        rejects,
        cutoff=options["cutoff"],
        size=size,
        seed=options["seed"],
    )
    return _Drawn(batch, unmeasured)


def _require_free(output: Path | None, file: Path) -> None:
    """Refuse to write over anything: the file of cases, or a batch that may hold labels by now."""
    from closecall.cli.batch_file import form_of
    from closecall.errors import UsageError

    if str(output) == "-":
        raise UsageError("-o takes the name of a file; standard output is for the plan")
    if output is not None:
        form_of(output)
    if output is None or not (output.exists() or output.is_symlink()):
        return
    if file.exists() and output.exists() and output.samefile(file):
        raise UsageError(f"-o {output}: that is the file of cases; it would be lost")
    if output.is_symlink() or output.is_file():
        raise UsageError(
            f"-o {output}: that file is there, and may hold labels; name another or move it away"
        )


def _say_lines(lines: Iterable[str]) -> None:
    """Print lines wrapped at the width of the terminal."""
    import shutil

    from closecall.report.label_plan import wrapped

    columns = shutil.get_terminal_size((WIDEST, 24)).columns
    width = min(max(columns, NARROWEST), WIDEST)
    for line in lines:
        say(wrapped(line, width))


def _say_written(drawn: _Drawn | None, output: Path | None, *, written: bool) -> None:
    from closecall.report.words import plural

    if written and drawn is not None:
        rows = plural(len(drawn.batch.picks), "row")
        say(f"closecall: {rows} written to {output}", err=True)
    elif output is not None:
        say(f"closecall: {output} was not written: there is nothing to label next", err=True)


def _refuse(context: click.Context, names: tuple[str, ...], why: str) -> None:
    typed = click.core.ParameterSource.COMMANDLINE
    given = [
        parameter.opts[-1]
        for parameter in context.command.params
        if parameter.name in names and context.get_parameter_source(parameter.name or "") is typed
    ]
    if given:
        raise click.UsageError(f"{', '.join(given)}: {why}")

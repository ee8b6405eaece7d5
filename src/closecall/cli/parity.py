"""``closecall models parity``: whether two embedders of one model agree."""

from __future__ import annotations

from pathlib import Path
from typing import Any

import click

from closecall.cli.options import HELP_NAMES, WINDOWS, pairs
from closecall.cli.places import CASES, Place
from closecall.cli.progress import Progress
from closecall.cli.say import say, say_json

EXAMPLES = """\b
Examples:
  closecall models parity minilm st:./all-MiniLM-L6-v2 answers.jsonl
  closecall models parity minilm "onnx:./export?file=onnx/model_int8.onnx" \\
    answers.jsonl --calibration cutoff.json

\b
Exit codes: 0 no verdict flips (without a cutoff: scores of both were compared), 1 a verdict
flips or a case was measured by one of them only, 2 usage, 3 configuration, 4 input data or
calibration file, 6 the calibration belongs to neither or to another metric, 11 nothing could be
compared.
"""

NOTHING_COMPARED = 11
"""As of a run that is otherwise green: something was not measured."""


@click.command("parity", epilog=EXAMPLES, context_settings=HELP_NAMES)
@click.argument("a")
@click.argument("b")
@click.argument("file", type=CASES)
@click.option(
    "-m",
    "--metric",
    help="What turns vectors into values.  [default: that of --calibration, else "
    "embed_answer_similarity]",
)
@click.option("--cutoff", type=float, help="Compare verdicts at this cutoff.")
@click.option(
    "--calibration",
    type=click.Path(path_type=Path, dir_okay=False),
    metavar="FILE.json",
    help="Compare verdicts by the cutoffs of this calibration, made with A or with B, for both.",
)
@click.option(
    "--window",
    type=click.Choice(WINDOWS),
    help="A text longer than the model's window: read it in windows and average, read the first "
    "only, or do not measure it.  [default: that of --calibration, else chunk]",
)
@click.option(
    "--map",
    "mapping",
    multiple=True,
    metavar="FIELD=COLUMN",
    help="Read FIELD from this column.",
)
@click.option("--threads", type=click.IntRange(min=1), help="Runs side by side.")
@click.option("--json", "as_json", is_flag=True, help="Print one JSON object.")
@click.option("-q", "--quiet", is_flag=True, help="No progress.")
def command(a: str, b: str, file: Place, **options: Any) -> int:
    """Compare two embedders, A and B, of the same weights on the cases of FILE.

    Says how far their vectors and scores are apart and, where there is a cutoff, how many
    verdicts flip and which. Nothing is read from the cache.
    """
    from closecall.metrics.registry import DEFAULT, load_metric
    from closecall.report.parity import parity_lines
    from closecall.runs.parity import parity

    metric: Any = options["metric"]
    if options["cutoff"] is not None:
        if options["calibration"] is not None:
            raise click.UsageError("--cutoff and --calibration exclude each other")
        metric = load_metric(metric or DEFAULT, options["cutoff"])
    with Progress(quiet=options["quiet"]) as progress:
        found = parity(
            str(file),
            a,
            b,
            metric,
            calibration=options["calibration"],
            window=options["window"],
            threads=options["threads"],
            mapping=pairs(options["mapping"], "--map", "FIELD=COLUMN") or None,
            progress=progress,
            on_notice=lambda text: say(f"closecall: {text}", err=True),
        )
    if options["as_json"]:
        import msgspec

        say_json(msgspec.to_builtins(found))
    else:
        for line in parity_lines(found):
            say(line)
    if found.apart:
        return 1
    return 0 if found.compared else NOTHING_COMPARED

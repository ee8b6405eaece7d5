"""``closecall runs merge``: the shards of a run as the one run they are parts of."""

from __future__ import annotations

import sys
from pathlib import Path
from typing import Any

import click

from closecall.cli.options import require_parts
from closecall.cli.places import FOLDER, LocalType, Place, url_of
from closecall.cli.say import say

EXAMPLES = """\b
Examples:
  closecall runs merge shards/1 shards/2 shards/3 -o whole
  closecall runs merge s3://bucket/run/1 s3://bucket/run/2 -o s3://bucket/run/whole --parts

\b
Exit codes: those of the run that comes of it (0 passed, 1 a gate or a case failed, 11 something
was not measured or left unsure); 2 usage, a shard is missing or given twice; 4 a shard is not
finished or damaged, or a calibration is not there; 13 the shards are not of one question.
"""


@click.command("merge", epilog=EXAMPLES)
@click.argument("places", metavar="SHARD...", nargs=-1, required=True)
@click.option(
    "-o",
    "--output",
    type=FOLDER,
    required=True,
    metavar="DIR",
    help="Write the run there: a new folder, or with --parts also a URL.",
)
@click.option(
    "--parts",
    is_flag=True,
    help="Write it in parts (Parquet), which have room for any number of cases.",
)
@click.option(
    "--part-cases",
    type=click.IntRange(1, 1_000_000),
    default=4096,
    show_default=True,
    metavar="N",
    help="Cases of a part.",
)
@click.option(
    "--calibration",
    "calibrations",
    multiple=True,
    type=LocalType("name a file of this machine", dir_okay=False),
    metavar="FILE.json",
    help="The calibrations of the run, where they no longer lie where the shards found them; "
    "repeatable.",
)
@click.option("-q", "--quiet", is_flag=True, help="No progress and no summary line.")
def merge(
    places: tuple[str, ...],
    output: Place,
    parts: bool,
    part_cases: int,
    calibrations: tuple[Path, ...],
    quiet: bool,
) -> int:
    """Make one run of all its SHARDs: run folders, runs in parts, or their URLs, in any order.

    The run that comes of it has the lines, counts, gates and exit code of one that was never
    sharded; only its id, the ids made of it, and times are its own.
    """
    require_parts(click.get_current_context(), in_parts=parts)
    from closecall.bulk.merging import merge_runs
    from closecall.bulk.shards import gates_of
    from closecall.cli.gating import GateWatch, kept_gates
    from closecall.cli.progress import Progress
    from closecall.report.formats import write
    from closecall.runs.parts.folder import PartsFolder

    to: Any = PartsFolder(str(output), cases=part_cases) if parts else output
    named = [url_of(place) or place for place in places]
    gates = kept_gates(gates_of(named))
    with Progress(quiet=quiet, unit="cases") as progress:
        run = merge_runs(
            named,
            to,
            calibration=list(calibrations) or None,
            watch=GateWatch(gates) if gates else None,
            progress=progress,
        )
    from closecall.cli.pipes import may_close

    with may_close(sys.stdout):
        write(run, "table", sys.stdout)
    if not quiet:
        say(f"closecall: {len(places)} shards merged into {run.place}", err=True)
    return run.exit_code

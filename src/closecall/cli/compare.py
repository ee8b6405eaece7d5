"""``closecall compare``: whether one run is worse than another of the same cases."""

from __future__ import annotations

import sys
from pathlib import Path
from typing import TYPE_CHECKING, Any

import click

from closecall.cli.options import report_option
from closecall.cli.outputs import require_writable
from closecall.cli.pipes import may_close
from closecall.cli.places import reading, shown
from closecall.cli.runs import PLACE
from closecall.cli.say import say

if TYPE_CHECKING:
    from closecall.runs.comparing.records import RunComparison

EXAMPLES = """\b
Examples:
  closecall compare .closecall/runs/run-20260314T090000Z-1f2e3d4c after/
  closecall compare before/ after/ --max-new-failures 0 -o compared.md
  closecall compare before/ after/ --allow cases --strict

\b
Exit codes: 0 no regression shown, 1 B is worse, 2 usage, 4 a folder that is
no finished run, 11 B lacks what A measured or nothing could be compared (with
--strict also where it cannot be told), 13 the runs did not measure the same.
"""


@click.command("compare", epilog=EXAMPLES)
@click.argument("a")
@click.argument("b")
@click.option(
    "-m",
    "--metric",
    "metrics",
    multiple=True,
    metavar="NAME",
    help="Compare this metric alone; repeat for more.  [default: all, the same in both]",
)
@click.option(
    "--allow",
    multiple=True,
    type=click.Choice(["cases", "cutoff", "metadata"]),
    help="A difference to allow: cases (compare those in both), cutoff (or calibration or guards: "
    "compare values, gate no verdict), metadata (expected_facts and the like differ, or "
    "cannot be shown to be the same). Answers may always differ; embedders, metric versions and "
    "judges never.",
)
@click.option(
    "--alpha",
    type=click.FloatRange(0, 0.5, min_open=True),
    default=0.05,
    show_default=True,
    help="Most probable false alarm of the rule, over all metrics together.",
)
@click.option(
    "--max-new-failures",
    type=click.IntRange(min=0),
    metavar="K",
    help="Also a regression: more than K cases that B fails and A did not, chance or not.",
)
@click.option("--any-flip", is_flag=True, help="Also a regression: any verdict that differs.")
@click.option("--strict", is_flag=True, help="Exit with 11 where it cannot be told.")
@click.option(
    "--level",
    type=click.FloatRange(0.5, 1, max_open=True),
    default=0.95,
    show_default=True,
    help="Level of the interval of each mean difference.",
)
@click.option(
    "--show",
    type=click.IntRange(0, 1000),
    default=10,
    show_default=True,
    help="How many cases to name of each kind.",
)
@click.option(
    "--dir",
    "place",
    type=click.Path(path_type=Path),
    default=PLACE,
    show_default=True,
    help="Where to look for a run named by its id.",
)
@click.option(
    "--format",
    "form",
    type=click.Choice(["table", "json", "markdown", "html"]),
    help="Format of the report.  [default: table, or what -o's suffix says]",
)
@report_option
@click.option("-q", "--quiet", is_flag=True, help="Say nothing beside the report.")
def command(
    a: str,
    b: str,
    place: Path,
    form: str | None,
    output: Path | None,
    show: int,
    quiet: bool,
    **options: Any,
) -> int:
    """Compare two runs of the same cases: A before, B after.

    A and B are run folders, URLs of such, or ids of runs. Both must have asked the same questions
    with the same embedder, metrics and cutoffs; what answered may differ. B is worse where it
    passes fewer of the same cases beyond chance, by an exact test; with few cases the answer may
    be that it cannot be told.
    """
    from closecall.report.compared_runs.formats import format_of, save, write
    from closecall.report.compared_runs.overview import verdict

    to_file = output is not None and str(output) != "-"
    with reading(a, place) as before, reading(b, place) as after:
        if to_file and output is not None:
            for folder in (before, after):
                require_writable(output, [], folder)
            form = form or format_of(output)
        found = _compared(before, after, show, options)
    if to_file and output is not None:
        save(found, form or "table", output)
    else:
        with may_close(sys.stdout):
            write(found, form or "table", sys.stdout)
    if not quiet and (to_file or form not in {None, "table"}):
        say(f"closecall: {verdict(found)}", err=True)
    return found.exit_code


def _compared(a: Path, b: Path, show: int, options: dict[str, Any]) -> RunComparison:
    """Return what two folders come to; of those that were fetched it names the URLs."""
    import msgspec

    from closecall.cli.kept_run import tell_broken_seal
    from closecall.runs.comparing.compare import compare_runs

    found = compare_runs(a, b, named=show, **options)
    for folder in (a, b):
        tell_broken_seal(folder)
    name = msgspec.structs.replace
    return name(
        found,
        a=name(found.a, folder=shown(found.a.folder)),
        b=name(found.b, folder=shown(found.b.folder)),
    )

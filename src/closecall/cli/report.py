"""``closecall report``: kept runs as one page to look at, or in any other format."""

from __future__ import annotations

import sys
from contextlib import ExitStack
from pathlib import Path
from typing import TYPE_CHECKING

import click

from closecall.cli.outputs import require_writable
from closecall.cli.pipes import may_close
from closecall.cli.places import OUTPUT, reading, shown
from closecall.cli.runs import PLACE
from closecall.cli.say import say

if TYPE_CHECKING:
    from closecall.runs.record import Run

EXAMPLES = """\b
Examples:
  closecall report .closecall/runs/run-20260314T090000Z-1f2e3d4c -o report.html
  closecall report run-20260314 --format markdown >> "$GITHUB_STEP_SUMMARY"
  closecall report before/ after/ -o report.html
  closecall report monday/ tuesday/ wednesday/ --compare monday/ wednesday/ -o report.html

\b
Exit codes: 0 the report was written, whatever the runs came to; 2 usage;
4 a folder that is no finished run or is damaged.
"""


@click.command("report", epilog=EXAMPLES)
@click.argument("runs", metavar="RUN...", nargs=-1, required=True)
@click.option(
    "--compare",
    "two",
    nargs=2,
    metavar="A B",
    help="Of several runs compare these two in the HTML page.  [default: the last two]",
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
    type=click.Choice(["html", "table", "json", "jsonl", "csv", "markdown", "junit"]),
    help="Format of the report.  [default: what -o's suffix says, else html]",
)
@click.option(
    "-o",
    "--output",
    type=OUTPUT,
    help="Write the report to this file, or URL of object storage.  [default: the standard "
    "output]",
)
def command(
    runs: tuple[str, ...],
    two: tuple[str, str] | None,
    place: Path,
    form: str | None,
    output: Path | None,
) -> int:
    """Report on each RUN again: a run folder, its URL, or the beginning of an id.

    Everything comes from the folders; nothing is measured anew. The HTML page is one file that
    needs no network and opens from disk: what was asked and what came of it, and every case with
    its texts. Of several runs it shows how they went over time, and of two what changed between
    them; the cases are those of the run that began last. The other formats take one run.
    """
    from closecall.report.formats import format_of

    to_file = output is not None and str(output) != "-"
    form = form or (format_of(output) if to_file and output is not None else "html")
    if len(runs) > 1 and form != "html":
        raise click.UsageError(
            f"--format {form} takes one RUN, and {len(runs)} were given; closecall compare says "
            "whether one run is worse than another"
        )
    if two and form != "html":
        raise click.UsageError(f"--compare is of the HTML page, and --format {form} has none")
    with ExitStack() as fetched:
        known: dict[str, Path] = {}
        for run in (*runs, *(two or ())):
            if run not in known:
                known[run] = fetched.enter_context(reading(run, place))
        folders = [known[run] for run in runs]
        if to_file and output is not None:
            for folder in folders:
                require_writable(output, [], folder)
        places = None if two is None else _places([known[run] for run in two], folders)
        _report(folders, places, form, output if to_file else None)
    return 0


def _report(
    folders: list[Path], places: tuple[int, int] | None, form: str, output: Path | None
) -> None:
    from closecall.cli.kept_run import finished_run
    from closecall.report.formats import save, write

    loaded = [finished_run(folder) for folder in folders]
    if form == "html":
        pair = None if places is None else (loaded[places[0]], loaded[places[1]])
        _html(loaded, pair, output)
    elif output is not None:
        save(loaded[0], form, output)
    else:
        with may_close(sys.stdout):
            write(loaded[0], form, sys.stdout)


def _places(two: list[Path], folders: list[Path]) -> tuple[int, int]:
    """Return which of the runs the two are."""
    known = [folder.resolve() for folder in folders]
    for one in two:
        if one.resolve() not in known:
            raise click.UsageError(f"--compare {shown(one)}: compare two of the RUNs given")
    a, b = (known.index(one.resolve()) for one in two)
    if a == b:
        raise click.UsageError(f"--compare {two[0]} {two[1]}: these are one and the same run")
    return a, b


def _html(runs: list[Run], two: tuple[Run, Run] | None, output: Path | None) -> None:
    from closecall.atomic import whole_file
    from closecall.report.html.page import write_runs

    if output is None:
        with may_close(sys.stdout):
            write_runs(runs, sys.stdout, compare=two)
        return
    with whole_file(output) as out:
        write_runs(runs, out, compare=two)
    size = output.stat().st_size if output.is_file() else 0
    if size:
        say(f"closecall: written to {shown(output)}, {_size(size)}", err=True)


def _size(count: int) -> str:
    return f"{count / 1e6:.1f} MB" if count >= 1e6 else f"{count / 1e3:.0f} kB"  # noqa: PLR2004 - a million bytes

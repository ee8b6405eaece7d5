"""``closecall plot``: a picture of scores, errors or runs, as a file."""

from __future__ import annotations

from contextlib import ExitStack
from pathlib import Path
from typing import TYPE_CHECKING

import click

from closecall.cli.outputs import require_writable
from closecall.cli.places import OUTPUT, reading, shown, url_of
from closecall.cli.runs import PLACE
from closecall.cli.say import say

if TYPE_CHECKING:
    from closecall.report.charts.chart import Drawn

KINDS = ("distributions", "roc", "det", "errors", "precision", "reliability", "history")
"""Spelt out because --help is to load no pictures."""

HISTORY = "history"
_FILES = frozenset({".json", ".jsonl", ".csv", ".tsv"})

EXAMPLES = """\b
Examples:
  closecall plot cutoff.json -o scores.svg
  closecall plot .closecall/runs/run-20260314T090000Z-1f2e3d4c --kind roc -o roc.png
  closecall plot report.csv -m answer_alignment --kind errors -o errors.svg
  closecall plot .closecall/runs/* --kind history -o history.svg
  closecall plot s3://bucket/runs/r1 -o s3://bucket/scores.svg

\b
Exit codes: 0 written, 2 usage, 3 a PNG without matplotlib, 4 the data cannot
be read or do not make a picture.
"""


@click.command("plot", epilog=EXAMPLES)
@click.argument("sources", metavar="RUN|CALIBRATION|FILE...", nargs=-1, required=True)
@click.option(
    "-o",
    "--output",
    required=True,
    type=OUTPUT,
    help="Write the picture to this file, .svg or .png, or URL of object storage.",
)
@click.option(
    "--kind",
    type=click.Choice(KINDS),
    default=KINDS[0],
    show_default=True,
    help="distributions: scores of accepts and rejects. roc, det: all cutoffs at once. errors, "
    "precision: what each cutoff does. reliability: share accepted by score. history: pass rate "
    "over several runs.",
)
@click.option("-m", "--metric", metavar="NAME", help="Whose scores, where there are several.")
@click.option(
    "--dir",
    "place",
    type=click.Path(path_type=Path),
    default=PLACE,
    show_default=True,
    help="Where to look for a run named by its id.",
)
def command(
    sources: tuple[str, ...], output: Path, kind: str, metric: str | None, place: Path
) -> None:
    """Draw a picture of a run, a calibration or a file of scores with labels.

    RUN is a run folder, its URL or an id, CALIBRATION what closecall calibrate wrote, FILE a
    .csv, .tsv or .jsonl with the columns label and value (or score, or the metric's name), such
    as eval's CSV report. Nothing is measured anew. An SVG needs nothing else; a PNG needs the
    extra closecall[plot].
    """
    from closecall.report.charts.files import require_form, save

    require_form(output)
    if kind != HISTORY and len(sources) > 1:
        raise click.UsageError(f"--kind {kind} draws one source, got {len(sources)}")
    taken = [(url_of(one) or Path(one), "what is to be drawn") for one in sources]
    require_writable(output, taken)
    drawn = _history(sources, metric, place) if kind == HISTORY else _one(
        sources[0], kind, metric, place
    )  # fmt: skip
    save(drawn, output)
    say(f"closecall: written to {shown(output)}", err=True)


def _one(source: str, kind: str, metric: str | None, place: Path) -> Drawn:
    from closecall.cli.kept_run import finished_run
    from closecall.report.charts.score_file import of_file
    from closecall.report.charts.scores import draw, of_calibration, of_run

    url, path = url_of(source), Path(source)
    if url is not None and url.suffix.lower() in _FILES:
        raise click.UsageError(
            f"{url}: of object storage a run folder is drawn; copy this file here, and name the "
            "copy"
        )
    if url is not None or not path.is_file():
        with reading(source, place) as folder:
            return draw(kind, of_run(finished_run(folder, counts=False), metric))
    if path.suffix.lower() != ".json":
        return draw(kind, of_file(path, metric))
    from closecall.calibration.store import load_calibration

    made = load_calibration(path)
    if metric not in {None, made.metric.id}:
        raise click.UsageError(f"{path} is a calibration of {made.metric.id}, not of {metric}")
    return draw(kind, of_calibration(made))


def _history(sources: tuple[str, ...], metric: str | None, place: Path) -> Drawn:
    from closecall.cli.kept_run import finished_run
    from closecall.report.charts.history import history
    from closecall.report.charts.run_points import run_points

    with ExitStack() as fetched:
        folders = [fetched.enter_context(reading(source, place)) for source in sources]
        points, of = run_points([finished_run(folder) for folder in folders], metric)
        return history(points, of=of)

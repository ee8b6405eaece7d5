"""``closecall compare-cutoffs``: which of two calibrations decides better."""

from __future__ import annotations

from pathlib import Path
from typing import Any

import click

from closecall.cli.comparing import conclude, reading, reading_options
from closecall.cli.places import CASES, Place

EXAMPLES = """\b
Example:
  closecall compare-cutoffs old.json new.json fresh-labels.jsonl

\b
Exit codes: 0 nothing speaks for A (B is better, or the labels cannot tell),
1 A is better, 2 usage, 3 configuration, 4 input data or calibration file,
6 a calibration belongs to another embedder or metric.
"""


@click.command("compare-cutoffs", epilog=EXAMPLES)
@click.argument("a", type=click.Path(path_type=Path, dir_okay=False))
@click.argument("b", type=click.Path(path_type=Path, dir_okay=False))
@click.argument("file", type=CASES)
@click.option("--embedder-a", metavar="SPEC", help="Embedder of A.  [default: the one it names]")
@click.option("--embedder-b", metavar="SPEC", help="Embedder of B.  [default: the one it names]")
@reading_options
def command(
    a: Path,
    b: Path,
    file: Place,
    embedder_a: str | None,
    embedder_b: str | None,
    **options: Any,
) -> int:
    """Compare how two calibrations decide the labelled cases of FILE.

    A is the calibration in use, B the one that might replace it. FILE holds labels that neither
    was calibrated on: wrong answers that each accepts, and good ones that each rejects, are
    counted on them. One of the two is called better only if it gains on one count, by more than
    chance explains, and loses on no other. Otherwise the answer is that these labels cannot tell.
    """
    from closecall.runs.compare import compare_cutoffs

    with reading(options) as how:
        found = compare_cutoffs(
            a,
            b,
            str(file),
            embedders=(embedder_a, embedder_b),
            level=options["level"],
            reading=how,
        )
    return conclude(found, options["form"])

"""What ``closecall retrieval`` writes and prints, and what it may not write over."""

from __future__ import annotations

import sys
from pathlib import Path
from typing import TYPE_CHECKING, Any

import click

from closecall.cli.outputs import require_writable
from closecall.cli.pipes import may_close
from closecall.cli.say import say

if TYPE_CHECKING:
    from closecall.retrieval.collection import Collection
    from closecall.retrieval.evaluate import Evaluated
    from closecall.retrieval.results import RetrievalResult


def check_outputs(paths: tuple[Path, ...], options: dict[str, Any]) -> None:
    """Refuse two outputs of one name, one that is an input, and one that cannot be written."""
    from closecall.retrieval.beir import CORPUS, QRELS, QUERIES, SPLITS

    files = [*paths, *options["runs"]]
    for folder in paths:
        files += [folder / CORPUS, folder / QUERIES, folder / QRELS]
        files += (folder / SPLITS).glob("*.tsv")
    inputs = [(path, "an input, which is only read") for path in files if path.is_file()]
    wanted: dict[Path, str] = {}
    for name in ("output", "save_run", "write_cases"):
        place: Path | None = options[name]
        if place is None or (name == "output" and str(place) == "-"):
            continue
        option = "-o" if name == "output" else f"--{name.replace('_', '-')}"
        if str(place) == "-":
            raise click.UsageError(f"{option} takes the name of a file")
        before = wanted.setdefault(place.absolute(), option)
        if before != option:
            raise click.UsageError(f"{before} and {option} name the same file")
        require_writable(place, inputs)


def write_outputs(found: Evaluated, collection: Collection, options: dict[str, Any]) -> None:
    """Write the ranking and the labelled cases, where asked, and say so."""
    tested = found.rankings[0]
    told = []
    if options["save_run"] is not None:
        from closecall.retrieval.run_file import write_run

        write_run(tested, options["save_run"])
        told.append(f"the ranking of {tested.name} is in {options['save_run']}")
    if options["write_cases"] is not None:
        from closecall.retrieval.labelled import METRIC, labelled_cases, write_cases
        from closecall.runs.claim import quoted

        path = options["write_cases"]
        cases = labelled_cases(
            tested,
            collection,
            relevant_from=options["relevant_from"],
            title=not options["no_title"],
        )
        accepts, rejects = write_cases(cases, path)
        told.append(
            f"{accepts:,} accepts and {rejects:,} rejects are in {path}; next: "
            f"closecall calibrate {quoted(path)} -m {METRIC} --slice tags -o cutoff.json, then "
            "closecall search CORPUS QUESTION --calibration cutoff.json"
        )
    if not options["quiet"]:
        for line in told:
            say(f"closecall: {line}", err=True)


def print_report(found: RetrievalResult, form: str, output: Path | None, *, quiet: bool) -> None:
    """Print the report, or write it to a file and say so."""
    from closecall.report.retrieval_formats import FORMATS, save

    if output is None:
        with may_close(sys.stdout):
            FORMATS[form](found, sys.stdout)
        return
    save(found, form, output)
    if not quiet:
        say(f"closecall: the report is in {output}", err=True)

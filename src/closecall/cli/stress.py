"""``closecall stress``: what gets through that should not, before anyone labels anything."""

from __future__ import annotations

import sys
from pathlib import Path
from typing import TYPE_CHECKING, Any

import click

from closecall.cli.options import (
    cache_options,
    case_options,
    cutoffs,
    embedder_options,
    group_option,
    guards_option,
    pairs,
    print_option,
    require_one_cache,
    typed_window,
)
from closecall.cli.outputs import require_writable
from closecall.cli.pipes import may_close
from closecall.cli.places import CASES, Place
from closecall.cli.progress import Progress
from closecall.cli.say import say, say_json

if TYPE_CHECKING:
    from closecall.stress.results import StressResult

EXAMPLES = """\b
Examples:
  closecall stress cases.jsonl
  closecall stress cases.jsonl --calibration cutoff.json
  closecall stress cases.jsonl -m embed_answer_similarity,token_f1 --families number,negation
  closecall stress cases.jsonl -o stress.jsonl && closecall eval stress.jsonl

\b
Families of wrong answers: number, unit, date, negation, entity, quantifier, other_answer.
Harmless: unchanged, other_reference, case, punctuation, list_order, politeness, markdown.

\b
The made-up answers are not those that your assistant gives: choose no cutoff by them. The file
that -o writes names "closecall stress" as the annotator of every label.

\b
Exit codes: 0 done, whatever was found, 2 usage, 3 configuration, 4 input data, calibration file
or nothing to edit, 6 the calibration belongs to another embedder or metric.
"""


@click.command("stress", epilog=EXAMPLES)
@click.argument("file", type=CASES)
@click.option(
    "-m",
    "--metrics",
    "names",
    multiple=True,
    metavar="NAMES",
    help="Comma-separated, also repeated.  [default: embed_answer_similarity,answer_support]",
)
@click.option(
    "--cutoff",
    "cutoff",
    multiple=True,
    metavar="NAME=VALUE",
    help="Accept from this value on, for one metric; repeatable.",
)
@click.option(
    "--calibration",
    "calibration",
    multiple=True,
    type=click.Path(path_type=Path, dir_okay=False),
    metavar="FILE.json",
    help="Decide with this calibration; repeatable, one a metric. -m, --embedder and --window "
    "then default to its own.",
)
@guards_option
@embedder_options
@click.option(
    "--from",
    "base",
    type=click.Choice(["references", "accepted"]),
    default="references",
    show_default=True,
    help="What to edit: the references, or short responses that are labelled accept.",
)
@click.option(
    "--families",
    multiple=True,
    metavar="NAMES",
    help="Only these, comma-separated, also repeated.  [default: all]",
)
@click.option(
    "--most",
    type=click.IntRange(min=1),
    default=200,
    show_default=True,
    help="Edited answers of each family, from as many questions as there are.",
)
@click.option("--all", "unlimited", is_flag=True, help="No limit: one of each from every case.")
@click.option(
    "--seed",
    type=click.IntRange(min=0),
    default=0,
    show_default=True,
    help="Which cases and which edits; the same seed makes the same answers.",
)
@group_option
@case_options("references, input, response, ...")
@click.option(
    "-o",
    "--output",
    type=click.Path(path_type=Path, dir_okay=False),
    metavar="FILE.jsonl",
    help="Write the edited answers there, labelled; without it nothing is written.",
)
@print_option()
@cache_options
@click.option("-q", "--quiet", is_flag=True, help="No progress and no notices.")
def command(file: Place, **options: Any) -> int:
    """Edit the references of FILE and count which wrong answers a metric lets through.

    Each reference gets a number, unit, date, name or quantifier changed, is negated, or gives way
    to the answer of a similar question: answers that are wrong for certain. Harmless edits
    (capitals, punctuation, polite words, the order of a list) show what is turned away for its
    wording. No labels are needed. Of a pair model it says what it costs beside embedding.
    """
    require_one_cache(options)
    typed = click.core.ParameterSource.COMMANDLINE
    if options["unlimited"] and click.get_current_context().get_parameter_source("most") is typed:
        raise click.UsageError("--most and --all exclude each other")
    output: Path | None = options["output"]
    if output is not None:
        if str(output) == "-":
            raise click.UsageError(
                "-o takes the name of a file; standard output is for the report"
            )
        require_writable(output, _inputs(file, options["calibration"]))
    found = _stress(file, options)
    if output is not None:
        from closecall.stress.writing import write_cases

        write_cases(found.cases, output)
    _print(found, options["form"])
    if output is not None and not options["quiet"]:
        from closecall.report.words import plural

        say(
            f"closecall: {plural(len(found.cases), 'made-up answer')} written to {output}; choose "
            "no cutoff by them",
            err=True,
        )
    return 0


def _inputs(file: Place, calibrations: tuple[Path, ...]) -> list[tuple[Place, str]]:
    return [(file, "the file of cases"), *((path, "the calibration") for path in calibrations)]


def _stress(file: Place, options: dict[str, Any]) -> StressResult:
    from closecall.metrics.registry import DEFAULT as DEFAULT_METRIC
    from closecall.stress.measuring import stress_test

    families = [
        name.strip() for names in options["families"] for name in names.split(",") if name.strip()
    ]
    quiet = options["quiet"]
    with Progress(quiet=quiet) as progress:
        return stress_test(
            str(file),
            list(options["names"]) or None,
            options["embedder"],
            base=options["base"],
            families=families if options["families"] else None,
            most=None if options["unlimited"] else options["most"],
            seed=options["seed"],
            group=options["group"],
            cutoffs=cutoffs(options["cutoff"], options["names"] or (DEFAULT_METRIC,)),
            calibration=list(options["calibration"]) or None,
            guards=options["guards"],
            window=typed_window(click.get_current_context()),
            threads=options["threads"],
            mapping=pairs(options["mapping"], "--map", "FIELD=COLUMN") or None,
            on_bad_row=options["on_bad_row"],
            cache=options["cache_dir"] or not options["no_cache"],
            progress=progress,
            on_notice=None if quiet else lambda text: say(f"closecall: {text}", err=True),
        )


def _print(found: StressResult, form: str) -> None:
    if form == "json":
        import msgspec

        document = msgspec.to_builtins(found)
        # Every edited answer is there once: the cases are what -o writes.
        say_json({name: value for name, value in document.items() if name != "cases"})
        return
    from closecall.report.stress import write

    with may_close(sys.stdout):
        write(found, sys.stdout)

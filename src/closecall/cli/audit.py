"""``closecall audit``: what is wrong with a file of cases, before anything is measured with it."""

from __future__ import annotations

import sys
from pathlib import Path
from typing import TYPE_CHECKING, Any

import click

from closecall.cli.options import (
    cache_options,
    case_options,
    embedder_options,
    group_option,
    pairs,
    report_option,
    require_one_cache,
    typed_window,
)
from closecall.cli.outputs import require_writable
from closecall.cli.pipes import may_close
from closecall.cli.places import CASES, Place, shown
from closecall.cli.progress import Progress
from closecall.cli.say import say

if TYPE_CHECKING:
    from collections.abc import Sequence

    from closecall.audit.limits import Held
    from closecall.audit.records import Audit

EXAMPLES = """\b
Examples:
  closecall audit answers.jsonl
  closecall audit calibration.jsonl test.jsonl
  closecall audit answers.jsonl --texts-only
  closecall audit answers.jsonl --format json -o audit.json
  closecall audit calibration.jsonl test.jsonl --gate 'leaks <= 0' --gate 'contradictions <= 0'

\b
Checks: duplicates, near_duplicates, split_questions, leaks and shared_contexts (two files),
contradictions, blank_texts, no_reference, long_texts, unknown_tokens, cut_off, languages,
one_label, labels.

\b
Near texts are found exactly: each with each, so four times the cases take sixteen times as long.

\b
Exit codes: 0 done, whatever was found, 1 more was found than a gate allows, 2 usage,
3 configuration, 4 input data, 11 a gate asks for what was not measured.
"""


@click.command("audit", epilog=EXAMPLES)
@click.argument("file", type=CASES)
@click.argument("file2", required=False, type=CASES)
@click.option(
    "--similarity",
    type=click.FloatRange(0, 1, min_open=True),
    default=0.95,
    show_default=True,
    metavar="COSINE",
    help="Texts of this cosine or more are near.",
)
@click.option(
    "--texts-only",
    is_flag=True,
    help="Compare texts and spellings only; nothing is embedded.",
)
@click.option(
    "--fields",
    multiple=True,
    metavar="NAMES",
    help="Embed only these, comma-separated.  [default: input,response,references,context]",
)
@embedder_options
@group_option
@click.option(
    "--gate",
    "rules",
    multiple=True,
    metavar="RULE",
    help="Exit with 1 where more is found than this: 'duplicates <= 0'; repeatable.",
)
@click.option(
    "--show",
    type=click.IntRange(min=0),
    default=5,
    show_default=True,
    help="Findings of each check in the table; JSON has them all.",
)
@click.option(
    "--no-content",
    is_flag=True,
    help="Show no texts; ids, places and counts stay.",
)
@case_options("input, response, references, context, label, ...")
@click.option(
    "--format",
    "form",
    type=click.Choice(["table", "json"]),
    help="Format of the report.  [default: table, or json where -o ends in .json]",
)
@report_option
@cache_options
@click.option("-q", "--quiet", is_flag=True, help="No progress and no notices.")
def command(file: Place, file2: Place | None, **options: Any) -> int:
    """Look for what is wrong with the cases of FILE, or of FILE and FILE2 together.

    Cases that repeat another, in other words or spellings too; labels that contradict each other;
    texts that are blank, too long for the model or unknown to it; languages; questions that stand
    in several groups; groups of one label; and what the labels can back. With FILE2, such as the
    test set of a calibration on FILE, also the cases that both have.
    """
    require_one_cache(options)
    if options["texts_only"] and (options["embedder"] or options["fields"]):
        raise click.UsageError("--texts-only embeds nothing; leave out --embedder and --fields")
    output: Path | None = options["output"]
    to_file = output is not None and str(output) != "-"
    if output is not None and to_file:
        files = [(path, "a file of cases") for path in (file, file2) if path is not None]
        require_writable(output, files)
    from closecall.audit.limits import exit_code, hold, parse_limits

    limits = parse_limits(options["rules"])
    found = _audit(file, file2, options)
    held = hold(found, limits)
    form = options["form"] or ("json" if to_file and _is_json(output) else "table")
    if output is not None and to_file:
        from closecall.atomic import whole_file

        with whole_file(output) as out:
            _write(found, held, form, options["show"], out)
        if not options["quiet"]:
            from closecall.report.words import plural

            said = plural(len(found.findings), "finding")
            where = shown(output)
            say(f"closecall: {said} written to {where}; exit code {exit_code(held)}", err=True)
    else:
        with may_close(sys.stdout):
            _write(found, held, form, options["show"], sys.stdout)
    return exit_code(held)


def _is_json(output: Path | None) -> bool:
    return output is not None and output.suffix.lower() == ".json"


def _audit(file: Place, other: Place | None, options: dict[str, Any]) -> Audit:
    from closecall.audit.auditing import audit
    from closecall.audit.rows import FIELDS

    named = [
        name.strip() for names in options["fields"] for name in names.split(",") if name.strip()
    ]
    quiet = options["quiet"]
    with Progress(quiet=quiet) as progress:
        return audit(
            str(file),
            None if other is None else str(other),
            options["embedder"],
            similarity=options["similarity"],
            texts_only=options["texts_only"],
            fields=named if options["fields"] else FIELDS,
            group=options["group"],
            window=typed_window(click.get_current_context()),
            threads=options["threads"],
            mapping=pairs(options["mapping"], "--map", "FIELD=COLUMN") or None,
            on_bad_row=options["on_bad_row"],
            content=not options["no_content"],
            cache=options["cache_dir"] or not options["no_cache"],
            progress=progress,
            on_notice=None if quiet else lambda text: say(f"closecall: {text}", err=True),
        )


def _write(found: Audit, held: Sequence[Held], form: str, show: int, out: Any) -> None:
    from closecall.report.audit import write, write_json

    if form == "json":
        write_json(found, held, out)
    else:
        write(found, held, out, show=show)

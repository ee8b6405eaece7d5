"""``closecall import``: case files of other evaluators, written as cases of closecall."""

from __future__ import annotations

from pathlib import Path
from typing import TYPE_CHECKING

import click

from closecall.cli.options import pairs
from closecall.cli.say import say, say_json

if TYPE_CHECKING:
    from closecall.importing import Import

FROM = ("promptfoo", "deepeval", "ragas", "openai-evals", "huggingface")
"""Spelt out here too, because ``--help`` is to load nothing else; a test compares them."""

EXAMPLES = """\b
Examples:
  closecall import promptfooconfig.yaml -o cases.jsonl
  closecall import results.json -o answers.jsonl
  closecall import goldens.csv --from deepeval -o cases.jsonl
  closecall import train.parquet --map reference=answers.text -o cases.jsonl
  closecall import answers.jsonl --from huggingface -o answers.parquet

\b
What is read:
  promptfoo     tests of a configuration (YAML, JSON) or a table (CSV), and results (JSON, JSONL)
  deepeval      goldens and test cases (JSON, JSONL, CSV)
  ragas         samples of one turn or of several (JSON, JSONL, CSV); also the older columns
  openai-evals  samples and logs (JSONL)
  huggingface   Parquet and Arrow (pip install 'closecall[parquet]'), JSONL, CSV; any columns

\b
Fields that are not closecall's are kept in metadata. What cannot be taken over, such as assertions
that a model or code decides, is counted and named. Nothing is run and nothing fetched.

\b
Exit codes: 0 imported, 2 usage, 3 pyarrow is missing, 4 input data.
"""


@click.command("import", epilog=EXAMPLES)
@click.argument("file", type=click.Path(path_type=Path))
@click.option(
    "--from",
    "source",
    type=click.Choice(FROM),
    help="Whose file it is.  [default: told by the file]",
)
@click.option(
    "-o",
    "--output",
    type=click.Path(dir_okay=False, path_type=Path),
    metavar="FILE.jsonl",
    help="Write the cases there, or as Parquet to FILE.parquet.  [default: standard output]",
)
@click.option(
    "--map",
    "mapping",
    multiple=True,
    metavar="FIELD=COLUMN",
    help="Read FIELD (input, response, reference, context, id, label, group, tags) from this "
    "column, before every rule; a dotted name goes into objects (vars.question).",
)
@click.option(
    "--on-bad-row",
    type=click.Choice(["fail", "skip"]),
    default="fail",
    show_default=True,
    help="Rows that cannot be taken over: stop, or leave out and count.",
)
@click.option("-q", "--quiet", is_flag=True, help="Do not say what was read and how.")
def command(
    file: Path,
    source: str | None,
    output: Path | None,
    mapping: tuple[str, ...],
    on_bad_row: str,
    quiet: bool,
) -> int:
    """Take over the cases of another evaluator's FILE."""
    import json

    from closecall.atomic import whole_file
    from closecall.importing import case_line, open_import

    if output is not None:
        from closecall.cli.outputs import require_writable

        require_writable(output, [(file, "the file to import")])
    found = open_import(
        file,
        source,
        mapping=pairs(mapping, "--map", "FIELD=COLUMN"),
        on_bad_row="skip" if on_bad_row == "skip" else "fail",
    )
    notes: list[str] = []
    if output is None:
        lines = [case_line(case) for case in found]  # all or none
        for line in lines:
            say_json(json.loads(line), indent=None)
    elif output.suffix.lower() == ".parquet":
        from closecall.importing.parquet import write_parquet

        notes = write_parquet(found, output)
    else:
        with whole_file(output) as written:
            for case in found:
                written.write(f"{case_line(case)}\n")
    if not quiet:
        _tell(found, output)
        for note in notes:
            say(f"  {note}", err=True)
    return 0


def _tell(found: Import, output: Path | None) -> None:
    from closecall.report.words import plural

    where = "" if output is None else f", written to {output}"
    said = [f"{plural(found.cases, 'case')} from {found.path} ({found.source}){where}"]
    said += [f"  {note}" for note in found.notes]
    if not found.answered:
        said.append(
            "  no case has a response: an assistant can answer them, with --endpoint, --model or "
            "--subject-command of closecall eval"
        )
    if found.bad_rows:
        said.append(f"  left out: {plural(found.bad_rows, 'row')} that cannot be taken over")
        said += [f"    {problem}" for problem in found.problems]
        if found.problem_count > len(found.problems):
            said.append(f"    ... and {found.problem_count - len(found.problems)} more")
    for line in said:
        say(line, err=True)

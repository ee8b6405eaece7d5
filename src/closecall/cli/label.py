"""``closecall label``: say of each case whether its response is good enough, key by key."""

from __future__ import annotations

import shlex
import sys
from collections.abc import Sequence
from pathlib import Path
from typing import TYPE_CHECKING, Any

import click

from closecall.cli.label_out import Table, events_of_others, export, goal_of, say_status
from closecall.cli.options import case_options, group_option, pairs, print_option
from closecall.cli.places import LocalType
from closecall.cli.say import say

if TYPE_CHECKING:
    from closecall.labelling.session import Session

EXAMPLES = """\b
Examples:
  closecall label answers.jsonl
  closecall label answers.csv --web --open
  closecall label answers.jsonl --second --annotator ana --share 0.2
  closecall label answers.jsonl --resolve
  closecall label answers.jsonl --status
  closecall label answers.jsonl --export labelled.jsonl
  closecall calibrate labelled.jsonl -o cutoff.json

\b
Keys: a accept, r reject, s unsure (it comes back), u undo, n note, ? help, q quit. Each is on the
disk, in FILE.labels.jsonl, before the next case is shown; start again to go on. FILE itself is
never changed.

\b
Order "plan" is the random sample that closecall plan draws, each group once before any twice, so
a promise may rest on the labels wherever you stop. To label only the easy ones voids it.

\b
Exit codes: 0 done or left, 2 usage (also a journal that is in use or cannot be written),
3 configuration, 4 input data.
"""

MOST_NAME = 80
LABELLED = LocalType("labels are kept beside the file; fetch it, and label the copy")


@click.command("label", epilog=EXAMPLES)
@click.argument("file", type=LABELLED)
@click.option(
    "-o",
    "--journal",
    type=click.Path(path_type=Path, dir_okay=False),
    metavar="PATH",
    help="Where every key is kept.  [default: FILE.labels.jsonl]",
)
@click.option(
    "--annotator",
    metavar="NAME",
    help="Who presses the keys.  [default: first, with --second: second]",
)
@click.option(
    "--order",
    default="plan",
    show_default=True,
    metavar="ORDER",
    help="plan or plan:SEED (a random sample, groups apart first), file, or random:SEED.",
)
@click.option("--again", is_flag=True, help="Ask for cases that have a label in FILE too.")
@click.option(
    "--second",
    is_flag=True,
    help="Label what others have labelled, without seeing how: a random share of it.",
)
@click.option(
    "--share",
    type=click.FloatRange(0, 1, min_open=True),
    default=0.2,
    show_default=True,
    help="For --second: how much of it.",
)
@click.option("--resolve", is_flag=True, help="Settle what two people label differently.")
@click.option(
    "--also",
    multiple=True,
    type=click.Path(path_type=Path),
    metavar="JOURNAL",
    help="Read this journal too, of somebody who labelled elsewhere; it is not changed.",
)
@click.option("--web", is_flag=True, help="Label in a browser on this machine, not here.")
@click.option(
    "--port",
    type=click.IntRange(0, 65535),
    default=0,
    show_default=True,
    help="For --web: the port on 127.0.0.1; 0 takes a free one.",
)
@click.option("--open", "open_", is_flag=True, help="For --web: open the browser.")
@click.option("--plain", is_flag=True, help="A plain prompt: a letter and Enter.")
@click.option("--status", is_flag=True, help="Say how far it got, and label nothing.")
@click.option(
    "--export",
    type=click.Path(path_type=Path, dir_okay=False),
    metavar="OUT",
    help="Write the cases with their labels there, as calibrate reads them: .jsonl, .json, .csv "
    "or .tsv.",
)
@click.option("--replace", is_flag=True, help="For --export: replace the file that is there.")
@click.option(
    "--max-far",
    type=click.FloatRange(0, 1, min_open=True, max_open=True),
    metavar="RATE",
    help="The promise the labels are for: at most this share of wrong answers accepted.  "
    "[default: 0.05, if neither is given]",
)
@click.option(
    "--max-frr",
    type=click.FloatRange(0, 1, min_open=True, max_open=True),
    metavar="RATE",
    help="And at most this share of good answers rejected.",
)
@click.option(
    "--confidence",
    type=click.FloatRange(0, 1, min_open=True, max_open=True),
    default=0.95,
    show_default=True,
    help="How sure the promise is.",
)
@group_option
@case_options("label, response, references, ...")
@print_option("For --status: how to print it.")
@click.pass_context
def command(context: click.Context, /, file: Path, **options: Any) -> int:
    """Accept or reject the responses of FILE by single keys, in the terminal or a browser.

    FILE is a case file. What has a label in it is not asked again. Labels are kept in a journal
    beside it; --export writes cases and labels as one file for closecall calibrate.
    """
    _one_task(context, options)
    from closecall.datasets import open_dataset
    from closecall.labelling.deck import deck_of
    from closecall.labelling.journal import journal_of

    dataset = open_dataset(
        file,
        mapping=pairs(options["mapping"], "--map", "FIELD=COLUMN") or None,
        on_bad_row=options["on_bad_row"],
    )
    bad = dataset.scan().bad_rows
    if bad:
        say(f"closecall: left out: {bad:,} rows that could not be read", err=True)
    table = Table(
        file,
        options["journal"] or journal_of(file),
        dataset,
        deck_of(dataset, options["group"]),
        options,
    )
    _require_other(table)
    if options["status"]:
        return say_status(table)
    if options["export"] is not None:
        return export(table)
    return _label(table)


def _one_task(context: click.Context, options: dict[str, Any]) -> None:
    """Refuse options that do not go together."""

    def typed(name: str) -> bool:
        return context.get_parameter_source(name) is click.core.ParameterSource.COMMANDLINE

    tasks = [name for name in ("second", "resolve", "status", "export") if options[name]]
    if len(tasks) > 1:
        raise click.UsageError(f"--{tasks[0]} and --{tasks[1]} exclude each other")
    if options["web"] and options["plain"]:
        raise click.UsageError("--web and --plain exclude each other")
    reads = options["status"] or options["export"] is not None
    for name, needs, there in (
        ("share", "--second", options["second"]),
        ("port", "--web", options["web"]),
        ("open_", "--web", options["web"]),
        ("replace", "--export", options["export"] is not None),
        ("form", "--status", options["status"]),
    ):
        if typed(name) and not there:
            raise click.UsageError(f"--{name.strip('_').replace('form', 'format')} is for {needs}")
    for name in ("web", "plain", "annotator", "again"):
        if options[name] and reads:
            raise click.UsageError(f"--{name} is for labelling, not for --{tasks[0]}")
    if options["again"] and (options["second"] or options["resolve"]):
        raise click.UsageError(f"--again and --{tasks[0]} exclude each other")


def _require_other(table: Table) -> None:
    from closecall.errors import UsageError

    for path in (table.journal, *table.options["also"]):
        if path.exists() and table.file.exists() and path.samefile(table.file):
            raise UsageError(f"{path}: that is the file of cases, not a journal of labels")
    for path in table.options["also"]:
        if path.exists() and table.journal.exists() and path.samefile(table.journal):
            raise UsageError(f"--also {path}: that is the journal in use already")


def _label(table: Table) -> int:
    from closecall.labelling.journal import Journal
    from closecall.labelling.order import order_named
    from closecall.labelling.session import Session

    options = table.options
    order = order_named(options["order"])
    annotator = _annotator(options)
    with Journal(table.journal, table.file.name) as journal:
        if journal.repaired:
            say(
                f"closecall: {table.journal}: a line that was cut short was taken off "
                f"({journal.repaired} bytes); the last key before that moment was not kept",
                err=True,
            )
        session = Session(
            table.deck,
            journal,
            annotator=annotator,
            mode="second" if options["second"] else "resolve" if options["resolve"] else "first",
            order=order,
            share=options["share"],
            again=options["again"],
            goal=goal_of(options),
            others=events_of_others(options),
        )
        _require_work(session, table)
        try:
            _sit(session, options)
        finally:
            _say_end(session, table)
    return 0


def _annotator(options: dict[str, Any]) -> str:
    from closecall.errors import UsageError
    from closecall.labelling.deck import FIRST, SECOND

    given: str | None = options["annotator"]
    if given is None:
        return SECOND if options["second"] else FIRST
    name = given.strip()
    if not name or len(name) > MOST_NAME or not name.isprintable():
        raise UsageError(
            f"--annotator takes a name of 1 to {MOST_NAME} printable characters, got {given!r:.90}"
        )
    return name


def _require_work(session: Session, table: Table) -> None:
    """Say why there is nothing to ask, where there never was."""
    from closecall.errors import UsageError

    if session.progress().total:
        return
    if session.mode == "second":
        raise UsageError(
            f"{table.file}: nobody but {session.annotator!r} has labelled anything yet. A second "
            "annotator has a name of their own (--annotator) and labels what others did; journals "
            "kept elsewhere are read with --also"
        )
    if session.mode == "resolve":
        raise UsageError(f"{table.file}: nothing is labelled differently by two people")
    raise UsageError(
        f"{table.file}: every case has a label. To ask again: --again; for a second annotator: "
        "--second --annotator NAME"
    )


def _sit(session: Session, options: dict[str, Any]) -> None:
    if options["web"]:
        from closecall.labelling.web.serving import serve

        serve(session, port=options["port"], say=say, open_browser=options["open_"])
        return
    if not options["plain"] and sys.stdin.isatty() and sys.stdout.isatty():
        try:
            from closecall.labelling.terminal import label_in_terminal
        except ModuleNotFoundError as error:
            if (error.name or "").partition(".")[0] != "textual":
                raise
            say(
                "closecall: the full screen needs textual (pip install 'closecall[label]'), so "
                "here is a plain prompt; --web labels in a browser",
                err=True,
            )
        else:
            label_in_terminal(session)
            return
    from closecall.labelling.prompt import label_at_prompt

    label_at_prompt(session, say, _typed)


def _typed() -> str | None:
    """Return the next line that is typed; None at the end of the input."""
    if sys.stdin.isatty():
        click.echo("> ", nl=False)
    line = sys.stdin.readline()
    return line.rstrip("\r\n") if line else None


def _say_end(session: Session, table: Table) -> None:
    from closecall.labelling.sheet import counted
    from closecall.labelling.status import agreement_lines

    progress = session.progress()
    for line in (f"{counted(progress)}.", *progress.lines):
        say(line)
    if session.mode != "first" and progress.done == progress.total:
        for line in agreement_lines(table.deck, session.ledger):
            say(line)
    words: Sequence[str] = ["closecall", "label", str(table.file)]
    if table.options["journal"] is not None:
        words = [*words, "-o", str(table.journal)]
    say(f"Kept in {table.journal}. When done: {shlex.join([*words, '--export', _name(table)])}")


def _name(table: Table) -> str:
    from closecall.cli.batch_file import FORMS

    suffix = table.file.suffix.lower()
    return f"labelled{suffix if suffix in FORMS else '.jsonl'}"

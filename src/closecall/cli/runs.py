"""``closecall runs``: the run folders that are kept, one of them again, and removing old ones."""

from __future__ import annotations

import sys
from pathlib import Path
from typing import TYPE_CHECKING, Any

import click

from closecall.cli.groups import NamingGroup
from closecall.cli.options import HELP_NAMES, report_option
from closecall.cli.outputs import require_writable
from closecall.cli.pipes import may_close
from closecall.cli.places import FOLDER, Place, Url, reading, shown
from closecall.cli.runs_merge import merge
from closecall.cli.say import say, say_json

if TYPE_CHECKING:
    from closecall.runs.kept import KeptRun

PLACE = Path(".closecall", "runs")
"""Where ``closecall eval`` keeps them; spelt out because --help is to load no runs."""

EXAMPLES = """\b
Examples:
  closecall runs list
  closecall runs show run-20260314T090000Z-1f2e3d4c
  closecall runs merge shards/1 shards/2 -o whole
  closecall runs prune --keep 20
"""

_KB = 1000


def example(line: str) -> str:
    """Return the end of a command's help; the backspace keeps click from joining the lines."""
    return f"\b\nExample:\n  {line}"


@click.group("runs", cls=NamingGroup, context_settings=HELP_NAMES, epilog=EXAMPLES)
def command() -> None:
    """List, show, merge and remove the runs kept."""


command.add_command(merge)


@command.command("list", epilog=example("closecall runs list --json"))
@click.argument("place", metavar="[DIR]", type=FOLDER, default=PLACE)
@click.option("--json", "as_json", is_flag=True, help="Print a JSON list.")
def list_(place: Place, as_json: bool) -> None:
    """List the runs in DIR, the newest first.

    DIR is .closecall/runs unless another, or a URL, is named. The exit code shown is the one the
    run ended with: by its gates where it had any, else by its cases (0 all passed, 1 a case
    failed, 11 something was not measured).
    """
    from closecall.runs.kept import runs_in

    if isinstance(place, Url):
        from closecall.runs.afar import runs_at

        found = runs_at(place)
    else:
        found = runs_in(place)
    with may_close(sys.stdout):
        if as_json:
            import msgspec

            say_json([{**msgspec.to_builtins(run), "bytes": run.bytes} for run in found])
        elif found:
            _table(found)
        else:
            say(f"no runs in {place}")


@command.command("show", epilog=example("closecall runs show run-20260314T090000Z-1f2e3d4c"))
@click.argument("run")
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
    type=click.Choice(["table", "json", "jsonl", "csv", "markdown", "junit", "html"]),
    help="Format of the report.  [default: table, or what -o's suffix says]",
)
@report_option
def show(run: str, place: Path, form: str | None, output: Path | None) -> None:
    """Report on RUN again: a run folder, its URL, or an id, which may be cut short.

    Everything comes from the folder; nothing is measured anew. A run that was cut off is reported
    as far as it came.
    """
    with reading(run, place) as folder:
        _show(folder, form, output)


def _show(folder: Path, form: str | None, output: Path | None) -> None:
    from closecall.cli.kept_run import placed
    from closecall.report.formats import format_of, save, write
    from closecall.runs.stored import load_run

    to_file = output is not None and str(output) != "-"
    if to_file and output is not None:
        require_writable(output, [], folder)
        form = form or format_of(output)
    found = placed(load_run(folder))
    if found.header.ended_at is None:
        say(f"closecall: {shown(folder)} is not closed; this is as far as it came", err=True)
    if to_file and output is not None:
        save(found, form or "table", output)
        return
    with may_close(sys.stdout):
        write(found, form or "table", sys.stdout)


def _age(_: click.Context, __: click.Parameter, value: str | None) -> int | None:
    from closecall.cli.cache import age

    return None if value is None else age(value)


@command.command("prune", epilog=example("closecall runs prune --keep 20 --older-than 30d"))
@click.argument("place", metavar="[DIR]", type=click.Path(path_type=Path), default=PLACE)
@click.option("--keep", type=click.IntRange(min=0), metavar="N", help="Keep the newest N runs.")
@click.option(
    "--older-than",
    callback=_age,
    metavar="AGE",
    help="Remove only runs begun longer ago, such as 30d or 8w.",
)
@click.option("--yes", is_flag=True, help="Do not ask.")
@click.option("--json", "as_json", is_flag=True, help="Print one JSON object.")
def prune(place: Path, keep: int | None, older_than: int | None, yes: bool, as_json: bool) -> int:
    """Remove old runs from DIR; with both options only what is beyond N and older.

    DIR is .closecall/runs unless another is named. Without --yes it asks, and where nobody is
    there to ask it only says what it would remove. A folder that is no run of closecall's, that
    holds anything else, or that a process is writing is never removed.
    """
    from closecall.runs.kept import UNREADABLE, chosen, runs_in, why_not

    if keep is None and older_than is None:
        raise click.UsageError("say what to remove: --keep N, --older-than 30d or both")
    runs = runs_in(place, counts=False)
    wanted = chosen(runs, keep=keep, older_than_days=older_than)
    spared = {run.folder: run.problem for run in runs if run.status == UNREADABLE}
    spared |= {run.folder: reason for run in wanted if (reason := why_not(run.path))}
    gone = [run for run in wanted if run.folder not in spared]
    for folder, reason in spared.items():
        say(f"closecall: {folder} is left alone: {reason}", err=True)
    removed: list[KeptRun] = []
    problems: list[str] = []
    sure = yes or (bool(gone) and _agreed(gone, place, len(runs)))
    if sure:
        removed, problems = _remove(gone)
    _say_pruned(gone, removed, len(runs), sure=sure, as_json=as_json)
    for problem in problems:
        say(f"closecall: {problem}", err=True)
    return 4 if problems else 0


def _agreed(gone: list[KeptRun], place: Path, total: int) -> bool:
    """Ask, where somebody is there."""
    if sys.stdin is None or not sys.stdin.isatty():
        return False
    from closecall.report.words import visible

    for run in gone:
        say(f"  {_line(run)}", err=True)
    question = f"Remove {len(gone)} of {total} runs in {place}, {_size(gone)}?"
    click.confirm(visible(question), abort=True, err=True)
    return True


def _remove(gone: list[KeptRun]) -> tuple[list[KeptRun], list[str]]:
    from closecall.errors import RunFolderError
    from closecall.runs.kept import remove

    removed, problems = [], []
    for run in gone:
        try:
            remove(run.path)
        except RunFolderError as error:
            problems.append(str(error))
        else:
            removed.append(run)
    return removed, problems


def _say_pruned(
    gone: list[KeptRun], removed: list[KeptRun], total: int, *, sure: bool, as_json: bool
) -> None:
    if as_json:
        say_json(
            {
                "removed": [run.folder for run in removed],
                "wouldRemove": [] if sure else [run.folder for run in gone],
                "bytes": sum(run.bytes for run in removed),
                "kept": total - len(removed),
            }
        )
    elif not gone:
        say(f"nothing to remove; {total} kept")
    elif sure:
        say(f"removed {len(removed)} runs, {_size(removed)}; {total - len(removed)} kept")
    else:
        for run in gone:
            say(f"would remove {_line(run)}")
        say(
            f"nothing was removed: nobody is there to ask. Add --yes to remove {len(gone)} of "
            f"{total} runs, {_size(gone)}"
        )


def _table(runs: list[KeptRun]) -> None:
    for run in runs:
        say(_line(run))
        if run.counts is not None and run.status != "unreadable":
            say(f"    {_counts(run)}")
        if run.gates:
            say(f"    {_gates(run)}")
        if run.problem:
            say(f"    {run.problem}")


def _line(run: KeptRun) -> str:
    from closecall.report.words import shorten

    facts = [
        run.path.name.replace("\n", r"\n"),
        run.started_at.partition(".")[0].replace("T", " "),
    ]
    if run.name:
        facts.append(shorten(run.name, 40))
    if run.shard is not None:
        facts.append(str(run.shard))
    if run.status != "complete":
        facts.append(run.status.upper() if run.status == "unreadable" else run.status)
    return "  ".join([*filter(None, facts), _size([run])])


def _counts(run: KeptRun) -> str:
    from closecall.report.words import plural

    cases: Any = run.counts
    parts = (
        (cases.passed, "passed"),
        (cases.failed, "failed"),
        (cases.scored, "scored"),
        (cases.inconclusive, "unsure"),
        (cases.unmeasured, "not measured"),
        (cases.not_applicable, "not applicable"),
    )
    told = ", ".join(f"{count:,} {word}" for count, word in parts if count) or "nothing"
    code = "" if run.exit_code is None else f"; exit code {run.exit_code}"
    return f"{told} of {plural(cases.total, 'case')}, {', '.join(run.metrics)}{code}"


def _gates(run: KeptRun) -> str:
    from closecall.report.gates import STATE_WORDS
    from closecall.report.words import plural

    told = (
        f"{run.gates[state]:,} {word}" for state, word in STATE_WORDS.items() if state in run.gates
    )
    return f"{plural(sum(run.gates.values()), 'gate')}: {', '.join(told)}"


def _size(runs: list[KeptRun]) -> str:
    total: float = sum(run.bytes for run in runs)
    for unit in ("B", "kB", "MB"):
        if total < _KB:
            return f"{total:.0f} {unit}" if unit == "B" else f"{total:.1f} {unit}"
        total /= _KB
    return f"{total:.1f} GB"

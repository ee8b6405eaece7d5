"""What ``closecall label`` gives when it labels nothing: where it stands, a labelled file."""

from __future__ import annotations

import shlex
from pathlib import Path
from typing import TYPE_CHECKING, Any, NamedTuple

from closecall.cli.say import say, say_json

if TYPE_CHECKING:
    from closecall.datasets import Dataset
    from closecall.labelling.certifiable import Goal
    from closecall.labelling.deck import Deck
    from closecall.labelling.events import Event


class Table(NamedTuple):
    """What lies on the table: the file, its journal, its items, and what was typed."""

    file: Path
    journal: Path
    dataset: Dataset
    deck: Deck
    options: dict[str, Any]


def goal_of(options: dict[str, Any]) -> Goal:
    """Return the promise that was typed."""
    from closecall.labelling.certifiable import Goal

    return Goal(
        max_far=options["max_far"], max_frr=options["max_frr"], confidence=options["confidence"]
    )


def events_of_others(options: dict[str, Any]) -> list[tuple[Event, ...]]:
    """Return the events of every journal of --also."""
    from closecall.labelling.journal import read_journal

    return [read_journal(path) for path in options["also"]]


def _own(table: Table) -> tuple[Event, ...]:
    from closecall.errors import UsageError
    from closecall.labelling.journal import read_journal

    if table.journal.exists():
        return read_journal(table.journal)
    if table.options["journal"] is not None:
        raise UsageError(f"-o {table.journal}: there is no such journal")
    return ()


def say_status(table: Table) -> int:
    """Print how far the labelling got."""
    from closecall.labelling.session import ledger_of
    from closecall.labelling.status import status_lines, status_value

    ledger = ledger_of(_own(table), events_of_others(table.options))
    goal = goal_of(table.options)
    if table.options["form"] == "json":
        say_json(status_value(table.deck, ledger, goal))
        return 0
    for line in status_lines(table.deck, ledger, goal, table.file.name):
        say(line)
    return 0


def export(table: Table) -> int:
    """Write cases and labels as one file, and say what is not in it."""
    from closecall.cli.batch_file import TABLES, converted, form_of, require_flat, write_rows
    from closecall.datasets._as_written import layout_of
    from closecall.errors import UsageError
    from closecall.labelling.exported import exported
    from closecall.labelling.session import ledger_of
    from closecall.report.words import plural

    output: Path = table.options["export"]
    _require_free(output, table)
    layout = layout_of(table.dataset)
    require_flat(output, layout, table.options["group"])
    ledger = ledger_of(_own(table), events_of_others(table.options))
    found = exported(table.dataset, layout, table.deck, ledger)
    if not found.labels:
        raise UsageError(
            f"nothing is labelled yet: {shlex.join(['closecall', 'label', str(table.file)])}"
        )
    flat = form_of(output) in TABLES
    rows = [converted(row.values, row.case, layout, table=flat) for row in found.rows]
    write_rows(rows, table.dataset.format, layout, output)
    say(
        f"closecall: {plural(len(rows), 'row')} written to {output}, "
        f"{plural(found.labels, 'label')} among them",
        err=True,
    )
    if found.unsure:
        say(
            f"closecall: {plural(found.unsure, 'case')} left open as unsure: to leave out the "
            "hard ones would void a promise; label them before you calibrate",
            err=True,
        )
    if found.strange:
        say(
            f"closecall: labels of {plural(found.strange, 'case')} left out: {table.file.name} "
            "does not hold them, or their texts changed",
            err=True,
        )
    say(f"Next: {_calibrate(output, table.options)}")
    return 0


def _require_free(output: Path, table: Table) -> None:
    from closecall.cli.batch_file import form_of
    from closecall.cli.outputs import require_writable
    from closecall.errors import UsageError

    if str(output) == "-":
        raise UsageError("--export takes the name of a file, such as labelled.jsonl")
    form_of(output)
    inputs = [(table.file, "the file of cases"), (table.journal, "the journal of labels")]
    require_writable(output, [*inputs, *((path, "a journal") for path in table.options["also"])])
    if (output.exists() or output.is_symlink()) and not table.options["replace"]:
        raise UsageError(
            f"--export {output}: that file is there; name another, or replace it with --replace"
        )


def _calibrate(output: Path, options: dict[str, Any]) -> str:
    words = ["closecall", "calibrate", str(output)]
    for name in ("max_far", "max_frr"):
        if options[name] is not None:
            words += [f"--{name.replace('_', '-')}", f"{options[name]:.10g}"]
    if options["max_far"] is not None and options["max_frr"] is not None:
        words.append("--two-cutoffs")
    words += [word for pair in options["mapping"] for word in ("--map", pair)]
    if options["group"] is not None:
        words += ["--group", options["group"]]
    return shlex.join([*words, "-o", "cutoff.json"])

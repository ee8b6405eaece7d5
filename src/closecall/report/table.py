"""The run as a table in the terminal."""

from __future__ import annotations

import textwrap
from collections.abc import Sequence
from typing import IO, TYPE_CHECKING

from closecall.report.overview import Overview, overview
from closecall.report.spending import HEADINGS, SpendingRow, spending_notes, spending_rows
from closecall.report.words import blind, shorten, visible
from closecall.report.worst import Worst
from closecall.report.wrapped import columns
from closecall.runs.record import Run

if TYPE_CHECKING:
    from rich.console import Console

MIN_TEXT = 24
VERDICTS = {0: "bold green", 1: "bold red", 6: "bold red", 11: "bold yellow"}
"""Colour of the last line on a terminal, by exit code."""


def write(run: Run, out: IO[str], width: int | None = None) -> None:
    """Write the table.

    Colours and width follow the terminal; a file gets ``COLUMNS`` or 100 columns, plain.
    """
    from rich.console import Console

    terminal = out.isatty()
    if width is None and not terminal:
        width = columns(out)
    # Without the second argument FORCE_COLOR would put escape sequences into a file.
    console = Console(
        file=out,
        force_terminal=None if terminal else False,
        width=width,
        highlight=False,
        markup=False,
        emoji=False,
    )
    seen = overview(run)
    console.print(visible(seen.title), style="bold", soft_wrap=True)
    for line in seen.reading:
        console.print(hung(line, console.width), style="dim")
    console.print()
    console.print(_metrics(seen))
    for row in seen.rows:
        note = f"{visible(row.metric)}: {row.cutoff_note}"
        # A calibration's note is a paragraph; the others are a few words, and stay in one piece.
        short = len(row.cutoff_note) < MIN_TEXT * 2
        shown = f"  {note}" if short else hung(note, console.width)
        console.print(shown, style="dim", soft_wrap=short)
    for heading, lines in (
        ("Gates", seen.gates),
        *seen.runs.items(),
        ("Cascade", seen.cascade),
        ("Against your labels", seen.labelled),
        ("Not measured", seen.absent),
        ("Held back by guards, the first", seen.held),
        ("Unsure, beside the nearest labelled answers", seen.unsure),
        ("Notes", seen.notes),
    ):
        if lines:
            console.print(f"\n{heading}", style="bold")
            for line in lines:
                console.print(hung(line, console.width))
    _spending(run, console)
    for metric, worst in seen.worst.items():
        console.print(f"\nLowest {visible(metric)}", style="bold")
        for entry in worst:
            _pair(entry, console.width, console.print)
    console.print(f"\n{seen.verdict}", style=VERDICTS.get(run.exit_code, "bold"))
    console.print(blind(plan.id for plan in run.header.metrics), style="dim")


def hung(line: str, width: int) -> str:
    """Return the line wrapped, what follows its first row set in."""
    return textwrap.fill(
        visible(line),
        max(width - 1, MIN_TEXT),
        initial_indent="  ",
        subsequent_indent="    ",
        break_on_hyphens=False,
    )


def _metrics(seen: Overview):  # type: ignore[no-untyped-def]  # noqa: ANN202 - rich is imported lazily
    from rich import box
    from rich.table import Table

    table = Table(box=box.SIMPLE_HEAD, pad_edge=False, show_edge=False)
    table.add_column("metric", overflow="fold")
    table.add_column("passed / measured / asked", justify="right", no_wrap=True)
    table.add_column("mean", justify="right", no_wrap=True)
    table.add_column("median", justify="right", no_wrap=True)
    table.add_column("cutoff", justify="right", no_wrap=True)
    for row in seen.rows:
        table.add_row(visible(row.metric), row.counts, row.mean, row.median, row.cutoff)
    return table


def _spending(run: Run, console: Console) -> None:
    """Write what was spent; nothing where nothing was asked of anybody."""
    rows = spending_rows(run.spending)
    if not rows:
        return
    console.print("\nSpent", style="bold")
    console.print(_spent(rows))
    for line in spending_notes(run.spending):
        console.print(hung(line, console.width))


def _spent(rows: Sequence[SpendingRow]):  # type: ignore[no-untyped-def]  # noqa: ANN202 - same
    from rich import box
    from rich.table import Table

    table = Table(box=box.SIMPLE_HEAD, pad_edge=False, show_edge=False)
    for at, heading in enumerate(HEADINGS):
        if at < 2:  # noqa: PLR2004 - role and model are words, all else are numbers
            table.add_column(heading, overflow="fold")
        else:
            table.add_column(heading, justify="right")
    for row in rows:
        table.add_row(*map(visible, row))
    return table


def _pair(entry: Worst, width: int, say) -> None:  # type: ignore[no-untyped-def]  # noqa: ANN001 - console.print
    heading = f"  {entry.value}  {shorten(entry.case_id, 40)}  ({entry.state})"
    say(heading, style="red" if entry.state == "failed" else None)
    room = max(MIN_TEXT, width - 17)
    for name, text in ((entry.first_name, entry.first), (entry.second_name, entry.second)):
        if text:  # a run folder need not hold the texts
            style = "dim" if name != "response" else None
            say(f"     {name:>10}  {shorten(text, room)}", style=style)
    for name, text in entry.said:
        say(f"     {name:>10}  {shorten(text, room)}", style="dim")

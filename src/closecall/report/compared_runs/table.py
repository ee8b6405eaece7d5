"""The comparison as tables in the terminal."""

from __future__ import annotations

import re
from collections.abc import Sequence
from typing import IO

from closecall.report.compared_runs.overview import HEADS, NUMERIC, Entry, Page, Section, page
from closecall.report.table import MIN_TEXT, VERDICTS, hung
from closecall.report.words import shorten, visible
from closecall.report.wrapped import columns
from closecall.runs.comparing.records import RunComparison

_GAP = 3
"""Columns between two of the table."""
_LAST = 14
"""Columns that the last column has at least; what it says may take several lines."""
_NAME = 12
"""Columns that a metric's name has at least."""

_STYLES = {"B is worse": "bold red", "B is better": "bold green"}


def write(found: RunComparison, out: IO[str], width: int | None = None) -> None:
    """Write the tables.

    Colours and width follow the terminal; a file gets ``COLUMNS`` or 100 columns, plain.
    """
    from rich.console import Console

    terminal = out.isatty()
    if width is None and not terminal:
        width = columns(out)
    console = Console(
        file=out,
        force_terminal=None if terminal else False,
        width=width,
        highlight=False,
        markup=False,
        emoji=False,
    )
    seen = page(found)
    console.print(visible(seen.title), style="bold", soft_wrap=True)
    for line in (*seen.sides, *seen.cases):
        console.print(hung(line, console.width), style="dim")
    console.print()
    console.print(_metrics(seen, console.width))
    for section in seen.sections:
        console.print(f"\n{visible(section.metric)}: {section.outcome}", style=_style(section))
        for line in filter(None, (section.why, *section.lines)):
            console.print(hung(line, console.width))
        for heading, entries in section.lists:
            console.print(f"  {heading}", style="bold")
            for entry in entries:
                _entry(entry, console.width, console.print)
    if seen.notes:
        console.print("\nNotes", style="bold")
        for line in seen.notes:
            console.print(hung(line, console.width))
    console.print(f"\n{visible(seen.verdict)}", style=VERDICTS.get(seen.exit_code, "bold"))
    console.print(seen.rule, style="dim")
    console.print(seen.blind, style="dim")


def _style(section: Section) -> str:
    return _STYLES.get(section.outcome, "bold")


def _metrics(seen: Page, width: int):  # type: ignore[no-untyped-def]  # noqa: ANN202 - rich is imported lazily
    from rich import box
    from rich.table import Table

    rows = [[visible(cell) for cell in row] for row in seen.rows]
    heads, longest = list(HEADS), max((len(row[0]) for row in rows), default=0)
    if longest > _room(heads, rows, width):
        heads = [head.replace(" / ", "\n/ ") for head in heads]
    room = _room(heads, rows, width)
    table = Table(box=box.SIMPLE_HEAD, pad_edge=False, show_edge=False)
    for at, head in enumerate(heads):
        table.add_column(
            head,
            justify="right" if at in NUMERIC else "left",
            overflow="fold",
            no_wrap=at != NUMERIC[-1],
        )
    for name, *figures in rows:
        table.add_row(_broken(name, room), *figures)
    return table


def _room(heads: Sequence[str], rows: Sequence[Sequence[str]], width: int) -> int:
    """Return how many columns are left for the names, when no figure is to be broken."""
    figures = (
        max(len(line) for row in (heads, *rows) for line in row[at].split("\n"))
        for at in NUMERIC[:-1]
    )
    return max(_NAME, width - sum(figures) - _LAST - _GAP * len(NUMERIC))


def _broken(name: str, room: int) -> str:
    """Return a name in lines of so many columns, broken after an underscore where there is one."""
    lines = [""]
    for word in re.findall(rf"[^_]{{0,{room - 1}}}_|[^_]{{1,{room}}}", name):
        if lines[-1] and len(lines[-1]) + len(word) > room:
            lines.append("")
        lines[-1] += word
    return "\n".join(lines)


def _entry(entry: Entry, width: int, say) -> None:  # type: ignore[no-untyped-def]  # noqa: ANN001 - console.print
    say(f"    {shorten(entry.case_id, 40)}  A {entry.a}, B {entry.b}")
    room = max(MIN_TEXT, width - 10)
    texts = {"A": entry.response_a, "B": entry.response_b}
    if entry.response_a == entry.response_b:
        texts = {"A, B": entry.response_a}
    for letter, text in texts.items():
        if text:  # a run folder need not hold the texts
            say(f"      {letter}  {shorten(text, room)}", style="dim")

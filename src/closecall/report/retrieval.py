"""A retrieval evaluation in the terminal: all searches side by side, then what to make of it."""

from __future__ import annotations

from collections.abc import Iterable
from typing import IO

from closecall.report import retrieval_words as words
from closecall.report.words import number, plural, shorten, visible
from closecall.report.wrapped import columns, wrapped
from closecall.retrieval.measures import measure_names
from closecall.retrieval.results import RetrievalResult

VALUES = 20
"""Values of a field that are shown, those with the most questions; the rest are counted."""
ID = 40
_INDENT = 4


def write(found: RetrievalResult, out: IO[str], width: int | None = None) -> None:
    """Write the report; colours and width follow the terminal, a file gets plain text."""
    from rich.console import Console

    wide = columns(out) if width is None else width
    console = Console(
        file=out,
        force_terminal=None if out.isatty() else False,
        width=wide,
        highlight=False,
        markup=False,
        emoji=False,
    )

    def lines(given: Iterable[str], style: str | None = None) -> None:
        for line in wrapped(given, wide):
            console.print(line, style=style, soft_wrap=True)

    def section(heading: str, given: Iterable[str]) -> None:
        kept = list(given)
        if kept:
            console.print(f"\n{visible(heading)}", style="bold", soft_wrap=True)
            lines(f"  {line}" for line in kept)

    console.print(visible(words.title(found)), style="bold", soft_wrap=True)
    lines(words.reading(found), "dim")
    console.print()
    console.print(_measures(found))
    lines([words.drawn(found)], "dim")
    section("Not measured", words.missing(found))
    section("Demands", (_demand(found, at) for at in range(len(found.demands))))
    compared = [words.contrast(one) for one in found.contrasts if not one.baseline]
    section("Compared", compared)
    helps = words.helps(found)
    beside = [words.contrast(one) for one in found.contrasts if one.baseline]
    section("Beside searching by words", [*([helps] if helps else []), *beside])
    if found.contrasts:
        lines([f"  {words.tests(found)}"], "dim")
    for field in dict.fromkeys(one.field for one in found.slices):
        console.print(f"\nBy {visible(field)}", style="bold", soft_wrap=True)
        console.print(_slices(found, field))
        lines(_unshown(found, field), "dim")
    section("Notes", (line for one in found.systems for line in words.notes(one)))
    if found.worst:
        console.print(f"\nWorst by {words.measure(found.measure)}", style="bold")
        for one in found.worst:
            for at, (heading, text) in enumerate(words.worst_lines(one)):
                room = max(wide - 1 - _INDENT, ID)
                said = f"{shorten(heading, room)}  {text}" if text else heading
                indent = "  " if at == 0 else " " * _INDENT
                console.print(f"{indent}{shorten(said, room)}", soft_wrap=True)
    console.print()
    lines([words.UNGRADED], "dim")


def _measures(found: RetrievalResult):  # type: ignore[no-untyped-def]  # noqa: ANN202 - rich is imported lazily
    from rich import box
    from rich.table import Table

    table = Table(box=box.SIMPLE_HEAD, pad_edge=False, show_edge=False)
    table.add_column("measure", no_wrap=True)
    for system in found.systems:
        table.add_column(
            f"{visible(system.name)}\nn = {system.n:,}", justify="right", overflow="fold"
        )
    for name in dict.fromkeys((*measure_names(found.cutoffs), *found.systems[0].measures)):
        cells = [words.cell(system.measures.get(name)) for system in found.systems]
        table.add_row(words.measure(name), *cells)
    return table


def _demand(found: RetrievalResult, at: int) -> str:
    one = found.demands[at]
    value = number(one.estimate.value, words.DIGITS)
    return (
        f"{one.outcome}: {words.measure(one.measure)} at least {one.limit:g}; it is {value} over "
        f"{plural(one.estimate.n, 'question')}: {one.why}"
    )


def _slices(found: RetrievalResult, field: str):  # type: ignore[no-untyped-def]  # noqa: ANN202 - rich is imported lazily
    from rich import box
    from rich.table import Table

    most = max(found.cutoffs)
    names = list(dict.fromkeys((found.measure, f"recall@{most}", f"hit@{min(found.cutoffs)}")))
    table = Table(box=box.SIMPLE_HEAD, pad_edge=False, show_edge=False)
    table.add_column("value", overflow="fold")
    table.add_column("n", justify="right", no_wrap=True)
    table.add_column("not measured", justify="right", no_wrap=True)
    for name in names:
        table.add_column(words.measure(name), justify="right", no_wrap=True)
    shown = [one for one in found.slices if one.field == field]
    for one in sorted(shown, key=lambda one: (-one.n, one.value))[:VALUES]:
        cells = [words.cell(one.measures.get(name)) for name in names]
        table.add_row(shorten(one.value, ID), f"{one.n:,}", f"{one.not_measured:,}", *cells)
    return table


def _unshown(found: RetrievalResult, field: str) -> list[str]:
    count = sum(one.field == field for one in found.slices)
    return [f"{count - VALUES:,} more values are in the JSON report."] if count > VALUES else []

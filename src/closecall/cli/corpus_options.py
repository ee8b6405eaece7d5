"""Options about a corpus: which columns it has, and what becomes of bad rows."""

from __future__ import annotations

from collections.abc import Callable
from pathlib import Path
from typing import TYPE_CHECKING, Any, TypeVar

import click

from closecall.cli.options import pairs
from closecall.cli.say import say

if TYPE_CHECKING:
    from closecall.retrieval.passages import Passages

F = TypeVar("F", bound=Callable[..., Any])

_TOLD = 5


def corpus_options(function: F) -> F:
    """Add --map, --no-title and --on-bad-row."""
    for option in reversed(
        (
            click.option(
                "--map",
                "mapping",
                multiple=True,
                metavar="FIELD=COLUMN",
                help="Read id, text or title from this column; id=@line: the line number.",
            ),
            click.option(
                "--no-title", is_flag=True, help="Embed the texts alone, without titles."
            ),
            click.option(
                "--on-bad-row",
                type=click.Choice(["fail", "skip"]),
                default="fail",
                show_default=True,
                help="Rows that cannot be read, have an id that came before, or get no vector: "
                "stop, or leave out and count.",
            ),
        )
    ):
        function = option(function)
    return function


def open_corpus(path: Path, options: dict[str, Any], *, quiet: bool) -> Passages:
    """Return a corpus, every row of it checked, and say what was left out."""
    from closecall.retrieval.passages import Passages

    corpus = Passages(
        path,
        mapping=pairs(options["mapping"], "--map", "FIELD=COLUMN"),
        title=not options["no_title"],
        on_bad_row=options["on_bad_row"],
    )
    counted = corpus.count()
    if counted.left_out and not quiet:
        from closecall.report.words import plural

        say(f"closecall: {plural(counted.left_out, 'row')} left out:", err=True)
        for problem in counted.problems[:_TOLD]:
            say(f"closecall:   {problem}", err=True)
        if counted.flaws > _TOLD:
            say(f"closecall:   ... and {counted.flaws - _TOLD:,} more", err=True)
    return corpus

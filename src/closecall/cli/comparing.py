"""What the two comparing commands share."""

from __future__ import annotations

from collections.abc import Callable, Iterator
from contextlib import contextmanager
from typing import TYPE_CHECKING, Any, TypeVar

import click

from closecall.cli.options import (
    cache_options,
    case_options,
    group_option,
    pairs,
    print_option,
    require_one_cache,
)
from closecall.cli.progress import Progress
from closecall.cli.say import say, say_json

if TYPE_CHECKING:
    from closecall.runs.compared import Compared
    from closecall.runs.paired_rows import Reading

F = TypeVar("F", bound=Callable[..., Any])


def reading_options(function: F) -> F:
    """Add the options for reading and scoring cases, for the verdict and for its format."""
    for option in reversed(
        (
            click.option(
                "--level",
                type=click.FloatRange(0.5, 1, max_open=True),
                default=0.95,
                show_default=True,
                help="How sure a verdict must be; also the level of every interval.",
            ),
            group_option,
            case_options("label, response, references, ..."),
            click.option(
                "--leave-out-active",
                is_flag=True,
                help="Leave out labels that were picked by score.",
            ),
            click.option("--threads", type=click.IntRange(min=1), help="Runs side by side."),
            print_option(),
            cache_options,
            click.option("-q", "--quiet", is_flag=True, help="No progress."),
        )
    ):
        function = option(function)
    return function


@contextmanager
def reading(options: dict[str, Any]) -> Iterator[Reading]:
    """Return how to read and score, with progress shown while it is used."""
    from closecall.runs.paired_rows import Reading

    require_one_cache(options)
    with Progress(quiet=options["quiet"]) as progress:
        yield Reading(
            mapping=pairs(options["mapping"], "--map", "FIELD=COLUMN") or None,
            on_bad_row=options["on_bad_row"],
            group=options["group"],
            leave_out_active=options["leave_out_active"],
            threads=options["threads"],
            cache=options["cache_dir"] or not options["no_cache"],
            progress=progress,
            on_notice=lambda text: say(f"closecall: {text}", err=True),
        )


def conclude(found: Compared, form: str) -> int:
    """Print a comparison and return the exit code: 1 where A is better."""
    import msgspec

    from closecall.report.comparison import lines
    from closecall.report.words import visible

    if form == "json":
        say_json(msgspec.to_builtins(found))
    else:
        for line in lines(found):
            say(visible(line))
    return 1 if found.comparison.verdict == "A" else 0

"""``closecall cassette``: what recordings hold, what changed in them, and looking after them."""

from __future__ import annotations

from collections.abc import Callable
from itertools import islice
from pathlib import Path
from typing import TYPE_CHECKING, Any, TypeVar

import click

from closecall.cli.cache import age, example
from closecall.cli.groups import NamingGroup
from closecall.cli.options import HELP_NAMES
from closecall.cli.say import say, say_json

if TYPE_CHECKING:
    from closecall.cassettes.records import Change, Like, Pruned, Stats, Verified

F = TypeVar("F", bound=Callable[..., Any])

KINDS = ("embedding", "chat", "subject")
EXIT_UNSOUND = 4
DAY = 86_400
MOST_CHANGES = 1_000
"""Changes that are listed; the rest are counted."""


def folder(name: str) -> Callable[[F], F]:
    """Add an argument that is a cassette."""
    return click.argument(name, metavar=name.upper(), type=click.Path(path_type=Path))


def json_option(command: F) -> F:
    """Add --json."""
    return click.option("--json", "as_json", is_flag=True, help="Print one JSON object.")(command)


@click.group(
    cls=NamingGroup,
    context_settings=HELP_NAMES,
    epilog=example("closecall cassette stats recordings"),
)
def cassette() -> None:
    """Look after recordings of embedders, chat models and subjects.

    A cassette is a folder of text files, one a scenario, made to be committed and read in diffs.
    """


@cassette.command("stats", epilog=example("closecall cassette stats recordings"))
@folder("dir")
@json_option
def stats_command(dir: Path, as_json: bool) -> None:  # noqa: A002 - what the help calls it
    """Say what a cassette holds: requests, tokens and bytes, by who replied."""
    from closecall.cassettes.maintenance import stats

    found = stats(dir)
    _say_record(found) if as_json else _print_stats(found)


@cassette.command("diff", epilog=example("closecall cassette diff before after"))
@folder("before")
@folder("after")
@json_option
def diff_command(before: Path, after: Path, as_json: bool) -> int:
    """Say which requests were added, removed or answered otherwise.

    Exits with 1 where anything differs.
    """
    from closecall.cassettes.maintenance import diff

    every = diff(before, after)
    shown = list(islice(every, MOST_CHANGES))
    more = sum(1 for _ in every)
    if as_json:
        import msgspec

        say_json({"changes": [msgspec.to_builtins(one) for one in shown], "more": more})
    else:
        _print_changes(shown, more)
    return 1 if shown else 0


@cassette.command(
    "prune", epilog=example("closecall cassette prune recordings --model gpt-4o@openai --dry-run")
)
@folder("dir")
@click.option("--kind", type=click.Choice(KINDS), help="Drop only recordings of this kind.")
@click.option(
    "--model",
    metavar="NAME",
    help="Drop only what this embedder, model or subject replied: a name or id from stats.",
)
@click.option("--older-than", type=age, metavar="AGE", help="Drop only what is older: 30d, 8w.")
@click.option("--dry-run", is_flag=True, help="Only say how much it would drop.")
@json_option
def prune_command(
    *,
    dir: Path,  # noqa: A002 - what the help calls it
    kind: str | None,
    model: str | None,
    older_than: int | None,
    dry_run: bool,
    as_json: bool,
) -> None:
    """Drop recordings by kind, model or age; those that meet every condition given."""
    from closecall.cassettes.maintenance import prune

    if kind is None and model is None and older_than is None:
        raise click.UsageError(
            "say what to drop: --kind embedding, --model NAME or --older-than 30d"
        )
    done = prune(
        dir,
        kind=kind,
        model=model,
        older_than=None if older_than is None else older_than * DAY,
        really=not dry_run,
    )
    _say_record(done) if as_json else _print_pruned(done, dry_run=dry_run)


@cassette.command("verify", epilog=example("closecall cassette verify recordings"))
@folder("dir")
@json_option
def verify_command(dir: Path, as_json: bool) -> int:  # noqa: A002 - what the help calls it
    """Check every line: its key, its order, that nobody edited it and that it holds no key.

    The keys looked for are those in this environment. Exits with 4 when something is wrong.
    """
    from closecall.cassettes.verifying import verify

    found = verify(dir)
    _say_record(found) if as_json else _print_verified(found)
    return EXIT_UNSOUND if found.problems else 0


@cassette.command(
    "explain",
    epilog=example(
        'closecall cassette explain recordings "Your parcel left on Monday."',
        "closecall cassette explain recordings --case cases.jsonl:17",
    ),
)
@folder("dir")
@click.argument("text", required=False)
@click.option("--case", "case", metavar="FILE:ID", help="Explain every text of one case instead.")
@click.option(
    "-n", "--count", type=click.IntRange(1, 50), default=3, show_default=True, help="Texts shown."
)
@json_option
def explain_command(
    dir: Path,  # noqa: A002 - what the help calls it
    text: str | None,
    case: str | None,
    count: int,
    as_json: bool,
) -> None:
    """Say whether a text is recorded, and if not, which are nearest and where they differ."""
    from closecall.cassettes.explaining import explain

    if (text is None) == (case is None):
        raise click.UsageError("give either a TEXT or --case FILE:ID")
    wanted = {"text": text or ""} if case is None else _texts(case)
    found = [(name, explain(dir, one, count)) for name, one in wanted.items()]
    if as_json:
        import msgspec

        say_json(
            {"texts": [{"name": name, "nearest": msgspec.to_builtins(n)} for name, n in found]}
        )
        return
    for name, near in found:
        _print_like(name, near)


def _texts(place: str) -> dict[str, str]:
    """Return the texts of a case, by field."""
    from closecall.datasets import open_dataset
    from closecall.errors import UsageError

    file, _, wanted = place.rpartition(":")
    if not file or not wanted:
        raise UsageError(f"--case takes FILE:ID, for example cases.jsonl:17; got {place!r}")
    case = next((one for one in open_dataset(Path(file)) if one.id == wanted), None)
    if case is None:
        raise UsageError(f"{file} holds no case with the id {wanted!r}")
    fields = {
        "input": case.input,
        "response": case.response,
        **{f"references[{i}]": reference for i, reference in enumerate(case.references)},
        **{f"context[{i}]": passage for i, passage in enumerate(case.context)},
    }
    return {name: text for name, text in fields.items() if text}


def _say_record(record: object) -> None:
    import msgspec

    say_json(msgspec.to_builtins(record))


def _print_stats(found: Stats) -> None:
    from closecall.report.words import plural

    say(
        f"{found.folder}: {plural(found.entries, 'recording')} in {plural(found.files, 'file')}, "
        f"{_size(found.bytes)}"
    )
    for one in found.held:
        tokens = f", {one.tokens:,} tokens" if one.untold < one.entries else ""
        untold = f" ({one.untold:,} recordings do not say)" if tokens and one.untold else ""
        took = f", {one.latency_ms / 1000:,.1f} s" if one.latency_ms else ""
        say(
            f"  {one.file}  {one.kind}  {one.digest[:12]}  {one.name}: "
            f"{plural(one.entries, 'recording')}, {_size(one.bytes)}{tokens}{untold}{took}, "
            f"{one.oldest[:10]} to {one.newest[:10]}"
        )
    for name in found.journals:
        say(f"  {name}: under way or cut short; the next recording puts it into its file")


def _print_changes(shown: list[Change], more: int) -> None:
    signs = {"added": "+", "removed": "-", "changed": "~"}
    for one in shown:
        why = f"\n    {one.difference}" if one.difference else ""
        say(f'{signs[one.what]} {one.file}  {one.kind} of {one.name}: "{one.about}"{why}')
    if more:
        say(f"... and {more:,} more")
    if not shown:
        say("the same requests, and the same replies")


def _print_pruned(done: Pruned, *, dry_run: bool) -> None:
    from closecall.report.words import plural

    verb = "would drop" if dry_run else "dropped"
    say(
        f"{verb} {plural(done.entries, 'recording')}, {done.entries_left:,} left; "
        f"{_size(done.bytes_before)} -> {_size(done.bytes_after)}"
    )


def _print_verified(found: Verified) -> None:
    from closecall.report.words import plural

    for problem in found.problems:
        say(problem)
    if found.more:
        say(f"... and {found.more:,} more")
    if not found.problems:
        say(
            f"{plural(found.entries, 'recording')} in {plural(found.files, 'file')}: all of it "
            "sound, and no key of this environment in it"
        )


def _print_like(name: str, near: list[Like]) -> None:
    if not near:
        say(f"{name}: nothing is recorded")
    elif not near[0].difference:
        say(f"{name}: recorded")
        near = [one for one in near if not one.difference]
    else:
        say(f"{name}: not recorded; the nearest are")
    for one in near:
        said = one.difference or one.field
        say(f"  {one.place}  {one.kind} of {one.name}, {one.likeness:.0%} alike: {said}")


def _size(count: int) -> str:
    for unit, least in (("GB", 10**9), ("MB", 10**6), ("kB", 10**3)):
        if count >= least:
            return f"{count / least:.1f} {unit}"
    return f"{count} B"


command = cassette

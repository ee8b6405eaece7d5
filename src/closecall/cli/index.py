"""``closecall index``: vectors of a corpus in a folder, to be searched again and again."""

from __future__ import annotations

import sys
from collections.abc import Iterator
from importlib import import_module
from pathlib import Path
from typing import Any

import click

from closecall.cli.cache import example, size
from closecall.cli.groups import NamingGroup
from closecall.cli.options import HELP_NAMES
from closecall.cli.pipes import may_close
from closecall.cli.say import say, say_json
from closecall.cli.stages import Stages

COMMANDS = {
    "build": "closecall.cli.index_build",
    "add": "closecall.cli.index_add",
}
"""Those in files of their own."""

EXAMPLES = """\b
Examples:
  closecall index build corpus.jsonl -o corpus.index
  closecall search corpus.index "how long do refunds take?"
"""


class _Group(NamingGroup):
    def list_commands(self, ctx: click.Context) -> list[str]:
        return [*COMMANDS, *super().list_commands(ctx)]

    def get_command(self, ctx: click.Context, cmd_name: str) -> click.Command | None:
        if cmd_name in COMMANDS:
            found: click.Command = import_module(COMMANDS[cmd_name]).command
            return found
        return super().get_command(ctx, cmd_name)


@click.group("index", cls=_Group, context_settings=HELP_NAMES, epilog=EXAMPLES)
def command() -> None:
    """Build an index of a corpus, look after it, and change it.

    An index is a folder: vectors, texts, metadata, what embedded them, and a checksum of every
    file. It is written whole or not at all.
    """


def folder_argument(function: Any) -> Any:
    """Add the argument that is an index."""
    return click.argument("folder", metavar="DIR", type=click.Path(path_type=Path))(function)


def json_option(function: Any) -> Any:
    """Add --json."""
    return click.option("--json", "as_json", is_flag=True, help="Print one JSON object.")(function)


def print_index(folder: Path, *, as_json: bool, and_then: tuple[str, ...] = ()) -> None:
    """Print what the index in a folder is."""
    from closecall.index.manifest import read_manifest
    from closecall.report.index import facts, lines
    from closecall.report.wrapped import columns, wrapped

    found = read_manifest(folder)
    with may_close(sys.stdout):
        if as_json:
            say_json(facts(folder, found))
            return
        for line in (*wrapped(lines(folder, found), columns(sys.stdout)), *and_then):
            say(line)


@command.command("show", epilog=example("closecall index show corpus.index --json"))
@folder_argument
@json_option
def show(folder: Path, as_json: bool) -> None:
    """Say what an index holds, its kind and why, and its recall. Reads index.json alone."""
    print_index(folder, as_json=as_json)


@command.command("verify", epilog=example("closecall index verify corpus.index"))
@folder_argument
@json_option
def verify(folder: Path, as_json: bool) -> None:
    """Check every file of an index against its checksum, and read every row and vector.

    Exits with 4 and the name of the file when something is damaged, cut short or foreign.
    """
    from closecall.index.building import open_index
    from closecall.index.manifest import read_manifest
    from closecall.report.words import plural

    index = open_index(folder)
    rows = index.require_sound()
    found = read_manifest(folder)
    with may_close(sys.stdout):
        if as_json:
            say_json({"folder": str(folder), "sound": True, "rows": rows})
        else:
            say(
                f"{folder}: sound: {plural(len(found.files), 'file')} as written, "
                f"{plural(rows, 'row')}"
            )


@command.command(
    "remove",
    epilog=example(
        "closecall index remove corpus.index d12 d13",
        "closecall index remove corpus.index --ids gone.txt",
    ),
)
@folder_argument
@click.argument("ids", metavar="ID...", nargs=-1)
@click.option(
    "--ids",
    "listed",
    type=click.Path(path_type=Path, dir_okay=False, allow_dash=True),
    metavar="FILE",
    help="Remove the ids in this file too, one a line; - reads standard input.",
)
@json_option
def remove(folder: Path, ids: tuple[str, ...], listed: Path | None, as_json: bool) -> None:
    """Remove rows by id; all of them or, where one is not there, none."""
    gone = list(dict.fromkeys((*ids, *_listed(listed))))
    if not gone:
        raise click.UsageError("say which rows: ID..., or --ids FILE")
    from closecall.index.building import open_index

    index = open_index(folder)
    index.remove(gone)
    index.save()
    print_index(folder, as_json=as_json)


def _listed(path: Path | None) -> Iterator[str]:
    if path is None:
        return
    from closecall.errors import DatasetError
    from closecall.plain import read_plain

    try:
        data = sys.stdin.buffer.read() if str(path) == "-" else read_plain(path)
        yield from (line.strip() for line in str(data, "utf-8-sig").split("\n") if line.strip())
    except OSError as error:
        raise DatasetError(f"{path}: cannot be read: {error.strerror or error}") from error
    except UnicodeDecodeError as error:
        raise DatasetError(f"{path}: is not UTF-8: byte {error.start} is wrong") from error


@command.command(
    "rebuild", epilog=example("closecall index rebuild corpus.index --kind hnsw:m=48:ef=256")
)
@folder_argument
@click.option("--kind", help="As for index build, auto included.  [default: the kind it is]")
@click.option(
    "--recall",
    type=click.FloatRange(0, 1, min_open=True),
    default=0.95,
    show_default=True,
    metavar="GOAL",
    help="For auto, and ivf and ivfpq without nprobe: the share of the true nearest to find.",
)
@click.option("--memory", type=size, metavar="SIZE", help="For auto: what a search may keep.")
@click.option("--seed", type=click.IntRange(min=0), help="[default: that of the index]")
@json_option
@click.option("-q", "--quiet", is_flag=True, help="No progress and no notices.")
def rebuild(folder: Path, as_json: bool, quiet: bool, **options: Any) -> None:
    """Make what finds the neighbours again from the vectors in the folder; nothing is embedded.

    For another kind, or for a folder from someone you do not trust: faiss's own file is not read.
    """
    from closecall.index.manifest import read_manifest
    from closecall.index.rebuilding import rebuild_index

    with Stages(quiet=quiet, total=read_manifest(folder).rows) as stages:
        rebuild_index(
            folder,
            kind=options["kind"],
            recall_goal=options["recall"],
            memory=options["memory"],
            seed=options["seed"],
            progress=stages,
        )
    print_index(folder, as_json=as_json)

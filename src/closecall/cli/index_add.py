"""``closecall index add``: more rows, or others in the place of those with their ids."""

from __future__ import annotations

from pathlib import Path
from typing import TYPE_CHECKING, Any

import click

from closecall.cli.cache import example
from closecall.cli.corpus_options import corpus_options, open_corpus
from closecall.cli.index import folder_argument, json_option, print_index
from closecall.cli.options import cache_options, embedder_options, require_one_cache, typed_window
from closecall.cli.progress import Progress
from closecall.cli.say import say

if TYPE_CHECKING:
    from closecall.index.local import LocalIndex
    from closecall.retrieval.passages import Passage, Passages

_SHOWN = 5


@click.command(
    "add",
    epilog=example(
        "closecall index add corpus.index more.jsonl",
        "closecall index add corpus.index changed.jsonl --replace",
    ),
)
@folder_argument
@click.argument("corpus", type=click.Path(path_type=Path))
@click.option("--replace", is_flag=True, help="Rows whose ids are there take the place of those.")
@corpus_options
@embedder_options
@cache_options
@json_option
@click.option("-q", "--quiet", is_flag=True, help="No progress and no notices.")
def command(folder: Path, corpus: Path, **options: Any) -> None:
    """Add the rows of CORPUS to the index in DIR; all of them or, on an error, none.

    They are embedded by the embedder of the index and held in memory meanwhile.
    """
    require_one_cache(options)
    from closecall.cli.index_embedder import embedder_for, from_cache
    from closecall.index.building import open_index
    from closecall.index.embedding import require_same

    quiet = options["quiet"]
    index = open_index(folder)
    rows = open_corpus(corpus, options, quiet=quiet)
    new, changed = _parted(index, rows, replace=options["replace"])
    window = typed_window(click.get_current_context())
    base = embedder_for(
        index.instrument, options["embedder"], window, options["threads"], index.embedder_name
    )
    require_same(index.instrument, base.instrument, "these rows")
    with from_cache(
        base,
        folder=options["cache_dir"],
        enabled=not options["no_cache"],
        notice=None if quiet else lambda text: say(f"closecall: {text}", err=True),
    ) as embedder:
        skip = options["on_bad_row"] == "skip"
        with Progress(quiet=quiet, unit="rows") as progress:
            kept, left = _with_vectors(new + changed, embedder, progress, skip=skip)
        there = {row.id for row in changed}
        for replaces, add in ((False, index.add), (True, index.replace)):
            some = [(row, v) for row, v in kept if (row.id in there) is replaces]
            if some:
                import numpy as np

                add([row for row, _ in some], vectors=np.stack([v for _, v in some]))
    index.save()
    if left and not quiet:
        for identity, reason in list(left.items())[:_SHOWN]:
            say(f"closecall: left out, {identity}: {reason}", err=True)
        say(f"closecall: {len(left):,} rows have no vector and were left out", err=True)
    print_index(folder, as_json=options["as_json"])


def _parted(
    index: LocalIndex, rows: Passages, *, replace: bool
) -> tuple[list[Passage], list[Passage]]:
    """Return the rows whose ids are new, and those whose ids are there."""
    there = set(index.ids(range(len(index))))
    new: list[Passage] = []
    changed: list[Passage] = []
    for row in rows:
        (changed if row.id in there else new).append(row)
    if changed and not replace:
        from closecall.errors import DatasetError

        listed = ", ".join(f"{row.id!r:.60}" for row in changed[:_SHOWN])
        more = f" and {len(changed) - _SHOWN:,} more" if len(changed) > _SHOWN else ""
        raise DatasetError(
            f"{rows.path}: ids that are in the index already: {listed}{more}; --replace puts "
            "these rows in their place"
        )
    return new, changed


def _with_vectors(
    rows: list[Passage], embedder: Any, progress: Progress, *, skip: bool
) -> tuple[list[tuple[Passage, Any]], dict[str, str]]:
    """Return each row with its vector, and why others have none."""
    from closecall.index.embedding import embed, raise_failed
    from closecall.index.feeding import BATCH
    from closecall.records import Role

    kept: list[tuple[Passage, Any]] = []
    left: dict[str, str] = {}
    for start in range(0, len(rows), BATCH):
        some = rows[start : start + BATCH]
        found = embed(embedder, [row.text for row in some], Role.DOCUMENT)
        failed = {some[at].id: reason for at, reason in found.failed.items()}
        if failed and not skip:
            raise_failed("row", failed)
        left |= failed
        progress(start + len(some), len(rows))
        kept += [(some[at], v) for at, v in zip(found.positions, found.vectors, strict=True)]
    return kept, left

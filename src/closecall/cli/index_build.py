"""``closecall index build``: a corpus, which may be larger than memory, becomes an index."""

from __future__ import annotations

from pathlib import Path
from typing import TYPE_CHECKING, Any

import click

from closecall.cli.cache import size
from closecall.cli.corpus_options import corpus_options, open_corpus
from closecall.cli.index import json_option, print_index
from closecall.cli.options import cache_options, embedder_options, require_one_cache
from closecall.cli.say import say
from closecall.cli.stages import Stages

if TYPE_CHECKING:
    from closecall.cli.index_embedder import FromCache
    from closecall.retrieval.passages import Passages

EXAMPLES = """\b
Examples:
  closecall index build corpus.jsonl -o corpus.index
  closecall index build scifact/ -o scifact.index --queries scifact/queries.jsonl
  closecall index build faq.csv -o faq.index --map id=nr --map text=answer --on-bad-row skip
  closecall index build big.jsonl -o big.index --memory 2GB --recall 0.98
  closecall index build big.jsonl -o big.index --kind hnsw:m=48:ef=256

\b
CORPUS is JSON Lines, CSV or TSV with id (or _id), text and perhaps title, a .txt with one passage
a line (its id is the line number), or a BEIR folder. All else is metadata, for --where.

\b
Kinds: auto, exact, flat, hnsw, ivf, ivfpq, sq8, sqfp16. auto takes exact up to 50,000 rows. An
approximate kind may miss some of the nearest; how many is measured and shown as recall@10.

\b
An index already in DIR stays until the new one is whole. Vectors embedded so far are kept in the
cache, so after an interruption the same command goes on from there.

\b
Exit codes: 0 done, 2 usage, 3 configuration or a text without a vector, 4 input data, 130
interrupted.
"""


@click.command("build", epilog=EXAMPLES)
@click.argument("corpus", type=click.Path(path_type=Path))
@click.option(
    "-o",
    "--output",
    "folder",
    required=True,
    metavar="DIR",
    type=click.Path(path_type=Path, file_okay=False),
    help="Folder of the index: new, empty, or an older index.",
)
@click.option("--kind", default="auto", show_default=True, help="What finds the neighbours.")
@click.option(
    "--similarity",
    type=click.Choice(["cosine", "dot", "euclidean"]),
    default="cosine",
    show_default=True,
)
@click.option(
    "--recall",
    type=click.FloatRange(0, 1, min_open=True),
    default=0.95,
    show_default=True,
    metavar="GOAL",
    help="For auto, and ivf and ivfpq without nprobe: the share of the true nearest to find.",
)
@click.option(
    "--memory",
    type=size,
    metavar="SIZE",
    help="For auto: what a search may keep in memory, such as 2GB.  [default: no limit]",
)
@click.option(
    "--queries",
    type=click.Path(path_type=Path),
    metavar="FILE",
    help="Measure recall with these questions, which lie farther from the rows than rows do.  "
    "[default: 200 of the rows]",
)
@click.option(
    "--seed",
    type=click.IntRange(min=0),
    default=0,
    show_default=True,
    help="Of the training sample, of k-means and of the rows that recall is measured with.",
)
@corpus_options
@embedder_options
@cache_options
@json_option
@click.option("-q", "--quiet", is_flag=True, help="No progress and no notices.")
def command(corpus: Path, folder: Path, **options: Any) -> None:
    """Embed every row of CORPUS and write an index of them to DIR."""
    require_one_cache(options)
    from closecall.cli.index_embedder import from_cache
    from closecall.embedders.registry import chosen_name, load_embedder
    from closecall.index.kinds import AUTO, kind_named

    if options["kind"] != AUTO:
        kind_named(options["kind"])
    quiet = options["quiet"]
    rows = open_corpus(corpus, options, quiet=quiet)
    base = load_embedder(options["embedder"], window=options["window"], threads=options["threads"])
    with from_cache(
        base,
        folder=options["cache_dir"],
        enabled=not options["no_cache"],
        notice=None if quiet else lambda text: say(f"closecall: {text}", err=True),
    ) as embedder:
        _build(rows, folder, embedder, chosen_name(options["embedder"]), options)
    from closecall.runs.claim import quoted

    spec = options["embedder"] or ""
    # A model by its path, or a provider, is used only where it is typed.
    typed = f" --embedder {quoted(spec)}" if ":" in spec else ""
    print_index(
        folder,
        as_json=options["as_json"],
        and_then=(f'search it: closecall search {quoted(folder)} "your question" -k 5{typed}',),
    )


def _build(
    rows: Passages, folder: Path, embedder: FromCache, name: str, options: dict[str, Any]
) -> None:
    from closecall.errors import EmbeddingError
    from closecall.index.building import build_index

    queries = _recall_queries(options["queries"], embedder)
    with Stages(quiet=options["quiet"], total=rows.count().rows) as stages:
        try:
            build_index(
                rows,
                folder,
                embedder=embedder,
                embedder_name=name,
                kind=options["kind"],
                similarity=options["similarity"],
                recall_goal=options["recall"],
                memory=options["memory"],
                recall_queries=queries,
                seed=options["seed"],
                skip_failed=options["on_bad_row"] == "skip",
                progress=stages,
            )
        except EmbeddingError as error:
            raise EmbeddingError(f"{error}\n  leave them out with --on-bad-row skip") from error
        except KeyboardInterrupt:
            if not options["quiet"]:
                say(f"closecall: {_kept(folder, embedder, options)}", err=True)
            raise


def _recall_queries(path: Path | None, embedder: FromCache) -> Any:
    """Return one vector a question."""
    if path is None:
        return None
    from closecall.index.embedding import embed_queries
    from closecall.retrieval.passages import Passages

    return embed_queries(embedder, [row.text for row in Passages(path, what="questions")])


def _kept(folder: Path, embedder: FromCache, options: dict[str, Any]) -> str:
    """Return what an interruption left."""
    from closecall.index.folder import is_index

    there = f"the index in {folder} is as it was" if is_index(folder) else "no index was written"
    if options["no_cache"]:
        return f"{there}; the vectors made so far are lost, as --no-cache keeps none"
    count = embedder.embedded + embedder.read
    return f"{there}; {count:,} vectors are in the cache: the same command goes on from there"

"""``closecall search``: the passages nearest to a question, out of an index or of a small file."""

from __future__ import annotations

import sys
import tempfile
from collections.abc import Iterator, Sequence
from contextlib import ExitStack, contextmanager
from pathlib import Path
from typing import TYPE_CHECKING, Any, NamedTuple

import click

from closecall.cli.corpus_options import corpus_options, open_corpus
from closecall.cli.options import cache_options, embedder_options, require_one_cache, typed_window
from closecall.cli.outputs import require_writable
from closecall.cli.pipes import may_close
from closecall.cli.say import say
from closecall.cli.search_output import Asked, Found, Print, printer, save_run
from closecall.cli.stages import Stages

if TYPE_CHECKING:
    from closecall.embedders.base import Embedder
    from closecall.index.local import LocalIndex
    from closecall.retrieval.close_enough import Cutoff

MOST_ROWS = 20_000
"""Rows of a file that is searched without an index."""

_BATCH = 1024
_SOME_UNMEASURED = 11

EXAMPLES = """\b
Examples:
  closecall search corpus.index "how long do refunds take?" -k 5
  closecall search faq.csv "how long do refunds take?" --map text=answer
  closecall search corpus.index "wie lange?" --where lang=de --where 'year>=2020'
  closecall search corpus.index --queries questions.jsonl -k 100 --save-run dense.run
  cat questions.txt | closecall search corpus.index --queries - --json > found.jsonl
  closecall search corpus.index "do you sell boats?" --calibration cutoff.json

\b
TARGET is an index (closecall index build), or a corpus of at most 20,000 rows: JSON Lines, CSV,
TSV, .txt or a BEIR folder, searched exactly, its vectors kept in the cache.

\b
--where: FIELD=VALUE, !=, >=, <=, >, <, or a JSON object such as '{"lang": {"exists": false}}'.
The same field with = twice: either value; otherwise all must hold. A number after = or != is also
the text that spells it: code=7 finds 7 and "7", code!=7 leaves out both.

\b
A search always finds something. --calibration (closecall calibrate -m embed_query_context) or
--min-score marks what is not close enough, and says where nothing is.

\b
Exit codes: 0 done, also where nothing is found or close enough; 2 usage, 3 configuration or a
question without a vector, 4 input data or a damaged index, 6 the index or the calibration belongs
to another embedder, 11 some questions of a file have no vector.
"""


class _Target(NamedTuple):
    """What is searched, and the embedder of the questions."""

    searched: LocalIndex
    embedder: Embedder
    base: Embedder
    told: str


@click.command("search", epilog=EXAMPLES)
@click.argument("place", metavar="TARGET", type=click.Path(path_type=Path))
@click.argument("query", required=False)
@click.option(
    "--queries",
    type=click.Path(path_type=Path, dir_okay=False, allow_dash=True),
    metavar="FILE",
    help="Ask every question of this file (as a corpus: id and text, or one a line); - reads "
    "standard input.",
)
@click.option(
    "-k",
    type=click.IntRange(min=1),
    default=5,
    show_default=True,
    help="How many of the nearest to show.",
)
@click.option(
    "--where",
    "conditions",
    multiple=True,
    metavar="CONDITION",
    help="Only rows whose metadata passes: lang=de, year>=2020; repeatable.",
)
@click.option("--min-score", type=float, metavar="S", help="Mark what scores less than this.")
@click.option(
    "--calibration",
    type=click.Path(path_type=Path, dir_okay=False),
    metavar="FILE.json",
    help="Mark what this calibration of embed_query_context does not accept.",
)
@click.option(
    "--save-run",
    type=click.Path(path_type=Path, dir_okay=False),
    metavar="FILE",
    help="Write what was found as a TREC run, for closecall retrieval --run.",
)
@click.option("--json", "as_json", is_flag=True, help="Print one JSON object a question.")
@click.option(
    "--device",
    type=click.Choice(["cpu", "cuda"]),
    default="cpu",
    show_default=True,
    help="Where an index is searched; never falls back.",
)
@click.option("--no-check", is_flag=True, help="Trust the checksums of the index; look at sizes.")
@corpus_options
@embedder_options
@cache_options
@click.option("-q", "--quiet", is_flag=True, help="No progress and no notices.")
def command(place: Path, query: str | None, **options: Any) -> int:
    """Print the passages of TARGET nearest to QUERY ("-" reads it from standard input)."""
    require_one_cache(options)
    if (query is None) is (options["queries"] is None):
        raise click.UsageError("give one QUERY, or --queries FILE")
    if options["min_score"] is not None and options["calibration"]:
        raise click.UsageError("--min-score and --calibration exclude each other")
    from closecall.cli.where import parse_where

    where = parse_where(options["conditions"])
    run: Path | None = options["save_run"]
    if run is not None:
        inputs = [(path, "an input") for path in (place, options["queries"]) if path]
        require_writable(run, [(p, what) for p, what in inputs if p.is_file()])
    with ExitStack() as stack:
        asked = stack.enter_context(_asked(query, options["queries"]))
        target = stack.enter_context(_target(place, query or "...", options))
        cutoff = _cutoff(target, options)
        printing = printer(
            target.searched,
            target.told,
            cutoff,
            alone=query is not None,
            filtered=list(where or ()),
            form="json" if options["as_json"] else "run" if run and query is None else "table",
        )
        found, failed = _search(target, asked, where, options["k"], cutoff, printing)
    if run is not None:
        save_run(found, target.told, run)
        if not options["quiet"]:
            say(f"closecall: {len(found):,} rankings are in {run}", err=True)
    return _SOME_UNMEASURED if failed else 0


@contextmanager
def _asked(query: str | None, path: Path | None) -> Iterator[list[Asked]]:
    """Read the questions."""
    from closecall.errors import UsageError
    from closecall.retrieval.passages import Passages

    if query is not None:
        text = _stdin() if query == "-" else query
        if not text.strip():
            raise UsageError("the query is empty; give words to search for")
        yield [Asked("1", text.strip())]
        return
    with tempfile.TemporaryDirectory(prefix="closecall-") as folder:
        file = path or Path("-")
        if str(file) == "-":
            text = _stdin()
            suffix = ".jsonl" if text.lstrip().startswith("{") else ".txt"
            file = Path(folder) / f"stdin{suffix}"
            file.write_text(text, encoding="utf-8")
        yield [Asked(row.id, row.text) for row in Passages(file, title=False, what="questions")]


def _stdin() -> str:
    from closecall.errors import DataError

    try:
        return str(sys.stdin.buffer.read(), "utf-8-sig")
    except UnicodeDecodeError as error:
        raise DataError(f"standard input is not UTF-8: byte {error.start} is wrong") from error


@contextmanager
def _target(path: Path, query: str, options: dict[str, Any]) -> Iterator[_Target]:
    """Open an index, or make one of a small corpus that lasts as long as this command."""
    from closecall.cli.index_embedder import embedder_for, from_cache
    from closecall.errors import DataError
    from closecall.index.embedding import require_same
    from closecall.index.folder import is_index
    from closecall.retrieval.beir import CORPUS

    is_corpus = path.is_file() or (not is_index(path) and (path / CORPUS).is_file())
    if not is_corpus and not is_index(path):
        what = f"holds no index and no {CORPUS}" if path.is_dir() else "there is no such file"
        raise DataError(
            f"{path}: {what}. Name an index (closecall index build CORPUS -o DIR), or a small "
            "corpus: JSON Lines, CSV, TSV, .txt or a BEIR folder"
        )
    window = typed_window(click.get_current_context())
    spec, threads, quiet = options["embedder"], options["threads"], options["quiet"]
    if not is_corpus:
        from closecall.index.building import open_index

        if options["mapping"] or options["no_title"] or options["on_bad_row"] != "fail":
            raise click.UsageError(
                "--map, --no-title and --on-bad-row are for a corpus without an index"
            )
        index = open_index(path, device=options["device"], check=not options["no_check"])
        base = embedder_for(index.instrument, spec, window, threads, index.embedder_name)
        require_same(index.instrument, base.instrument, "these queries")
    else:
        index = None
        base = embedder_for(None, spec, window, threads)
    with from_cache(
        base,
        folder=options["cache_dir"],
        enabled=not options["no_cache"],
        notice=None if quiet else lambda text: say(f"closecall: {text}", err=True),
    ) as embedder:
        if index is None:
            index = _temporary(path, query, embedder, options)
        yield _Target(index, embedder, base, str(path))


def _temporary(path: Path, query: str, embedder: Any, options: dict[str, Any]) -> LocalIndex:
    from closecall.errors import UsageError
    from closecall.index.building import build_index
    from closecall.runs.claim import quoted

    if options["device"] != "cpu" or options["no_check"]:
        raise click.UsageError("--device and --no-check are for an index")
    rows = open_corpus(path, options, quiet=options["quiet"])
    count = rows.count().rows
    if count > MOST_ROWS:
        folder = quoted(path.with_suffix(".index"))
        raise UsageError(
            f"{path}: {count:,} rows; without an index at most {MOST_ROWS:,} are searched, as "
            "each of them is embedded or looked up first. Type:\n"
            f"  closecall index build {quoted(path)} -o {folder}\n"
            f"  closecall search {folder} {quoted(query)}"
        )
    with Stages(quiet=options["quiet"], total=count) as stages:
        return build_index(
            rows,
            embedder=embedder,
            kind="exact",
            skip_failed=options["on_bad_row"] == "skip",
            progress=stages,
        )


def _cutoff(target: _Target, options: dict[str, Any]) -> Cutoff | None:
    from closecall.embedders.registry import chosen_name
    from closecall.retrieval.close_enough import calibrated, least_score

    if options["min_score"] is not None:
        return least_score(options["min_score"])
    if options["calibration"] is None:
        return None
    spec = chosen_name(options["embedder"])
    return calibrated(options["calibration"], target.base, target.searched.similarity, spec)


def _search(
    target: _Target,
    asked: Sequence[Asked],
    where: dict[str, Any] | None,
    k: int,
    cutoff: Cutoff | None,
    printing: Print,
) -> tuple[Found, int]:
    """Search for every question and print what is found; return it, and how many have no vector.

    Raises
    ------
    EmbeddingError
        None has a vector.
    """
    from closecall.index.embedding import embed, raise_failed
    from closecall.records import Role
    from closecall.retrieval.close_enough import Decided

    decide = Decided if cutoff is None else cutoff.decide
    found: Found = []
    failed: dict[str, str] = {}
    with may_close(sys.stdout):
        for start in range(0, len(asked), _BATCH):
            some = asked[start : start + _BATCH]
            made = embed(target.embedder, [one.text for one in some], Role.QUERY)
            failed |= {some[at].id: reason for at, reason in made.failed.items()}
            if len(failed) == len(asked):
                raise_failed("query", failed)
            hits = iter(target.searched.search(made.vectors, k, where=where))
            for at, one in enumerate(some):
                reason = made.failed.get(at, "")
                decided = () if reason else tuple(decide(hit) for hit in next(hits))
                printing(one, decided, reason)
                if not reason:
                    found.append((one, decided))
    return found, len(failed)

"""``closecall retrieval``: is the search any good, and do embeddings help it at all?"""

from __future__ import annotations

from pathlib import Path
from typing import TYPE_CHECKING, Any

import click

from closecall.cli.options import cache_options, embedder_options, report_option, require_one_cache
from closecall.cli.progress import Progress
from closecall.cli.retrieval_output import check_outputs, print_report, write_outputs
from closecall.cli.say import say

if TYPE_CHECKING:
    from closecall.retrieval.collection import Collection
    from closecall.retrieval.evaluate import Evaluated

EXAMPLES = """\b
Examples:
  closecall retrieval corpus.jsonl queries.jsonl qrels.tsv
  closecall retrieval scifact/ -k 1,10,100 --at-least recall@100=0.9
  closecall retrieval scifact/ --against bge-small-en-v1.5
  closecall retrieval scifact/ --run last-week.run --save-run today.run
  closecall retrieval scifact/ --embedder none --run elasticsearch.run
  closecall retrieval cases.jsonl --slice tag --format json -o retrieval.json

\b
When is nothing relevant there? A cutoff with a false-accept rate, in two steps:
  closecall retrieval scifact/ --write-cases found.jsonl
  closecall calibrate found.jsonl -m embed_query_context --slice tags -o cutoff.json

\b
One path is a BEIR folder (corpus.jsonl, queries.jsonl, qrels.tsv or qrels/test.tsv) or a case
file (JSON Lines with input, context and relevant). Grades are BEIR's or TREC's.

\b
Measures: recall@K, precision@K, hit@K, mrr@K, ndcg@K, map, rprec, as trec_eval has them. The
search is exact, by the cosine; equal ones go by document id.

\b
Exit codes: 0 done, 1 a demand is missed or what it was compared with is better, 2 usage,
3 configuration, 4 input data, 11 these questions cannot tell about a demand, or something has
no vector. Baselines decide nothing.
"""


def _cutoffs(context: click.Context, parameter: click.Parameter, text: str) -> tuple[int, ...]:
    """Return ``1,3,5`` as numbers."""
    try:
        return tuple(int(part) for part in text.split(","))
    except ValueError:
        raise click.BadParameter(
            f"expected whole numbers with commas between them, such as 1,3,5,10; got {text!r}",
            context,
            parameter,
        ) from None


@click.command("retrieval", epilog=EXAMPLES)
@click.argument("paths", nargs=-1, required=True, type=click.Path(path_type=Path))
@click.option(
    "-k",
    "cutoffs",
    default="1,3,5,10",
    show_default=True,
    metavar="RANKS",
    callback=_cutoffs,
    help="The ranks to measure at, commas between them.",
)
@embedder_options
@click.option(
    "--against",
    multiple=True,
    metavar="SPEC",
    help="Compare with this embedder; repeatable.",
)
@click.option(
    "--run",
    "runs",
    multiple=True,
    type=click.Path(path_type=Path),
    metavar="FILE",
    help="Compare with a saved ranking, a TREC run; repeatable. With --embedder none the first "
    "one is tested.",
)
@click.option(
    "--no-baselines",
    is_flag=True,
    help="Leave out BM25 and the fusion of it with the embedder's ranking.",
)
@click.option(
    "--measure",
    metavar="NAME",
    help="What comparisons and the worst questions go by.  [default: ndcg at the highest rank]",
)
@click.option(
    "--at-least",
    multiple=True,
    metavar="NAME=VALUE",
    help="Demand this mean, such as recall@10=0.9; repeatable. Its whole interval must be there, "
    "else it is missed (1), or these questions cannot tell (11).",
)
@click.option(
    "--relevant-from",
    type=click.IntRange(min=1),
    default=1,
    show_default=True,
    metavar="GRADE",
    help="The lowest grade that counts as relevant.",
)
@click.option(
    "--gains",
    type=click.Choice(["linear", "exponential"]),
    default="linear",
    show_default=True,
    help="What a grade is worth to nDCG: itself, or 2**grade - 1.",
)
@click.option(
    "--slice",
    "slices",
    multiple=True,
    metavar="FIELD",
    help="Show each value of this field: group, tag, or metadata; repeatable.",
)
@click.option(
    "--worst",
    type=click.IntRange(min=0),
    default=5,
    show_default=True,
    help="How many of the worst questions to show.",
)
@click.option(
    "--depth",
    type=click.IntRange(min=1),
    default=1000,
    show_default=True,
    help="Documents ranked for each question; map sees no more.",
)
@click.option("--no-title", is_flag=True, help="Search the texts alone, without titles.")
@click.option("--split", metavar="NAME", help="qrels/NAME.tsv of a BEIR folder.  [default: test]")
@click.option(
    "--level",
    type=click.FloatRange(0.5, 1, max_open=True),
    default=0.95,
    show_default=True,
    help="How sure a verdict must be; also the level of every interval.",
)
@click.option(
    "--resamples",
    type=click.IntRange(100, 1_000_000),
    default=2000,
    show_default=True,
    help="How often the questions are drawn anew.",
)
@click.option(
    "--seed",
    type=click.IntRange(min=0),
    default=0,
    show_default=True,
    help="Draws the resamples and the tests.",
)
@click.option(
    "--save-run",
    type=click.Path(path_type=Path, dir_okay=False),
    metavar="FILE",
    help="Write the tested ranking there as a TREC run.",
)
@click.option(
    "--write-cases",
    type=click.Path(path_type=Path, dir_okay=False),
    metavar="FILE.jsonl",
    help="Write what was found first, labelled, for closecall calibrate -m embed_query_context.",
)
@click.option(
    "--format",
    "form",
    type=click.Choice(["table", "json", "csv"]),
    help="Format of the report; csv has one line a question.  [default: table, or what -o's "
    "suffix says]",
)
@report_option
@cache_options
@click.option("-q", "--quiet", is_flag=True, help="No progress and no notices.")
def command(paths: tuple[Path, ...], **options: Any) -> int:
    """Search a corpus with an embedder and say how good what it finds is.

    PATHS are CORPUS QUERIES QRELS, or a BEIR folder, or a case file. Every figure is a mean over
    questions with its interval; BM25 stands beside it, so that you see whether embeddings help.
    """
    require_one_cache(options)
    from closecall.report.retrieval_formats import format_of
    from closecall.retrieval.reading import open_collection

    output: Path | None = options["output"]
    to_file = output is not None and str(output) != "-"
    form = options["form"] or (format_of(output) if output and to_file else "table")
    check_outputs(paths, options)
    collection = open_collection(paths, split=options["split"])
    found = _evaluate(collection, options)
    write_outputs(found, collection, options)
    print_report(found.result, form, output if to_file else None, quiet=options["quiet"])
    return found.result.exit_code


def _evaluate(collection: Collection, options: dict[str, Any]) -> Evaluated:
    from closecall.retrieval.demands import parse_demand
    from closecall.retrieval.estimates import Drawing
    from closecall.retrieval.evaluate import NO_EMBEDDER, evaluate_retrieval

    quiet = options["quiet"]
    if options["write_cases"] is not None and options["embedder"] == NO_EMBEDDER:
        raise click.UsageError(
            "--write-cases is for an embedder: a cutoff belongs to one similarity"
        )
    with Progress(quiet=quiet, unit="texts") as progress:
        return evaluate_retrieval(
            collection,
            options["embedder"],
            against=options["against"],
            runs=options["runs"],
            baselines=not options["no_baselines"],
            cutoffs=options["cutoffs"],
            measure=options["measure"],
            relevant_from=options["relevant_from"],
            gains=options["gains"],
            at_least=[parse_demand(text) for text in options["at_least"]],
            slices=options["slices"],
            worst=options["worst"],
            depth=options["depth"],
            title=not options["no_title"],
            drawing=Drawing(
                resamples=options["resamples"], seed=options["seed"], level=options["level"]
            ),
            window=options["window"],
            threads=options["threads"],
            cache=options["cache_dir"] or not options["no_cache"],
            progress=progress,
            on_notice=None if quiet else lambda text: say(f"closecall: {text}", err=True),
        )

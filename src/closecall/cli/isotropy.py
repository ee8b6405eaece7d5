"""``closecall models isotropy``: spread a model's vectors, by texts that nobody labelled."""

from __future__ import annotations

from collections.abc import Callable, Iterator
from contextlib import closing, nullcontext
from functools import partial
from pathlib import Path
from typing import TYPE_CHECKING, Any

import click

from closecall.cli.options import cache_options, embedder_options, pairs, require_one_cache
from closecall.cli.outputs import require_writable
from closecall.cli.progress import Progress
from closecall.cli.say import say

if TYPE_CHECKING:
    from closecall.embedders.base import Embedder, TextKey
    from closecall.embedders.isotropy.file import IsotropyFile
    from closecall.embedders.isotropy.fit import Fitted
    from closecall.embedders.isotropy.methods import Method
    from closecall.metrics.sides import Side
    from closecall.records import Case

FIELDS = ("response", "reference", "input", "context")
USUAL = FIELDS[:2]
LEAST_TEXTS = 1_000
AT_MOST = 10_000
"""More texts than this take minutes and change next to nothing."""

EXAMPLES = """\b
Examples:
  closecall models isotropy answers.jsonl -o answers.isotropy.json
  closecall calibrate labelled.jsonl --embedder isotropic:answers.isotropy.json -o cutoff.json
"""


@click.command("isotropy", epilog=EXAMPLES)
@click.argument("texts", type=click.Path(path_type=Path))
@click.option(
    "-o",
    "--output",
    type=click.Path(path_type=Path, dir_okay=False),
    metavar="FILE.isotropy.json",
    required=True,
    help="Where to write the transform.",
)
@click.option(
    "--method",
    "wanted",
    default="components:8",
    show_default=True,
    help="centre (take the mean away), components:K (and K principal components), or whiten:D "
    "(keep D components, all of one variance).",
)
@click.option(
    "--field",
    "fields",
    type=click.Choice(FIELDS),
    multiple=True,
    help="The field of a case file to take texts from; repeatable.  "
    "[default: response, reference]",
)
@click.option(
    "--map",
    "mapping",
    multiple=True,
    metavar="FIELD=COLUMN",
    help="How a case file is read; as for closecall eval.",
)
@click.option(
    "--at-most",
    type=click.IntRange(min=LEAST_TEXTS),
    default=AT_MOST,
    show_default=True,
    help="Fit on so many texts, drawn at random where there are more.",
)
@click.option(
    "--seed", type=click.IntRange(min=0), default=0, show_default=True, help="Of that draw."
)
@click.option("--force", is_flag=True, help="Replace a file that is there.")
@cache_options
@click.option("-q", "--quiet", is_flag=True, help="No progress.")
@embedder_options
def command(texts: Path, output: Path, **options: Any) -> None:
    """Fit a transform that spreads a model's vectors over all directions, and write it to a file.

    TEXTS is a case file, of which no label is looked at, or a .txt file of one text a line: texts
    like those to be compared, at least 1,000 different ones, better 2,000. The vectors are then
    those of --embedder isotropic:FILE. Not every kind of text gains by it: compare before use.

    Vectors of whole texts are moved. Vectors of tokens stay the model's own, so answer_alignment
    and context_alignment score as they do without it.
    """
    require_one_cache(options)
    from closecall.embedders.isotropy.methods import parse_method

    method = parse_method(options["wanted"])
    fields = _fields(texts, options)
    _require_new(output, texts, force=options["force"])
    found = _fit(texts, output, method, fields, options)
    say(_told(found), err=False)
    say(
        f"use it with: closecall calibrate FILE --embedder isotropic:{output} -o CUTOFF.json\n"
        "cosines of whole texts are other ones than before: no cutoff chosen for the plain "
        "vectors holds for them\n"
        "vectors of tokens stay as they were: answer_alignment and context_alignment score as "
        "before",
        err=True,
    )


def _fields(texts: Path, options: dict[str, Any]) -> tuple[str, ...]:
    fields: tuple[str, ...] = options["fields"]
    if not _plain(texts):
        return tuple(field for field in FIELDS if field in (fields or USUAL))
    if fields or options["mapping"]:
        raise click.UsageError("--field and --map are for a case file; each line here is a text")
    return ()


def _plain(texts: Path) -> bool:
    return texts.suffix.lower() == ".txt"


def _require_new(output: Path, texts: Path, *, force: bool) -> None:
    from closecall.errors import UsageError

    if str(output) == "-":
        raise UsageError("-o -: name a file")
    require_writable(output, [(texts, "the file of texts")])
    if output.is_file() and not force:
        raise UsageError(
            f"-o {output}: there is a file, and what was calibrated with it would be refused; "
            "name another, or replace it with --force"
        )


def _fit(
    texts: Path,
    output: Path,
    method: Method,
    fields: tuple[str, ...],
    options: dict[str, Any],
) -> IsotropyFile:
    from closecall._version import __version__
    from closecall.embedders.isotropy.file import save_isotropy
    from closecall.runs.asked import chosen_embedder
    from closecall.runs.calibrate import timestamp

    created = timestamp()
    spec, embedder = chosen_embedder(options["embedder"], options["window"], options["threads"])
    fitted = _fitted(texts, method, fields, embedder, options)
    return save_isotropy(
        output,
        fitted,
        embedder.instrument,
        embedder=spec,
        created=created,
        producer=__version__,
        fields=fields,
    )


def _fitted(
    texts: Path,
    method: Method,
    fields: tuple[str, ...],
    embedder: Embedder,
    options: dict[str, Any],
) -> Fitted:
    from closecall.embedders.isotropy.fit import fit
    from closecall.runs.asked import open_run_cache

    keys = _lines(texts) if _plain(texts) else _texts(texts, fields, options["mapping"])
    store = open_run_cache(
        embedder,
        options["cache_dir"] or not options["no_cache"],
        lambda notice: say(f"closecall: {notice}", err=True),
    )
    with (
        nullcontext() if store is None else closing(store),
        Progress(quiet=options["quiet"]) as progress,
    ):
        return fit(
            embedder,
            keys,
            method,
            at_most=options["at_most"],
            seed=options["seed"],
            store=store,
            progress=progress,
        )


def _lines(path: Path) -> Iterator[TextKey]:
    """Yield each line of a text file that is not blank."""
    from closecall.datasets._sniff import inspect
    from closecall.embedders.base import TextKey

    file, _ = inspect(path, "jsonl")  # of which only the lines are read
    for line in file.text().split("\n"):
        if line.strip():
            yield TextKey(line.removesuffix("\r"))


def _texts(path: Path, fields: tuple[str, ...], mapping: tuple[str, ...]) -> Iterator[TextKey]:
    """Yield the texts of cases, each as the metrics embed it."""
    from closecall.datasets import open_dataset
    from closecall.metrics.sides import context_side, input_side, reference_side, response_side
    from closecall.records import Role, Unmeasured

    sides: dict[str, Callable[[Case], Side | Unmeasured]] = {
        "response": response_side,
        "reference": reference_side,
        "input": input_side,
        "context": partial(context_side, role=Role.DOCUMENT),
    }
    needed = {"reference": "references"}
    cases = open_dataset(
        path,
        mapping=pairs(mapping, "--map", "FIELD=COLUMN") or None,
        needed={needed.get(field, field) for field in fields},
    )
    cases.scan()
    for case in cases:
        for field in fields:
            side = sides[field](case)
            if not isinstance(side, Unmeasured):
                yield from side.keys


def _told(found: IsotropyFile) -> str:
    from closecall.embedders.isotropy.fit import ADVISED

    texts = found.texts
    of = f" of {texts.distinct:,}" if texts.drawn is not None else ""
    drawn = f", drawn with seed {texts.drawn}" if texts.drawn is not None else ""
    left = f"{texts.kept:.1%} of the variance is left"
    lines = [
        f"{found.method} of {found.instrument.model}: fitted on {texts.count:,}{of} texts{drawn}",
        f"two of them had a mean cosine of {texts.mean_cosine:.3f}; {left}",
    ]
    lines += [f"no vector: {n:,} texts: {reason}" for reason, n in texts.unmeasured.items()]
    if texts.count < ADVISED:
        lines.append(f"with {ADVISED:,} texts or more it would carry over better")
    return "\n".join(lines)

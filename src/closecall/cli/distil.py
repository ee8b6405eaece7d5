"""``closecall models distil``: a table of token vectors, made from an encoder."""

from __future__ import annotations

from pathlib import Path
from typing import TYPE_CHECKING, Any

import click

from closecall.cli.progress import Progress
from closecall.cli.say import say

if TYPE_CHECKING:
    from closecall.embedders.base import Embedder
    from closecall.models.store import StoredModel

EXAMPLES = """\b
Examples:
  closecall models distil -o minilm-static
  closecall score "It rained all day." "It was a wet day." --embedder static:minilm-static
"""


@click.command("distil", epilog=EXAMPLES)
@click.argument("model", default="minilm")
@click.option(
    "-o",
    "--output",
    type=click.Path(path_type=Path, file_okay=False),
    metavar="FOLDER",
    required=True,
    help="Where to write the model.",
)
@click.option(
    "--dims",
    type=click.IntRange(min=1),
    default=256,
    show_default=True,
    help="Numbers in a vector; fewer make a smaller and worse model.",
)
@click.option(
    "--weighting",
    default="sif:3e-5",
    show_default=True,
    help="How much less frequent tokens count: sif:A (the smaller A, the less), log, or none.",
)
@click.option("--name", help="What to call it.  [default: MODEL-static-DIMS]")
@click.option(
    "--threads",
    type=click.IntRange(min=1),
    help="Runs side by side.  [default: every core this process may use]",
)
@click.option("--force", is_flag=True, help="Replace a static model that is there.")
@click.option("-q", "--quiet", is_flag=True, help="No progress.")
def command(model: str, output: Path, **options: Any) -> None:
    """Make a static model from MODEL: a vector for each token, and no model to run.

    MODEL is minilm (bundled, the default), the name of an added model, or onnx:FOLDER. The static
    model is then --embedder static:FOLDER. It is many times faster and tells less apart: each
    token has one vector whatever stands around it. Compare the two on labels of your own.
    """
    from closecall._version import __version__
    from closecall.embedders.onnx import OnnxEmbedder
    from closecall.embedders.static.distil import distil, parse_weighting
    from closecall.embedders.static.writing import require_place, save_static

    weighting = parse_weighting(options["weighting"])
    require_place(output, force=options["force"])
    encoder = _encoder(model)
    with Progress(quiet=options["quiet"]) as progress:
        made = distil(
            encoder,
            OnnxEmbedder(encoder).instrument,
            dims=options["dims"],
            weighting=weighting,
            threads=options["threads"],
            progress=progress,
        )
    record = save_static(
        output,
        made,
        encoder.card,
        name=options["name"] or f"{encoder.card.name}-static-{made.dims}",
        producer=__version__,
        force=options["force"],
    )
    say(
        f"{record.name}: {record.rows:,} tokens of {record.encoder}, {record.dims} dims, "
        f"{record.weighting}; {record.kept:.1%} of the variance is left",
    )
    say(
        f"use it with: closecall eval FILE --embedder static:{output}\n"
        "scores are other ones than the encoder's: calibrate anew",
        err=True,
    )


def static_facts(embedder: Embedder) -> dict[str, Any]:
    """Return what ``closecall models info`` shows of a static model besides its identity."""
    import msgspec

    from closecall.embedders.static.embedder import StaticEmbedder

    if not isinstance(embedder, StaticEmbedder):
        return {}
    folder = embedder.folder
    made = {} if folder.made is None else {"made": msgspec.to_builtins(folder.made)}
    return {"folder": str(folder.folder), **made}


def _encoder(name: str) -> StoredModel:
    from closecall.errors import UsageError
    from closecall.models import store

    kind, sep, folder = name.strip().partition(":")
    if not sep:
        return store.find_model(name.strip())
    if kind == "onnx" and folder:
        return store.load_model(folder)
    raise UsageError(
        f"{name!r}: a static model is made from a compiled one: minilm, the name of an added "
        "model, or onnx:FOLDER"
    )

"""``closecall compare-models``: which of two models accepts more under one promise."""

from __future__ import annotations

from typing import Any, TypeVar

import click

from closecall.cli.comparing import conclude, reading, reading_options
from closecall.cli.places import CASES, Place

T = TypeVar("T")

TWO = 2
EXAMPLES = """\b
Examples:
  closecall compare-models labelled.jsonl --embedder minilm \\
    --embedder bge-small-en-v1.5
  closecall compare-models labelled.jsonl -m embed_answer_similarity \\
    -m embed_response_context

\b
Exit codes: 0 nothing speaks for A (B is better, or the labels cannot tell),
1 A is better, 2 usage, 3 configuration, 4 input data.
"""


@click.command("compare-models", epilog=EXAMPLES)
@click.argument("file", type=CASES)
@click.option(
    "--embedder",
    "embedders",
    multiple=True,
    metavar="SPEC",
    help="One for both, or twice: A, then B.  [default: minilm]",
)
@click.option(
    "-m",
    "--metric",
    "metrics",
    multiple=True,
    metavar="NAME",
    help="One for both, or twice: A, then B.  [default: embed_answer_similarity]",
)
@click.option(
    "--max-far",
    type=click.FloatRange(0, 1, min_open=True, max_open=True),
    default=0.05,
    show_default=True,
    help="The promise both must keep: at most this share of wrong answers is accepted.",
)
@click.option(
    "--confidence",
    type=click.FloatRange(0, 1, min_open=True, max_open=True),
    default=0.95,
    show_default=True,
    help="How sure the promise of each is.",
)
@click.option(
    "--guarantee",
    type=click.Choice(["exact", "average"]),
    default="exact",
    show_default=True,
    help="How firm the promise is; see closecall calibrate.",
)
@click.option(
    "--resamples",
    type=click.IntRange(min=100),
    default=2000,
    show_default=True,
    help="How often the answers are drawn anew.",
)
@click.option(
    "--seed",
    type=click.IntRange(min=0),
    default=0,
    show_default=True,
    help="Draws the resamples, and one wrong answer of each group.",
)
@reading_options
def command(
    file: Place,
    embedders: tuple[str, ...],
    metrics: tuple[str, ...],
    max_far: float,
    confidence: float,
    guarantee: str,
    resamples: int,
    seed: int,
    **options: Any,
) -> int:
    """Compare two embedders, or two metrics, on the labelled cases of FILE.

    Each gets a cutoff of its own, calibrated on FILE for the same promise; the better one then
    accepts more of the good answers. To see what may be chance, the answers are drawn anew many
    times and both are calibrated each time. The answer may be that these labels cannot tell.
    """
    from closecall.calibration.goals import Goal
    from closecall.metrics.registry import DEFAULT
    from closecall.runs.compare import compare_embedders

    with reading(options) as how:
        found = compare_embedders(
            str(file),
            _two(embedders, None, "--embedder"),
            Goal(max_far=max_far, confidence=confidence, guarantee=guarantee, seed=seed),  # type: ignore[arg-type]
            _two(metrics, DEFAULT, "--metric"),
            level=options["level"],
            resamples=resamples,
            reading=how,
        )
    return conclude(found, options["form"])


def _two(names: tuple[str, ...], default: T, option: str) -> tuple[str | T, str | T]:
    if len(names) > TWO:
        raise click.UsageError(f"{option} is given at most twice: A, then B")
    if not names:
        return default, default
    return names[0], names[-1]

"""``closecall score``: one pair of texts, one line."""

from __future__ import annotations

import os
import sys
from typing import TYPE_CHECKING

import click

from closecall.cli.options import embedder_options_with, guards_option, typed_window
from closecall.cli.pipes import may_close
from closecall.cli.say import say, say_json

if TYPE_CHECKING:
    from closecall.embedders.base import Embedder
    from closecall.metrics.base import Metric

EXAMPLES = """\b
Examples:
  closecall score "Refunds take five days." "You get your money back within a week."
  closecall score "Paris" "The capital of France is Paris." -m semantic_similarity --json
"""


@click.command("score", epilog=EXAMPLES)
@click.argument("text_a")
@click.argument("text_b")
@click.option(
    "-m",
    "--metric",
    help="How to compare. A is the reference, the context or the question; B the "
    "response, or the context for embed_query_context.  [default: embed_answer_similarity]",
)
@click.option("--cutoff", type=float, help="Accept from this value on.  [default: the metric's]")
@click.option(
    "--calibration",
    type=click.Path(dir_okay=False),
    metavar="FILE.json",
    help="Decide with this calibration; -m, --embedder and --window then default to its own.",
)
@click.option("--json", "as_json", is_flag=True, help="Print one JSON object.")
@guards_option
@embedder_options_with(threads="CLOSECALL_THREADS, else 1")
def command(
    text_a: str,
    text_b: str,
    metric: str | None,
    cutoff: float | None,
    calibration: str | None,
    as_json: bool,
    guards: str | None,
    embedder: str | None,
    window: str,
    threads: int | None,
) -> int:
    """Say how close TEXT_B is to TEXT_A ("-" reads a text from standard input).

    Exits with 0 when it reaches the cutoff, 1 when it does not, 11 when it was not measured, lies
    between two cutoffs or is held back by a guard, 6 when the calibration belongs to another
    embedder or metric.
    """
    if text_a == text_b == "-":
        raise click.UsageError("only one of the two texts can come from standard input")
    first, second = (_stdin() if text == "-" else text for text in (text_a, text_b))

    # One pair needs no BLAS threads, and starting them takes a good part of the time.
    os.environ.setdefault("OPENBLAS_NUM_THREADS", "1")
    from closecall.metrics.registry import DEFAULT, load_metric, load_metrics
    from closecall.runs.pair import score_pair

    made = None
    if calibration is not None:
        from closecall.runs.calibrations import load_calibrations, with_judges

        if cutoff is not None:
            raise click.UsageError("--cutoff and --calibration exclude each other")
        made = load_calibrations(calibration)
    if metric is not None and "," in metric:
        raise click.UsageError("score takes one metric; closecall eval takes several")
    chosen = (
        load_metric(metric or DEFAULT, cutoff)
        if made is None
        else load_metrics(with_judges(metric, made))[0]
    )
    if made is not None and chosen.spec.embeds:
        from closecall.runs.calibrations import embedder_of, window_of

        embedder = embedder or embedder_of(made)
        window = typed_window(click.get_current_context()) or window_of(made)
    used = _embedder(chosen, embedder, window, threads)
    applied = None
    if made is not None:
        from closecall.embedders.absent import ABSENT
        from closecall.runs.asked import anywhere
        from closecall.runs.calibrations import apply

        spec = anywhere(embedder or "") if chosen.spec.embeds else ABSENT
        applied = apply(made, [chosen], used, spec, None, uncalibrated=False)[chosen.spec.id]
    from closecall.metrics.guards.policy import guard_policy
    from closecall.runs.header import MetricPlan
    from closecall.runs.preparing import require_kept

    policy = guard_policy(guards)
    plan = MetricPlan.of(chosen, used.instrument, applied, policy)
    require_kept(made or [], [plan])
    if guards is not None and policy.active and not plan.guards:
        raise click.UsageError(f"--guards: no guard stands beside {plan.id} here")
    result = score_pair(chosen, first, second, used, applied, guards=policy)
    from closecall.report.pair import line, record

    with may_close(sys.stdout):
        if as_json:
            say_json(record(result, chosen, used.instrument, applied), indent=None)
        else:
            say(line(result, chosen, used.instrument, applied))
    return {"passed": 0, "scored": 0, "failed": 1}.get(result.state.value, 11)


def _embedder(metric: Metric, named: str | None, window: str, threads: int | None) -> Embedder:
    """Return the embedder; for a metric that embeds nothing what stands in for one in a run."""
    if metric.spec.embeds:
        from closecall.embedders.registry import load_embedder

        # Two texts need no second thread, and starting threads takes a part of the time.
        alone = None if os.environ.get("CLOSECALL_THREADS") else 1
        return load_embedder(named, window=window, threads=threads or alone)
    from closecall.runs.asked import needed_embedder

    def notice(text: str) -> None:
        say(f"closecall: {text}", err=True)

    return needed_embedder([metric], named, window, threads, on_notice=notice)[1]


def _stdin() -> str:
    """Return standard input as UTF-8, whatever the encoding of the terminal."""
    from closecall.errors import DataError

    try:
        return str(sys.stdin.buffer.read(), "utf-8-sig")
    except UnicodeDecodeError as error:
        raise DataError(f"standard input is not UTF-8: byte {error.start} is wrong") from error

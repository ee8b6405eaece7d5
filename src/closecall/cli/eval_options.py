"""What ``closecall eval`` is told: what to measure, by what to decide, and where it goes."""

from __future__ import annotations

from collections.abc import Callable
from pathlib import Path
from typing import TYPE_CHECKING, Any, TypeVar

import click

from closecall.cli.live_options import live_options
from closecall.cli.options import (
    bad_row_option,
    cache_options,
    embedder_options,
    guards_option,
    report_option,
)
from closecall.cli.places import FOLDER, LocalType
from closecall.cli.signing import passphrase_option

if TYPE_CHECKING:
    from closecall.runs.budget import Budget

F = TypeVar("F", bound=Callable[..., Any])

BELONG_TO_RUN = frozenset(
    {
        "names",
        "cutoff",
        "calibration",
        "uncalibrated",
        "labels",
        "guards",
        "cascade",
        "fast",
        "judges",
        "endpoint",
        "model",
        "system_prompt_file",
        "temperature",
        "max_tokens",
        "subject_command",
        "runs",
        "success_threshold",
        "embedder",
        "window",
        "mapping",
        "on_bad_row",
        "aef",
        "no_aef",
        "parts",
        "part_cases",
        "shard",
        "engine",
        "name",
        "subject",
        "subject_version",
        "no_content",
    }
)
"""Options that a run begins with and goes on with."""


def eval_options(function: F) -> F:
    """Add the options of ``closecall eval``, those first that come first in its help."""
    for option in reversed(_OPTIONS):
        function = option(function)
    return function


def _budget(_: click.Context, __: click.Parameter, value: str | None) -> Budget | None:
    if value is None:
        return None
    from closecall.runs.budget import read_budget

    return read_budget(value)


def _shard(_: click.Context, __: click.Parameter, value: str | None) -> tuple[int, int] | None:
    if value is None:
        return None
    from closecall.runs.shards import read_shard

    return read_shard(value)


_OPTIONS: tuple[Callable[[Any], Any], ...] = (
    click.option(
        "-m",
        "--metrics",
        "names",
        multiple=True,
        metavar="NAMES",
        help="Comma-separated, also repeated; closecall metrics lists them.  [default: "
        "embed_answer_similarity]",
    ),
    click.option(
        "--cutoff",
        "cutoff",
        multiple=True,
        metavar="NAME=VALUE",
        help="Accept from this value on, for one metric; repeatable.",
    ),
    click.option(
        "--calibration",
        "calibration",
        multiple=True,
        type=click.Path(path_type=Path),
        metavar="FILE.json",
        help="Decide with this calibration (see closecall calibrate); repeatable, one a metric. "
        "-m, --embedder and --window then default to its own. A folder: all in it, by name.",
    ),
    click.option(
        "--uncalibrated",
        is_flag=True,
        help="Use the cutoff although it was fitted with another embedder or metric version; the "
        "run then says UNCALIBRATED and never exits with 0.",
    ),
    click.option(
        "--labels",
        type=LocalType("name a file of this machine", dir_okay=False),
        metavar="FILE",
        help="Show the nearest accepted and rejected answers of FILE beside each unsure one; they "
        "decide nothing.  [default: the labels in --calibration]",
    ),
    click.option(
        "--cascade",
        is_flag=True,
        help="The calibrations decide one after another, in the order given, the cheap one first: "
        "what one leaves unsure between its two cutoffs, or a guard holds back, moves on.",
    ),
    click.option(
        "--fast",
        is_flag=True,
        help="Scores in 8 bits, and in float32 again for cases near a cutoff, so that verdicts "
        "stay. For the bundled model on a processor with VNNI; see docs/fast.md.",
    ),
    guards_option,
    live_options,
    click.option(
        "--budget",
        callback=_budget,
        metavar="AMOUNT",
        help="Send no request once so much is spent, and stop so that --resume goes on: tokens as "
        "a whole number (200_000), or money (1.50USD) if closecall.toml has a price for every "
        "model. Requests under way may exceed it by their own size. Recordings and the cache cost "
        "nothing.  [default: none]",
    ),
    embedder_options,
    click.option(
        "--map",
        "mapping",
        multiple=True,
        metavar="FIELD=COLUMN",
        help="Read FIELD (input, response, references, context, id, label, group, tags) "
        "from this column; a.b reaches into an object.",
    ),
    bad_row_option(),
    click.option(
        "--gate",
        "gates",
        multiple=True,
        metavar="RULE",
        help="The run passes if this holds, such as 'pass_rate(answer_alignment) >= 0.9'; "
        "repeatable. Cases that fail then do not fail the run by themselves.  [default: those of "
        "closecall.toml or pyproject.toml]",
    ),
    click.option(
        "--gate-mode",
        type=click.Choice(["point", "interval"]),
        default="point",
        show_default=True,
        help="Whether the value has to hold, or its interval; then the answer may be that so few "
        "cases cannot tell.",
    ),
    click.option("--no-gates", is_flag=True, help="Look for no gates in a file."),
    click.option(
        "--format",
        "form",
        type=click.Choice(["table", "json", "jsonl", "csv", "markdown", "junit", "html"]),
        help="Format of the report.  [default: table, or what -o's suffix says]",
    ),
    report_option,
    click.option(
        "--aef",
        type=FOLDER,
        metavar="DIR",
        help="Run folder, or URL of object storage.  [default: a new one under .closecall/runs/]",
    ),
    click.option("--no-aef", is_flag=True, help="Write no run folder; the run cannot be resumed."),
    click.option(
        "--parts",
        type=FOLDER,
        metavar="DIR",
        help="Write the run in parts instead of a run folder: Parquet files, for any number of "
        "cases, in DIR or at a URL (pip install 'closecall[parquet]').",
    ),
    click.option(
        "--part-cases",
        type=click.IntRange(1, 1_000_000),
        default=4096,
        show_default=True,
        metavar="N",
        help="Cases of a part. A run that is killed goes on after its last part.",
    ),
    click.option(
        "--shard",
        callback=_shard,
        metavar="I/N",
        help="Score only part I of N of the cases; closecall runs merge makes one run of all N, "
        "and decides the gates.",
    ),
    click.option(
        "--engine",
        type=click.Choice(["local", "ray"]),
        default="local",
        show_default=True,
        help="ray: workers of a Ray cluster measure the cases and write --parts DIR, with the "
        "numbers of one process (pip install 'closecall[ray]').",
    ),
    click.option(
        "--workers",
        type=click.IntRange(min=1),
        metavar="N",
        help="Workers of --engine ray.  [default: one a core of the cluster]",
    ),
    click.option(
        "--ray-address",
        metavar="ADDR",
        help="auto or HOST:PORT of a Ray cluster that is there.  [default: a Ray on this machine, "
        "on 127.0.0.1 only, for this run]",
    ),
    click.option(
        "--resume",
        type=FOLDER,
        metavar="DIR",
        help="Go on with a run that was cut off; its folder says everything else.",
    ),
    click.option(
        "--no-content",
        is_flag=True,
        help="Keep the texts of cases out of the run folder; ids, labels and values of slices "
        "stay.",
    ),
    click.option(
        "--sign",
        "sign_with",
        type=click.Path(path_type=Path, dir_okay=False),
        metavar="KEY",
        help="Sign the run once it is sealed, with this private key (see closecall sign).",
    ),
    passphrase_option,
    click.option("--name", help="What to call the run.  [default: the file's name]"),
    click.option("--subject", help="The assistant whose answers these are."),
    click.option("--subject-version", help="Its version."),
    cache_options,
    click.option("-q", "--quiet", is_flag=True, help="No progress and no summary line."),
)

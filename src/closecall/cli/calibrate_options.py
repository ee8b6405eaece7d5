"""The options of ``closecall calibrate``, and the goal they make."""

from __future__ import annotations

from collections.abc import Callable
from pathlib import Path
from typing import TYPE_CHECKING, Any, TypeVar

import click

from closecall.cli.options import cache_options, case_options, group_option, print_option

if TYPE_CHECKING:
    from closecall.calibration.goals import Goal

Command = TypeVar("Command", bound=Callable[..., Any])

PERCENT = 100


def _fraction(percentage: str) -> str:
    return f"{float(percentage) / PERCENT:.10g}"


class Share(click.FloatRange):
    """A share between 0 and 1; a percentage is told how to be typed."""

    def __init__(self) -> None:
        super().__init__(0, 1, min_open=True, max_open=True)

    def convert(
        self, value: Any, param: click.Parameter | None, ctx: click.Context | None
    ) -> float:
        """Return the number, or say what to type instead."""
        try:
            share: float = super().convert(value, param, ctx)
        except click.BadParameter as error:
            number = str(value).strip().removesuffix("%")
            if number.replace(".", "", 1).isdecimal() and 0 < float(number) < PERCENT:
                said = f"{error.message.rstrip('.')}; for {number}% type {_fraction(number)}"
                raise click.BadParameter(said, ctx=ctx, param=param) from error
            raise
        return share


GOAL = (
    click.option(
        "--max-far",
        type=Share(),
        metavar="RATE",
        help="At most this share of wrong answers is accepted.  "
        "[default: 0.05, if no goal is given]",
    ),
    click.option(
        "--max-frr",
        type=Share(),
        metavar="RATE",
        help="At most this share of good answers is rejected.",
    ),
    click.option(
        "--two-cutoffs",
        is_flag=True,
        help="Keep both --max-far and --max-frr; answers between the two cutoffs are left unsure.",
    ),
    click.option(
        "--cascade",
        is_flag=True,
        help="Calibrate metrics that decide one after another (see eval --cascade), each for its "
        "share of --max-far and --max-frr, and write them to the folder -o. -m names them, the "
        "cheap ones first; answer_support comes before the first that asks a chat model, or last. "
        " [default: answer_alignment,answer_support; where no labelled case has a reference "
        "context_alignment,context_support]",
    ),
    click.option("--cost-fa", type=float, help="What accepting a wrong answer costs."),
    click.option("--cost-fr", type=float, help="What rejecting a good answer costs."),
    click.option(
        "--base-rate",
        type=Share(),
        help="Share of good answers where the cutoff will be used, for costs.  "
        "[default: as among the labels]",
    ),
    click.option(
        "--objective",
        type=click.Choice(["f1", "youden", "accuracy"]),
        help="The best cutoff by this measure, without a promise.",
    ),
    click.option(
        "--confidence",
        type=Share(),
        default=0.95,
        show_default=True,
        help="How sure a promise is.",
    ),
    click.option(
        "--guarantee",
        type=click.Choice(["exact", "approximate", "average"]),
        default="exact",
        show_default=True,
        help="exact: proved, one row a group. approximate: all rows, corrected for groups. "
        "average: the rate keeps its limit on average only.",
    ),
    click.option(
        "--looks",
        type=click.IntRange(min=1),
        default=1,
        show_default=True,
        help="How many limits or label batches you will look at in all; a promise then holds for "
        "whichever you choose.",
    ),
)
"""What the cutoff is for, and how firmly."""

JUDGE = (
    click.option(
        "--judge",
        is_flag=True,
        help="Fit a judge to the labels, from 300 on, and choose its cutoff: kept only where it "
        "beats the best single score. Its promise is approximate.",
    ),
    click.option(
        "--judge-split",
        is_flag=True,
        help="The same, with half of the groups to train it and the others to choose: the promise "
        "is exact, and takes twice the labels.",
    ),
    click.option(
        "--judge-model",
        "judge_models",
        multiple=True,
        metavar="SPEC",
        help="Chat model for a metric that asks one, such as llm_groundedness; repeated, a panel.",
    ),
)
"""Whether the metric itself is fitted to the labels."""

ROWS = (
    group_option,
    click.option(
        "--slice",
        "slices",
        multiple=True,
        metavar="FIELD",
        help="Also report each value of this field; repeatable.",
    ),
    case_options("label, response, references, ..."),
    click.option(
        "--leave-out-active",
        is_flag=True,
        help="Leave out labels that were picked by score, which no promise can rest on.",
    ),
    click.option(
        "--no-lock",
        is_flag=True,
        help="Use every label to choose the cutoff; by default a third is set aside to test it, "
        "from 600 labels with 180 rejects on.",
    ),
    click.option(
        "--no-content",
        is_flag=True,
        help="Keep the texts out of the file; ids, scores and values of slices stay. It cannot be "
        "refreshed then.",
    ),
    click.option(
        "--seed",
        type=click.IntRange(min=0),
        default=0,
        show_default=True,
        help="Draws the row of each group, the folds and the rows set aside.",
    ),
    click.option(
        "--refresh",
        type=click.Path(path_type=Path, dir_okay=False),
        metavar="CALIBRATION",
        help="Score the labelled texts in this file again, with the embedder as it is now, and "
        "choose the cutoff anew; writes to -o, or in place, with the file of before kept as "
        "CALIBRATION.bak.",
    ),
    click.option(
        "-o",
        "--output",
        type=click.Path(path_type=Path),
        metavar="FILE.json",
        help="Where to write the calibration; with --cascade a folder.",
    ),
    print_option(),
    cache_options,
    click.option("-q", "--quiet", is_flag=True, help="No progress."),
)
"""Which rows count, how they belong together, and where what was found goes."""


def calibrate_options(command: Command) -> Command:
    """Give a command every option of ``calibrate`` but the metric and those of the embedder."""
    for option in reversed((*GOAL, *JUDGE, *ROWS)):
        command = option(command)
    return command


def goal_of(options: dict[str, Any]) -> Goal:
    """Return the goal that was typed, or say what does not go together."""
    from closecall.calibration.goals import DEFAULT_MAX_FAR, Goal
    from closecall.calibration.records import Costs

    fa, fr = options["cost_fa"], options["cost_fr"]
    if (fa is None) != (fr is None):
        raise click.UsageError("costs come in pairs: give both --cost-fa and --cost-fr")
    if options["base_rate"] is not None and fa is None:
        raise click.UsageError("--base-rate goes with --cost-fa and --cost-fr")
    far, frr = options["max_far"], options["max_frr"]
    both = far is not None and frr is not None
    if both and not options["two_cutoffs"]:
        raise click.UsageError(
            "one cutoff keeps one promise: add --two-cutoffs to keep both --max-far and --max-frr"
        )
    if options["two_cutoffs"] and not both:
        raise click.UsageError(
            "--two-cutoffs keeps both promises: add "
            + " and ".join(
                f"{option} RATE"
                for option, given in (("--max-far", far), ("--max-frr", frr))
                if given is None
            )
        )
    costs = (
        None
        if fa is None
        else Costs(false_accept=fa, false_reject=fr, base_rate=options["base_rate"])
    )
    given = [
        far is not None or frr is not None,
        costs is not None,
        options["objective"] is not None,
    ]
    if sum(given) > 1:
        raise click.UsageError("choose one goal: a promise, costs or an objective")
    if not any(given):
        far = DEFAULT_MAX_FAR
    if options["guarantee"] != "exact" and not (far or frr):
        raise click.UsageError("--guarantee is for --max-far and --max-frr")
    return Goal(
        max_far=far,
        max_frr=frr,
        costs=costs,
        objective=options["objective"],
        confidence=options["confidence"],
        guarantee=options["guarantee"],
        looks=options["looks"],
        seed=options["seed"],
    )

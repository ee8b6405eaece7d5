"""Whether the judge in a calibration file fits the rest of the file.

A head is not fitted again: the file holds no features, and may hold no texts. What is looked at
is what follows from the rows and the goal, and whether each number can be one of its kind.
"""

from __future__ import annotations

import math
from collections.abc import Iterator

from closecall.calibration.artefact import Calibration
from closecall.calibration.head.crossed import PENALTIES
from closecall.calibration.head.gain import RESAMPLES, Gain, auc_of, figure_of, measure_of
from closecall.calibration.head.judge import SPLIT, Judge
from closecall.calibration.head.singles import singles_of
from closecall.calibration.inputs import Labelled
from closecall.calibration.sample import ACCEPT
from closecall.metrics.fitted.features import affordable, names
from closecall.metrics.fitted.head import flaw_of, judge_id, version_of

_CLOSE = 1e-9
"""Share by which a figure may differ that is made again from whole numbers."""

_SLACK = 1e-3
"""Share by which rounding to six decimals may carry coefficients above their bound."""


def judge_flaws(made: Calibration, judge: Judge, used: Labelled) -> Iterator[str]:
    """Yield what does not fit, in words that begin with the member's name; O(n) time.

    ``used`` are the rows that chose the cutoff.
    """
    head, sample = judge.head, made.sample
    if flaw := flaw_of(head):
        yield f"judge.head.{flaw}; fit it anew with: closecall calibrate FILE --judge"
        return
    for name, said, found in (
        ("id", made.metric.id, judge_id(head.sides)),
        ("version", made.metric.version, version_of(head)),
    ):
        if said != found:
            yield f"metric.{name}: is not that of the judge in the file"
    if head.trained != made.data.digest:
        yield "judge.head.trained: is not the digest of the cases of the file"
    if (judge.way == SPLIT) != bool(sample.trained):
        yield "judge.way: does not go together with the rows that trained it"
        return
    locked = set(sample.locked)
    rows = sample.trained or [at for at in range(len(sample.ids)) if at not in locked]
    accepts = sum(sample.accept[at] == ACCEPT for at in rows)
    for name, number, there in (
        ("rows", judge.rows, len(rows)),
        ("accepts", judge.accepts, accepts),
        ("rejects", judge.rejects, len(rows) - accepts),
        ("groups", judge.groups, len({sample.groups[at] for at in rows})),
        ("seed", judge.seed, made.goal.seed),
    ):
        if number != there:
            yield f"judge.{name}: says {number}, and by the rest of the file it is {there}"
    yield from _head(judge, min(accepts, len(rows) - accepts))
    yield from _gain(made, judge, used)


def _head(judge: Judge, scarce: int) -> Iterator[str]:
    head = judge.head
    payable = affordable(head.sides, scarce, support=head.support is not None)
    if head.features != names(payable):
        yield "judge.head.features: are not those that so many labels pay for, in their order"
    if not 2 <= judge.folds <= judge.groups:  # noqa: PLR2004 - one part cannot be held out
        yield f"judge.folds: {judge.folds} parts cannot be made of {judge.groups} groups"
    if len(judge.penalties) != judge.folds:
        yield f"judge.penalties: {judge.folds} heads have {len(judge.penalties)}"
    if not set(PENALTIES).issuperset((*judge.penalties, head.penalty)):
        yield f"judge.penalties: allowed are {', '.join(map(str, PENALTIES))}, in the head too"
    # A head of nothing but an intercept has a loss of log 2 a row at most, and a fitted one less.
    most = math.sqrt(2 * head.penalty * judge.rows * math.log(2)) * (1 + _SLACK)
    if math.hypot(*head.coefficients) > most:
        yield f"judge.head.coefficients: larger than the penalty lets them be, {most:.3g} in all"


def _gain(made: Calibration, judge: Judge, used: Labelled) -> Iterator[str]:
    gain, goal = judge.gain, made.goal
    promised = goal.guarantee if goal.promises else None
    for name, said, found in (
        ("measure", gain.measure, measure_of(goal)),
        ("limit", gain.limit, goal.max_frr if goal.max_far is None else goal.max_far),
        ("rows", gain.rows, judge.rows),
        (
            "guarantee",
            gain.guarantee,
            "approximate" if promised and judge.approximate else promised,
        ),
        ("best_guarantee", gain.best_guarantee, promised),
    ):
        if said != found:
            yield f"judge.gain.{name}: says {said}, and by the rest of the file it is {found}"
    yield from _figures(gain)
    singles = singles_of(judge.head.sides, support=judge.head.support is not None)
    if gain.single not in singles:
        yield f"judge.gain.single: allowed are {', '.join(singles)}"
    if not 1 <= gain.tried <= len(singles):
        yield f"judge.gain.tried: allowed are 1 to {len(singles)}"
    if not 2 <= gain.resamples <= RESAMPLES:  # noqa: PLR2004 - one has no deviation
        yield f"judge.gain.resamples: allowed are 2 to {RESAMPLES}"
    if not gain.kept:
        yield "judge.gain: it is no better than a score that needs no fitting"
    if judge.approximate:
        # The rows that chose the cutoff are those the gain was measured on.
        auc = auc_of(used)
        again = figure_of(made.rule, goal) if goal.promises else auc
        for name, figure, found in (("judge", gain.judge, again), ("auc", gain.auc, auc)):
            if not math.isclose(figure, found, rel_tol=_CLOSE, abs_tol=_CLOSE):
                yield f"judge.gain.{name}: is not what the rest of the file gives"


def _figures(gain: Gain) -> Iterator[str]:
    for name in ("judge", "best", "error", "auc", "best_auc"):
        if not 0 <= getattr(gain, name) <= 1:
            yield f"judge.gain.{name}: a share lies from 0 to 1"

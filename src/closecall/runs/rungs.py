"""The rungs of a cascade, calibrated together so that their promises add up to one.

What may go wrong is shared out evenly: with k rungs each gets 1/k of the wrong answers that may
be accepted, of the good ones that may be rejected, and of the doubt that is left. By the union
bound (see ``cascade``) the cascade then keeps what was asked for as a whole.
"""

from __future__ import annotations

import os
from collections.abc import Iterable, Mapping, Sequence
from typing import TYPE_CHECKING, Any, NamedTuple

from msgspec.structs import replace

from closecall.calibration.artefact import Calibration
from closecall.calibration.records import Infeasible
from closecall.errors import DataError, UsageError
from closecall.metrics.fitted.features import SUPPORT, Sides
from closecall.metrics.fitted.support import there_is_a_pair_model
from closecall.metrics.judge.base import JudgedMetric
from closecall.metrics.registry import load_metric, load_metrics
from closecall.runs.asked import read_cases
from closecall.runs.calibrate import calibrate
from closecall.runs.cascade import FEWEST

if TYPE_CHECKING:
    from closecall.calibration.goals import Goal
    from closecall.datasets import OnBadRow
    from closecall.embedders.base import Embedder
    from closecall.metrics.base import Metric
    from closecall.records import Case
    from closecall.runs.asked import PathLike
    from closecall.runs.live import Judging

ALIGNMENT: dict[Sides, str] = {"references": "answer_alignment", "context": "context_alignment"}
"""The first rung unless others are named."""

PAIR_RUNGS = frozenset(one.name for one in SUPPORT.values())
"""The metrics of the pair model, the rung before whatever is paid for."""

_DECIMALS = 12


class Rung(NamedTuple):
    """One rung of a cascade: its metric's id, its share of the promises, what came of it."""

    metric: str
    goal: Goal
    found: Calibration | Infeasible


def calibrate_cascade(
    cases: PathLike | Iterable[Case | Mapping[str, Any]],
    metrics: str | Metric | Sequence[str | Metric] | None = None,
    embedder: Embedder | str | None = None,
    goal: Goal | None = None,
    *,
    judge_model: Judging | None = None,
    mapping: Mapping[str, str] | None = None,
    on_bad_row: OnBadRow = "fail",
    previous: Mapping[str, Calibration | None] | None = None,
    **options: Any,
) -> list[Rung]:
    """Calibrate every rung of a cascade, each for its share of what is promised of the whole.

    Parameters
    ----------
    cases
        As of ``calibrate``.
    metrics
        The rungs, the cheap ones first. ``answer_support`` (``context_support`` beside a context)
        comes by itself: before the first that asks a chat model, or last, unless it is named.
        None: ``answer_alignment`` and it.
    embedder, judge_model, mapping, on_bad_row, options
        As of ``calibrate``; the model is for the rungs that ask one.
    goal
        ``max_far`` and ``max_frr`` of the cascade, and with which confidence.
    previous
        Earlier calibrations of the rungs on mostly the same labels, by the metric's id, so that
        tries are counted.

    Returns
    -------
    list of Rung
        In order. It ends with the first that cannot keep its share, as later ones may cost money,
        and with the first that leaves nothing unsure, as nothing comes to later ones.

    Raises
    ------
    UsageError
        The goal is not both rates, or there are fewer than two rungs.
    DataError, ConfigurationError
        As of ``calibrate``.
    """
    if goal is None or not goal.two:
        raise UsageError(
            "a cascade leaves answers unsure between two cutoffs, and shares both promises among "
            "its rungs: give max_far and max_frr"
        )
    if not isinstance(cases, str | os.PathLike):
        cases = list(cases)
    rungs = cascade_rungs(cases, metrics, mapping, on_bad_row)
    own = share_of(goal, len(rungs))
    found: list[Rung] = []
    for metric in rungs:
        name = metric.spec.id
        one = calibrate(
            cases,
            metric,
            embedder,
            own,
            judge_model=judge_model if isinstance(metric, JudgedMetric) else None,
            previous=(previous or {}).get(name),
            mapping=mapping,
            on_bad_row=on_bad_row,
            **options,
        )
        found.append(Rung(name, own, one))
        if isinstance(one, Infeasible) or one.reject_cutoff is None:
            break
    return found


def cascade_rungs(
    cases: PathLike | Iterable[Case | Mapping[str, Any]],
    metrics: str | Metric | Sequence[str | Metric] | None = None,
    mapping: Mapping[str, str] | None = None,
    on_bad_row: OnBadRow = "fail",
) -> list[Metric]:
    """Return the rungs of a cascade, that of the pair model in its place; nothing is measured.

    The parameters are those of ``calibrate_cascade``; what it returns may be given as ``metrics``.

    Raises
    ------
    UsageError
        There are fewer than two.
    DataError
        The cases cannot be read, or none has a label.
    """
    if metrics is None:
        sides: Sides = "references" if _any_reference(cases, mapping, on_bad_row) else "context"
        named = load_metrics(ALIGNMENT[sides])
    else:
        named = load_metrics(metrics)
        sides = "context" if _by_context(named) else "references"
    if there_is_a_pair_model() and not any(one.spec.name in PAIR_RUNGS for one in named):
        paid = (at for at, metric in enumerate(named) if isinstance(metric, JudgedMetric))
        at = next(paid, len(named))
        named = [*named[:at], load_metric(SUPPORT[sides].name), *named[at:]]
    if len(named) < FEWEST:
        raise UsageError(
            f"a cascade has two rungs or more, and this has {named[0].spec.id} alone: name "
            "another, as in -m token_recall,answer_alignment"
        )
    return named


def share_of(goal: Goal, rungs: int) -> Goal:
    """Return what each of so many rungs has to keep, so that together they keep the goal."""
    if goal.max_far is None or goal.max_frr is None:
        raise UsageError("a cascade keeps two promises: max_far and max_frr")
    return replace(
        goal,
        max_far=round(goal.max_far / rungs, _DECIMALS),
        max_frr=round(goal.max_frr / rungs, _DECIMALS),
        confidence=round(1 - (1 - goal.confidence) / rungs, _DECIMALS),
    )


def pair_hint(rungs: Sequence[Metric]) -> str | None:
    """Return what to say of a cascade that pays before the local pair model was asked, or None."""
    for rung in rungs:
        if rung.spec.name in PAIR_RUNGS:
            return None
        if isinstance(rung, JudgedMetric):
            if not there_is_a_pair_model():
                return None
            name = SUPPORT["context" if _by_context(rungs) else "references"].name
            return (
                f"{rung.spec.id} is asked of whatever the rungs before it leave unsure, and none "
                f"of them is {name}, which costs nothing and reads both texts together: closecall "
                f"calibrate FILE --cascade puts it before what is paid for, or closecall "
                f"calibrate FILE -m {name} --two-cutoffs makes it alone"
            )
    return None


def _by_context(metrics: Sequence[Metric]) -> bool:
    """Whether the first metric that compares a response does so with its context."""
    for metric in metrics:
        needs = metric.spec.needs
        if "references" in needs or "context" in needs:
            return "references" not in needs
    return False


def _any_reference(
    cases: PathLike | Iterable[Case | Mapping[str, Any]],
    mapping: Mapping[str, str] | None,
    on_bad_row: OnBadRow,
) -> bool:
    """Whether a labelled case has a reference."""
    source, _ = read_cases(cases, mapping, on_bad_row, frozenset({"references", "response"}))
    labelled = [case for case in source if case.label is not None]
    if not labelled:
        raise DataError("no row has a label, accept or reject: there is nothing to calibrate by")
    return any(text.strip() for case in labelled for text in case.references)


__all__ = ["Rung", "calibrate_cascade", "cascade_rungs", "pair_hint", "share_of"]

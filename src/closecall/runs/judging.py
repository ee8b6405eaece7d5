"""A judge for labelled cases: measured, fitted, and put into a calibration.

The rows that only test the cutoff are settled first, by their groups' names; the head is fitted
to the others and sees none of them.
"""

from __future__ import annotations

from collections.abc import Iterable, Iterator, Sequence
from dataclasses import dataclass, replace
from typing import Literal, TypeAlias

import msgspec
import numpy as np

from closecall.calibration.artefact import Calibration
from closecall.calibration.build import History, Material, build
from closecall.calibration.evidence.locked import lock
from closecall.calibration.goals import Goal
from closecall.calibration.head.crossed import Training
from closecall.calibration.head.judge import CROSSED, SPLIT, Asked, Way, fit_judge
from closecall.calibration.head.singles import SINGLES, singles_of
from closecall.calibration.inputs import Bools, Floats
from closecall.calibration.records import Infeasible, Reason
from closecall.errors import UsageError
from closecall.metrics.base import BatchMetric, Metric
from closecall.metrics.fitted.features import Sides, features_of, names, parted_version
from closecall.metrics.fitted.head import NAME
from closecall.metrics.fitted.judge import FittedJudge
from closecall.metrics.fitted.measure import FEATURES, SUPPORT_VALUE, JudgeFeatures
from closecall.metrics.fitted.support import support_metric, support_or_none
from closecall.metrics.registry import DEFAULT as DEFAULT_METRIC
from closecall.metrics.registry import load_metrics
from closecall.records import Case, Measured, Measurement
from closecall.runs.results import CaseResult

Wanted: TypeAlias = bool | Literal["crossed", "split"]


@dataclass(frozen=True, slots=True)
class Judging:
    """How a judge is wanted; ``sides`` None: what the cases have.

    ``support`` says whether it weighs what the pair model says; None: where there is one.
    """

    way: Way
    sides: Sides | None
    support: bool | None = None

    @classmethod
    def of(cls, wanted: Wanted, metric: str | Metric, goal: Goal) -> Judging | None:
        """Return what was asked for, None where no judge was.

        Raises
        ------
        UsageError
            Another metric is named, or a guarantee that a judge cannot give.
        """
        if wanted is False:
            return None
        ways: dict[object, Way] = {True: CROSSED, CROSSED: CROSSED, SPLIT: SPLIT}
        if wanted not in ways:
            raise UsageError(f"judge must be True, 'crossed' or 'split', got {wanted!r}")
        way = ways[wanted]
        if way == CROSSED and goal.promises and goal.guarantee != "exact":
            raise UsageError(
                f"a judge's promise is approximate of itself, and {goal.guarantee!r} is another "
                "kind: leave the guarantee out, or let half of the labels train the judge "
                "(--judge-split)"
            )
        return cls(way, *_options(metric))

    @property
    def needs(self) -> frozenset[str]:
        """The fields of a case that must have one reading."""
        return frozenset({self.sides or "references", "response"})

    def settled(self, cases: Iterable[Case]) -> Judging:
        """Return the same with the sides known.

        References, where any case has one; else the context.
        """
        if self.sides is not None:
            return self
        some = any(text.strip() for case in cases for text in case.references)
        return replace(self, sides="references" if some else "context")

    @property
    def known(self) -> Sides:
        """The sides; settled before."""
        if self.sides is None:
            raise TypeError("the sides of a judge are settled by its cases")
        return self.sides

    def metrics(self) -> list[Metric]:
        """Return what is measured: the features, then each metric that the judge has to beat.

        The pair model's is among the features already, and not measured twice.

        Raises
        ------
        ConfigurationError
            The pair model was asked for, and there is none.
        """
        pair: BatchMetric | None = None
        if self.support is not False:
            pair = (support_metric if self.support else support_or_none)(self.known)
        return [JudgeFeatures(self.known, pair), *load_metrics(list(SINGLES[self.known]))]


_SIDES: dict[str, Sides] = {"references": "references", "context": "context"}
_SWITCH = {"true": True, "false": False}


def _options(metric: str | Metric) -> tuple[Sides | None, bool | None]:
    """Return by what a judge is to judge and whether with the pair model, each where it is said.

    Raises
    ------
    UsageError
        Another metric is named, or an option that a judge does not have.
    """
    named = metric.strip() if isinstance(metric, str) else metric.spec.id
    if named == DEFAULT_METRIC:
        return None, None
    name, *pairs = named.split(":")
    given = dict(pair.partition("=")[::2] for pair in pairs)
    allowed = len(given) == len(pairs) and given.keys() <= {"sides", "support"}
    sides, support = given.get("sides"), given.get("support")
    if (
        not isinstance(metric, str)
        or name != NAME
        or not allowed
        or sides not in {None, *_SIDES}
        or support not in {None, *_SWITCH}
    ):
        raise UsageError(
            f"a judge is a metric of its own, so it cannot be fitted for {named}: leave the "
            f"metric out, say what to judge by with {NAME}:sides=references or "
            f"{NAME}:sides=context, or leave out what the pair model says with "
            f"{NAME}:support=false"
        )
    return (
        None if sides is None else _SIDES[sides],
        None if support is None else _SWITCH[support],
    )


class Measurements:
    """What was measured of each case, kept by the case itself: ids may come twice.

    ``cases`` are those that are asked for later, where they are not the very ones of the run: one
    a row of the run, in its order.
    """

    def __init__(
        self, sides: Sides, run: Iterable[CaseResult], cases: Sequence[Case] | None = None
    ) -> None:
        self._features: dict[int, list[float]] = {}
        self._singles: dict[int, list[float | None]] = {}
        self._cases: list[tuple[Case, Measurement]] = []  # holds the cases, so that id() stays
        for at, row in enumerate(run):
            first, *others = (result.measurement for result in row.results)
            case = row.case if cases is None else cases[at]
            self._cases.append((case, first))
            if isinstance(first, Measured):
                told = first.details[FEATURES]
                support = first.details.get(SUPPORT_VALUE)
                listed = names(features_of(sides, support=support is not None))
                self._features[id(case)] = [told[name] for name in listed]
                self._singles[id(case)] = [
                    *(other.value if isinstance(other, Measured) else None for other in others),
                    *(() if support is None else (support,)),
                ]

    def __iter__(self) -> Iterator[tuple[Case, Measurement]]:
        """Yield each case with the measurement of its features."""
        return iter(self._cases)

    def features(self, cases: Sequence[Case]) -> Floats:
        """Return (n, d): every feature of each case."""
        return np.array([self._features[id(case)] for case in cases], dtype=np.float64)

    def singles(self, metrics: Sequence[str], cases: Sequence[Case]) -> dict[str, Floats]:
        """Return the (n,) values of each metric that measured all of the cases."""
        columns = zip(*(self._singles[id(case)] for case in cases), strict=True)
        return {
            name: np.array(column, dtype=np.float64)
            for name, column in zip(metrics, columns, strict=True)
            if None not in column
        }


def build_judged(
    material: Material,
    measured: Measurements,
    judging: Judging,
    goal: Goal,
    *,
    created: str,
    history: History,
    keep_texts: bool = True,
) -> Calibration | Infeasible:
    """Fit a judge to the rows of ``material`` and build its calibration, or say why there is none.

    ``material.metric``, that of the features, and the scores of its rows are replaced by the judge
    and what it says.
    """
    rows, cases = material.rows.rows, material.rows.cases
    accept = np.array([row.accept for row in rows], dtype=np.bool_)
    groups = tuple(row.group for row in rows)
    training = Training(measured.features(cases), accept, groups)
    support = parted_version(material.metric.version)[1]
    singles = measured.singles(singles_of(judging.known, support=support is not None), cases)
    asked = Asked(judging.known, judging.way, material.digest, support)

    def made(aside: Bools) -> Calibration | Infeasible:
        judged = fit_judge(training, singles, asked, goal, aside)
        if isinstance(judged, Infeasible):
            return judged
        scored = tuple(
            replace(row, score=score)
            for row, score in zip(rows, judged.scores.tolist(), strict=True)
        )
        # Which rows know the labels is seen to here; the whole file is not to be refused for it.
        spec = msgspec.structs.replace(FittedJudge(judged.judge.head).spec, fitted_on=())
        own = replace(
            material,
            rows=replace(material.rows, rows=scored),
            metric=spec,
            judged=judged,
            aside=aside,
        )
        return build(own, goal, created=created, history=history, keep_texts=keep_texts)

    nothing = np.zeros(len(rows), dtype=np.bool_)
    aside = lock(groups, accept, seed=goal.seed) if history.lock else None
    if aside is None:
        return made(nothing)
    found = made(aside)
    # As in ``build``: how many labels there are settles this, and not what they were scored.
    if isinstance(found, Infeasible) and found.reason is Reason.PROMISE_OUT_OF_REACH:
        return made(nothing)
    return found


def judging_again(calibration: Calibration) -> Judging | None:
    """Return how the judge of a calibration was asked for, None where it has none."""
    judge = calibration.judge
    if judge is None:
        return None
    return Judging(judge.way, judge.head.sides, judge.head.support is not None)


__all__ = ["SINGLES", "Judging", "Measurements", "build_judged", "judging_again"]

"""A question made ready: metrics loaded, calibrations checked, an embedder at hand."""

from __future__ import annotations

from collections.abc import Sequence
from typing import TYPE_CHECKING, Any, NamedTuple

from closecall.asserting.question import Question
from closecall.embedders.cached import CachedEmbedder
from closecall.errors import UsageError
from closecall.metrics.base import LoadingMetric, Metric
from closecall.metrics.guards.policy import GuardPolicy, guard_policy
from closecall.metrics.registry import DEFAULT, load_metrics
from closecall.records import Case
from closecall.runs.applied import Applied
from closecall.runs.calibrations import Given, apply, load_calibrations, with_judges
from closecall.runs.header import MetricPlan
from closecall.runs.preparing import require_kept
from closecall.runs.results import CaseResult
from closecall.runs.runner import ASKED_CASES, run_cases

if TYPE_CHECKING:
    from closecall.asserting.session import Session


class Bench(NamedTuple):
    """What measures the answers to one question.

    ``spec`` names the embedder, ``judges`` the chat models. ``asked`` keeps the objects of the
    question alive, by which it is known again.
    """

    metrics: tuple[Metric, ...]
    plans: tuple[MetricPlan, ...]
    applied: dict[str, Applied]
    policy: GuardPolicy
    embedder: CachedEmbedder
    spec: str
    judges: tuple[str, ...]
    asked: Question

    def measure(self, cases: Sequence[Case]) -> list[CaseResult]:
        """Return every case measured and decided, texts of many cases embedded together."""
        most = ASKED_CASES if any(plan.judges for plan in self.plans) else None
        found = run_cases(cases, self.metrics, self.embedder, self.applied, self.policy, most=most)
        return [row for batch in found for row in batch]


class Chosen(NamedTuple):
    """The metrics of a question, by name or as objects, their cutoffs, and what decides."""

    metrics: list[Any]
    cutoffs: dict[str, float]
    made: list[Given]


def choose(asked: Question, given: Sequence[Given]) -> Chosen:
    """Return the metrics that are meant, and those of the calibrations that are for them.

    ``given`` are the session's calibrations: they decide where the question has no cutoff and no
    calibration of its own.

    Raises
    ------
    UsageError
        A cutoff for one metric, and there are several.
    """
    own = load_calibrations(list(asked.calibration)) if asked.calibration else []
    offered = own or [one for one in given if _fits(one, asked.sides)]
    metrics: list[Any] = list(asked.metrics)
    if not metrics and asked.cutoff is None:
        named = with_judges(None, offered)
        # An assertion has one verdict; a table of cases has those of all calibrations.
        metrics = list(named if own or asked.sides is None else named[:1])
    elif metrics:
        metrics = list(with_judges(metrics, offered))
    metrics = metrics or [asked.otherwise or DEFAULT]
    cutoffs = dict(asked.cutoffs)
    if asked.cutoff is not None:
        if len(metrics) > 1:
            raise UsageError("cutoff is for a single metric; use cutoffs for several")
        if not isinstance(metrics[0], str):
            raise UsageError("give the cutoff to the metric itself, as it is no name")
        cutoffs[metrics[0]] = asked.cutoff
    if own:
        return Chosen(metrics, cutoffs, own)
    ids = {
        metric.spec.id: metric
        for metric in load_metrics(metrics, cutoffs)
        if metric.cutoff == metric.spec.default_cutoff
        and not {metric.spec.id, metric.spec.name} & set(cutoffs)
    }
    return Chosen(metrics, cutoffs, [one for one in offered if one.metric in ids])


def make_bench(asked: Question, session: Session) -> Bench:
    """Return what measures the answers to a question.

    Raises
    ------
    ClosecallError
        As ``evaluate``: names, cutoffs, calibrations, models, settings.
    """
    from closecall.runs.live import with_judge_models

    names, cutoffs, made = choose(asked, session.given)
    metrics, judges = with_judge_models(
        load_metrics(names, cutoffs), asked.judge, session.cassette, session.on_notice, None
    )
    spec, used = session.embedder_for(metrics, asked.embedder, made)
    applied = apply(made, metrics, used.embedder, spec, cutoffs, uncalibrated=False)
    policy = guard_policy(session.guards if asked.guards is None else asked.guards)
    instrument = used.cached.instrument
    plans = tuple(
        MetricPlan.of(metric, instrument, applied.get(metric.spec.id), policy)
        for metric in metrics
    )
    require_kept(made, plans)
    used.cached.prepare()
    for metric in metrics:
        if isinstance(metric, LoadingMetric):
            metric.load()
    return Bench(tuple(metrics), plans, applied, policy, used.cached, spec, judges, asked)


def _fits(one: Given, sides: frozenset[str] | None) -> bool:
    """Whether a calibration's metric reads what there is, and the response."""
    if sides is None:
        return True
    needs = load_metrics(with_judges(None, [one]))[0].spec.needs
    needed = sides - {"input", "response"}
    return set(needs) <= sides and needed <= set(needs)

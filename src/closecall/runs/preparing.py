"""What a run measures with and decides by, made from what ``evaluate`` was asked for."""

from __future__ import annotations

from collections.abc import Callable, Iterable, Iterator, Mapping, Sequence
from contextlib import contextmanager
from typing import TYPE_CHECKING, NamedTuple

from closecall.embedders.base import Embedder
from closecall.errors import ConfigurationError, UsageError
from closecall.instrument import Instrument
from closecall.metrics.base import Metric
from closecall.metrics.guards.policy import REJECT, GuardPolicy, guard_policy
from closecall.metrics.registry import DEFAULT as DEFAULT_METRIC
from closecall.metrics.registry import load_metrics
from closecall.runs.asked import needed_embedder
from closecall.runs.cascade import require_rungs
from closecall.runs.definition import definition, definition_digest
from closecall.runs.header import MetricPlan
from closecall.runs.live import Answers, Judging, SubjectPlan, subject_of, with_judge_models
from closecall.runs.meter import Meter
from closecall.runs.repeating import require_repeatable
from closecall.subjects.repeats import SUCCESS_THRESHOLD

if TYPE_CHECKING:
    from closecall.cassettes import Cassette
    from closecall.metrics.function import Evaluator
    from closecall.runs.applied import Applied
    from closecall.runs.calibrations import Calibrations, Given
    from closecall.runs.monitor import Monitor
    from closecall.subjects.base import Subject


class Decided(NamedTuple):
    """What decides: a plan for each metric, and the calibrations by metric."""

    plans: tuple[MetricPlan, ...]
    applied: dict[str, Applied]


class Chosen(NamedTuple):
    """What a run measures with; nothing was embedded and no case was read for it.

    ``embedder_name`` is by which the embedder is found again. ``subject`` answers the cases that
    have no response, and ``subject_plan`` says how to make it again.
    """

    metrics: list[Metric]
    judges: tuple[str, ...]
    embedder_name: str
    embedder: Embedder
    made: list[Given]
    guards: GuardPolicy
    subject: Subject | None
    subject_plan: SubjectPlan | None
    cascade: bool
    repeats: tuple[int, float]

    @property
    def needed(self) -> frozenset[str]:
        """The fields of a case that the metrics read."""
        return frozenset(field for metric in self.metrics for field in metric.spec.needs)

    def decided(
        self,
        cutoffs: Mapping[str, float] | None = None,
        *,
        uncalibrated: bool = False,
        required: bool = False,
    ) -> Decided:
        """Hold the calibrations against the embedder, which embeds their canaries.

        ``required``: guards were asked for, so that a run without a place for one is refused.

        Raises
        ------
        InstrumentMismatchError
            A calibration belongs to another embedder, metric or version.
        UsageError
            Calibrations, guards or rungs of a cascade that do not go together.
        """
        applied: dict[str, Applied] = {}
        if self.made:
            from closecall.runs.calibrations import apply

            applied = apply(
                self.made,
                self.metrics,
                self.embedder,
                self.embedder_name,
                cutoffs,
                uncalibrated=uncalibrated,
            )
        if self.cascade:
            require_rungs(self.metrics, applied)
        instrument = self.embedder.instrument
        plans = tuple(
            MetricPlan.of(metric, instrument, applied.get(metric.spec.id), self.guards)
            for metric in self.metrics
        )
        require_kept(self.made, plans)
        if required and self.guards.active and not any(plan.guards for plan in plans):
            raise UsageError(
                "guards stand beside cutoffs on comparisons of a response with references, and "
                f"none of these metrics is one: {', '.join(plan.id for plan in plans)}"
            )
        return Decided(plans, applied)

    def definition_digest(
        self, data: str, decided: Decided, made_by: Instrument | None = None
    ) -> str:
        """Return what two runs share that ask the same of data with this digest.

        ``made_by`` is who makes the scores, None: the embedder.
        """
        return definition_digest(
            definition(
                data,
                self.metrics,
                self.embedder.instrument if made_by is None else made_by,
                decided.applied,
                {plan.id: plan.guards for plan in decided.plans},
                cascade=self.cascade,
                subject="" if self.subject is None else self.subject.identity.digest,
                repeats=self.repeats,
            )
        )


def choose(
    metrics: str | Metric | Evaluator | Iterable[str | Metric | Evaluator] | None,
    embedder: Embedder | str | None,
    *,
    cutoffs: Mapping[str, float] | None = None,
    calibration: Calibrations | None = None,
    uncalibrated: bool = False,
    guards: str | Mapping[str, str] | GuardPolicy | None = None,
    cascade: bool = False,
    judge: Judging | None = None,
    answers: Answers | None = None,
    runs: int = 1,
    success_threshold: float = SUCCESS_THRESHOLD,
    cassette: Cassette | None = None,
    meter: Meter | None = None,
    window: str | None = None,
    threads: int | None = None,
    on_notice: Callable[[str], None] | None = None,
) -> Chosen:
    """Return what a run with these arguments of ``evaluate`` measures with.

    Raises
    ------
    UsageError, ConfigurationError
        A metric, option, model or cutoff is wrong.
    CalibrationFileError
        A calibration cannot be read.
    """
    made = _calibrations(calibration)
    if uncalibrated and not made:
        raise UsageError("uncalibrated is about calibrations; name one with calibration=FILE")
    if made:
        from closecall.runs.calibrations import with_judges

        metrics = with_judges(metrics, made)
    meter = meter or Meter()
    chosen = load_metrics(DEFAULT_METRIC if metrics is None else metrics, cutoffs)
    if cascade and on_notice is not None:
        from closecall.runs.rungs import pair_hint

        hint = pair_hint(chosen)
        if hint is not None:
            on_notice(hint)
    with _telling_judges(made if judge is None else []):
        chosen, judges = with_judge_models(chosen, judge, cassette, on_notice, meter)
    subject, plan = subject_of(_wanted(answers, chosen, on_notice), cassette, on_notice, meter)
    require_repeatable(
        runs,
        success_threshold,
        chosen,
        subject,
        cascade=cascade,
        recorded=cassette is not None,
    )
    embedder, window = _of_calibrations(made, chosen, embedder, window)
    name, used = needed_embedder(
        chosen, embedder, window, threads, cassette=cassette, on_notice=on_notice, meter=meter
    )
    return Chosen(
        metrics=chosen,
        judges=judges,
        embedder_name=name,
        embedder=used,
        made=made,
        guards=guard_policy(guards),
        subject=subject,
        subject_plan=plan,
        cascade=cascade,
        repeats=(runs, success_threshold),
    )


@contextmanager
def _telling_judges(made: Sequence[Given]) -> Iterator[None]:
    """Say of a chat model that is missing which one the calibrations were made with."""
    try:
        yield
    except ConfigurationError as error:
        from closecall.runs.calibrations import judge_hint

        hint = judge_hint(made)
        # What is more special says what to do by itself.
        if not hint or type(error) is not ConfigurationError:
            raise
        raise ConfigurationError(f"{error}. {hint}") from error


def _wanted(
    answers: Answers | None, metrics: Sequence[Metric], on_notice: Callable[[str], None] | None
) -> Answers | None:
    """Return what answers the cases, None where no metric would look at an answer."""
    if answers is None or any(metric.spec.reads_response for metric in metrics):
        return answers
    if on_notice is not None:
        on_notice("no metric of this run reads a response, so the subject is not asked")
    return None


def _of_calibrations(
    made: Sequence[Given],
    metrics: Sequence[Metric],
    embedder: Embedder | str | None,
    window: str | None,
) -> tuple[Embedder | str | None, str | None]:
    """Return embedder and window as calibrations of metrics that embed were made with them."""
    if not made:
        return embedder, window
    from closecall.runs.calibrations import embedder_of, window_of

    plain = {metric.spec.id for metric in metrics if not metric.spec.embeds}
    own = [one for one in made if one.metric not in plain]
    embedder = embedder_of(own) if embedder is None and own else embedder
    window = window_of(own) if window is None and isinstance(embedder, str) else window
    return embedder, window


def require_kept(made: Sequence[Given], plans: Sequence[MetricPlan]) -> None:
    """Refuse guards that reject beside a promise about false rejects, which they would break."""
    promised = {one.metric for one in made if one.made.goal.max_frr is not None}
    for plan in plans:
        strict = [name for name, action in plan.guards.items() if action == REJECT]
        if strict and plan.id in promised:
            raise UsageError(
                f"the calibration of {plan.id} promises how few good answers are rejected, and a "
                f"guard that rejects ({', '.join(strict)}) would break that: leave those unsure"
            )


def monitor_of(
    made: Sequence[Given], plans: Sequence[MetricPlan], *, cascade: bool, texts: bool
) -> Monitor | None:
    """Return what watches a run for its calibrations, None where it has none to watch for.

    Scores of two instruments are never compared, so a cutoff used in spite of that is not watched.
    Later rungs of a cascade see a choice of the cases, which is no sign of change.
    """
    applied = {plan.id: plan.calibration for plan in (plans[:1] if cascade else plans)}
    own = [
        one
        for one in made
        if (used := applied.get(one.metric)) is not None and not used.uncalibrated
    ]
    if not own:
        return None
    from closecall.runs.monitor import Monitor

    return Monitor(own, texts=texts)


def _calibrations(given: Calibrations | None) -> list[Given]:
    if given is None:
        return []
    from closecall.runs.calibrations import load_calibrations

    return load_calibrations(given)

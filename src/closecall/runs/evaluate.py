"""``evaluate``: from cases to a verdict. The command line calls nothing else."""

from __future__ import annotations

import os
import secrets
import time
from collections.abc import Callable, Iterable, Iterator, Mapping, Sequence
from contextlib import closing, contextmanager, nullcontext
from pathlib import Path
from typing import TYPE_CHECKING, Any

from closecall._version import __version__
from closecall.datasets import OnBadRow
from closecall.embedders.base import Embedder
from closecall.embedders.cached import CachedEmbedder
from closecall.errors import ConfigurationError, UsageError
from closecall.metrics.base import Metric
from closecall.metrics.guards.policy import REJECT, GuardPolicy, guard_policy
from closecall.metrics.registry import DEFAULT as DEFAULT_METRIC
from closecall.metrics.registry import load_metrics
from closecall.records import JSON, Case
from closecall.runs.asked import (
    PathLike,
    is_recorded,
    needed_embedder,
    open_run_cache,
    read_cases,
)
from closecall.runs.budget import Budget, read_budget
from closecall.runs.cascade import require_rungs
from closecall.runs.definition import definition, definition_digest
from closecall.runs.header import MetricPlan, RunHeader
from closecall.runs.live import Answers, Judging, subject_of, with_judge_models
from closecall.runs.meter import Meter
from closecall.runs.prices import Prices, read_prices
from closecall.runs.record import Run
from closecall.runs.repeating import require_repeatable
from closecall.runs.room import require_room
from closecall.runs.runner import Progress
from closecall.runs.spent_file import read_spending
from closecall.runs.values import now_utc
from closecall.runs.work import Watch, Work
from closecall.subjects.repeats import SUCCESS_THRESHOLD

if TYPE_CHECKING:
    from closecall.cassettes import Cassette
    from closecall.metrics.function import Evaluator
    from closecall.runs.applied import Applied
    from closecall.runs.calibrations import Calibrations, Given
    from closecall.runs.monitor import Monitor
    from closecall.runs.nearest import LabelledCases

BUDGET = "budget"
"""Under which a run's header keeps what it may spend."""

LABELS = "labels"
"""Under which it keeps where the labels come from that stand beside unsure answers."""


def evaluate(
    cases: PathLike | Iterable[Case | Mapping[str, Any]],
    metrics: str | Metric | Evaluator | Iterable[str | Metric | Evaluator] | None = None,
    embedder: Embedder | str | None = None,
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
    budget: Budget | str | int | None = None,
    prices: Prices | Mapping[str, Any] | None = None,
    window: str | None = None,
    threads: int | None = None,
    mapping: Mapping[str, str] | None = None,
    on_bad_row: OnBadRow = "fail",
    name: str | None = None,
    subject: str | None = None,
    subject_version: str | None = None,
    content: bool = True,
    aef: PathLike | None = None,
    run_id: str | None = None,
    resume: bool = False,
    cache: bool | PathLike = True,
    progress: Progress | None = None,
    watch: Watch | None = None,
    labelled: LabelledCases | bool | None = None,
    asked: Mapping[str, JSON] | None = None,
    on_notice: Callable[[str], None] | None = None,
) -> Run:
    """Measure every case with every metric and decide each by its cutoff.

    Parameters
    ----------
    cases
        A case file (JSONL, JSON, CSV, TSV, YAML), or cases: ``Case`` records or mappings with
        the same field names as a file has.
    metrics
        Names (also comma-separated) or instances, for example
        ``["embed_answer_similarity", EmbeddingSimilarity("euclidean")]``, or functions of your
        own from a case to a bool, a number or a measurement. None: those of the
        calibrations, else ``embed_answer_similarity``.
    embedder
        An embedder, or a name ``load_embedder`` takes. None: that of the calibrations, else the
        bundled model.
    cutoffs
        Cutoff by metric name, for metrics given by name.
    calibration
        A calibration file, or several, one a metric: it decides instead of the metric's own
        cutoff. It must have been made with this very embedder and metric; its canaries are
        embedded anew to see that.
    uncalibrated
        Use the cutoffs of calibrations that belong to something else all the same, and say so
        everywhere; the run then never counts as passed.
    guards
        What a guard that differs does to an answer that a cutoff accepts; see ``guard_policy``.
        None: it is left unsure. ``"off"``: nothing.
    cascade
        The calibrations decide one after another, in the order given: what lies between the two
        cutoffs of one, or is held back by a guard, moves on to the next; see ``runs.cascade``.
    judge
        The chat model that judges, by name or as an object, or several as a panel; for metrics
        that ask one. None: the one the environment selects.
    answers
        What answers the cases that have no response: a subject, or a function from a case to its
        response.
    runs, success_threshold
        How often each of those cases is answered, 1 or at least 3, and the share of runs in which
        it has to pass. Every answer is measured; a case's result is what its runs come to
        together, its value their mean, and the runs stand in ``CaseResult.trials``.
    cassette
        Everything that leaves the process is recorded there, or comes from there; see
        ``closecall.cassettes.open_cassette``. The caller closes it. The vector cache is not used
        for an embedder that is recorded.
    budget
        What may be spent: a number of tokens, or an amount with its currency (``"1.50 USD"``,
        which needs a price for every model that is asked). Once it is spent nothing more is sent
        and ``BudgetError`` ends the run, which can be resumed; what was spent before a run was
        resumed counts. What comes from a cassette or the cache is not spent.
    prices
        By model or ``PROVIDER:MODEL``: ``{"gpt-4o-mini": {"input": 0.15, "output": 0.60,
        "currency": "USD"}}``, per million tokens. Without one a model's cost is unknown.
    window, threads
        For an embedder given by name; see ``load_embedder``. ``window`` None: as in the
        calibrations, else ``chunk``.
    mapping, on_bad_row
        Which column is which field; for a case file, ``fail`` or ``skip`` on rows that cannot
        be read.
    name, subject, subject_version
        What to call the run, and the assistant whose answers these are.
    content
        False keeps the cases' texts out of the run folder. Ids and labels stay, a hash of a
        labelled case's group, and values of metadata that a calibration is sliced by.
    aef
        Folder to write the run to while it goes on. None: the results stay in memory.
    run_id
        The run's identity; None: a new one.
    resume
        Go on with the run in ``aef`` that was cut off; it must ask the same question.
    cache
        False: no vector cache. A path: the folder it is in. True: the person's own, which a
        stand-in for tests (``HashEmbedder``) does not touch.
    progress
        Called with (done, total) after each batch of cases.
    watch
        Called once with the run's header, before the first case; what it returns is called with
        every batch of decided cases, those of a resumed run included.
    labelled
        Labelled cases, or a file of them (read with the same ``mapping``): the nearest accepted
        and rejected ones are put beside each unsure answer, as ``nearestLabelled`` in its
        details. True: those the calibrations were made of. Nothing is decided by them.
    asked
        Kept in the header, for whoever goes on with the run.
    on_notice
        Called with each thing worth telling a person that is not an error.

    Returns
    -------
    Run
        Counts and summaries; iterate it for the results, one ``CaseResult`` a case.

    Raises
    ------
    DatasetError
        Rows cannot be read (all are read before the first is scored).
    UsageError, ConfigurationError
        A metric, option, model or cutoff is wrong; raised before any case is scored.
    RunFolderError
        The run folder cannot be written or resumed.
    CalibrationFileError, InstrumentMismatchError
        A calibration cannot be read, or belongs to another embedder, metric or version.
    BudgetError
        The budget is spent; what was measured before is in ``aef``, or in the error.
    """
    meter = _meter(budget, prices, aef, resume=resume)
    made = _calibrations(calibration)
    if uncalibrated and not made:
        raise UsageError("uncalibrated is about calibrations; name one with calibration=FILE")
    if made:
        from closecall.runs.calibrations import with_judges

        metrics = with_judges(metrics, made)
    chosen = load_metrics(DEFAULT_METRIC if metrics is None else metrics, cutoffs)
    with _telling_judges(made if judge is None else []):
        chosen, judges = with_judge_models(chosen, judge, cassette, on_notice, meter)
    answers = _wanted(answers, chosen, on_notice)
    subject_, plan = subject_of(answers, cassette, on_notice, meter)
    require_repeatable(
        runs,
        success_threshold,
        chosen,
        subject_,
        cascade=cascade,
        recorded=cassette is not None,
    )
    if resume and aef is None:
        raise UsageError("resume needs the run folder: aef=DIR")
    embedder, window = _of_calibrations(made, chosen, embedder, window)
    spec, used = needed_embedder(
        chosen, embedder, window, threads, cassette=cassette, on_notice=on_notice, meter=meter
    )
    needed = frozenset(field for metric in chosen for field in metric.spec.needs)
    source, facts = read_cases(cases, mapping, on_bad_row, needed)
    applied: dict[str, Applied] = {}
    if made:
        from closecall.runs.calibrations import apply

        applied = apply(made, chosen, used, spec, cutoffs, uncalibrated=uncalibrated)
    if cascade:
        require_rungs(chosen, applied)
    policy = guard_policy(guards)
    plans = tuple(
        MetricPlan.of(metric, used.instrument, applied.get(metric.spec.id), policy)
        for metric in chosen
    )
    require_kept(made, plans)
    if guards is not None and policy.active and not any(plan.guards for plan in plans):
        raise UsageError(
            "guards stand beside cutoffs on comparisons of a response with references, and none "
            f"of these metrics is one: {', '.join(plan.id for plan in plans)}"
        )
    header = RunHeader(
        run_id=run_id or new_run_id(),
        name=name or (Path(facts.path).name if facts.path else "cases"),
        started_at=now_utc(),
        ended_at=None,
        producer_version=__version__,
        dataset=facts,
        metrics=plans,
        embedder=spec,
        instrument=used.instrument,
        instrument_digest=used.instrument.digest,
        definition_digest=definition_digest(
            definition(
                facts.digest,
                chosen,
                used.instrument,
                applied,
                {plan.id: plan.guards for plan in plans},
                cascade=cascade,
                subject="" if subject_ is None else subject_.identity.digest,
                repeats=(runs, success_threshold),
            )
        ),
        subject=subject,
        subject_version=subject_version,
        content=content,
        cascade=cascade,
        judges=judges,
        answered_by=None if subject_ is None else subject_.identity,
        subject_plan=plan,
        runs=runs,
        success_threshold=success_threshold,
        asked=_asked(asked, meter, labelled),
    )
    nearest = None
    if labelled is not None and labelled is not False:
        from closecall.runs.nearest import nearest_labelled

        nearest = nearest_labelled(
            labelled,
            made,
            used,
            mapping=mapping,
            on_bad_row=on_bad_row if isinstance(labelled, str | os.PathLike) else "fail",
            content=content,
            on_notice=on_notice,
        )
    if aef is not None:
        require_room(header, chosen, source)
    # A warm cache would hide what a replay misses, and leave a recording incomplete.
    store = open_run_cache(used, False if is_recorded(used) else cache, on_notice)
    with closing(store) if store is not None else nullcontext():
        # Later rungs see a choice of the cases, which is no sign of change.
        watched = [one for one in made if not cascade or one.metric == chosen[0].spec.id]
        monitor = _monitor(watched, applied, content=content or aef is None)
        work = Work(
            header,
            chosen,
            CachedEmbedder(used, store),
            progress=progress,
            monitor=monitor,
            guards=policy,
            subject=subject_,
            cassette=cassette,
            watch=None if watch is None else watch(header),
            meter=meter,
            nearest=nearest,
        )
        if aef is None:
            return work.in_memory(source)
        return work.in_folder(source, Path(aef), resume=resume)


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


def _meter(
    budget: Budget | str | int | None,
    prices: Prices | Mapping[str, Any] | None,
    aef: PathLike | None,
    *,
    resume: bool,
) -> Meter:
    """Return what counts a run, from what it spent before on; refuse one with nothing left."""
    spent = read_spending(Path(aef)) if resume and aef is not None else None
    meter = Meter(
        None if budget is None else read_budget(budget, "budget"),
        (None if spent is None else spent.prices) if prices is None else read_prices(prices),
        () if spent is None else spent.spent,
    )
    meter.require_left()
    return meter


def _asked(
    asked: Mapping[str, JSON] | None,
    meter: Meter,
    labelled: LabelledCases | bool | None,  # noqa: FBT001 - as evaluate takes it
) -> dict[str, JSON]:
    """Return what the header keeps for whoever goes on: what was asked for, budget and labels."""
    kept = dict(asked or {})
    if labelled is True:
        kept[LABELS] = True
    elif isinstance(labelled, str | os.PathLike):
        kept[LABELS] = str(Path(labelled).absolute())
    return kept if meter.budget is None else {**kept, BUDGET: meter.budget.spelt}


def _calibrations(given: Calibrations | None) -> list[Given]:
    if given is None:
        return []
    from closecall.runs.calibrations import load_calibrations

    return load_calibrations(given)


def _monitor(
    made: list[Given], applied: Mapping[str, Applied], *, content: bool
) -> Monitor | None:
    """Return what watches the run for its calibrations, None where it has none.

    Scores of two instruments are never compared, so a cutoff used in spite of that is not watched.
    """
    own = [one for one in made if not applied[one.metric].uncalibrated]
    if not own:
        return None
    from closecall.runs.monitor import Monitor

    return Monitor(own, texts=content)


def new_run_id() -> str:
    """Return an id no other run has: the time in UTC and 8 random hex digits."""
    stamp = time.strftime("%Y%m%dT%H%M%SZ", time.gmtime())
    return f"run-{stamp}-{secrets.token_hex(4)}"


__all__ = ["DEFAULT_METRIC", "evaluate", "new_run_id"]

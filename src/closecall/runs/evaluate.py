"""``evaluate``: from cases to a verdict. The command line calls nothing else."""

from __future__ import annotations

import os
import secrets
import time
from collections.abc import Callable, Iterable, Mapping
from contextlib import closing, nullcontext
from pathlib import Path
from typing import TYPE_CHECKING, Any

from closecall._version import __version__
from closecall.datasets import OnBadRow
from closecall.embedders.base import Embedder
from closecall.embedders.cached import CachedEmbedder
from closecall.errors import UsageError
from closecall.metrics.base import Metric
from closecall.metrics.guards.policy import GuardPolicy
from closecall.metrics.registry import DEFAULT as DEFAULT_METRIC
from closecall.records import JSON, Case
from closecall.runs.asked import (
    PathLike,
    cases_between,
    is_recorded,
    open_run_cache,
    read_cases,
)
from closecall.runs.budget import Budget, read_budget
from closecall.runs.destination import Destination, destination_of
from closecall.runs.grouping import GroupNames
from closecall.runs.header import RunHeader
from closecall.runs.hiding import without_values
from closecall.runs.live import Answers, Judging
from closecall.runs.meter import Meter
from closecall.runs.preparing import choose, monitor_of
from closecall.runs.prices import Prices, read_prices
from closecall.runs.record import Run
from closecall.runs.runner import Progress
from closecall.runs.shards import ShardOf, read_shard, shard_of
from closecall.runs.values import now_utc
from closecall.runs.work import Watch, Work
from closecall.subjects.repeats import SUCCESS_THRESHOLD

if TYPE_CHECKING:
    from closecall.cassettes import Cassette
    from closecall.metrics.function import Evaluator
    from closecall.runs.calibrations import Calibrations
    from closecall.runs.nearest import LabelledCases

BUDGET = "budget"
"""Under which a run's header keeps what it may spend."""

FAST = "fast"
"""Under which it keeps that scores are in 8 bits where that turns no verdict."""

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
    aef: PathLike | Destination | None = None,
    run_id: str | None = None,
    resume: bool = False,
    cache: bool | PathLike = True,
    progress: Progress | None = None,
    watch: Watch | None = None,
    labelled: LabelledCases | bool | None = None,
    asked: Mapping[str, JSON] | None = None,
    fast: bool = False,
    shard: str | ShardOf | None = None,
    on_notice: Callable[[str], None] | None = None,
) -> Run:
    """Measure every case with every metric and decide each by its cutoff.

    A file is read three times: to see its columns, to check every row, and to measure. Memory does
    not grow with it but for a few bytes a case: 11 to 16 that stand for its id and as many in a
    run folder, 8 for its score and 16 a metric for its value and the median (64 in all, measured
    from 100,000 to 1,000,000 cases of one metric). To that comes what is
    there whatever the size: up to 256 MiB of vectors, a batch of 256 cases and, for a
    ``PartsFolder``, one part. About 250 bytes more go to each group of labelled cases, for the
    intervals. JSON and YAML files are held whole; without ``aef`` so are the results.

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
        Folder to write the run to while it goes on, or a ``PartsFolder`` for runs of any size.
        None: the results stay in memory.
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
    fast
        Scores in 8 bits, and float32 again for the cases near a cutoff; for the bundled model on
        the CPU and metrics whose noise is known (see ``runs.twice``). The run counts as measured
        by another instrument, and is not watched for its calibrations.
    shard
        ``"2/8"`` or ``(2, 8)``: only the second of eight parts of the cases, for a process that
        knows nothing of the others; ``merge_runs`` makes one run of all of them.
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
    place = None if aef is None else destination_of(aef)
    asked_shard = read_shard(shard) if isinstance(shard, str) else shard
    meter = _meter(budget, prices, place, resume=resume)
    chosen = choose(
        metrics,
        embedder,
        cutoffs=cutoffs,
        calibration=calibration,
        uncalibrated=uncalibrated,
        guards=guards,
        cascade=cascade,
        judge=judge,
        answers=answers,
        runs=runs,
        success_threshold=success_threshold,
        cassette=cassette,
        meter=meter,
        window=window,
        threads=threads,
        on_notice=on_notice,
    )
    if resume and aef is None:
        raise UsageError("resume needs the run folder: aef=DIR")
    source, facts = read_cases(cases, mapping, on_bad_row, chosen.needed)
    if not content and aef is not None:
        facts = without_values(facts)
    everything = source
    part = None if asked_shard is None else shard_of(asked_shard, facts.rows)
    if part is not None:
        source = cases_between(source, part.first, part.stop)
    decided = chosen.decided(cutoffs, uncalibrated=uncalibrated, required=guards is not None)
    used = chosen.embedder
    made_by = used.instrument
    if fast:
        from closecall.runs.twice import instrument_of, made_twice

        made_by = instrument_of(used)
    header = RunHeader(
        run_id=run_id or new_run_id(),
        name=name or (Path(facts.path).name if facts.path else "cases"),
        started_at=now_utc(),
        ended_at=None,
        producer_version=__version__,
        dataset=facts,
        metrics=decided.plans,
        embedder=chosen.embedder_name,
        instrument=made_by,
        instrument_digest=made_by.digest,
        definition_digest=chosen.definition_digest(facts.digest, decided, made_by),
        subject=subject,
        subject_version=subject_version,
        content=content,
        cascade=cascade,
        judges=chosen.judges,
        answered_by=None if chosen.subject is None else chosen.subject.identity,
        subject_plan=chosen.subject_plan,
        runs=runs,
        success_threshold=success_threshold,
        asked=_asked(asked, meter, labelled) | ({FAST: True} if fast else {}),
        shard=part,
    )
    nearest = None
    if labelled is not None and labelled is not False:
        from closecall.runs.nearest import nearest_labelled

        nearest = nearest_labelled(
            labelled,
            chosen.made,
            used,
            mapping=mapping,
            on_bad_row=on_bad_row if isinstance(labelled, str | os.PathLike) else "fail",
            content=content,
            on_notice=on_notice,
        )
    if place is not None:
        place.require_room(header, chosen.metrics, source)
    # A warm cache would hide what a replay misses, and leave a recording incomplete.
    store = open_run_cache(used, False if is_recorded(used) else cache, on_notice)
    with closing(store) if store is not None else nullcontext():
        monitor = monitor_of(
            [] if fast else chosen.made,
            decided.plans,
            cascade=cascade,
            texts=content or aef is None,
        )
        work = Work(
            header,
            chosen.metrics,
            CachedEmbedder(used, store),
            progress=progress,
            monitor=monitor,
            guards=chosen.guards,
            subject=chosen.subject,
            cassette=cassette,
            watch=None if watch is None else watch(header),
            meter=meter,
            nearest=nearest,
            twice=made_twice(chosen, decided, store) if fast else None,
            names=None if content else GroupNames.of_data(everything),
        )
        if place is None:
            return work.in_memory(source)
        return work.in_place(source, place, resume=resume)


def _meter(
    budget: Budget | str | int | None,
    prices: Prices | Mapping[str, Any] | None,
    place: Destination | None,
    *,
    resume: bool,
) -> Meter:
    """Return what counts a run, from what it spent before on; refuse one with nothing left."""
    spent = place.spent() if resume and place is not None else None
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


def new_run_id() -> str:
    """Return an id no other run has: the time in UTC and 8 random hex digits."""
    stamp = time.strftime("%Y%m%dT%H%M%SZ", time.gmtime())
    return f"run-{stamp}-{secrets.token_hex(4)}"


__all__ = ["DEFAULT_METRIC", "evaluate", "new_run_id"]

"""One run being done, into memory or a folder, from its start or from where it was cut off."""

from __future__ import annotations

import dataclasses
import time
from collections.abc import Callable, Iterable, Iterator, Mapping
from itertools import islice
from pathlib import Path
from typing import TYPE_CHECKING

import msgspec

from closecall.embedders.cached import CachedEmbedder
from closecall.errors import BudgetError, RunFolderError
from closecall.metrics.base import LoadingMetric, Metric
from closecall.metrics.guards.policy import NO_GUARDS, GuardPolicy
from closecall.records import JSON, Case, Unmeasured
from closecall.runs import sinks
from closecall.runs.beside import beside_of, first_runs
from closecall.runs.cascade import run_cascade
from closecall.runs.destination import Destination, FolderDestination, FolderWriting, Writing
from closecall.runs.gate_lines import Deciding, decision_lines
from closecall.runs.grouping import GroupNames
from closecall.runs.header import RunHeader
from closecall.runs.hiding import without_words
from closecall.runs.meter import Meter
from closecall.runs.record import Answers, Run
from closecall.runs.results import CaseResult
from closecall.runs.runner import ASKED_CASES, Progress, run_cases
from closecall.runs.same import changes
from closecall.runs.spender import Spender
from closecall.runs.summary import RunTally
from closecall.runs.values import now_utc

if TYPE_CHECKING:
    from closecall.cassettes import Cassette
    from closecall.runs.monitor import Monitor, Watched
    from closecall.runs.nearest import NearestLabelled
    from closecall.runs.twice import Twice
    from closecall.subjects.answered import Answering
    from closecall.subjects.base import Subject


Watch = Callable[[RunHeader], Callable[[list[CaseResult]], None]]
"""Called with the header of a run; returns what is called with each batch of decided cases. Where
that is ``Deciding``, it decides the run before it is closed."""


class Work:
    """One run being done: what to measure and with what."""

    def __init__(
        self,
        header: RunHeader,
        metrics: list[Metric],
        embedder: CachedEmbedder,
        *,
        progress: Progress | None,
        monitor: Monitor | None = None,
        guards: GuardPolicy = NO_GUARDS,
        subject: Subject | None = None,
        cassette: Cassette | None = None,
        watch: Callable[[list[CaseResult]], None] | None = None,
        meter: Meter | None = None,
        nearest: NearestLabelled | None = None,
        twice: Twice | None = None,
        names: GroupNames | None = None,
    ) -> None:
        if not header.content and names is None:
            raise TypeError("a run without content has names for its groups")
        self.header, self.metrics, self.embedder = header, metrics, embedder
        self.guards, self.subject, self.cassette = guards, subject, cassette
        self.answering: Answering | None = None
        self.spender = Spender(meter or Meter(), embedder)
        self.watch = watch or (lambda _rows: None)
        self.monitor, self.nearest, self.twice = monitor, nearest, twice
        self.names = None if header.content else names
        self.applied = {
            plan.id: plan.calibration for plan in header.metrics if plan.calibration is not None
        }
        self.total = header.cases * header.runs
        self.progress = progress or (lambda _done, _total: None)
        self.started = time.perf_counter()

    def in_memory(self, cases: Iterable[Case]) -> Run:
        """Do it and keep the results in memory."""
        self._prepare_metrics()
        sink = sinks.MemorySink()
        tally = RunTally.of(self.header)
        try:
            self._go(cases, sink.add, tally)
        except BudgetError as error:
            error.results = tuple(sink.rows)
            raise
        header = msgspec.structs.replace(self.header, ended_at=now_utc())
        run = self._run(header, tally, None, lambda: iter(sink.rows), self._watched())
        return self._decided(run)

    def in_folder(self, cases: Iterable[Case], place: Path, *, resume: bool) -> Run:
        """Do it and write the results to a folder as they come."""
        return self.in_place(cases, FolderDestination(place), resume=resume)

    def in_place(self, cases: Iterable[Case], place: Destination, *, resume: bool) -> Run:
        """Do it and write the results there as they come.

        ``cases`` are those of the run, or of its shard, from the first on.
        """
        if resume:
            self._same_question(place)
        # An embedder that cannot be used is found out before a folder is begun or touched.
        self.prepare()
        with place.resume(self.header) if resume else place.create(self.header) as folder:
            tally = RunTally.of(self.header)
            left = iter(cases)
            beside = place.beside or self.header.shard is not None
            with self.spender.kept_in(folder.save):
                for span in folder.spans():
                    own = islice(left, span.stop - span.first)
                    if span.kept:
                        self._again(folder.existing(span, own), tally)
                    elif span.stop > span.first:
                        folder.begin(span)
                        self._go(own, self._writer(folder, beside=beside), tally, in_folder=True)
            watched = self._watched()
            # Gates decide from what was counted meanwhile, so no row is read for them again.
            counted = self._run(self.header, tally, None, lambda: iter(()), watched)
            decided = self._decided(counted)
            folder.close(
                gates=decision_lines(decided.gates, decided.gates_code, now_utc()),
                summary=sinks.summary_json(
                    self.header,
                    tally.metrics,
                    watched,
                    self.embedder.usage,
                    self.answered(),
                    repeats=tally.repeats(),
                    spending=self.spender.spending,
                ),
            )
        finished = place.load(counts=False)
        held = folder.held if isinstance(folder, FolderWriting) else None
        rows = finished if held is None else held
        run = self._run(finished.header, tally, finished.folder, rows.__iter__, watched)
        return dataclasses.replace(
            run, gates=decided.gates, gates_code=decided.gates_code, url=finished.url
        )

    def _again(self, rows: Iterable[CaseResult], tally: RunTally) -> None:
        """Count cases that are there already."""
        for row in rows:
            tally.add([row])
            self.watch([row])
            if self.twice is not None:
                self.twice.count_kept(row)
            if self.monitor is not None:
                self.monitor.add(first_runs([row]))

    def _writer(self, folder: Writing, *, beside: bool) -> Callable[[list[CaseResult]], None]:
        def write(rows: list[CaseResult]) -> None:
            folder.add(self.as_kept(rows), [self.beside(row) for row in rows] if beside else ())

        return write

    def beside(self, row: CaseResult) -> dict[str, JSON]:
        """Return what a merge needs to know of a case that its own lines do not say."""
        return beside_of(row, self.monitor, self.watch, names=self.names)

    def as_kept(self, rows: list[CaseResult]) -> list[CaseResult]:
        """Return cases as a folder takes them: without content, groups under another name."""
        return rows if self.names is None else list(map(self.names.hidden, rows))

    def prepare(self) -> None:
        """Load the embedder and the metrics, so that what cannot be used is found out now."""
        self.embedder.prepare()
        self._prepare_metrics()

    def rows_of(self, cases: Iterable[Case]) -> Iterator[list[CaseResult]]:
        """Yield cases measured and decided, as a folder keeps them; nothing is counted.

        Raises
        ------
        BudgetError
            The budget is spent; what was measured was yielded before.
        """
        tally = RunTally.of(self.header)
        found = self._repeated(cases, tally) if self.header.runs > 1 else self._measured(cases)
        try:
            done = 0
            for rows, whole in self._whole(found, hides=not self.header.content):
                done += len(rows)
                yield rows
                if not whole:
                    raise self.spender.over(done, self.header.cases)
        finally:
            self.spender.end()

    def _prepare_metrics(self) -> None:
        for metric in self.metrics:
            if isinstance(metric, LoadingMetric):
                metric.load()

    def _go(
        self,
        cases: Iterable[Case],
        keep: Callable[[list[CaseResult]], None],
        tally: RunTally,
        *,
        in_folder: bool = False,
    ) -> None:
        self.progress(tally.cases * self.header.runs, self.total)
        found = self._repeated(cases, tally) if self.header.runs > 1 else self._measured(cases)
        try:
            self._keep(found, keep, tally, hides=in_folder and not self.header.content)
        finally:
            self.spender.end()

    def _measured(self, cases: Iterable[Case]) -> Iterator[list[CaseResult]]:
        if self.twice is not None:
            return run_cases(
                cases, self.metrics, self.embedder, self.applied, self.guards, measure=self.twice
            )
        run = run_cascade if self.header.cascade else run_cases
        missing: Mapping[str, Unmeasured] = {}
        if self.subject is not None:
            from closecall.subjects.answered import Answering

            batch = self.spender.most or ASKED_CASES
            cases = self.answering = Answering(cases, self.subject, batch=batch)
            missing = cases.missing
        asks = self.subject is not None or any(plan.judges for plan in self.header.metrics)
        return run(
            cases,
            self.metrics,
            self.embedder,
            self.applied,
            self.guards,
            missing=missing,
            most=(self.spender.most or ASKED_CASES) if asks else None,
        )

    def _repeated(self, cases: Iterable[Case], tally: RunTally) -> Iterator[list[CaseResult]]:
        from closecall.runs.repeating import run_repeated
        from closecall.subjects.answered import Answering

        if self.subject is None:
            raise TypeError("a repeated run has a subject")
        runs = self.header.runs
        self.answering = Answering((), self.subject)

        def answered(count: int) -> None:
            # A batch has many answers, and what was paid for some is to outlive a kill.
            self.spender.save()
            self.progress(tally.cases * runs + count, self.total)

        return run_repeated(
            cases,
            self.metrics,
            self.embedder,
            self.applied,
            self.guards,
            answering=self.answering,
            subject=self.subject,
            runs=runs,
            threshold=self.header.success_threshold,
            most=self.spender.most or ASKED_CASES,
            answered=answered,
        )

    def _keep(
        self,
        batches: Iterable[list[CaseResult]],
        keep: Callable[[list[CaseResult]], None],
        tally: RunTally,
        *,
        hides: bool,
    ) -> None:
        for rows, whole in self._whole(batches, hides=hides):
            keep(rows)
            tally.add(rows)
            self.watch(rows)
            if self.monitor is not None:
                self.monitor.add(first_runs(rows))
            self.progress(tally.cases * self.header.runs, self.total)
            if not whole:
                raise self.spender.over(tally.cases, self.header.cases)

    def _whole(
        self, batches: Iterable[list[CaseResult]], *, hides: bool
    ) -> Iterator[tuple[list[CaseResult], bool]]:
        """Yield batches as they are kept, and whether a batch is whole or a budget cut it."""
        for found in batches:
            # What a replay lacks is no wrong answer: the run ends, and nothing of it is kept.
            lost = None if self.cassette is None else self.cassette.missing()
            if lost is not None:
                raise lost
            whole = self.spender.whole(found, self.answering)
            rows = [without_words(row) for row in whole] if hides else whole
            if self.nearest is not None:
                rows = self.nearest.beside(rows, self.embedder)
            yield rows, len(rows) == len(found)

    def answered(self) -> Answers | None:
        """Return what the subject answered since the work, or its last cases, began."""
        found = self.answering
        if found is None:
            return None
        return Answers(
            answers=found.answers,
            cut=found.cut,
            missing=found.unanswered,
            unreported=found.unreported,
            prompt_tokens=found.usage.prompt_tokens,
            completion_tokens=found.usage.completion_tokens,
        )

    def _decided(self, run: Run) -> Run:
        return self.watch.decide(run) if isinstance(self.watch, Deciding) else run

    def _watched(self) -> tuple[Watched, ...]:
        return () if self.monitor is None else self.monitor.finish()

    def _same_question(self, place: Destination) -> None:
        """Refuse to mix two questions in one run; go on under the run's own id and start."""
        before = place.header()
        changed = changes(before, self.header)
        if changed:
            raise RunFolderError(
                f"{place.place}: cannot go on, because this is no longer the run that was begun. "
                f"Changed: {', and '.join(changed)}. Start a new run with another --aef DIR."
            )
        self.header = msgspec.structs.replace(
            self.header, run_id=before.run_id, started_at=before.started_at, name=before.name
        )

    def _run(
        self,
        header: RunHeader,
        tally: RunTally,
        folder: Path | None,
        rows: Callable[[], Iterator[CaseResult]],
        watched: tuple[Watched, ...],
    ) -> Run:
        return Run(
            header=header,
            metrics=tally.summaries(),
            cases=tally.counts(header.dataset.bad_rows),
            folder=folder,
            duration_ms=(time.perf_counter() - self.started) * 1000,
            watched=watched,
            cascade=tally.cascade(),
            repeats=tally.repeats(),
            usage=self.embedder.usage,
            answered=self.answered(),
            spending=self.spender.spending,
            recomputed=None if self.twice is None else self.twice.counts,
            _rows=rows,
        )

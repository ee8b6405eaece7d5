"""One run being done, into memory or a folder, from its start or from where it was cut off."""

from __future__ import annotations

import time
from collections.abc import Callable, Iterable, Iterator, Mapping
from itertools import islice
from pathlib import Path
from typing import TYPE_CHECKING

import msgspec

from closecall.embedders.cached import CachedEmbedder
from closecall.errors import RunFolderError
from closecall.metrics.base import LoadingMetric, Metric
from closecall.metrics.guards.policy import NO_GUARDS, GuardPolicy
from closecall.records import Case, Unmeasured
from closecall.runs import sinks
from closecall.runs.cascade import run_cascade
from closecall.runs.folder import RunFolder
from closecall.runs.header import RunHeader
from closecall.runs.hiding import without_words
from closecall.runs.record import Answers, Run
from closecall.runs.results import CaseResult
from closecall.runs.runner import ASKED_CASES, Progress, run_cases
from closecall.runs.same import changes
from closecall.runs.stored import header_of, load_run, rebuild
from closecall.runs.summary import RunTally
from closecall.runs.values import now_utc

if TYPE_CHECKING:
    from closecall.cassettes import Cassette
    from closecall.runs.monitor import Monitor, Watched
    from closecall.subjects.answered import Answering
    from closecall.subjects.base import Subject


Watch = Callable[[RunHeader], Callable[[list[CaseResult]], None]]
"""Called with the header of a run; returns what is called with each batch of decided cases."""


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
    ) -> None:
        self.header, self.metrics, self.embedder = header, metrics, embedder
        self.guards, self.subject, self.cassette = guards, subject, cassette
        self.answering: Answering | None = None
        self.watch = watch or (lambda _rows: None)
        self.monitor = monitor
        self.applied = {
            plan.id: plan.calibration for plan in header.metrics if plan.calibration is not None
        }
        self.total = header.dataset.rows
        self.progress = progress or (lambda _done, _total: None)
        self.started = time.perf_counter()

    def in_memory(self, cases: Iterable[Case]) -> Run:
        """Do it and keep the results in memory."""
        self._prepare_metrics()
        sink = sinks.MemorySink()
        tally = RunTally(self.header.metrics, cascade=self.header.cascade)
        self._go(cases, sink.add, tally)
        header = msgspec.structs.replace(self.header, ended_at=now_utc())
        return self._run(header, tally, None, lambda: iter(sink.rows), self._watched())

    def in_folder(self, cases: Iterable[Case], place: Path, *, resume: bool) -> Run:
        """Do it and write the results to a folder as they come."""
        if resume:
            self._same_question(place)
        # An embedder that cannot be used is found out before a folder is begun or touched.
        self.embedder.prepare()
        self._prepare_metrics()
        if resume:
            folder = RunFolder.resume(place)
        else:
            folder = RunFolder.create(
                place,
                sinks.run_json(self.header),
                sinks.declared(self.header.metrics),
                paths=[plan.id for plan in self.header.metrics],
            )
        with folder:
            tally = RunTally(self.header.metrics, cascade=self.header.cascade)
            left = iter(cases)
            for row in rebuild(self.header, folder, islice(left, folder.done)):
                tally.add([row])
                self.watch([row])
                if self.monitor is not None:
                    self.monitor.add([row])
            self._go(left, sinks.FolderSink(folder, self.header).add, tally, in_folder=True)
            watched = self._watched()
            folder.close(
                summary=sinks.summary_json(
                    self.header, tally.metrics, watched, self.embedder.usage, self._answered()
                )
            )
        finished = load_run(place, counts=False)
        return self._run(finished.header, tally, place, finished.__iter__, watched)

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
        self.progress(tally.cases, self.total)

        run = run_cascade if self.header.cascade else run_cases
        missing: Mapping[str, Unmeasured] = {}
        if self.subject is not None:
            from closecall.subjects.answered import Answering

            cases = self.answering = Answering(cases, self.subject)
            missing = cases.missing
        asks = self.subject is not None or any(plan.judges for plan in self.header.metrics)
        hides = in_folder and not self.header.content
        for found in run(
            cases,
            self.metrics,
            self.embedder,
            self.applied,
            self.guards,
            missing=missing,
            most=ASKED_CASES if asks else None,
        ):
            # What a replay lacks is no wrong answer: the run ends, and nothing of it is kept.
            lost = None if self.cassette is None else self.cassette.missing()
            if lost is not None:
                raise lost
            rows = [without_words(row) for row in found] if hides else found
            keep(rows)
            tally.add(rows)
            self.watch(rows)
            if self.monitor is not None:
                self.monitor.add(rows)
            self.progress(tally.cases, self.total)

    def _answered(self) -> Answers | None:
        found = self.answering
        if found is None:
            return None
        return Answers(
            answers=found.answers,
            cut=found.cut,
            missing=len(found.missing),
            unreported=found.unreported,
            prompt_tokens=found.usage.prompt_tokens,
            completion_tokens=found.usage.completion_tokens,
        )

    def _watched(self) -> tuple[Watched, ...]:
        return () if self.monitor is None else self.monitor.finish()

    def _same_question(self, place: Path) -> None:
        """Refuse to mix two questions in one run; go on under the run's own id and start."""
        before = header_of(place)
        changed = changes(before, self.header)
        if changed:
            raise RunFolderError(
                f"{place}: cannot go on, because this is no longer the run that was begun. "
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
            usage=self.embedder.usage,
            answered=self._answered(),
            _rows=rows,
        )

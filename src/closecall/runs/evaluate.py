"""``evaluate``: from cases to a verdict. The command line calls nothing else."""

from __future__ import annotations

import os
import secrets
import time
from collections.abc import Callable, Iterable, Mapping
from contextlib import closing, nullcontext
from pathlib import Path
from typing import Any

from closecall._version import __version__
from closecall.cache.location import open_cache
from closecall.datasets import OnBadRow, cases_digest, cases_from, open_dataset
from closecall.embedders.base import Embedder
from closecall.embedders.cached import CachedEmbedder
from closecall.embedders.registry import DEFAULT as DEFAULT_EMBEDDER
from closecall.embedders.registry import load_embedder
from closecall.errors import RunFolderError, UsageError
from closecall.instrument import CHUNK, TEST_KIND, Instrument
from closecall.metrics.base import Metric
from closecall.metrics.registry import BUILT_IN, load_metrics
from closecall.metrics.registry import DEFAULT as DEFAULT_METRIC
from closecall.records import Case
from closecall.runs.definition import definition, definition_digest
from closecall.runs.header import DatasetFacts, MetricPlan, RunHeader
from closecall.runs.reader import open_run
from closecall.runs.record import Run
from closecall.runs.room import require_room
from closecall.runs.runner import Progress
from closecall.runs.sealing import repair_seal
from closecall.runs.stored import header_of, load_run
from closecall.runs.values import now_utc
from closecall.runs.work import Work

PathLike = str | os.PathLike[str]

GIVEN = "python:"
"""Starts the name of an embedder that was handed over as an object."""


def evaluate(
    cases: PathLike | Iterable[Case | Mapping[str, Any]],
    metrics: str | Metric | Iterable[str | Metric] = DEFAULT_METRIC,
    embedder: Embedder | str | None = None,
    *,
    cutoffs: Mapping[str, float] | None = None,
    window: str = CHUNK,
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
        ``["embed_answer_similarity", EmbeddingSimilarity("euclidean")]``.
    embedder
        An embedder, or a name ``load_embedder`` takes. None: the bundled model.
    cutoffs
        Cutoff by metric name, for metrics given by name.
    window, threads
        For an embedder given by name; see ``load_embedder``.
    mapping, on_bad_row
        Which column is which field; for a case file, ``fail`` or ``skip`` on rows that cannot
        be read.
    name, subject, subject_version
        What to call the run, and the assistant whose answers these are.
    content
        False keeps the cases' texts out of the run folder.
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
        A metric, option, model or cutoff is wrong; raised before any text is embedded.
    RunFolderError
        The run folder cannot be written or resumed.
    """
    chosen = load_metrics(metrics, cutoffs)
    if resume and aef is None:
        raise UsageError("resume needs the run folder: aef=DIR")
    if embedder is None or isinstance(embedder, str):
        spec = _anywhere(embedder or DEFAULT_EMBEDDER)
        used = load_embedder(embedder, window=window, threads=threads)
    else:
        spec, used = f"{GIVEN}{type(embedder).__name__}", _given(embedder, window, threads)
    needed = frozenset(field for metric in chosen for field in metric.spec.needs)
    source, facts = _read(cases, mapping, on_bad_row, needed)
    plans = tuple(MetricPlan.of(metric, used.instrument) for metric in chosen)
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
        definition_digest=definition_digest(definition(facts.digest, chosen, used.instrument)),
        subject=subject,
        subject_version=subject_version,
        content=content,
    )
    if aef is not None:
        require_room(header, chosen, source)
    store = open_cache(
        None if isinstance(cache, bool) else cache,
        # A stand-in for tests leaves nothing in a person's own cache.
        enabled=cache is not False and (cache is not True or used.instrument.kind != TEST_KIND),
        on_notice=on_notice,
    )
    with closing(store) if store is not None else nullcontext():
        work = Work(header, chosen, CachedEmbedder(used, store), progress)
        if aef is None:
            return work.in_memory(source)
        return work.in_folder(source, Path(aef), resume=resume)


def resume(
    folder: PathLike,
    *,
    threads: int | None = None,
    cache: bool | PathLike = True,
    progress: Progress | None = None,
    on_notice: Callable[[str], None] | None = None,
) -> Run:
    """Go on with a run that was cut off, as its own header says.

    A run that had ended is returned as it is, with a notice, so that a second try after a crash
    always ends with the report.

    Raises
    ------
    RunFolderError
        The folder holds no run, its cases came from Python and not from a file, or
        the file, the model or a metric is not what it was.
    """
    header = header_of(folder)
    if header.ended_at is not None:
        return _finished(Path(folder), on_notice)
    given = [
        what
        for what, in_python in (
            ("cases", header.dataset.path is None),
            ("embedder", header.embedder.startswith(GIVEN)),
            ("metrics", any(plan.name not in BUILT_IN for plan in header.metrics)),
        )
        if in_python
    ]
    if header.dataset.path is None or given:
        raise RunFolderError(
            f"{folder}: the {' and '.join(given)} of this run were given in Python, so only the "
            "program that gave them can go on: evaluate(cases, ..., aef=folder, resume=True)"
        )
    return evaluate(
        header.dataset.path,
        [plan.id for plan in header.metrics],
        header.embedder,
        cutoffs={p.id: p.cutoff for p in header.metrics if p.cutoff is not None},
        window=header.instrument.window,
        threads=threads,
        mapping=header.dataset.mapping,
        on_bad_row=header.dataset.on_bad_row,
        name=header.name,
        subject=header.subject,
        subject_version=header.subject_version,
        content=header.content,
        aef=folder,
        resume=True,
        cache=cache,
        progress=progress,
        on_notice=on_notice,
    )


def _finished(folder: Path, on_notice: Callable[[str], None] | None) -> Run:
    """Return a closed run; one whose writer died before its seal is sealed first."""
    repair_seal(folder)
    problems = open_run(folder).verify()
    if problems:
        raise RunFolderError(
            f"{folder}: this run had ended, and its folder is not what it was then: "
            f"{problems[0]}. closecall verify says it all"
        )
    if on_notice is not None:
        on_notice(f"{folder}: this run had ended; nothing was left to do")
    return load_run(folder)


def _given(embedder: object, window: str, threads: int | None) -> Embedder:
    """Refuse what is no embedder, and options that only reach an embedder made here."""
    if (
        isinstance(embedder, type)
        or not isinstance(embedder, Embedder)
        or not isinstance(embedder.instrument, Instrument)
    ):
        raise UsageError(
            "embedder must be a name such as 'minilm', or an object with an instrument "
            "(closecall.Instrument) and an embed method; "
            f"got {embedder!r:.80}"
        )
    if window != CHUNK or threads is not None:
        raise UsageError(
            "window and threads are for an embedder given by name; an object has its own: "
            "load_embedder(name, window=..., threads=...)"
        )
    return embedder


def _anywhere(spec: str) -> str:
    """Return the name with a model's folder spelled so that it holds in every working folder."""
    kind, _, folder = spec.strip().partition(":")
    return f"{kind}:{Path(folder).absolute()}" if kind == "onnx" and folder else spec


def _read(
    cases: PathLike | Iterable[Case | Mapping[str, Any]],
    mapping: Mapping[str, str] | None,
    on_bad_row: OnBadRow,
    needed: frozenset[str],
) -> tuple[Iterable[Case], DatasetFacts]:
    if isinstance(cases, str | os.PathLike):
        dataset = open_dataset(cases, mapping=mapping, on_bad_row=on_bad_row, needed=needed)
        scan = dataset.scan()
        return dataset, DatasetFacts(
            path=str(Path(dataset.path).absolute()),
            format=dataset.format,
            digest=scan.digest,
            rows=scan.cases,
            bad_rows=scan.bad_rows,
            problems=tuple(str(problem) for problem in scan.problems),
            reading=tuple(dataset.reading),
            mapping=dict(mapping or {}),
            on_bad_row=on_bad_row,
        )
    if on_bad_row != "fail":
        raise UsageError("on_bad_row is for case files; leave out the records that are not sound")
    given = cases_from(cases, mapping=mapping, needed=needed)
    if not given:
        raise UsageError("there are no cases to evaluate")
    return given, DatasetFacts(
        path=None, format="python", digest=cases_digest(given), rows=len(given)
    )


def new_run_id() -> str:
    """Return an id no other run has: the time in UTC and 8 random hex digits."""
    stamp = time.strftime("%Y%m%dT%H%M%SZ", time.gmtime())
    return f"run-{stamp}-{secrets.token_hex(4)}"


__all__ = ["DEFAULT_METRIC", "evaluate", "load_run", "new_run_id", "resume"]

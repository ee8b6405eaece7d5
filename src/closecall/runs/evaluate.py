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

if TYPE_CHECKING:
    from closecall.cache.vectors import VectorCache
    from closecall.runs.applied import Applied
    from closecall.runs.calibrations import Calibrations, Given
    from closecall.runs.monitor import Monitor

PathLike = str | os.PathLike[str]

GIVEN = "python:"
"""Starts the name of an embedder that was handed over as an object."""


def evaluate(
    cases: PathLike | Iterable[Case | Mapping[str, Any]],
    metrics: str | Metric | Iterable[str | Metric] | None = None,
    embedder: Embedder | str | None = None,
    *,
    cutoffs: Mapping[str, float] | None = None,
    calibration: Calibrations | None = None,
    uncalibrated: bool = False,
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
        ``["embed_answer_similarity", EmbeddingSimilarity("euclidean")]``. None: those of the
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
    """
    made = _calibrations(calibration)
    if uncalibrated and not made:
        raise UsageError("uncalibrated is about calibrations; name one with calibration=FILE")
    if metrics is None:
        metrics = [one.metric for one in made] or DEFAULT_METRIC
    chosen = load_metrics(metrics, cutoffs)
    if resume and aef is None:
        raise UsageError("resume needs the run folder: aef=DIR")
    if made:
        from closecall.runs.calibrations import embedder_of, window_of

        embedder = embedder_of(made) if embedder is None else embedder
        window = window_of(made) if window is None and isinstance(embedder, str) else window
    spec, used = chosen_embedder(embedder, window, threads)
    needed = frozenset(field for metric in chosen for field in metric.spec.needs)
    source, facts = read_cases(cases, mapping, on_bad_row, needed)
    applied: dict[str, Applied] = {}
    if made:
        from closecall.runs.calibrations import apply

        applied = apply(made, chosen, used, spec, cutoffs, uncalibrated=uncalibrated)
    plans = tuple(
        MetricPlan.of(metric, used.instrument, applied.get(metric.spec.id)) for metric in chosen
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
            definition(facts.digest, chosen, used.instrument, applied)
        ),
        subject=subject,
        subject_version=subject_version,
        content=content,
    )
    if aef is not None:
        require_room(header, chosen, source)
    store = open_run_cache(used, cache, on_notice)
    with closing(store) if store is not None else nullcontext():
        monitor = _monitor(made, applied, content=content or aef is None)
        work = Work(header, chosen, CachedEmbedder(used, store), progress, monitor)
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
            (
                "calibration",
                any(plan.calibration and not plan.calibration.path for plan in header.metrics),
            ),
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
        cutoffs={
            p.id: p.cutoff
            for p in header.metrics
            if p.cutoff is not None and p.calibration is None
        },
        calibration=[p.calibration.path for p in header.metrics if p.calibration is not None]
        or None,
        uncalibrated=any(p.calibration and p.calibration.uncalibrated for p in header.metrics),
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


def open_run_cache(
    embedder: Embedder,
    cache: bool | PathLike,  # noqa: FBT001 - as evaluate takes it
    on_notice: Callable[[str], None] | None,
) -> VectorCache | None:
    """Return the vector cache that a run with this embedder uses, open; None without one."""
    return open_cache(
        None if isinstance(cache, bool) else cache,
        # A stand-in for tests leaves nothing in a person's own cache.
        enabled=cache is not False
        and (cache is not True or embedder.instrument.kind != TEST_KIND),
        on_notice=on_notice,
    )


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


def chosen_embedder(
    embedder: Embedder | str | None, window: str | None, threads: int | None
) -> tuple[str, Embedder]:
    """Return the name of an embedder, by which it is found again, and the embedder itself.

    Raises
    ------
    UsageError, ConfigurationError
        There is none of that name, or it is no embedder.
    """
    if embedder is None or isinstance(embedder, str):
        made = load_embedder(embedder, window=CHUNK if window is None else window, threads=threads)
        return anywhere(embedder or DEFAULT_EMBEDDER), made
    return f"{GIVEN}{type(embedder).__name__}", _given(embedder, window, threads)


def _given(embedder: object, window: str | None, threads: int | None) -> Embedder:
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
    if window not in {None, CHUNK} or threads is not None:
        raise UsageError(
            "window and threads are for an embedder given by name; an object has its own: "
            "load_embedder(name, window=..., threads=...)"
        )
    return embedder


def anywhere(spec: str) -> str:
    """Return the name with a model's folder spelled so that it holds in every working folder."""
    kind, _, folder = spec.strip().partition(":")
    return f"{kind}:{Path(folder).absolute()}" if kind == "onnx" and folder else spec


def read_cases(
    cases: PathLike | Iterable[Case | Mapping[str, Any]],
    mapping: Mapping[str, str] | None,
    on_bad_row: OnBadRow,
    needed: frozenset[str],
) -> tuple[Iterable[Case], DatasetFacts]:
    """Return the cases, all of them checked, and where they came from.

    Raises
    ------
    DatasetError
        Rows cannot be read.
    UsageError
        There are none, or an option is not for them.
    """
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

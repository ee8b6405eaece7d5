"""``evaluate_dataset``: a run whose cases are measured by the workers of a Ray cluster."""

from __future__ import annotations

import os
from collections.abc import Callable, Iterable, Mapping
from typing import TYPE_CHECKING, Any

from closecall.embedders.base import Embedder
from closecall.errors import UsageError
from closecall.metrics.base import Metric
from closecall.metrics.guards.policy import GuardPolicy
from closecall.ray.asked import Asked, Workers
from closecall.ray.pool import Concurrency, require_concurrency
from closecall.ray.question import Identity, Question, travelling, worker_threads
from closecall.records import JSON
from closecall.runs.gate_rule import Gate
from closecall.runs.record import Run
from closecall.runs.runner import Progress

if TYPE_CHECKING:
    from closecall.datasets import OnBadRow
    from closecall.metrics.function import Evaluator
    from closecall.runs.calibrations import Calibrations

PathLike = str | os.PathLike[str]


def evaluate_dataset(
    source: Any,
    metrics: str | Metric | Evaluator | Iterable[str | Metric | Evaluator] | None = None,
    embedder: Embedder | str | None = None,
    *,
    output: PathLike | None = None,
    aef: PathLike | None = None,
    cutoffs: Mapping[str, float] | None = None,
    calibration: Calibrations | None = None,
    uncalibrated: bool = False,
    guards: str | Mapping[str, str] | GuardPolicy | None = None,
    cascade: bool = False,
    window: str | None = None,
    threads: int | None = None,
    mapping: Mapping[str, str] | None = None,
    on_bad_row: OnBadRow | None = None,
    labelled: PathLike | bool | None = None,
    name: str | None = None,
    subject: str | None = None,
    subject_version: str | None = None,
    content: bool = True,
    gates: Iterable[Gate | str] = (),
    concurrency: Concurrency = None,
    num_cpus: float = 1,
    num_gpus: float = 0,
    part_size: int | None = None,
    address: str | None = None,
    run_id: str | None = None,
    resume: bool = False,
    progress: Progress | None = None,
    asked: Mapping[str, JSON] | None = None,
    on_notice: Callable[[str], None] | None = None,
) -> Any:
    """Measure and decide every case on a Ray cluster, with the numbers of one process.

    Workers are actors of Ray Data that hold the embedder. One that dies is replaced and its block
    is done again; a block that kills three workers ends the run, which can be resumed. Each worker
    first shows that its closecall, embedder and question are the driver's.

    Parameters
    ----------
    source
        A case file or a folder of Parquet files, by path or URL: blocks of it go to the workers,
        which read it themselves, so that it lies where all machines find it. Or a
        ``ray.data.Dataset`` with the columns of a case file, for a pipeline of your own: then
        ``output``, ``aef``, ``content``, ``resume`` and what else belongs to a run is not taken.
    metrics, embedder, cutoffs, calibration, uncalibrated, guards, cascade, window
        As of ``closecall.evaluate``. Objects and functions are sent to the workers. A metric that
        asks a chat model is refused.
    output
        The parts folder: where workers write the run, a folder that all machines share or a URL.
    aef
        Run folder to write as well, from the parts, once the run has ended.
    threads
        Of the embedder of each worker; None: its CPUs.
    mapping, on_bad_row, labelled, name, subject, subject_version, content, run_id
        As of ``closecall.evaluate``. ``labelled`` is a file, or True.
    concurrency
        How many workers, or (fewest, most); None: as many as there is room for.
    num_cpus, num_gpus
        What each worker takes.
    part_size
        Cases of a block and its part; None: 4,096, or fewer so that each worker has several. For
        a Ray data set, rows of a call.
    address
        ``auto`` or ``HOST:PORT`` of a cluster. None: the Ray this process is connected to, else
        one started on this machine for the run, bound to 127.0.0.1.
    resume
        Go on with the run in ``output`` that was cut off; it must ask the same question.
    gates
        Records, or rules as text such as ``"pass_rate(answer_alignment) >= 0.9"``, that decide
        the run.
    progress, asked, on_notice
        As of ``closecall.evaluate``.

    Returns
    -------
    Run or ray.data.Dataset
        The run, its results read from ``output``. Of a Ray data set, one that is computed when it
        is used: its rows, with ``case.state`` and ``case.score``, and for each metric
        ``METRIC.value``, ``.score``, ``.state`` and ``.reason``. A row that is no case is there
        with the state ``error``.

    Raises
    ------
    UsageError
        An argument is wrong, belongs to the other kind of source, or cannot be sent to workers.
    ConfigurationError
        There is no cluster or no room on it; or workers died again and again.
    ClosecallError
        What a worker raised, in its own words.
    """
    require_concurrency(concurrency, num_cpus=num_cpus, num_gpus=num_gpus, part_size=part_size)
    if isinstance(metrics, Iterable) and not isinstance(metrics, str):
        metrics = list(metrics)
    question = Question(
        metrics=metrics,
        embedder=embedder,
        cutoffs=None if cutoffs is None else dict(cutoffs),
        calibration=calibration,
        uncalibrated=uncalibrated,
        guards=guards,
        cascade=cascade,
        window=window,
        threads=worker_threads(embedder, threads, num_cpus),
    )
    if isinstance(source, str | os.PathLike):
        from closecall.ray.running import run_on_workers

        return run_on_workers(
            os.fspath(source),
            question,
            Asked(
                output=None if output is None else os.fspath(output),
                aef=None if aef is None else os.fspath(aef),
                mapping=dict(mapping or {}),
                on_bad_row=on_bad_row or "fail",
                labelled=labelled
                if labelled is None or isinstance(labelled, bool)
                else os.fspath(labelled),
                name=name,
                subject=subject,
                subject_version=subject_version,
                content=content,
                run_id=run_id,
                resume=resume,
                gates=tuple(gates),
                kept=dict(asked or {}),
            ),
            Workers(concurrency, num_cpus, num_gpus, part_size, address),
            progress=progress,
            on_notice=on_notice,
        )
    _require_dataset(source)
    for what, given in (
        ("output", output),
        ("aef", aef),
        ("on_bad_row", on_bad_row),
        ("labelled", labelled),
        ("name", name),
        ("subject", subject),
        ("subject_version", subject_version),
        ("content", None if content else content),
        ("address", address),
        ("run_id", run_id),
        ("resume", resume or None),
        ("progress", progress),
        ("gates", tuple(gates) or None),
        ("asked", asked),
    ):
        if given is not None:
            raise UsageError(
                f"{what} is for files; a Ray data set comes back with results beside its rows, "
                "and is written as you write any"
            )
    chosen = question.choose(on_notice)
    decided = question.decided(chosen)
    from closecall.ray.rows import ROWS, with_results

    return with_results(
        source,
        travelling(question, chosen),
        Identity.of(chosen, decided, ""),
        mapping=dict(mapping or {}),
        concurrency=concurrency,
        num_cpus=num_cpus,
        num_gpus=num_gpus,
        rows=part_size or ROWS,
    )


def _require_dataset(source: object) -> None:
    from ray.data import Dataset

    if not isinstance(source, Dataset):
        raise UsageError(
            "source is the path or URL of a case file or folder of Parquet files, or a "
            f"ray.data.Dataset; got {type(source).__name__}. Cases in Python are for "
            "closecall.evaluate, or ray.data.from_items(cases)"
        )


__all__ = ["Run", "evaluate_dataset"]

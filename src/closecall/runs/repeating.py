"""The loop of a repeated run: each case without a response is answered and measured several times.

A case that has its response already is measured once: it would say the same every time.
"""

from __future__ import annotations

from collections.abc import Callable, Iterable, Iterator, Mapping, Sequence
from itertools import chain
from typing import TYPE_CHECKING

from closecall.embedders.cached import CachedEmbedder
from closecall.errors import UsageError
from closecall.metrics.base import Metric
from closecall.metrics.guards.policy import NO_GUARDS, GuardPolicy
from closecall.records import Case
from closecall.runs.applied import Applied
from closecall.runs.results import CaseResult
from closecall.runs.runner import ASKED_CASES, BATCH_CHARS, batched, run_cases
from closecall.runs.trials import rolled_up
from closecall.subjects.repeats import (
    SUCCESS_THRESHOLD,
    checked_runs,
    checked_threshold,
    of_run,
)

if TYPE_CHECKING:
    from closecall.subjects.answered import Answering
    from closecall.subjects.base import Subject

FEWEST_CASES = 4
"""Cases asked together at least, whatever the number of runs: what is asked side by side."""


def require_repeatable(
    runs: int,
    threshold: float,
    metrics: Sequence[Metric],
    subject: Subject | None,
    *,
    cascade: bool,
    recorded: bool,
) -> None:
    """Refuse repeats that would say nothing.

    Raises
    ------
    UsageError
        The numbers are out of range; nothing answers or nothing looks at the answers, so that
        every run would say the same; the metrics stand in a cascade; or the runs cannot be told
        apart in a recording.
    """
    checked_runs(runs)
    checked_threshold(threshold)
    if runs == 1:
        if threshold != SUCCESS_THRESHOLD:
            raise UsageError("success_threshold is about several runs; ask for them with runs=N")
        return
    if not any(metric.spec.reads_response for metric in metrics):
        raise UsageError(
            "no metric of this run reads a response, so every run would say the same: leave out "
            "--runs (in Python: runs)"
        )
    if subject is None:
        raise UsageError(
            f"{runs} runs need something that answers: --endpoint URL --model NAME, "
            "--subject-command CMD (in Python: answers=...). The answers in a file are given, so "
            "every run would measure the same ones and say the same"
        )
    if cascade:
        raise UsageError(
            "in a cascade each answer is decided by the first rung that can, so the runs of one "
            "case come to different rungs and none has them all: leave out --runs or --cascade"
        )
    facts = subject.identity.facts
    if recorded and "seed" in facts and facts["seed"] is None:
        raise UsageError(
            "the runs of a chat model are told apart in a recording by their seeds, and this one "
            "is asked without a seed: give it one, or record nothing"
        )


def run_repeated(
    cases: Iterable[Case],
    metrics: Sequence[Metric],
    embedder: CachedEmbedder,
    applied: Mapping[str, Applied] | None = None,
    guards: GuardPolicy = NO_GUARDS,
    *,
    answering: Answering,
    subject: Subject,
    runs: int,
    threshold: float,
    most: int = ASKED_CASES,
    answered: Callable[[int], None] = lambda _count: None,
) -> Iterator[list[CaseResult]]:
    """Yield every case with its runs, decided over all of them, a batch at a time, in order.

    Parameters
    ----------
    cases, metrics, embedder, applied, guards
        As of ``run_cases``.
    answering
        Counts what the subject does.
    subject
        What answers; a run after the first asks its ``for_run`` where it has one.
    runs, threshold
        How often each case is answered, and the share of runs it has to pass in.
    most
        Answers a batch holds, about: little that was paid for is lost when a run is killed.
    answered
        Called with the answers measured since the last batch was yielded, after each run.
    """
    for batch in batched(cases, max(FEWEST_CASES, most // runs), BATCH_CHARS):
        asked = [case for case in batch if case.response is None]
        columns: list[list[CaseResult]] = []
        for number in range(runs if asked else 0):
            said = list(answering.anew(asked, of_run(subject, number)))
            found = run_cases(
                said,
                metrics,
                embedder,
                applied,
                guards,
                missing=answering.missing,
                most=len(said),
            )
            columns.append(list(chain.from_iterable(found)))
            answered(len(asked) * (number + 1))
        given = [case for case in batch if case.response is not None]
        once = chain.from_iterable(run_cases(given, metrics, embedder, applied, guards))
        repeated = iter(zip(*columns, strict=True))
        yield [
            rolled_up(next(repeated), threshold) if case.response is None else next(once)
            for case in batch
        ]

"""The loop: a batch of cases in, their texts embedded at once, results out in the same order.

Memory holds one batch and the cache of vectors, whatever the number of cases.
"""

from __future__ import annotations

import time
from collections.abc import Callable, Iterable, Iterator, Mapping, Sequence
from itertools import chain

from closecall.embedders.base import TextKey, VectorLookup
from closecall.embedders.cached import CachedEmbedder
from closecall.metrics.base import Metric
from closecall.records import Case, Measurement, State, Unmeasured
from closecall.runs.applied import Applied
from closecall.runs.results import CaseResult, decide
from closecall.runs.sound import checked_measurement, checked_texts

BATCH_CASES = 256
BATCH_CHARS = 400_000
"""Cases embedded together: enough that texts of equal length meet, few enough that a killed run
loses little and progress is seen. 400,000 characters are about 100,000 tokens, half a minute of
the bundled model on two cores."""

Progress = Callable[[int, int], None]
"""Called with (cases done, cases in all)."""


def run_cases(
    cases: Iterable[Case],
    metrics: Sequence[Metric],
    embedder: CachedEmbedder,
    applied: Mapping[str, Applied] | None = None,
) -> Iterator[list[CaseResult]]:
    """Yield every case measured and decided, a batch at a time, in order.

    ``applied`` maps a metric's id to the calibration that decides instead of its own cutoff.
    """
    calibrations = [(applied or {}).get(metric.spec.id) for metric in metrics]
    for batch in batched(cases, BATCH_CASES, BATCH_CHARS):
        started = time.perf_counter()
        asked = [[_texts(metric, case) for metric in metrics] for case in batch]
        wanted = dict.fromkeys(
            key
            for texts in chain.from_iterable(asked)
            if not isinstance(texts, Unmeasured)
            for key in texts
        )
        vectors = embedder.fetch(wanted)
        measured = [
            tuple(
                # What a metric cannot ask for, it cannot measure either.
                decide(
                    metric,
                    texts if isinstance(texts, Unmeasured) else _measure(metric, case, vectors),
                    calibration,
                )
                for metric, texts, calibration in zip(metrics, own, calibrations, strict=True)
            )
            for case, own in zip(batch, asked, strict=True)
        ]
        share = round((time.perf_counter() - started) * 1000 / len(batch), 3)
        yield [
            CaseResult(case=case, results=results, duration_ms=share)
            for case, results in zip(batch, measured, strict=True)
        ]


def batched(cases: Iterable[Case], most: int, chars: int) -> Iterator[list[Case]]:
    """Yield lists of at most ``most`` cases, ended early once they hold ``chars`` characters."""
    batch: list[Case] = []
    held = 0
    for case in cases:
        batch.append(case)
        held += _chars(case)
        if len(batch) >= most or held >= chars:
            yield batch
            batch, held = [], 0
    if batch:
        yield batch


def _chars(case: Case) -> int:
    texts = (case.input or "", case.response or "", *case.references, *case.context)
    return sum(map(len, texts))


def _texts(metric: Metric, case: Case) -> tuple[TextKey, ...] | Unmeasured:
    try:
        return checked_texts(metric.texts(case))
    except Exception as error:  # noqa: BLE001 - one case's error must not end the run
        return _broke(metric, error)


def _measure(metric: Metric, case: Case, vectors: VectorLookup) -> Measurement:
    try:
        return checked_measurement(metric.measure(case, vectors))
    except Exception as error:  # noqa: BLE001 - same
        return _broke(metric, error)


def _broke(metric: Metric, error: Exception) -> Unmeasured:
    return Unmeasured(f"{metric.spec.id} failed: {type(error).__name__}: {error}", State.ERROR)

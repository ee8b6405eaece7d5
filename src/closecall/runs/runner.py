"""The loop: a batch of cases in, their texts embedded at once, results out in the same order.

Memory holds one batch and the cache of vectors, whatever the number of cases.
"""

from __future__ import annotations

import time
from collections.abc import Callable, Iterable, Iterator, Mapping, Sequence
from itertools import chain

from closecall.embedders.base import TextKey, VectorLookup
from closecall.embedders.cached import CachedEmbedder
from closecall.errors import ConfigurationError
from closecall.metrics.base import BatchMetric, Metric
from closecall.metrics.guards.policy import NO_GUARDS, GuardPolicy, is_guarded
from closecall.records import Case, Measurement, State, Unmeasured
from closecall.runs.applied import Applied
from closecall.runs.explaining import explained
from closecall.runs.results import CaseResult, MetricResult, decide, hold_back
from closecall.runs.sound import checked_measurement, checked_texts

BATCH_CASES = 256
BATCH_CHARS = 400_000
"""Cases embedded together: enough that texts of equal length meet, few enough that a killed run
loses little and progress is seen. 400,000 characters are about 100,000 tokens, half a minute of
the bundled model on two cores."""

NOTHING: Mapping[str, Unmeasured] = {}

ASKED_CASES = 32
"""The same where a chat model or a program is asked for each: little that was paid for is lost."""

Progress = Callable[[int, int], None]
"""Called with (cases done, cases in all)."""


Measure = Callable[
    [Sequence[Metric], Sequence[Case], CachedEmbedder, Mapping[str, Unmeasured]],
    list[list[Measurement]],
]
"""Called as ``measured_batch`` is."""


def run_cases(
    cases: Iterable[Case],
    metrics: Sequence[Metric],
    embedder: CachedEmbedder,
    applied: Mapping[str, Applied] | None = None,
    guards: GuardPolicy = NO_GUARDS,
    *,
    missing: Mapping[str, Unmeasured] = NOTHING,
    most: int | None = None,
    measure: Measure | None = None,
) -> Iterator[list[CaseResult]]:
    """Yield every case measured and decided, a batch at a time, in order.

    ``applied`` maps a metric's id to the calibration that decides instead of its own cutoff;
    ``guards`` look at what a cutoff accepts. ``missing`` says why a case has no response, by its
    id. ``most`` is how many cases a batch holds, None: ``BATCH_CASES``. ``measure`` measures a
    batch, None: ``measured_batch``.
    """
    measure = measured_batch if measure is None else measure
    calibrations = [(applied or {}).get(metric.spec.id) for metric in metrics]
    for batch in batched(cases, BATCH_CASES if most is None else most, BATCH_CHARS):
        started = time.perf_counter()
        columns = measure(metrics, batch, embedder, missing)
        measured = [
            guarded(
                metrics,
                case,
                [
                    decide(metric, one, calibration)
                    for metric, one, calibration in zip(metrics, row, calibrations, strict=True)
                ],
                guards,
            )
            for case, row in zip(batch, zip(*columns, strict=True), strict=True)
        ]
        measured = explained(metrics, batch, measured)
        share = round((time.perf_counter() - started) * 1000 / len(batch), 3)
        yield [
            CaseResult(case=case, results=results, duration_ms=share)
            for case, results in zip(batch, measured, strict=True)
        ]


def measured_batch(
    metrics: Sequence[Metric],
    batch: Sequence[Case],
    embedder: CachedEmbedder,
    missing: Mapping[str, Unmeasured] = NOTHING,
) -> list[list[Measurement]]:
    """Return, for each metric, its measurement of each case; their texts are embedded at once."""
    asked = [[_owed(metric, case, missing) for metric in metrics] for case in batch]
    wanted = dict.fromkeys(
        key
        for texts in chain.from_iterable(asked)
        if not isinstance(texts, Unmeasured)
        for key in texts
    )
    vectors = embedder.fetch(wanted)
    return [
        _column(metric, batch, [own[at] for own in asked], vectors)
        for at, metric in enumerate(metrics)
    ]


def guarded(
    metrics: Sequence[Metric], case: Case, results: Sequence[MetricResult], guards: GuardPolicy
) -> tuple[MetricResult, ...]:
    """Return the results of a case, those that passed as the guards leave them.

    The guards are asked once a case, and only where a guarded metric passed.
    """
    passed = [
        result.state is State.PASSED and is_guarded(metric.spec)
        for metric, result in zip(metrics, results, strict=True)
    ]
    held = guards.check(case) if any(passed) and guards.active else None
    if held is None:
        return tuple(results)
    return tuple(
        hold_back(result, held) if through else result
        for result, through in zip(results, passed, strict=True)
    )


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


def _owed(
    metric: Metric, case: Case, missing: Mapping[str, Unmeasured]
) -> tuple[TextKey, ...] | Unmeasured:
    """Return what a metric wants of a case; what needs the answer that is missing, why it is."""
    if case.id in missing and "response" in metric.spec.needs:
        return missing[case.id]
    return asked_texts(metric, case)


def asked_texts(metric: Metric, case: Case) -> tuple[TextKey, ...] | Unmeasured:
    """Return what a metric wants embedded of a case; never raises."""
    try:
        return checked_texts(metric.texts(case))
    except Exception as error:  # noqa: BLE001 - one case's error must not end the run
        return _broke(metric, error)


def _column(
    metric: Metric,
    cases: Sequence[Case],
    asked: Sequence[tuple[TextKey, ...] | Unmeasured],
    vectors: VectorLookup,
) -> list[Measurement]:
    """Return what one metric makes of each case; what it cannot ask for, it cannot measure."""
    if isinstance(metric, BatchMetric):
        ready = [
            case
            for case, texts in zip(cases, asked, strict=True)
            if not isinstance(texts, Unmeasured)
        ]
        found = _together(metric, ready, vectors)
        if found is not None:
            left = iter(found)
            return [texts if isinstance(texts, Unmeasured) else next(left) for texts in asked]
    return [
        texts if isinstance(texts, Unmeasured) else measured_case(metric, case, vectors)
        for case, texts in zip(cases, asked, strict=True)
    ]


def _together(
    metric: BatchMetric, cases: Sequence[Case], vectors: VectorLookup
) -> list[Measurement] | None:
    """Return one measurement a case; None where they have to be measured one by one."""
    if not cases:
        return []
    try:
        found = [checked_measurement(one) for one in metric.measure_batch(cases, vectors)]
    except ConfigurationError:
        raise  # whatever it measures with cannot be used at all, so the run ends and can go on
    except Exception:  # noqa: BLE001 - whose error it was shows when each case is on its own
        return None
    return found if len(found) == len(cases) else None


def measured_case(metric: Metric, case: Case, vectors: VectorLookup) -> Measurement:
    """Return what a metric makes of a case.

    Raises
    ------
    ConfigurationError
        What it measures with cannot be used at all, as a chat model whose key is refused.
    """
    try:
        return checked_measurement(metric.measure(case, vectors))
    except ConfigurationError:
        raise
    except Exception as error:  # noqa: BLE001 - same
        return _broke(metric, error)


def _broke(metric: Metric, error: Exception) -> Unmeasured:
    return Unmeasured(f"{metric.spec.id} failed: {type(error).__name__}: {error}", State.ERROR)

"""What metrics say of answers that were not accepted, added to the details of their results.

After the verdicts, so that an explanation costs only where one is wanted: what was accepted, or
has no cutoff, is not explained. It is the same for a case whatever its batch.
"""

from __future__ import annotations

from collections.abc import Iterator, Mapping, Sequence
from contextlib import contextmanager
from contextvars import ContextVar

import msgspec

from closecall.errors import ConfigurationError
from closecall.metrics.base import ExplainingMetric, Metric
from closecall.records import JSON, Case, Measured, Measurement, State
from closecall.runs.results import MetricResult
from closecall.runs.sound import checked_measurement
from closecall.runs.values import clip_reason

NOT_EXPLAINED = "notExplained"
"""The member of the details that says why there is no explanation, where a metric raised."""

_OFF: ContextVar[bool] = ContextVar("closecall_explains_nothing", default=False)


@contextmanager
def nothing_explained() -> Iterator[None]:
    """Explain nothing within: for runs of which only the counts are looked at."""
    token = _OFF.set(True)
    try:
        yield
    finally:
        _OFF.reset(token)


def explained(
    metrics: Sequence[Metric],
    cases: Sequence[Case],
    rows: Sequence[Sequence[MetricResult]],
    *,
    unsure: bool = True,
) -> list[tuple[MetricResult, ...]]:
    """Return the results of each case, those that were not accepted with their explanations.

    A result that a guard holds back has the guard's finding, and is not explained. ``unsure`` says
    whether what is left unsure is, as what failed is.

    Raises
    ------
    ConfigurationError
        What a metric measures with cannot be used at all.
    """
    found = [list(row) for row in rows]
    for at, metric in enumerate(metrics):
        if _OFF.get() or not isinstance(metric, ExplainingMetric):
            continue
        wanted = [place for place, row in enumerate(found) if _is_wanted(row[at], unsure=unsure)]
        if not wanted:
            continue
        measured = [_measured(found[place][at].measurement) for place in wanted]
        told = _told(metric, [cases[place] for place in wanted], measured)
        for place, one, members in zip(wanted, measured, told, strict=True):
            if members:
                whole = msgspec.structs.replace(one, details={**one.details, **members})
                found[place][at] = msgspec.structs.replace(found[place][at], measurement=whole)
    return [tuple(row) for row in found]


def _told(
    metric: ExplainingMetric, cases: Sequence[Case], measured: Sequence[Measured]
) -> Sequence[Mapping[str, JSON]]:
    """Return what a metric says; one that raises costs no case its verdict."""
    try:
        told = metric.explain(cases, measured)
        for one, members in zip(measured, told, strict=True):
            checked_measurement(msgspec.structs.replace(one, details={**one.details, **members}))
    except ConfigurationError:
        raise
    except Exception as error:  # noqa: BLE001 - a metric is anybody's code
        why = clip_reason(f"{metric.spec.id} failed: {type(error).__name__}: {error}")
        return [{NOT_EXPLAINED: why} for _ in cases]
    return told


def _is_wanted(result: MetricResult, *, unsure: bool) -> bool:
    ended = result.state is State.FAILED or (unsure and result.state is State.INCONCLUSIVE)
    return ended and not result.held and isinstance(result.measurement, Measured)


def _measured(found: Measurement) -> Measured:
    if not isinstance(found, Measured):
        raise TypeError("only what was measured is explained")
    return found

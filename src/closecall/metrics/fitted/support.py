"""The pair model's part in a judge: log odds that a case is acceptable, and whose they are."""

from __future__ import annotations

import math
from collections.abc import Sequence

from closecall.embedders.base import VectorLookup
from closecall.errors import InstrumentMismatchError
from closecall.metrics.base import BatchMetric
from closecall.metrics.fitted.features import SUPPORT, Sides
from closecall.metrics.registry import load_metric
from closecall.models.cards import CARD_FILE
from closecall.models.pair_card import PAIR_MODEL
from closecall.models.store import bundled_folder
from closecall.records import Case, Measured, Measurement, Unmeasured
from closecall.there import is_file

SURE = 1e-4
"""How near to 0 and 1 its probability counts: a head is linear in the log odds, and what a pair
model adds to 99.99 % says nothing."""


_READS = "language=any"


def support_id(sides: Sides) -> str:
    """Return the id of a metric that gives the same numbers."""
    return f"{SUPPORT[sides].name}:{_READS}"


def support_metric(sides: Sides) -> BatchMetric:
    """Return the metric of the bundled pair model for these sides, as a judge uses it.

    It reads any language: labels say what its word is worth in that one, and a judge that measures
    a case without it measures the same case with it. It explains nothing, the judge does.

    Raises
    ------
    ConfigurationError
        There is no pair model in this installation.
    """
    metric = load_metric(f"{SUPPORT[sides].name}:{_READS}:explain=false")
    if not isinstance(metric, BatchMetric):
        raise TypeError(f"{metric.spec.id} is to measure many cases at once")
    return metric


def support_or_none(sides: Sides) -> BatchMetric | None:
    """Return the same, None where there is no pair model in this installation."""
    if not there_is_a_pair_model():
        return None
    return support_metric(sides)


def there_is_a_pair_model() -> bool:
    """Whether the bundled pair model is in this installation; a damaged one is, too."""
    return is_file(bundled_folder() / PAIR_MODEL / CARD_FILE)


def support_as_fitted(sides: Sides, version: str) -> BatchMetric:
    """Return the metric of this version: the one that a head was fitted with.

    Raises
    ------
    InstrumentMismatchError
        It is of another version here, or not here.
    """
    here = support_or_none(sides)
    if here is not None and here.spec.version == version:
        return here
    name = SUPPORT[sides].name
    found = "there is none here" if here is None else f"here is {here.spec.version}"
    raise InstrumentMismatchError(
        f"the judge was fitted with {name} {version}, and {found}: what it weighs would be other "
        "numbers. Have it fitted anew from its own labelled texts: closecall calibrate --refresh "
        "FILE; or use the version of closecall that made it"
    )


def supports(
    metric: BatchMetric | None, cases: Sequence[Case], vectors: VectorLookup
) -> list[Measurement | None]:
    """Return what the pair model makes of each case, all read together; None without a model."""
    if metric is None:
        return [None] * len(cases)
    asked = [metric.texts(case) for case in cases]
    ready = [
        case for case, one in zip(cases, asked, strict=True) if not isinstance(one, Unmeasured)
    ]
    found = iter(metric.measure_batch(ready, vectors) if ready else ())
    return [one if isinstance(one, Unmeasured) else next(found) for one in asked]


def log_odds(found: Measured) -> float:
    """Return the log odds of a probability, bounded by ``SURE``.

    >>> log_odds(Measured(similarity=0.5, value=0.5, score=None))
    0.0
    """
    value = min(max(found.value, SURE), 1 - SURE)
    return math.log(value / (1 - value))

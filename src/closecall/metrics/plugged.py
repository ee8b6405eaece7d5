"""A metric that another package brings: a class, something that makes one, or a function."""

from __future__ import annotations

import inspect
from collections.abc import Mapping
from typing import Any

from closecall.errors import ClosecallError, ConfigurationError
from closecall.metrics.base import Metric, MetricSpec
from closecall.metrics.function import FunctionMetric


def plugged_metric(
    name: str, plugged: Any, cutoff: float | None, options: Mapping[str, Any]
) -> Metric:
    """Return the metric that an entry point stands for.

    What takes a ``cutoff`` is called with it and the options, as a class of a metric is. Any
    other function is an evaluator, ``(case) -> bool | float | Measurement``.

    Raises
    ------
    ConfigurationError
        It cannot be made, or is no metric.
    """
    if _is_evaluator(plugged):
        return FunctionMetric(plugged, name, cutoff=cutoff)
    try:
        made = plugged(cutoff=cutoff, **options)
    except ClosecallError:
        raise
    except Exception as error:
        raise ConfigurationError(
            f"the metric {name} of another package cannot be made: {type(error).__name__}: {error}"
        ) from error
    if not isinstance(getattr(made, "spec", None), MetricSpec):
        raise ConfigurationError(
            f"{name} of another package made a {type(made).__name__}, which is no metric"
        )
    metric: Metric = made
    return metric


def _is_evaluator(plugged: Any) -> bool:
    if isinstance(plugged, type) or not callable(plugged):
        return False
    try:
        taken = inspect.signature(plugged).parameters.values()
    except (TypeError, ValueError):
        return False
    return not any(one.name == "cutoff" or one.kind is one.VAR_KEYWORD for one in taken)

"""Which chat models gave the marks of a calibration, and what to type for them again."""

from __future__ import annotations

from collections.abc import Sequence
from typing import TYPE_CHECKING, TypeVar

import msgspec

from closecall.calibration.artefact import Calibration
from closecall.calibration.store import sealed
from closecall.metrics.base import Metric
from closecall.runs.live import IN_PYTHON

if TYPE_CHECKING:
    from closecall.chat.base import ChatIdentity

T = TypeVar("T")


def judge_specs(metric: Metric, told: Sequence[str]) -> tuple[str, ...]:
    """Return the names that a metric's chat models go by, as ``--judge-model`` takes them.

    ``told`` are the names as they were typed; without any the environment chose, and the
    provider and model it chose are named.
    """
    judges: tuple[ChatIdentity, ...] = getattr(metric, "judges", ())
    if len(told) == len(judges):
        return tuple(told)
    return tuple(f"{judge.provider}:{judge.model}" for judge in judges)


def with_judge_specs(found: T, metric: Metric, told: Sequence[str]) -> Calibration | T:
    """Return a calibration that names its chat models; anything else as it is."""
    specs = judge_specs(metric, told)
    if not isinstance(found, Calibration) or not specs:
        return found
    facts = msgspec.structs.replace(found.metric, judges=specs)
    return sealed(msgspec.structs.replace(found, metric=facts))


def judge_option(specs: Sequence[str]) -> str:
    """Return what to type for these chat models, or which to give in Python; empty without any."""
    from closecall.runs.claim import quoted

    if any(spec.startswith(IN_PYTHON) for spec in specs):
        return "judge=" + ", ".join(spec.removeprefix(IN_PYTHON) for spec in specs)
    return " ".join(f"--judge-model {quoted(spec)}" for spec in specs)

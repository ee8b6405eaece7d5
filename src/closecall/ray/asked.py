"""What is asked of a run on workers besides what it measures."""

from __future__ import annotations

from typing import Any, NamedTuple

from closecall.datasets import OnBadRow
from closecall.ray.pool import Concurrency
from closecall.runs.gate_rule import Gate


class Asked(NamedTuple):
    """The arguments of ``evaluate_dataset`` that say where a run lies and what it is called."""

    output: str | None
    aef: str | None
    mapping: dict[str, str]
    on_bad_row: OnBadRow
    labelled: str | bool | None
    name: str | None
    subject: str | None
    subject_version: str | None
    content: bool
    run_id: str | None
    resume: bool
    gates: tuple[Gate | str, ...]
    kept: dict[str, Any]


class Workers(NamedTuple):
    """How many there are, what each takes, how large their blocks are, and on which cluster."""

    concurrency: Concurrency
    num_cpus: float
    num_gpus: float
    part_size: int | None
    address: str | None

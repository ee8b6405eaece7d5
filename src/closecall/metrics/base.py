"""The contract of a metric, below every implementation of it."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from typing import Protocol, runtime_checkable

import msgspec

from closecall.embedders.base import TextKey, VectorLookup
from closecall.records import JSON, Case, Measured, Measurement, Unmeasured

SCORE_NOISE = 1e-5
"""How far one similarity may differ between machines, in cosine: float32 kernels add in
different orders. A value this near its cutoff is marked ``borderline``."""

DECIMALS = 6
"""Decimals kept of a similarity. The rest is float32 noise; dropping it makes equal texts give
exactly 1 and the same file give the same bytes on every run."""

SCORE_DECIMALS = DECIMALS - 2
"""The same digits on a scale of 0 to 100."""


class MetricSpec(msgspec.Struct, frozen=True, kw_only=True):
    """What a metric is, apart from any case.

    ``id`` names it in results: ``name``, with its options where they are not the defaults.
    ``version`` moves whenever the same texts and vectors would give another number.
    ``needs`` lists the case fields without which nothing is measured. ``low`` and ``high``
    bound ``Measured.value``, None where there is no bound. ``default_cutoff`` is on the scale of
    ``value``; None means a number without a verdict. ``fitted_on`` holds the digests of the case
    files a metric with fitted parts was fitted on (see ``cases_digest``): no promise can be made
    on those very cases. ``quantity`` is what the number is called in a sentence. ``guarded`` False
    says that no guard has to look at what the metric accepts (see ``guards.policy``). ``exact``
    says that its values are marks or counts and no floats of a model, so that no rounding turns a
    verdict. ``embeds`` False says that it never asks for a vector, and ``reads_response`` False
    that it looks at no response: a run of such metrics alone needs no embedder, and nobody to
    answer.
    """

    id: str
    name: str
    version: str
    needs: tuple[str, ...]
    default_cutoff: float | None
    low: float | None
    high: float | None
    description: str
    options: dict[str, JSON] = {}
    fitted_on: tuple[str, ...] = ()
    quantity: str = "similarity"
    guarded: bool = True
    exact: bool = False
    embeds: bool = True
    reads_response: bool = True


class Metric(Protocol):
    """Turns one case into one measurement; higher is always closer."""

    @property
    def spec(self) -> MetricSpec:
        """What this metric is."""
        ...

    @property
    def cutoff(self) -> float | None:
        """The cutoff in use, on the scale of ``Measured.value``; None: no verdict."""
        ...

    def texts(self, case: Case) -> tuple[TextKey, ...] | Unmeasured:
        """Return the texts whose vectors ``measure`` will ask for, or why there are none."""
        ...

    def measure(self, case: Case, vectors: VectorLookup) -> Measurement:
        """Measure one case; never raises for missing input or failed embeddings."""
        ...


@runtime_checkable
class BatchMetric(Metric, Protocol):
    """A metric that measures many cases at once, as one with a model of its own does."""

    def measure_batch(self, cases: Sequence[Case], vectors: VectorLookup) -> Sequence[Measurement]:
        """Return one measurement a case, in the order given.

        Asked only for cases whose ``texts`` could be had. If it raises, each case is measured on
        its own, so that one case's error costs no other its number.
        """
        ...


@runtime_checkable
class LoadingMetric(Metric, Protocol):
    """A metric that can make itself ready before the first case comes."""

    def load(self) -> None:
        """Load whatever ``measure`` would load with the first case; again it does nothing.

        Raises
        ------
        ConfigurationError
            If this metric can measure no case at all.
        """
        ...


@runtime_checkable
class ExplainingMetric(Metric, Protocol):
    """A metric that can say more of an answer that was not accepted, at a cost."""

    def explain(
        self, cases: Sequence[Case], found: Sequence[Measured]
    ) -> Sequence[Mapping[str, JSON]]:
        """Return members for the details of each measurement, in order; empty for nothing to say.

        Asked once a batch, for its cases that failed or are left unsure.
        """
        ...

"""Integers for every case, float32 again for those near a cutoff: the verdicts stay float32's.

Which cases are near is known from measurements of the noise (``fast.noise``) and not proved. A
case that moves further than the band when it is computed again shows that the noise was measured
on other texts than these, and ends the run.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from typing import TYPE_CHECKING

import msgspec

from closecall.embedders.cached import CachedEmbedder
from closecall.embedders.onnx import OnnxEmbedder
from closecall.errors import ConfigurationError, UsageError
from closecall.fast.noise import MetricNoise, Noise, recorded_noise
from closecall.fast.twin import IntegerTwin
from closecall.instrument import Instrument
from closecall.metrics.base import Metric
from closecall.records import Case, Measured, Measurement, Unmeasured
from closecall.runs.applied import Applied
from closecall.runs.runner import NOTHING, measured_batch

if TYPE_CHECKING:
    from closecall.embedders.base import Embedder, VectorStore
    from closecall.runs.preparing import Chosen, Decided
    from closecall.runs.results import CaseResult

PRECISION = "precision"
"""Under which the details of a measurement say ``int8`` where integers made it."""

INTEGER = "int8"


class Recomputed(msgspec.Struct, frozen=True, kw_only=True):
    """What became of the cases so far: ``cases`` measured, ``again`` of them in float32, too.

    ``largest`` is the furthest that a score moved in that, by metric, since the run began or was
    resumed; a metric is not there where none was measured twice. ``bands`` and ``flip_bounds``
    are those of the noise record.
    """

    cases: int
    again: int
    largest: dict[str, float]
    bands: dict[str, float]
    flip_bounds: dict[str, float]

    @property
    def words(self) -> str:
        """What every surface says of it."""
        bounds = "; ".join(
            f"{name}: within {self.bands[name]:g} of a cutoff, beyond it under "
            f"{100 * self.flip_bounds[name]:.2g} % are decided otherwise"
            for name in self.bands
        )
        return (
            f"scores in 8 bits, {self.again:,} of {self.cases:,} cases near a cutoff computed "
            f"again in float32 ({bounds})"
        )


class Twice:
    """Measures batches for a run: with the twin, and near a cutoff with the model as well.

    Parameters
    ----------
    twin
        The integer twin behind the run's store.
    noise
        What is known of each metric, in the run's order.
    cutoffs
        What decides each metric, in the same order.
    """

    def __init__(
        self,
        twin: CachedEmbedder,
        noise: Mapping[str, MetricNoise],
        cutoffs: Mapping[str, Sequence[float]],
    ) -> None:
        self._twin = twin
        self._noise = noise
        self._cutoffs = cutoffs
        self._cases = self._again = 0
        self._largest: dict[str, float] = {}

    @property
    def counts(self) -> Recomputed:
        """The counts so far."""
        return Recomputed(
            cases=self._cases,
            again=self._again,
            largest=dict(self._largest),
            bands={name: one.band for name, one in self._noise.items()},
            flip_bounds={name: one.flip_bound for name, one in self._noise.items()},
        )

    def count_kept(self, row: CaseResult) -> None:
        """Count a case that was measured before the run was cut off."""
        self._cases += 1
        self._again += not any(
            isinstance(one.measurement, Measured)
            and one.measurement.details.get(PRECISION) == INTEGER
            for one in row.results
        )

    def __call__(
        self,
        metrics: Sequence[Metric],
        batch: Sequence[Case],
        embedder: CachedEmbedder,
        missing: Mapping[str, Unmeasured] = NOTHING,
    ) -> list[list[Measurement]]:
        """Return, for each metric, its measurement of each case.

        Raises
        ------
        ConfigurationError
            A score moved further than the band.
        """
        names = [metric.spec.id for metric in metrics]
        found = measured_batch(metrics, batch, self._twin, missing)
        again = [
            at
            for at in range(len(batch))
            if any(self._near(name, own[at]) for name, own in zip(names, found, strict=True))
        ]
        exact = (
            measured_batch(metrics, [batch[at] for at in again], embedder, missing)
            if again
            else [[] for _ in metrics]
        )
        columns = []
        for name, own, other in zip(names, found, exact, strict=True):
            column = [_told(one) for one in own]
            for at, one in zip(again, other, strict=True):
                self._look(name, batch[at], own[at], one)
                column[at] = one
            columns.append(column)
        self._cases += len(batch)
        self._again += len(again)
        return columns

    def _near(self, name: str, found: Measurement) -> bool:
        """Whether integers do not settle it; what they could not measure, they do not settle."""
        if not isinstance(found, Measured):
            return True
        band = self._noise[name].band
        return any(abs(found.value - cutoff) <= band for cutoff in self._cutoffs[name])

    def _look(self, name: str, case: Case, found: Measurement, exact: Measurement) -> None:
        if not isinstance(found, Measured) or not isinstance(exact, Measured):
            return
        moved = abs(found.value - exact.value)
        self._largest[name] = max(moved, self._largest.get(name, 0.0))
        band = self._noise[name].band
        if moved > band:
            raise ConfigurationError(
                f"fast: {name} of case {case.id} moved by {moved:.4f} when it was computed again "
                f"in float32, more than the {band:g} that integers were found to be wrong by: "
                "these texts are not like those that was measured on. Leave fast out"
            )


def made_twice(chosen: Chosen, decided: Decided, store: VectorStore | None) -> Twice:
    """Return what measures a run's batches; loads both models.

    Raises
    ------
    UsageError
        The run asks for something whose noise in integers is not known.
    ConfigurationError
        See ``IntegerTwin.load``.
    """
    noise = recorded_noise()
    known = _known(chosen.metrics, noise)
    exact = _exact(chosen)
    cutoffs = {
        metric.spec.id: _cutoffs(metric, decided.applied.get(metric.spec.id))
        for metric in chosen.metrics
    }
    twin = IntegerTwin(exact, noise)
    twin.load()
    return Twice(CachedEmbedder(twin, store), known, cutoffs)


def instrument_of(embedder: Embedder) -> Instrument:
    """Return who made a fast run's scores: not the model alone, so they are compared as such."""
    noise = recorded_noise()
    options = {**embedder.instrument.options, "int8": noise.twin}
    return msgspec.structs.replace(
        embedder.instrument, precision="int8, fp32 near cutoffs", options=options
    )


def _exact(chosen: Chosen) -> OnnxEmbedder:
    if chosen.cascade or chosen.subject is not None or chosen.judges:
        raise UsageError("fast is for runs of one step over given answers, without a judge")
    embedder = chosen.embedder
    if not isinstance(embedder, OnnxEmbedder) or embedder.device != "cpu":
        raise UsageError(
            "fast is for the bundled model on the CPU (--embedder minilm): only its noise in "
            "integers is known"
        )
    return embedder


def _known(metrics: Sequence[Metric], noise: Noise) -> dict[str, MetricNoise]:
    unknown = [metric.spec.id for metric in metrics if metric.spec.id not in noise.metrics]
    if unknown:
        raise UsageError(
            f"fast: the noise of {', '.join(unknown)} in integers is not known; it is known of "
            f"{', '.join(noise.metrics)}"
        )
    return {metric.spec.id: noise.metrics[metric.spec.id] for metric in metrics}


def _cutoffs(metric: Metric, applied: Applied | None) -> tuple[float, ...]:
    if applied is not None:
        # A calibration compares rounded scores, half a step from the cutoff at most.
        return tuple(one for one in (applied.accept, applied.reject) if one is not None)
    if metric.cutoff is None:
        raise UsageError(
            f"fast: {metric.spec.id} has no cutoff, so there is nothing that integers could be "
            "far enough from; give one with --cutoff or --calibration"
        )
    return (metric.cutoff,)


def _told(found: Measurement) -> Measurement:
    if not isinstance(found, Measured):
        return found
    return msgspec.structs.replace(found, details={**found.details, PRECISION: INTEGER})

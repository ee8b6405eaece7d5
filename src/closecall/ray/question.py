"""What a run asks, in a form that travels to the workers, and is asked there in the same way."""

from __future__ import annotations

import math
import platform
from collections.abc import Callable
from typing import Any, NamedTuple

from closecall._version import __version__
from closecall.embedders.registry import chosen_name
from closecall.embedders.remote.providers import provider_named
from closecall.errors import ClosecallError, InstrumentMismatchError, UsageError
from closecall.ray.cluster import load_ray
from closecall.runs.preparing import Chosen, Decided, choose


class Question(NamedTuple):
    """The arguments of ``evaluate`` that say what is measured, with what, and what decides.

    ``threads`` of a worker that embeds by itself.
    """

    metrics: Any
    embedder: Any
    cutoffs: dict[str, float] | None
    calibration: Any
    uncalibrated: bool
    guards: Any
    cascade: bool
    window: str | None
    threads: int | None

    def choose(self, on_notice: Callable[[str], None] | None = None) -> Chosen:
        """Return what measures; raises as ``choose`` of a run does."""
        return choose(
            self.metrics,
            self.embedder,
            cutoffs=self.cutoffs,
            calibration=self.calibration,
            uncalibrated=self.uncalibrated,
            guards=self.guards,
            cascade=self.cascade,
            window=self.window,
            threads=self.threads,
            on_notice=on_notice,
        )

    def decided(self, chosen: Chosen) -> Decided:
        """Return what decides; raises as ``Chosen.decided`` does."""
        return chosen.decided(
            self.cutoffs, uncalibrated=self.uncalibrated, required=self.guards is not None
        )


class Identity(NamedTuple):
    """What a worker has to have in common with the driver for its numbers to be the driver's."""

    closecall: str
    numpy: str
    instrument: str
    definition: str

    @classmethod
    def of(cls, chosen: Chosen, decided: Decided, digest: str) -> Identity:
        """Return the identity of what was chosen, for data with this digest."""
        import numpy as np

        return cls(
            __version__,
            np.__version__.partition(".")[0],
            chosen.embedder.instrument.digest,
            chosen.definition_digest(digest, decided),
        )

    def require(self, here: Identity) -> None:
        """Refuse a worker that has something else.

        Raises
        ------
        InstrumentMismatchError
            Names each thing that differs.
        """
        words = {
            "closecall": "closecall's version",
            "numpy": "numpy's main version",
            "instrument": "the embedder (its instrument digest)",
            "definition": "the question (its definition digest)",
        }
        changed = [
            f"{words[name]} is {theirs[:16]} there and {ours[:16]} here"
            for name, ours, theirs in zip(self._fields, self, here, strict=True)
            if ours != theirs
        ]
        if changed:
            raise InstrumentMismatchError(
                f"the worker on {platform.node()} is not set up as this process is: "
                f"{'; '.join(changed)}. Install the same versions and models on every machine"
            )


def travelling(question: Question, chosen: Chosen) -> Question:
    """Return the question as it is sent to the workers.

    Calibrations go as they were read here, and functions as the metrics made of them, so that
    neither a file nor a source has to be on the workers' machines.

    Raises
    ------
    UsageError
        Something cannot be sent.
    """
    metrics = question.metrics
    if metrics is not None and not isinstance(metrics, str):
        from closecall.metrics.registry import load_metrics

        given = metrics if isinstance(metrics, list) else [metrics]
        metrics = [one if isinstance(one, str) else load_metrics(one)[0] for one in given]
    named = question.embedder is None or isinstance(question.embedder, str)
    sent = question._replace(
        metrics=metrics,
        embedder=chosen.embedder_name if named else question.embedder,
        calibration=[one.made for one in chosen.made] or None,
    )
    for name, value in zip(sent._fields, sent, strict=True):
        _require_sendable(name, value)
    return sent


def _require_sendable(name: str, value: object) -> None:
    try:
        load_ray().cloudpickle.dumps(value)
    except Exception as error:
        raise UsageError(
            f"{name} cannot be sent to workers ({type(error).__name__}: {str(error)[:120]}): give "
            "an embedder or metric by its name, or a function that holds no open file, session or "
            "lock"
        ) from error


class Failed(NamedTuple):
    """An error of a worker as it travels back: its kind, its words, and the exit code."""

    kind: str
    message: str

    @classmethod
    def of(cls, error: Exception, where: str) -> Failed:
        """Return an error in words; of one that is not closecall's, with what was at work."""
        if isinstance(error, ClosecallError):
            return cls(type(error).__name__, str(error))
        return cls("", f"{where}: {type(error).__name__}: {error}")

    def error(self) -> ClosecallError:
        """Return the error anew."""
        from closecall import errors

        made = getattr(errors, self.kind, errors.ConfigurationError)
        try:
            raised: ClosecallError = made(self.message)
        except TypeError:  # it makes its message of other things
            raised = made.__new__(made, self.message)
        return raised


def worker_threads(embedder: Any, threads: int | None, num_cpus: float) -> int | None:
    """Return the threads of a worker's embedder: by default as many as it has CPUs.

    An object has its own, and a provider is asked as often at a time as suits it.
    """
    if threads is not None or not (embedder is None or isinstance(embedder, str)):
        return threads
    if provider_named(chosen_name(embedder).partition(":")[0]) is not None:
        return None
    return max(1, math.ceil(num_cpus))

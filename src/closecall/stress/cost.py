"""What it costs to read pairs, beside embedding the same answers: timed in this very run."""

from __future__ import annotations

import time
from collections.abc import Sequence
from typing import TYPE_CHECKING

import msgspec
import numpy as np

from closecall.errors import EmbeddingError
from closecall.metrics.support.base import Support
from closecall.records import Case, Role

if TYPE_CHECKING:
    from numpy.typing import NDArray

    from closecall.embedders.base import Embedder
    from closecall.metrics.base import Metric
    from closecall.metrics.support.reader import Identified, PairReader

SAMPLE = 128
"""Answers that are timed: a second or two with the bundled models."""


class PairCost(msgspec.Struct, frozen=True, kw_only=True):
    """How long a pair model took over ``answers`` edited answers, and embedding over the same.

    ``pairs`` were read in ``seconds``. ``embedder`` embedded the ``texts`` of these answers, the
    responses and what they are held against, each once and nothing remembered, in
    ``embedding_seconds``. These three are None where no embedder of this machine is in the run.
    """

    answers: int
    pairs: int
    seconds: float
    embedder: str | None
    texts: int | None
    embedding_seconds: float | None

    @property
    def pairs_per_second(self) -> float:
        """Pairs a second, what surrounds the model included."""
        return self.pairs / self.seconds

    @property
    def ratio(self) -> float | None:
        """How many times as long as embedding it took for the same answers."""
        return None if self.embedding_seconds is None else self.seconds / self.embedding_seconds


def pair_cost(metric: Metric, cases: Sequence[Case], embedder: Embedder | None) -> PairCost | None:
    """Time a metric of the pair model on some of the cases; None for other metrics, or no case.

    Parameters
    ----------
    metric
        It is made once more, with a model that counts.
    cases
        Those it measured; of more than ``SAMPLE`` as many, evenly spread.
    embedder
        One on this machine, or None.
    """
    if not cases or not isinstance(metric, Support):
        return None
    step = max(1, -(-len(cases) // SAMPLE))
    some = list(cases[::step])
    counted = _Counted(metric.model)
    timed = type(metric)(model=counted, **metric.spec.options)
    timed.load()
    began = time.perf_counter()
    timed.measure_batch(some, {})
    seconds = time.perf_counter() - began
    texts = _texts(some, metric.spec.needs)
    embedding = None if embedder is None else _embedded(embedder, texts)
    beside = embedder is not None and embedding is not None
    return PairCost(
        answers=len(some),
        pairs=counted.pairs,
        seconds=seconds,
        embedder=embedder.instrument.model if embedder is not None and beside else None,
        texts=len(texts) if beside else None,
        embedding_seconds=embedding,
    )


def _texts(cases: Sequence[Case], needs: Sequence[str]) -> list[str]:
    beside = "context" if "context" in needs else "references"
    texts = (text for case in cases for text in (case.response or "", *getattr(case, beside)))
    return list(dict.fromkeys(text for text in texts if text.strip()))


def _embedded(embedder: Embedder, texts: Sequence[str]) -> float | None:
    """Return the seconds it takes, loading not counted; None where it cannot embed them all."""
    try:
        embedder.embed(texts[:1], Role.TEXT)
        began = time.perf_counter()
        embedder.embed(texts, Role.TEXT)
    except EmbeddingError:
        return None  # whose text it was stands beside its answer
    return time.perf_counter() - began


class _Counted:
    """A pair model that counts what it reads."""

    def __init__(self, model: PairReader) -> None:
        self._model = model
        self.pairs = 0

    @property
    def name(self) -> str:
        return self._model.name

    @property
    def identity(self) -> Identified:
        return self._model.identity

    @property
    def window(self) -> int:
        return self._model.window

    def load(self) -> None:
        loads = getattr(self._model, "load", None)
        if loads is not None:
            loads()

    def count(self, text: str) -> int:
        return self._model.count(text)

    def unreadable(self, text: str) -> str | None:
        return self._model.unreadable(text)

    def score(self, pairs: Sequence[tuple[str, str]]) -> NDArray[np.float64]:
        self.pairs += len(pairs)
        return self._model.score(pairs)

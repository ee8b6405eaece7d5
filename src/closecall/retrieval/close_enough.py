"""Whether the nearest is near enough: a cutoff on the similarity that a search goes by.

A search always finds something. With a cutoff, "nothing relevant is there" is an answer; with one
that was calibrated on labels, an answer with a known rate of false accepts.
"""

from __future__ import annotations

import math
from pathlib import Path
from typing import Any, NamedTuple

from closecall.embedders.base import Embedder
from closecall.errors import InstrumentMismatchError, UsageError
from closecall.index.base import Hit
from closecall.metrics.base import SCORE_DECIMALS
from closecall.metrics.normalizer import ScoreNormalizer
from closecall.retrieval.labelled import METRIC
from closecall.runs.applied import Applied

ACCEPT, UNSURE, REJECT = "accept", "unsure", "reject"
_WORDS = {ACCEPT: "close enough", UNSURE: "unsure", REJECT: "not close enough", "": ""}


class Decided(NamedTuple):
    """A hit with what a cutoff says of it; ``decision`` is empty where there is no cutoff."""

    hit: Hit
    decision: str = ""

    @property
    def accepted(self) -> bool | None:
        """None: between two cutoffs, or no cutoff."""
        return {ACCEPT: True, REJECT: False}.get(self.decision)

    @property
    def words(self) -> str:
        """The decision in words."""
        return _WORDS[self.decision]


class Cutoff(NamedTuple):
    """The least similarity that is near enough, or a calibration of ``embed_query_context``."""

    least: float | None = None
    applied: Applied | None = None

    def decide(self, hit: Hit) -> Decided:
        """Return the hit with its decision.

        A calibration is about the metric: the cosine, below 0 as 0, times 100.
        """
        if self.applied is not None:
            score = round(ScoreNormalizer.from_similarity(hit.score), SCORE_DECIMALS)
            return Decided(hit, self.applied.decide(score).value)
        return Decided(hit, ACCEPT if self.least is None or hit.score >= self.least else REJECT)

    @property
    def facts(self) -> dict[str, Any]:
        """The cutoff as JSON values."""
        if self.applied is None:
            return {"min_score": self.least}
        return {
            "metric": self.applied.metric,
            "accept": self.applied.accept,
            "reject": self.applied.reject,
            "calibration": self.applied.digest,
            "promise": self.applied.promise,
        }

    @property
    def words(self) -> str:
        """The cutoff in words."""
        if self.applied is None:
            return f"close enough: a score of at least {self.least:g} (yours, not calibrated)"
        upper = f"a score of at least {self.applied.accept / 100:g}"
        lower = (
            "" if self.applied.reject is None else f", unsure from {self.applied.reject / 100:g}"
        )
        return f"close enough: {upper}{lower}; {self.applied.words}"


def least_score(value: float) -> Cutoff:
    """Return a cutoff of a person's own.

    Raises
    ------
    UsageError
        It is not finite.
    """
    if not math.isfinite(value):
        raise UsageError(f"--min-score must be a finite number, got {value!r}")
    return Cutoff(least=value)


def calibrated(path: Path, embedder: Embedder, similarity: str, spec: str) -> Cutoff:
    """Return the cutoff of a calibration file.

    Raises
    ------
    CalibrationFileError
        It is none.
    InstrumentMismatchError
        It belongs to another metric or embedder.
    UsageError
        The index does not go by the cosine.
    """
    from closecall.metrics.registry import load_metric
    from closecall.runs.calibrations import apply, load_calibrations

    given = load_calibrations(path)
    if given[0].metric != METRIC:
        raise InstrumentMismatchError(
            f"{path} is for {given[0].metric}; a search is decided by {METRIC}. Make such a file "
            f"with: closecall retrieval ... --write-cases found.jsonl, then closecall calibrate "
            f"found.jsonl -m {METRIC} -o {path.name}"
        )
    if similarity != "cosine":
        raise UsageError(
            f"--calibration: {METRIC} is a cosine and this index goes by {similarity}; use "
            "--min-score"
        )
    applied = apply(given, [load_metric(METRIC)], embedder, spec, None, uncalibrated=False)
    return Cutoff(applied=applied[METRIC])

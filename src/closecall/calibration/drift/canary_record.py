"""What an embedder made of the canaries at calibration, and how steady it was.

The canaries are embedded three times, in batches of different shape. Whatever differs between
the three is the embedder's own noise, from which the tolerances follow: ten times the largest
difference seen, and never less than what arithmetic of the embedder's precision class does to a
vector when it is done on another machine.
"""

from __future__ import annotations

import base64
import math
from collections.abc import Mapping
from itertools import combinations
from typing import Literal, NamedTuple, TypeAlias

import msgspec
import numpy as np

from closecall.calibration.drift.canaries import CANARIES, DIGEST, VERSION
from closecall.calibration.drift.canary_vectors import (
    ALL_AT_ONCE,
    Batches,
    distances,
    embed_canaries,
    failed,
    length,
    measured,
    nothing_embedded,
    pair_scores,
)
from closecall.embedders.base import Embedder, Vector
from closecall.errors import UsageError
from closecall.instrument import Instrument
from closecall.metrics.base import SCORE_NOISE

PrecisionClass: TypeAlias = Literal["fp32", "fp16", "bf16", "int8", "remote"]
"""What an embedder computes in; ``remote`` where that is out of sight."""

NOISE_FACTOR = 10
"""Tolerances are this many times the largest difference seen between batch shapes."""

LOCAL = "local"
"""The provider of an instrument that runs on this machine."""

_HALF = len(CANARIES) // 2
SHAPES: Mapping[str, Batches] = {
    "all at once": ALL_AT_ONCE,
    "one by one": tuple((canary,) for canary in CANARIES),
    "halves reversed": (CANARIES[_HALF:][::-1], CANARIES[:_HALF][::-1]),
}
"""The batches of each time; the vectors of the first are kept."""

_FLOAT = np.dtype("<f4")
_DIGIT = 1e-9


class Floor(NamedTuple):
    """Least tolerance of a precision class: for a text (1 - cosine), and for a pair's cosine.

    A pair's in fp32 is what scores may differ between machines (``SCORE_NOISE``), so that another
    processor is not taken for another model: two float32 implementations of the bundled one
    differed by 3e-7, and vectors stored as float16 move a pair by 3e-5.
    """

    text: float
    pair: float


FLOORS: Mapping[PrecisionClass, Floor] = {
    "fp32": Floor(1e-6, SCORE_NOISE),
    "fp16": Floor(1e-5, 1e-3),
    "bf16": Floor(5e-4, 1e-2),
    "int8": Floor(5e-3, 2e-2),
    "remote": Floor(1e-4, 2e-3),
}

CHANGE_OF_PRECISION = FLOORS["int8"]
"""Most that a change of precision does to a text and to a pair. For comparison: rounding all
weights of the bundled model to 8 bits, row by row, moves no canary by more than 7e-4 and changes
no pair by more than 7e-3."""


class CanaryRecord(msgspec.Struct, frozen=True, kw_only=True):
    """The canaries' vectors, what they give for the pairs, and the embedder's own noise.

    Parameters
    ----------
    version, digest
        Of the canaries; vectors of other texts cannot be compared with these.
    precision
        The precision class.
    dims
        Width of a vector.
    shapes
        The batch shapes tried, in order; the vectors are those of the first.
    vectors
        Base64 of little-endian float32, (n, dims), as the embedder returned them: one row a
        measured canary, in the order of their sorted names.
    norms
        Euclidean length of each measured canary's vector, by name.
    unmeasured
        Why a canary has no vector, by name.
    pair_scores
        Cosine of each pair whose two canaries were measured, by the pair's name.
    eps_self, eps_pair
        Largest difference between shapes: of a text (1 - cosine), and of a pair's cosine.
    """

    version: int
    digest: str
    precision: PrecisionClass
    dims: int
    shapes: tuple[str, ...]
    vectors: str
    norms: dict[str, float]
    unmeasured: dict[str, str]
    pair_scores: dict[str, float]
    eps_self: float
    eps_pair: float

    def __post_init__(self) -> None:
        if self.dims < 1 or not self.norms:
            raise ValueError(
                "norms, dims: at least one canary has a vector of at least one number"
            )
        wanted = _FLOAT.itemsize * self.dims * len(self.norms)
        content = base64.b64decode(self.vectors, validate=True)
        if len(content) != wanted:
            raise ValueError(
                f"vectors hold {len(content)} bytes, and {len(self.norms)} canaries of "
                f"{self.dims} numbers take {wanted}"
            )
        if not np.isfinite(np.frombuffer(content, dtype=_FLOAT)).all():
            raise ValueError("vectors: every number is finite")
        if not all(math.isfinite(norm) and norm > 0 for norm in self.norms.values()):
            raise ValueError("norms: every length is finite and above 0")
        # Two cosines differ by 2 at most; one computed from equal vectors may miss 1 by a digit.
        for name in ("eps_self", "eps_pair"):
            if not -_DIGIT <= getattr(self, name) <= 2 + _DIGIT:
                raise ValueError(f"{name}: {getattr(self, name)!r} does not lie between 0 and 2")
        if not all(abs(score) <= 1 + _DIGIT for score in self.pair_scores.values()):
            raise ValueError("pair_scores: a cosine lies between -1 and 1")

    @property
    def text_limit(self) -> float:
        """How far a text may move, as 1 - cosine, before that is more than noise."""
        return max(NOISE_FACTOR * self.eps_self, FLOORS[self.precision].text)

    @property
    def pair_limit(self) -> float:
        """How much a pair's cosine may change before that is more than noise."""
        return max(NOISE_FACTOR * self.eps_pair, FLOORS[self.precision].pair)

    @property
    def steady(self) -> bool:
        """Whether the noise is less than a change of precision would be.

        The tolerances of an embedder that is not steady let more than that pass as noise, and
        its scores near a cutoff are worth little.
        """
        return (
            self.text_limit <= CHANGE_OF_PRECISION.text
            and self.pair_limit <= CHANGE_OF_PRECISION.pair
        )

    def by_name(self) -> dict[str, Vector]:
        """Return the vector of each measured canary: float32, (dims,), read only."""
        rows = np.frombuffer(base64.b64decode(self.vectors), dtype=_FLOAT)
        return dict(zip(sorted(self.norms), rows.reshape(-1, self.dims), strict=True))


def record_canaries(embedder: Embedder) -> CanaryRecord:
    """Embed the canaries in every batch shape and return what came of it.

    A canary is measured if it has a vector in each shape. Three times 34 texts: about 0.7 s with
    the bundled model.

    Parameters
    ----------
    embedder
        The embedder itself, not a cache in front of it.

    Raises
    ------
    UsageError
        The embedder is a cache.
    ConfigurationError
        The embedder cannot be used at all.
    EmbeddingError
        No canary could be embedded.
    """
    tries = [embed_canaries(embedder, batches) for batches in SHAPES.values()]
    reasons: dict[str, str] = {}
    for found in tries:
        reasons = failed(found) | reasons
    runs = [
        {name: vector for name, vector in measured(found).items() if name not in reasons}
        for found in tries
    ]
    first = runs[0]
    if not first:
        raise nothing_embedded(embedder.instrument, reasons)
    scores = [pair_scores(vectors) for vectors in runs]
    moved = [far for a, b in combinations(runs, 2) for far in distances(a, b).values()]
    changed = [abs(a[name] - b[name]) for a, b in combinations(scores, 2) for name in a]
    rows = np.stack([first[name] for name in sorted(first)]).astype(_FLOAT)
    return CanaryRecord(
        version=VERSION,
        digest=DIGEST,
        precision=precision_class(embedder.instrument),
        dims=embedder.instrument.dims,
        shapes=tuple(SHAPES),
        vectors=base64.b64encode(rows.tobytes()).decode("ascii"),
        norms={name: length(vector) for name, vector in first.items()},
        unmeasured=reasons,
        pair_scores=scores[0],
        eps_self=max(moved),
        eps_pair=max(changed, default=0.0),
    )


def precision_class(instrument: Instrument) -> PrecisionClass:
    """Return what an instrument computes in.

    Weights stored smaller than they are computed with are part of what a model is, not noise, so
    ``fp16-weights`` is fp32. A local precision unknown here gets the strictest class, fp32: its
    own noise widens the tolerances where it must.
    """
    if instrument.provider != LOCAL:
        return "remote"
    return _CLASSES.get(instrument.precision, "fp32")


_CLASSES: Mapping[str, PrecisionClass] = {"fp16": "fp16", "bf16": "bf16", "int8": "int8"}


def score_noise(record: CanaryRecord, scale: float) -> float:
    """Return how much a score may move though the embedder is the same.

    A score no farther than this from a cutoff is a close call: the same model on another machine
    may decide it otherwise.

    Parameters
    ----------
    record
        Of the embedder behind the scores.
    scale
        Units of the score in one unit of cosine: 100 for a score from 0 to 100, 1 for a cosine.

    Raises
    ------
    UsageError
        The scale is not a finite number above 0.
    """
    if not (math.isfinite(scale) and scale > 0):
        raise UsageError(f"scale must be a finite number above 0, got {scale!r}")
    return record.pair_limit * scale

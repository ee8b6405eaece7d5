"""The canaries embedded anew, and how far vectors of the same canaries lie apart."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from typing import TypeAlias

import numpy as np

from closecall.calibration.drift.canaries import CANARIES, PAIRS, Canary
from closecall.calibration.inputs import Floats
from closecall.embedders.base import Embedded, Embedder, Failure, Vector
from closecall.embedders.cached import CachedEmbedder
from closecall.embedders.checked import Checked, Outcome
from closecall.errors import EmbeddingError, UsageError
from closecall.instrument import Instrument
from closecall.records import Role
from closecall.similarity import cosine_similarity

Batches: TypeAlias = Sequence[Sequence[Canary]]
"""Canaries embedded together; within a batch there is one call a role."""

ALL_AT_ONCE: Batches = (CANARIES,)

GIVE_UP_AFTER = 3
"""Texts asked for one by one, each in vain, before an embedder is taken to be out of order."""


def embed_canaries(embedder: Embedder, batches: Batches = ALL_AT_ONCE) -> dict[str, Outcome]:
    """Embed every canary anew; return its vector, or why it has none, by name in fixed order.

    Where a call as a whole fails, its texts are asked for one by one, so that one text does not
    take the others with it.

    Raises
    ------
    UsageError
        The embedder is a cache.
    ConfigurationError
        The embedder cannot be used at all.
    """
    if isinstance(embedder, CachedEmbedder):
        raise UsageError(
            "canaries must be embedded anew, and a cache answers with old vectors: "
            "pass the embedder that is behind it"
        )
    checked = Checked(embedder)
    checked.load()
    found: dict[str, Outcome] = {}
    for batch in batches:
        for role in Role:
            part = [canary for canary in batch if canary.role is role]
            if part:
                found.update(_embed(checked, part, role))
    return {canary.name: found[canary.name] for canary in CANARIES}


def measured(found: Mapping[str, Outcome]) -> dict[str, Vector]:
    """Return the vectors among outcomes, in their order."""
    return {name: one.vector for name, one in found.items() if isinstance(one, Embedded)}


def failed(found: Mapping[str, Outcome]) -> dict[str, str]:
    """Return the reasons among outcomes, in their order."""
    return {name: one.reason for name, one in found.items() if isinstance(one, Failure)}


def nothing_embedded(instrument: Instrument, reasons: Mapping[str, str]) -> EmbeddingError:
    """Return the error for an embedder that gave no vector at all."""
    return EmbeddingError(
        f"none of the {len(CANARIES)} canary texts has a vector, so nothing can be said of "
        f"{instrument.model}: {next(iter(reasons.values()))}"
    )


def distances(one: Mapping[str, Vector], other: Mapping[str, Vector]) -> dict[str, float]:
    """Return 1 - cosine of each name that is in both: float64, exactly 0 for equal vectors."""
    names = [name for name in one if name in other]
    apart = 1.0 - _cosines([one[name] for name in names], [other[name] for name in names])
    return dict(zip(names, apart.tolist(), strict=True))


def pair_scores(vectors: Mapping[str, Vector]) -> dict[str, float]:
    """Return the cosine, in float64, of each pair whose two canaries are both there."""
    pairs = [pair for pair in PAIRS if pair.first in vectors and pair.second in vectors]
    cosines = _cosines(
        [vectors[pair.first] for pair in pairs], [vectors[pair.second] for pair in pairs]
    )
    return dict(zip((pair.name for pair in pairs), cosines.tolist(), strict=True))


def length(vector: Vector) -> float:
    """Return the Euclidean length of a vector, computed in float64."""
    return float(np.sqrt(np.square(vector.astype(np.float64)).sum()))


def _embed(checked: Checked, canaries: Sequence[Canary], role: Role) -> dict[str, Outcome]:
    """Embed canaries of one role in one call, or one by one if that fails as a whole."""
    answers = checked.embed([canary.text for canary in canaries], role)
    found = {canary.name: answer.outcome for canary, answer in zip(canaries, answers, strict=True)}
    some = any(answer.lasting or isinstance(answer.outcome, Embedded) for answer in answers)
    if some or len(canaries) == 1:
        return found
    in_vain = 0
    # From the plainest on: when even those fail, no more is asked of the embedder.
    for canary in sorted(canaries, key=CANARIES.index):
        if in_vain == GIVE_UP_AFTER:
            break
        found[canary.name] = checked.embed([canary.text], role)[0].outcome
        in_vain = in_vain + 1 if isinstance(found[canary.name], Failure) else 0
    return found


def _cosines(left: Sequence[Vector], right: Sequence[Vector]) -> Floats:
    """Return the cosine of each vector of ``left`` with its counterpart: float64, (n,)."""
    if not left:
        return np.empty(0, dtype=np.float64)
    return np.asarray(cosine_similarity(np.stack(left), np.stack(right)), dtype=np.float64)

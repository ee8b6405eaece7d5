"""Vectors for the rows and the queries of an index, from the embedder that belongs to it."""

from __future__ import annotations

from collections.abc import Sequence
from typing import NamedTuple

import numpy as np

from closecall.embedders.base import Embedded, Embedder
from closecall.embedders.checked import Checked
from closecall.errors import EmbeddingError, InstrumentMismatchError, UsageError
from closecall.index.products import Floats32
from closecall.instrument import Instrument, differences
from closecall.records import Role

_SHOWN = 5


class Embeddings(NamedTuple):
    """``vectors`` (m, d) of the texts at ``positions``, and the reason for each that has none."""

    vectors: Floats32
    positions: list[int]
    failed: dict[int, str]


def embed(embedder: Embedder, texts: Sequence[str], role: Role) -> Embeddings:
    """Embed texts, each checked: finite, not zero, of the instrument's width."""
    answers = Checked(embedder).embed(texts, role) if texts else []
    found: list[Floats32] = []
    positions, failed = [], {}
    for position, answer in enumerate(answers):
        outcome = answer.outcome
        if isinstance(outcome, Embedded):
            found.append(outcome.vector)
            positions.append(position)
        else:
            failed[position] = outcome.reason
    width = embedder.instrument.dims
    vectors = np.stack(found) if found else np.empty((0, width), dtype=np.float32)
    return Embeddings(vectors, positions, failed)


def embed_queries(embedder: Embedder, texts: Sequence[str]) -> Floats32:
    """Return one vector a query.

    Raises
    ------
    EmbeddingError
        Some have none; the message names the first few and why.
    """
    found = embed(embedder, texts, Role.QUERY)
    if found.failed:
        raise_failed("query", {str(at + 1): reason for at, reason in found.failed.items()})
    return found.vectors


def raise_failed(what: str, failed: dict[str, str]) -> None:
    """Raise an ``EmbeddingError`` that names the first few at fault."""
    first = [f"{what} {name}: {reason}" for name, reason in list(failed.items())[:_SHOWN]]
    rest = len(failed) - len(first)
    more = [f"... and {rest} more"] if rest else []
    raise EmbeddingError(
        "\n  ".join([f"no vector for {len(failed)} of the texts:", *first, *more])
    )


def require_same(ours: Instrument | None, theirs: Instrument, what: str) -> None:
    """Refuse vectors of another embedder than the index was built with.

    Raises
    ------
    InstrumentMismatchError
        They differ; the message names each field.
    UsageError
        The index does not say what its vectors came from.
    """
    if ours is None:
        raise UsageError(
            f"the index does not say what embedded its rows, so {what} cannot be checked; "
            "build it with an instrument, or give vectors alone"
        )
    if ours.digest != theirs.digest:
        changed = differences(ours, theirs)
        raise InstrumentMismatchError(
            "\n  ".join(
                [
                    f"{what} come from another embedder than the rows of the index:",
                    *changed,
                    "use the embedder of the index, or build it again with this one",
                ]
            )
        )

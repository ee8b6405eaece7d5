"""The texts of an audit, embedded once each, and what the model saw of them."""

from __future__ import annotations

from collections.abc import Callable, Iterable, Sequence
from dataclasses import dataclass, field

import numpy as np
from numpy.typing import NDArray

from closecall.audit.rows import NONE, Rows, texts_of
from closecall.embedders.base import Embedded, Failure, TextKey, Vectors
from closecall.embedders.cached import CachedEmbedder
from closecall.records import Case, Tokens
from closecall.runs.runner import BATCH_CASES, BATCH_CHARS, batched

COMPARED = ("input", "response", "context")
"""Fields whose vectors are compared; references are embedded to see what the model reads."""


@dataclass(slots=True)
class TextVectors:
    """Unit vectors by the number of a text.

    A text that failed, was not embedded or is mostly unknown to the model has none.

    ``tokens`` holds what the model saw of texts longer than its window, or with tokens it does
    not know. ``failures`` says why a text has no vector. ``used`` counts the rows filled.
    """

    matrix: Vectors
    at: NDArray[np.int64]
    used: int = 0
    tokens: dict[int, Tokens] = field(default_factory=dict)
    failures: dict[int, Failure] = field(default_factory=dict)

    def has(self, text: int) -> bool:
        """Return whether a text has a vector."""
        return text != NONE and bool(self.at[text] >= 0)

    def of(self, texts: Sequence[int]) -> Vectors:
        """Return (n, d) the vectors of these texts; each must have one."""
        return np.asarray(self.matrix[self.at[list(texts)]])

    def similarity(self, one: int, other: int) -> float:
        """Return the cosine of two texts that have vectors, as float64 rounded to float32."""
        left, right = (self.matrix[self.at[text]].astype(np.float64) for text in (one, other))
        return float(np.float32(min(1.0, np.einsum("i,i->", left, right))))


def embed_texts(
    rows: Rows,
    sources: Sequence[Iterable[Case]],
    embedder: CachedEmbedder,
    fields: Sequence[str],
    tick: Callable[[int], None],
) -> TextVectors:
    """Embed the texts in these fields, each that differs once; reads the cases a second time.

    Memory: 4 bytes a dimension and distinct text of the fields that are compared.
    """
    compared = {
        text
        for row in rows.rows
        for name in fields
        if name in COMPARED
        for text in row.texts(name)
    }
    at = np.full(len(rows.texts), -1, dtype=np.int64)
    found = TextVectors(np.zeros((len(compared), embedder.instrument.dims), dtype=np.float32), at)
    done: set[int] = set()
    for source in sources:
        for batch in batched(source, BATCH_CASES, BATCH_CHARS):
            new: dict[int, TextKey] = {}
            for case in batch:
                for name, texts in texts_of(case).items():
                    if name in fields:
                        new.update((rows.texts.known(text), TextKey(text)) for text in texts)
            new = {number: key for number, key in new.items() if number not in done}
            outcomes = embedder.fetch(new.values())
            for number, key in new.items():
                _keep(found, number, outcomes[key], compared)
            done.update(new)
            tick(len(batch))
    found.matrix = found.matrix[: found.used]
    return found


def _mostly_unknown(tokens: Tokens | None) -> bool:
    """Whether a model knows less than half of a text: its vector says next to nothing of it."""
    return tokens is not None and 2 * tokens.unknown > tokens.own


def _keep(
    found: TextVectors, number: int, outcome: Embedded | Failure, compared: set[int]
) -> None:
    if isinstance(outcome, Failure):
        found.failures[number] = outcome
        return
    tokens = outcome.tokens
    if tokens is not None and (tokens.truncated or tokens.windows > 1 or tokens.unknown):
        found.tokens[number] = tokens
    if number in compared and not _mostly_unknown(tokens):
        vector = outcome.vector.astype(np.float64)
        found.matrix[found.used] = vector / np.sqrt(vector @ vector)
        found.at[number] = found.used
        found.used += 1

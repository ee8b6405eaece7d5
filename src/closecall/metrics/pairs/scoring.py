"""Pairs of texts in, what the model makes of each out; many at once, in one pass a window."""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from concurrent.futures import ThreadPoolExecutor
from typing import NamedTuple

import numpy as np
from numpy.typing import NDArray

from closecall.embedders.windows import exact_batches
from closecall.metrics.pairs.runtime import Loaded, Outputs
from closecall.metrics.pairs.tokenising import Rows, Text, TooLongError, row_lengths
from closecall.models.pair_folder import RAW, SIGMOID
from closecall.records import Tokens

BATCH_TOKENS = 1024
"""Most tokens in one run: two rows of 512 need about 60 MB in a model of 12 heads."""

SLAB_TOKENS = 500_000
"""Most tokens made into rows before they are run: 4 MB, and one pair's windows at least."""


class Pair(NamedTuple):
    """Two texts in the order the model is to read them."""

    first: Text
    second: Text


class Scored(NamedTuple):
    """What the model makes of a pair: float64 (k,), one number a label.

    They are those of the window in which the label that says yes is highest.
    """

    shares: NDArray[np.float64]
    first: Tokens
    second: Tokens


class Refused(NamedTuple):
    """Why a pair has no score. ``broken``: the model failed on it, not the pair is too long."""

    reason: str
    broken: bool


Outcome = Scored | Refused

NOT_FINITE = "the model gave an output that is not finite"


def score_pairs(
    loaded: Loaded, pairs: Sequence[Pair], positive: int, activation: str
) -> list[Outcome]:
    """Return the outcome of each pair, in order.

    Rows of equal length are run together without padding, so what comes of one does not depend
    on the others beyond the last bits of a float32.

    Parameters
    ----------
    positive
        Index of the label that says yes.
    activation
        ``softmax``, ``sigmoid`` or ``raw``; see ``applied``.

    Raises
    ------
    EmbeddingError
        The runtime fails.
    ModelError
        The model does not give what its configuration says.
    """
    outcomes: list[Outcome] = []
    for slab in _slabs(loaded, pairs):
        rows = [one for one in slab if isinstance(one, Rows)]
        shares = applied(_run(loaded, rows), activation)
        start = 0
        for one in slab:
            if isinstance(one, Refused):
                outcomes.append(one)
                continue
            own = shares[start : start + len(one.ids)]
            start += len(one.ids)
            outcomes.append(_best(own, positive, one))
    return outcomes


def applied(outputs: Outputs, activation: str) -> Outputs:
    """Return what the configuration makes of raw outputs: float64 (n, k) to the same shape."""
    if activation == RAW:
        return outputs
    if activation == SIGMOID:
        # The same number on either side of 0, and no overflow on one of them.
        small = np.exp(-np.abs(outputs))
        return np.where(outputs >= 0, 1 / (1 + small), small / (1 + small))
    # A row that is not finite stays so, and is told from the others later.
    with np.errstate(invalid="ignore"):
        powers = np.exp(outputs - outputs.max(axis=1, keepdims=True))
        found: Outputs = powers / powers.sum(axis=1, keepdims=True)
    found[~np.isfinite(outputs).all(axis=1)] = np.nan
    return found


def _best(own: NDArray[np.float64], positive: int, rows: Rows) -> Outcome:
    if not np.isfinite(own).all():
        return Refused(NOT_FINITE, broken=True)
    return Scored(own[int(own[:, positive].argmax())], rows.first, rows.second)


def _slabs(loaded: Loaded, pairs: Sequence[Pair]) -> Iterator[list[Rows | Refused]]:
    """Yield the rows of all pairs in order, as many at a time as memory should hold."""
    slab: list[Rows | Refused] = []
    held = 0
    for pair in pairs:
        try:
            rows = loaded.tokenizer.rows(pair.first, pair.second)
        except TooLongError as error:
            slab.append(Refused(f"{error.total} tokens", broken=False))
            continue
        slab.append(rows)
        held += sum(map(len, rows.ids))
        if held >= SLAB_TOKENS:
            yield slab
            slab, held = [], 0
    if slab:
        yield slab


def _run(loaded: Loaded, rows: list[Rows]) -> Outputs:
    """Return the raw outputs of every row of every pair: float64 (n, k)."""
    ids = [row for pair in rows for row in pair.ids]
    types = [row for pair in rows for row in pair.types]
    if not ids:
        return np.empty((0, 1))
    runner = loaded.runner
    budget = 1 if runner.alone else BATCH_TOKENS
    batches = exact_batches(list(row_lengths(rows)), budget)

    def run(batch: NDArray[np.intp]) -> Outputs:
        return runner.run(
            np.stack([ids[at] for at in batch]), np.stack([types[at] for at in batch])
        )

    if runner.threads == 1 or len(batches) == 1:
        found = list(map(run, batches))
    else:
        with ThreadPoolExecutor(runner.threads, thread_name_prefix="closecall-pairs") as pool:
            found = list(pool.map(run, batches))
    outputs = np.empty((len(ids), found[0].shape[1]))
    for batch, part in zip(batches, found, strict=True):
        outputs[batch] = part
    return outputs

"""How texts longer than a model's window are read, and how windows become batches.

Pure functions on counts; nothing here knows of a model. Lengths and positions are in tokens of
the text itself: special tokens and prefixes are added by whoever runs the model.
"""

from __future__ import annotations

from collections.abc import Sequence
from itertools import pairwise
from typing import NamedTuple

import numpy as np
from numpy.typing import NDArray

from closecall.errors import UsageError
from closecall.instrument import CHUNK, TRUNCATE, WINDOW_POLICIES

DEFAULT_OVERLAP = 32
"""Tokens that neighbouring windows share when nothing else is said."""


class Span(NamedTuple):
    """Tokens ``start`` up to, not including, ``stop`` of a text."""

    start: int
    stop: int

    @property
    def length(self) -> int:
        """How many tokens the window holds."""
        return self.stop - self.start


def spans(count: int, capacity: int, overlap: int) -> list[Span]:
    """Return the windows of a text of ``count`` tokens, first to last.

    Every window but the last holds exactly ``capacity`` tokens; neighbours share exactly
    ``overlap``; every token is in one window at least. A text of no tokens has one empty window.

    Parameters
    ----------
    count
        Tokens of the text, from 0.
    capacity
        Most tokens in a window, from 1.
    overlap
        Tokens shared by neighbours, from 0 to ``capacity - 1``.
    """
    if capacity < 1 or not 0 <= overlap < capacity or count < 0:
        raise ValueError(f"no windows for {count=}, {capacity=}, {overlap=}")
    if count <= capacity:
        return [Span(0, count)]
    step = capacity - overlap
    # The last window is the first that reaches the end.
    starts = range(0, count - overlap, step)
    return [Span(start, min(start + capacity, count)) for start in starts]


def shares(windows: Sequence[Span]) -> list[Span]:
    """Return the part of each window that is its own, so that every token is in one part.

    An overlap is cut in the middle: each of its tokens goes to the window in which it stands
    furthest from where that window was cut off, and a token as far from both to the earlier one.

    Parameters
    ----------
    windows
        The windows of one text as ``spans`` gives them, one at least.
    """
    inner = [(left.stop + right.start + 1) // 2 for left, right in pairwise(windows)]
    edges = [windows[0].start, *inner, windows[-1].stop]
    return [Span(start, stop) for start, stop in pairwise(edges)]


def exact_batches(lengths: Sequence[int], budget: int) -> list[NDArray[np.intp]]:
    """Group equal lengths into batches of at most ``budget`` tokens, most tokens first.

    Returns indices into ``lengths``; each index is in exactly one batch, and a batch holds one
    at least, so a length above the budget makes batches of one. Within a length the order is
    kept. Batches of one length need no padding, so what a model does to one row cannot depend
    on how long its neighbours are.

    Parameters
    ----------
    lengths
        Tokens of each window as the model will see it, from 1.
    budget
        Most tokens in a batch.
    """
    sizes = np.asarray(lengths, dtype=np.int64)
    if sizes.size == 0:
        return []
    order = np.argsort(sizes, kind="stable")
    edges = np.flatnonzero(np.diff(sizes[order])) + 1
    batches = []
    for group in np.split(order, edges):
        rows = max(1, budget // int(sizes[group[0]]))
        batches += [group[at : at + rows] for at in range(0, len(group), rows)]
    # Large batches first, so that workers finish together; ties keep the order of lengths.
    return sorted(batches, key=lambda batch: -len(batch) * int(sizes[batch[0]]))


def average(
    vectors: NDArray[np.float32], weights: Sequence[int], *, normalize: bool
) -> NDArray[np.float32]:
    """Return the mean of windows' vectors, each weighted by its tokens: float32, (d,).

    Parameters
    ----------
    vectors
        float32, (w, d), one row a window.
    weights
        Tokens in each window, not all zero.
    normalize
        Whether the mean is brought to length 1; a mean of zero stays zero.
    """
    shares = np.asarray(weights, dtype=np.float64)
    # Summed window by window: the order of additions, and so the last bit, is fixed.
    total = np.zeros(vectors.shape[1], dtype=np.float64)
    for share, vector in zip(shares / shares.sum(), vectors, strict=True):
        total += share * vector
    if normalize:
        length = float(np.sqrt(np.square(total).sum()))
        total = total / length if length > 0 else total
    return total.astype(np.float32)


def averaged(
    vectors: NDArray[np.float32], spans: Sequence[Sequence[Span]], *, normalize: bool
) -> NDArray[np.float32]:
    """Return one vector a text from one a window: float32, (n, d).

    The vector of a text read in one window is that window's, bit for bit.

    Parameters
    ----------
    vectors
        float32, (w, d), the windows of all texts in order.
    spans
        The windows of each text, one at least.
    normalize
        See ``average``.
    """
    if len(vectors) == len(spans):
        return vectors
    found = np.empty((len(spans), vectors.shape[1]), dtype=np.float32)
    start = 0
    for at, windows in enumerate(spans):
        own = vectors[start : start + len(windows)]
        start += len(windows)
        weights = [window.length for window in windows]
        found[at] = own[0] if len(own) == 1 else average(own, weights, normalize=normalize)
    return found


def checked_policy(window: str, overlap: int | None, capacity: int) -> tuple[str, int]:
    """Return the policy and its overlap, 0 unless the policy is ``chunk``.

    Parameters
    ----------
    window
        ``chunk``, ``truncate`` or ``error``.
    overlap
        Tokens neighbours share; None for 32, or a quarter of a window that is smaller.
    capacity
        Most tokens of the text in a window.

    Raises
    ------
    UsageError
        If the policy is not known or the overlap does not fit the window.
    """
    if window not in WINDOW_POLICIES:
        raise UsageError(f"window must be one of {', '.join(WINDOW_POLICIES)}, got {window!r}")
    if window != CHUNK:
        if overlap:
            raise UsageError(f"overlap is for window='chunk' only, not for {window!r}")
        return window, 0
    if overlap is None:
        return window, min(DEFAULT_OVERLAP, capacity // 4)
    if isinstance(overlap, bool) or not isinstance(overlap, int) or not 0 <= overlap < capacity:
        raise UsageError(
            f"overlap must be a whole number from 0 to {capacity - 1}, got {overlap!r}"
        )
    return window, overlap


def read_spans(count: int, capacity: int, overlap: int, policy: str) -> list[Span]:
    """Return the windows a policy reads of a text; ``error`` reads none of one too long."""
    if count <= capacity or policy == CHUNK:
        return spans(count, capacity, overlap)
    return [Span(0, capacity)] if policy == TRUNCATE else []

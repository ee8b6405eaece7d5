"""Draws of labelled answers anew, whole groups at a time, and a cutoff for each draw.

Scores are sorted once. A resample is then a weight for each group: how often it was drawn. What
a resample's own cutoff accepts follows from the sorted order and the weights.
"""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import dataclass

import numpy as np
from numpy.typing import NDArray

from closecall.calibration.inputs import Bools, Floats, Ints, Labelled
from closecall.errors import UsageError

_CELLS = 2_000_000


@dataclass(frozen=True, eq=False, slots=True)
class Units:
    """What is drawn: groups, or single answers. Those with a reject come first.

    ``of`` (n,): the unit of each row. ``accepts`` (G,): how many accepts each has. ``first`` and
    ``size`` (G,): draw j picks one of ``size[j]`` units from ``first[j]`` on, those of its kind.
    ``backing`` units have a reject.
    """

    of: Ints
    accepts: Ints
    first: Ints
    size: Ints
    backing: int


@dataclass(frozen=True, eq=False, slots=True)
class Side:
    """Scores of one model, sorted once.

    ``rejects`` (n0,): by unit, then by score; those of unit u are ``count[u]`` from ``start[u]``.
    ``accepts`` (n1,): highest first, negated; ``owner`` their units. ``top`` (G,): the highest
    score of each unit.
    """

    rejects: Floats
    start: Ints
    count: Ints
    accepts: Floats
    owner: Ints
    top: Floats

    def calibrated(
        self, picks: Ints, drawn: NDArray[np.uint64], weights: Ints, allowed: int
    ) -> tuple[Ints, Bools]:
        """Return how many accepts each resample's own cutoff accepts, and where it has none.

        Arguments as ``resampled`` yields them; the results are (r,).
        """
        backing = len(self.start)
        units = picks[:, :backing]
        within = (drawn % self.count[units].astype(np.uint64)).astype(np.int64)
        sample = self.rejects[self.start[units] + within]
        # The reject that must not be accepted: the (allowed + 1)-th from the top.
        at = backing - 1 - allowed
        bar = np.partition(sample, at, axis=1)[:, at]
        above = np.searchsorted(self.accepts, -bar, side="left")
        running = np.cumsum(weights[:, self.owner], axis=1)
        rows = np.arange(len(picks))
        kept = np.where(above > 0, running[rows, above - 1], 0)
        return kept, self.top[picks].max(axis=1) <= bar


def units_of(a: Labelled, b: Labelled) -> Units:
    """Return what is drawn of the rows of two models, which are the same."""
    if a.groups is None:
        # Rows numbered by what they hold: neither their order in the file nor which of the two
        # models comes first changes anything.
        ranks = [np.unique(model.scores, return_inverse=True)[1] for model in (a, b)]
        first, second = sorted(ranks, key=lambda rank: np.sort(rank[~a.accept]).tobytes())
        order = np.lexsort((second, first, a.accept))
        codes = np.empty(len(order), dtype=np.int64)
        codes[order] = np.arange(len(order))
    else:
        _, codes = np.unique(a.groups, return_inverse=True)
    accepts = np.bincount(codes[a.accept], minlength=int(codes.max()) + 1)
    rejects = np.bincount(codes[~a.accept], minlength=len(accepts))
    kind = np.where(rejects == 0, 2, np.where(accepts == 0, 1, 0))
    order = np.argsort(kind, kind="stable")
    place = np.empty(len(order), dtype=np.int64)
    place[order] = np.arange(len(order))
    sizes = np.bincount(kind, minlength=3)
    return Units(
        of=place[codes],
        accepts=accepts[order],
        first=np.repeat(np.cumsum(sizes) - sizes, sizes),
        size=np.repeat(sizes, sizes),
        backing=int(np.count_nonzero(rejects)),
    )


def side_of(data: Labelled, units: Units) -> Side:
    """Sort the scores of one model."""
    scores = data.scores
    reject_scores, reject_units = scores[~data.accept], units.of[~data.accept]
    order = np.lexsort((reject_scores, reject_units))
    count = np.bincount(reject_units, minlength=units.backing)
    highest = np.argsort(-scores[data.accept], kind="stable")
    top = np.full(len(units.accepts), -np.inf)
    np.maximum.at(top, units.of, scores)
    return Side(
        rejects=reject_scores[order],
        start=np.cumsum(count) - count,
        count=count,
        accepts=-scores[data.accept][highest],
        owner=units.of[data.accept][highest],
        top=top,
    )


def resampled(
    units: Units, resamples: int, seed: int
) -> Iterator[tuple[Ints, NDArray[np.uint64]]]:
    """Yield resamples, r at a time: the units drawn (r, G), and a number for each that backs.

    Raw output of the generator is the one stream that numpy never changes; what one resample
    takes of it does not depend on how many are made at a time.
    """
    if isinstance(seed, bool) or not isinstance(seed, int) or seed < 0:
        raise UsageError(f"seed must be a whole number of at least 0, got {seed!r}")
    stream = np.random.PCG64(seed)
    total = len(units.accepts)
    size = units.size.astype(np.uint64)
    at_once = max(1, _CELLS // len(units.of))
    for start in range(0, resamples, at_once):
        rows = min(at_once, resamples - start)
        raw = stream.random_raw(rows * (total + units.backing)).reshape(rows, -1)
        # The bias of % is below 2**-40.
        picks = units.first + (raw[:, :total] % size).astype(np.int64)
        yield picks, raw[:, total:]


def weights_of(picks: Ints, total: int) -> Ints:
    """Return how often each resample drew each unit: (r, G)."""
    rows = np.arange(len(picks))[:, None] * total
    counted = np.bincount((rows + picks).ravel(), minlength=len(picks) * total)
    return counted.reshape(len(picks), total)

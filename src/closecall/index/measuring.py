"""The recall of an index, measured against every row when it is built."""

from __future__ import annotations

from typing import NamedTuple

import msgspec
import numpy as np

from closecall.index.exact import Neighbours, nearest
from closecall.index.kinds import TUNED, Kind
from closecall.index.products import Floats32, Positions
from closecall.index.recall import GIVEN, OWN_ROWS, Recall, recall
from closecall.index.searching import Field, search

K = 10
QUERIES = 200
_DOUBLINGS = 6


def measured(
    field: Field, *, seed: int, queries: Floats32 | None = None, k: int = K, count: int = QUERIES
) -> Recall:
    """Return recall@k of a search against the truth.

    Parameters
    ----------
    seed
        Chooses ``count`` rows as queries, where none are given. A row does not count as its own
        neighbour. Real queries lie farther from the rows than these, so their recall may be
        lower: give some.
    queries
        (q, d).
    """
    return _measured(field, _asked(field, seed, queries, k, count))


def tuned(
    field: Field, goal: float, *, seed: int, queries: Floats32 | None
) -> tuple[Field, Recall]:
    """Return the field and its recall, its searches made longer until they reach the goal.

    At most six doublings of ``ef`` or ``nprobe``. Where none reaches it, the shortest search is
    kept that finds as much as any: what codes lose, longer searches do not find again. Recall on
    further queries was within .015 of it, on made vectors (``benchmarks/index.py``).
    """
    asked = _asked(field, seed, queries, K, QUERIES)
    tries = [(field, _measured(field, asked))]
    for _ in range(_DOUBLINGS):
        field, found = tries[-1]
        if found.rate is None or found.rate >= goal or field.part is None:
            break
        longer = _longer(field.part.kind)
        if longer is None:
            break
        field = field._replace(part=field.part.tuned(longer))
        tries.append((field, _measured(field, asked)))
    return max(tries, key=lambda one: one[1].found)  # the first of equals


class _Asked(NamedTuple):
    """Queries with their true nearest; ``own`` are their positions where they are rows."""

    queries: Floats32
    own: Positions | None
    truth: Neighbours
    k: int
    seed: int


def _asked(field: Field, seed: int, queries: Floats32 | None, k: int, count: int) -> _Asked:
    rows = field.vectors.shape[0]
    own: Positions | None = None
    if queries is None:
        chosen = np.random.default_rng(seed).choice(rows, size=min(count, rows), replace=False)
        own = np.sort(chosen).astype(np.int64)
        queries = field.vectors[own]
    wanted = k if own is None else k + 1
    truth = nearest(queries, field.vectors, wanted, similarity=field.similarity, ranks=field.ranks)
    return _Asked(queries, own, truth if own is None else _without(truth, own), k, seed)


def _measured(field: Field, asked: _Asked) -> Recall:
    own = asked.own
    found = search(field, asked.queries, asked.k if own is None else asked.k + 1)
    return msgspec.structs.replace(
        recall(found if own is None else _without(found, own), asked.truth),
        source=GIVEN if own is None else OWN_ROWS,
        seed=None if own is None else asked.seed,
    )


def _longer(kind: Kind) -> Kind | None:
    """Return the kind with a search twice as long; None where there is no such."""
    option = TUNED.get(kind.name)
    if option is None:
        return None
    most = kind.options.get("nlist", 1 << 16)
    value = min(2 * kind.options[option], most)
    return kind.having(**{option: value}) if value > kind.options[option] else None


def _without(found: Neighbours, own: Positions) -> Neighbours:
    """Return neighbours without each query's own row, or without the last where it is not one."""
    is_own = found.positions == own[:, None]
    is_own[~is_own.any(axis=1), -1] = True
    shape = (own.size, found.positions.shape[1] - 1)
    return Neighbours(
        found.positions[~is_own].reshape(shape), found.similarities[~is_own].reshape(shape)
    )

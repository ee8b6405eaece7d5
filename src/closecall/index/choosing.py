"""Which kind of index suits so many rows, and why, in words."""

from __future__ import annotations

from typing import NamedTuple

from closecall.index.kinds import Kind, bytes_of, kind_named
from closecall.index.products import Similarity

EXACT_UP_TO = 50_000
"""Rows that are searched exactly: for one query, of 384 numbers, below 10 ms of one core.

Measured on an AMD EPYC: 1.5 ms for 10,000 rows, 8.6 ms for 50,000 and 15.5 ms for 100,000, where
a plain product and partial sort in float32 take 0.9, 6.8 and 13.7 ms. The first query takes three
to five times as long, as it measures the rows.
"""

_NUMBERS_A_MS = 2_400_000
"""Numbers of rows that such a core goes through in a millisecond, from those times."""

GRAPH_UP_TO = 2_000_000
"""Rows a graph is built for: it is linked on one thread, about a thousand rows a second."""

MEGABYTE = 1_000_000


class Choice(NamedTuple):
    """A kind with every option, and the reason for it."""

    kind: Kind
    why: str


def choose(
    rows: int, width: int, *, similarity: Similarity, recall_goal: float, memory: int | None
) -> Choice:
    """Return the kind for so many rows; the same facts give the same choice on every machine.

    Parameters
    ----------
    recall_goal
        The share of the true nearest that a search should find, above 0 up to 1.
    memory
        Bytes a search may keep in memory; None: as many as it takes.
    """
    room = float("inf") if memory is None else memory
    told = f"{rows:,} rows of {width} numbers"
    flat = kind_named("flat")
    fits = bytes_of(flat, rows, width) <= room
    if rows <= EXACT_UP_TO:
        return Choice(
            kind_named("exact"),
            f"{told}: at most {EXACT_UP_TO:,} are searched exactly, in about "
            f"{max(1, round(rows * width / _NUMBERS_A_MS))} ms of one core a query",
        )
    if recall_goal >= 1:
        if fits:
            return Choice(
                flat, f"{told}: a recall of 1 is asked for, so each is looked at, in memory"
            )
        return Choice(
            kind_named("exact"),
            f"{told}: a recall of 1 is asked for, and {_megabytes(flat, rows, width)} are more "
            "than the memory allowed, so each is read from the file",
        )
    for kind, reason in _approximate(rows, similarity):
        ready = kind.resolved(rows, width)
        if bytes_of(ready, rows, width) <= room:
            return Choice(
                kind,
                f"{told}: {reason}, {_megabytes(ready, rows, width)} in memory; "
                + told_goal(recall_goal),
            )
    return Choice(
        kind_named("exact"),
        f"{told}: no kind fits in {memory:,} bytes of memory, so each is read from the file, "
        "which is slow",
    )


def told_goal(recall_goal: float) -> str:
    """Return the goal in words; whether it is reached is said after it."""
    return f"the goal is a recall of {recall_goal:g}"


def _approximate(rows: int, similarity: Similarity) -> list[tuple[Kind, str]]:
    graph = (kind_named("hnsw"), "a graph is the fastest at high recall")
    lists = (kind_named("ivf"), f"lists, as a graph of over {GRAPH_UP_TO:,} takes long to link")
    coded = (kind_named("ivfpq"), "codes, as whole vectors are more than the memory allowed")
    if similarity == "dot":
        return [
            (lists[0], "lists, as a graph by dot product loses rows that few others are near"),
            coded,
        ]
    return [graph, coded] if rows <= GRAPH_UP_TO else [lists, coded]


def _megabytes(kind: Kind, rows: int, width: int) -> str:
    return f"about {bytes_of(kind, rows, width) / MEGABYTE:,.0f} MB"

"""What ``closecall search`` prints and writes: a table, JSON lines, a TREC run."""

from __future__ import annotations

import sys
from collections.abc import Callable, Sequence
from pathlib import Path
from typing import TYPE_CHECKING, NamedTuple, TypeAlias

from closecall.cli.say import say, say_json

if TYPE_CHECKING:
    from closecall.index.local import LocalIndex
    from closecall.retrieval.close_enough import Cutoff, Decided


class Asked(NamedTuple):
    """One question."""

    id: str
    text: str


Found: TypeAlias = "list[tuple[Asked, Sequence[Decided]]]"
Print: TypeAlias = "Callable[[Asked, Sequence[Decided], str], None]"
"""Prints a question with its hits, or with why it has no vector."""


def printer(
    index: LocalIndex,
    name: str,
    cutoff: Cutoff | None,
    *,
    alone: bool,
    filtered: Sequence[str],
    form: str,
) -> Print:
    """Return what prints one question with its hits.

    Parameters
    ----------
    index, name
        What is searched, and what to call it.
    alone
        Whether there is one question, which the person has before their eyes.
    filtered
        The fields that rows had to pass a filter on.
    form
        ``table``, ``json``, or ``run`` for a file that says all.
    """
    if form == "json":
        return _as_json(index, cutoff)
    if form == "run":
        return _unprinted
    from closecall.report.hits import conclusion, table
    from closecall.report.index import EXACT, embedder
    from closecall.report.wrapped import columns, wrapped

    how = EXACT if index.recall is None else str(index.recall)
    head = (
        f"{name}: {len(index):,} rows, {index.similarity}; embedded by "
        f"{embedder(index.instrument)}; {index.kind.spelled}: {how}"
    )
    first = [head, *([cutoff.words] if cutoff else [])]

    def as_table(one: Asked, hits: Sequence[Decided], reason: str) -> None:
        for line in wrapped(first, columns(sys.stdout)):
            say(line)
        first.clear()
        if not alone:
            say("")
            for line in wrapped([f"{one.id}: {one.text}"], columns(sys.stdout)):
                say(line)
        if reason:
            say(f"not measured: {reason}")
            return
        for line in table(hits, sys.stdout, marked=cutoff is not None):
            say(line)
        unknown = [] if hits else index.without(filtered)
        for line in conclusion(hits, cutoff, filtered=bool(filtered), unknown=unknown):
            say(line)

    return as_table


def _as_json(index: LocalIndex, cutoff: Cutoff | None) -> Print:
    from closecall.report.hits import record

    instrument = index.instrument
    facts = {
        "model": instrument.model if instrument else None,
        "provider": instrument.provider if instrument else None,
        "digest": instrument.digest if instrument else None,
        "similarity": index.similarity,
        "kind": index.kind.spelled,
    }

    def as_json(one: Asked, hits: Sequence[Decided], reason: str) -> None:
        found = record(one._asdict(), hits, cutoff)
        if reason:
            found = {"query": one._asdict(), "not_measured": reason}
        say_json({**found, "embedder": facts}, indent=None)

    return as_json


def _unprinted(one: Asked, hits: Sequence[Decided], reason: str) -> None:
    del hits
    if reason:
        say(f"closecall: {one.id}: not measured: {reason}", err=True)


def save_run(found: Found, name: str, path: Path) -> None:
    """Write what was found as a TREC run, whole or not at all.

    Raises
    ------
    UsageError
        An id has white space in it, or the file cannot be written.
    """
    import numpy as np

    from closecall.retrieval.ranking import Ranking
    from closecall.retrieval.run_file import write_run

    ids = list(dict.fromkeys(one.hit.id for _, hits in found for one in hits))
    place = {own: at for at, own in enumerate(ids)}
    depth = max((len(hits) for _, hits in found), default=0)
    positions = np.full((len(found), depth), -1, dtype=np.int64)
    scores = np.zeros((len(found), depth))
    for row, (_, hits) in enumerate(found):
        for column, one in enumerate(hits):
            positions[row, column], scores[row, column] = place[one.hit.id], one.hit.score
    ranking = Ranking(
        name=name,
        kind="dense",
        queries=tuple(one.id for one, _ in found),
        ids=ids,
        positions=positions,
        scores=scores,
    )
    write_run(ranking, path)

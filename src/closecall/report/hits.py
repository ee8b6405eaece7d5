"""What a search found: a table for a person, an object for a program."""

from __future__ import annotations

from collections.abc import Iterator, Mapping, Sequence
from typing import IO, Any

from closecall.report.words import shorten
from closecall.report.wrapped import columns
from closecall.retrieval.close_enough import Cutoff, Decided

ID_WIDTH = 32
_LEAST_TEXT = 20


def table(hits: Sequence[Decided], out: IO[str], *, marked: bool) -> Iterator[str]:
    """Yield a line a hit: rank, score, what the cutoff says, id, text cut to the line."""
    if not hits:
        return
    names = [shorten(one.hit.id, ID_WIDTH) or "-" for one in hits]
    wide = max(len(name) for name in (*names, "id"))
    said = max(len(one.words) for one in hits) if marked else 0
    head = f"rank   score  {'verdict':{said}}  " if marked else "rank   score  "
    yield f"{head}{'id':{wide}}  text"
    for rank, (name, one) in enumerate(zip(names, hits, strict=True), start=1):
        start = f"{rank:4}  {one.hit.score:6.4f}  "
        start += f"{one.words:{said}}  " if marked else ""
        start += f"{name:{wide}}  "
        room = max(columns(out) - 1 - len(start), _LEAST_TEXT)
        yield (start + (shorten(one.hit.text, room) or "-")).rstrip()


def conclusion(
    hits: Sequence[Decided],
    cutoff: Cutoff | None,
    *,
    filtered: bool,
    unknown: Sequence[str] = (),
) -> Iterator[str]:
    """Yield what to make of the hits of one query.

    ``unknown`` are fields of the filter that no row has, perhaps misspelt.
    """
    if not hits:
        if unknown:
            named = ", ".join(repr(shorten(name, ID_WIDTH)) for name in unknown)
            yield f"no row passes the filter, and none has the field {named}"
        else:
            yield "no row passes the filter" if filtered else "the index holds no rows"
        return
    if cutoff is None:
        return
    close = sum(one.accepted is True for one in hits)
    unsure = sum(one.accepted is None for one in hits)
    if not close and unsure:
        yield f"nothing surely relevant: {unsure} of {len(hits)} lie between the two cutoffs"
    elif not close:
        yield f"nothing relevant: none of the {len(hits)} nearest is close enough"


def record(
    query: Mapping[str, str], hits: Sequence[Decided], cutoff: Cutoff | None
) -> dict[str, Any]:
    """Return one query and what it found as JSON values."""
    found: list[dict[str, Any]] = []
    for rank, one in enumerate(hits, start=1):
        row: dict[str, Any] = {
            "rank": rank,
            "id": one.hit.id,
            "score": one.hit.score,
            "text": one.hit.text,
            "metadata": dict(one.hit.metadata),
        }
        if cutoff is not None:
            row["decision"] = one.decision
        found.append(row)
    told: dict[str, Any] = {"query": dict(query), "hits": found}
    if cutoff is not None:
        told["cutoff"] = cutoff.facts
        told["nothing_relevant"] = not any(one.accepted is True for one in hits)
    return told

"""The recording nearest to a request that has none, and what keeps it from being the one."""

from __future__ import annotations

import difflib
import heapq
from collections.abc import Iterator
from itertools import islice, pairwise
from typing import NamedTuple

from closecall.cassettes.differing import first_difference
from closecall.cassettes.entries import Entry, Kind
from closecall.cassettes.spelling import spelt
from closecall.cassettes.tape import Tape
from closecall.records import JSON

MOST = 20_000
"""Recordings looked at; of these the best few are compared in full."""

_COMPARED = 12
_HEAD = 1_000
_BODY = 4_000


class Asked(NamedTuple):
    """A request and who was to reply to it; ``identity`` is empty where only a digest is known."""

    kind: Kind
    digest: str
    name: str
    identity: dict[str, JSON]
    request: dict[str, JSON]


class Nearest(NamedTuple):
    """A recording like a request: where it stands, who replied, and the first field that differs.

    ``likeness`` runs from 0 to 1, 1 for equal texts.
    """

    place: str
    key: str
    name: str
    difference: str
    likeness: float


def nearest(tape: Tape, asked: Asked, count: int = 1) -> list[Nearest]:
    """Return the recordings of the same kind most like a request, the most alike first.

    The same request of another identity comes first, then requests of the same identity by their
    texts, then the others. The work is bounded: 20,000 recordings by the pairs of characters in
    their beginnings, 12 by their texts.
    """
    text = text_of(asked.request)
    pairs = character_pairs(text)

    def rank(entry: Entry) -> tuple[bool, bool, float]:
        return (
            entry.request == asked.request,
            entry.identity == asked.digest,
            shared(pairs, character_pairs(text_of(entry.request))),
        )

    ranked = (
        (rank(entry), at, entry)
        for at, entry in enumerate(islice(_of_kind(tape, asked.kind), MOST))
    )
    best = heapq.nlargest(max(count, _COMPARED), ranked, key=lambda one: one[:2])
    compared = [
        ((*order[:2], likeness(text, text_of(e.request))), -at, e) for order, at, e in best
    ]
    compared.sort(key=lambda one: one[:2], reverse=True)
    return [
        Nearest(tape.place(entry.key), entry.key, entry.name, _difference(tape, entry, asked), r)
        for (_, _, r), _, entry in compared[:count]
    ]


def text_of(value: JSON) -> str:
    """Return every text and number in a request, one a line."""
    return "\n".join(_leaves(value))


def _leaves(value: JSON) -> Iterator[str]:
    if isinstance(value, dict):
        for item in value.values():
            yield from _leaves(item)
    elif isinstance(value, list | tuple):
        for item in value:
            yield from _leaves(item)
    else:
        yield value if isinstance(value, str) else spelt(value)


def _of_kind(tape: Tape, kind: Kind) -> Iterator[Entry]:
    for key in tape.sorted_keys():
        if key.startswith(f"{kind}:"):
            entry = tape.get(key)
            if entry is not None:
                yield entry


def character_pairs(text: str) -> set[tuple[str, str]]:
    """Return the pairs of neighbours among the first 1,000 characters."""
    head = text[:_HEAD]
    return set(pairwise(head))


def shared(one: set[tuple[str, str]], other: set[tuple[str, str]]) -> float:
    """Return the part of all pairs that both have, 0 to 1."""
    return len(one & other) / (len(one | other) or 1)


def likeness(asked: str, recorded: str) -> float:
    """Return how much of the first 4,000 characters is in both, in order, 0 to 1."""
    if asked == recorded:
        return 1.0
    return difflib.SequenceMatcher(None, recorded[:_BODY], asked[:_BODY]).ratio()


def _difference(tape: Tape, entry: Entry, asked: Asked) -> str:
    if entry.identity == asked.digest:
        return first_difference(entry.request, asked.request)
    known = tape.identities.get(entry.identity)
    who = {} if known is None else known.identity
    found = first_difference({"identity": who}, {"identity": asked.identity})
    return found or f"identity: {entry.identity[:12]} recorded, {asked.digest[:12]} asked"

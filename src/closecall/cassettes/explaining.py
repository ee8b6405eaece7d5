"""The recorded texts most like a text: whether it is recorded, and if not, what changed."""

from __future__ import annotations

import heapq
from collections.abc import Iterator
from itertools import islice
from pathlib import Path

from closecall.cassettes.differing import first_difference
from closecall.cassettes.naming import files_of
from closecall.cassettes.nearest import MOST, character_pairs, likeness, shared
from closecall.cassettes.records import Like
from closecall.cassettes.tape import Tape
from closecall.instrument import canonical_text
from closecall.records import JSON

COMPARED = 12


def explain(folder: Path, text: str, count: int = 3) -> list[Like]:
    """Return the recorded texts most like a text, the most alike first.

    Every text of every request is looked at, in 20,000 requests a file at most.

    Raises
    ------
    UsageError
        There is no such folder.
    CassetteError
        A line cannot be read.
    """
    wanted = canonical_text(text)
    found: list[Like] = []
    for path in files_of(folder):
        with Tape(path) as tape:
            found += _like(tape, wanted, count)
    found.sort(key=lambda one: (-one.likeness, one.place, one.field))
    return found[:count]


def _like(tape: Tape, text: str, count: int) -> list[Like]:
    pairs = character_pairs(text)
    ranked = (
        ((recorded == text, shared(pairs, character_pairs(recorded))), -at, field, recorded, entry)
        for at, entry in enumerate(islice(tape.entries(), MOST))
        for field, recorded in _texts(entry.request)
    )
    best = heapq.nlargest(max(count, COMPARED), ranked, key=lambda one: one[:3])
    return [
        Like(
            place=tape.place(entry.key),
            kind=entry.kind,
            name=entry.name,
            field=field,
            likeness=round(likeness(text, recorded), 3) if recorded != text else 1.0,
            difference=first_difference(recorded, text, field),
        )
        for _, _, field, recorded, entry in best
    ]


def _texts(value: JSON, path: str = "") -> Iterator[tuple[str, str]]:
    if isinstance(value, dict):
        for name, item in value.items():
            yield from _texts(item, f"{path}.{name}" if path else name)
    elif isinstance(value, list):
        for at, item in enumerate(value):
            yield from _texts(item, f"{path}[{at}]")
    elif isinstance(value, str):
        yield path, value

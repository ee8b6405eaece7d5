"""Parts by the range of cases they hold, and which of them cover a run."""

from __future__ import annotations

import re
from collections.abc import Iterable
from typing import NamedTuple

from closecall.errors import RunFolderError
from closecall.runs.destination import Span
from closecall.storage import Store

PARTS = "parts"
_NAME = re.compile(rf"{PARTS}/part-([0-9]{{12}})-([0-9]{{12}})\.parquet")


class Part(NamedTuple):
    """Cases by position in the data set, from ``first`` up to, and without, ``stop``."""

    first: int
    stop: int

    @property
    def name(self) -> str:
        """The name of its file, which sorts as the ranges do."""
        return f"{PARTS}/part-{self.first:012d}-{self.stop:012d}.parquet"


def part_named(name: str) -> Part | None:
    """Return the range that a file's name tells, None where it is no part's."""
    found = _NAME.fullmatch(name)
    if found is None or int(found[1]) >= int(found[2]):
        return None
    return Part(int(found[1]), int(found[2]))


def parts_in(store: Store) -> list[Part]:
    """Return the parts that are there, in order."""
    return sorted(part for name in store.names(PARTS) if (part := part_named(name)) is not None)


def spans(parts: Iterable[Part], first: int, stop: int) -> list[Span]:
    """Return what parts cover of a range, and the gaps, in order.

    Where parts overlap, as when two processes went on with one run, those are used that begin
    where the one before ended, the longest of them first.
    """
    longest: dict[int, int] = {}
    for part in parts:
        if first <= part.first and part.stop <= stop:
            longest[part.first] = max(part.stop, longest.get(part.first, 0))
    begins = sorted(longest)
    found: list[Span] = []
    at = index = 0
    at = first
    while at < stop:
        if at in longest:
            found.append(Span(at, longest[at], kept=True))
            at = longest[at]
            continue
        while index < len(begins) and begins[index] < at:
            index += 1
        end = begins[index] if index < len(begins) else stop
        found.append(Span(at, end, kept=False))
        at = end
    return found


def whole(parts: Iterable[Part], first: int, stop: int, place: str) -> list[Part]:
    """Return the parts that hold every case of a range once.

    Raises
    ------
    RunFolderError
        Cases are missing; the message says which.
    """
    found = spans(parts, first, stop)
    missing = [span for span in found if not span.kept]
    if missing:
        listed = ", ".join(f"{span.first:,} to {span.stop - 1:,}" for span in missing[:3])
        more = f" and {len(missing) - 3} more ranges" if len(missing) > 3 else ""  # noqa: PLR2004
        raise RunFolderError(f"{place}: the parts lack cases: {listed}{more}, counted from 0")
    return [Part(span.first, span.stop) for span in found]

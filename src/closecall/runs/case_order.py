"""In which order the lines of one case stand in results.ndjson.

A case measured once has one line a path. One that was repeated has the lines of its first run, one
a path, then those of its second, and so on; the lines of all runs together stand last.
"""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any, NamedTuple

TRIAL = "trial"
"""Member of a line that belongs to one run of a case, counted from 0."""


class Order(NamedTuple):
    """The ``paths`` each case has results for, and how many ``runs`` a repeated case has."""

    paths: tuple[str, ...]
    runs: int = 1

    def is_repeated(self, first: Mapping[str, Any]) -> bool:
        """Return whether the case that begins with this line was repeated."""
        return self.runs > 1 and TRIAL in first

    def lines(self, *, repeated: bool) -> int:
        """Return how many lines a case has."""
        return len(self.paths) * (self.runs + 1 if repeated else 1)

    def place(self, at: int, *, repeated: bool) -> tuple[str, int | None]:
        """Return path and run of a case's line at this place; no run for what is over all."""
        run, path = divmod(at, len(self.paths))
        return self.paths[path], run if repeated and run < self.runs else None

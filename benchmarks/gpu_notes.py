"""What the parts of ``gpu.py`` share: rows, the time left, and why something was not measured."""

from __future__ import annotations

import time
from collections.abc import Callable
from typing import NamedTuple

from closecall.errors import ClosecallError

OUT_OF_TIME = "no time left (--seconds)"


class Row(NamedTuple):
    """An embedder by name; ``timed``: whether its speed is of interest, too."""

    name: str
    spec: str
    timed: bool = True


class MissingError(Exception):
    """Something is not there to be measured."""


class Clock:
    """What is left of the time that the whole run may take."""

    def __init__(self, seconds: float) -> None:
        self._until = time.perf_counter() + seconds

    @property
    def spent(self) -> bool:
        return time.perf_counter() >= self._until

    def require_some(self) -> None:
        if self.spent:
            raise MissingError(OUT_OF_TIME)


class Notes:
    """Why rows were not measured, each reason once, at the end."""

    def __init__(self) -> None:
        self.reasons: list[str] = []

    def mark(self, reason: str) -> str:
        """Return the number that stands for a reason."""
        if reason not in self.reasons:
            self.reasons.append(reason)
        return f"[{self.reasons.index(reason) + 1}]"


def tried(measure: Callable[[], None], clock: Clock) -> str:
    """Measure, or return why not."""
    try:
        clock.require_some()
        measure()
    except (ClosecallError, MissingError) as error:
        return str(error).splitlines()[0]
    return ""

"""What a trial tried, what held, and how to repeat what did not."""

from __future__ import annotations

from collections.abc import Callable, Mapping
from dataclasses import dataclass, field

Say = Callable[[str], None]
"""Where a trial tells how far it is: one line, without an end."""


@dataclass(frozen=True)
class Counts:
    """One row of the table.

    ``held`` of ``tried`` kept the promise. ``failures`` has one line for each that did not: the
    seed, what was done and what was found. ``also`` is what else was counted or measured, such as
    ``{"typed errors": 812, "read": 188}``.
    """

    what: str
    tried: int
    held: int
    failures: tuple[str, ...] = ()
    also: Mapping[str, float | int] = field(default_factory=dict)

    def __post_init__(self) -> None:
        if not 0 <= self.held <= self.tried:
            raise ValueError(f"{self.what}: {self.held} of {self.tried}")
        if self.held < self.tried and not self.failures:
            raise ValueError(f"{self.what}: something did not hold, and nothing says what")

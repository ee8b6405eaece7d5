"""How much a file may make of what it holds: lists, scenarios and variables multiply.

A few kilobytes of lists crossed with lists would otherwise make cases without end. What stands
in a file once is free; each time that it is made again, it counts.
"""

from __future__ import annotations

from collections.abc import Mapping
from pathlib import Path
from typing import Any

from closecall.errors import DatasetError

MOST_REPEATED = 1 << 26
"""Characters that a file of any size may make by repeating what it holds."""

_TIMES = 20
"""To these, so many for each byte of the file."""

CASE = 512
"""Characters that a case counts for beside its own: it takes time too."""

_VALUE = 32
"""Characters that a value counts for beside its own."""


class Budget:
    """What is left of the characters that one file may make.

    Parameters
    ----------
    path
        The file; for its size and for messages.
    """

    def __init__(self, path: Path) -> None:
        self._path = path
        try:
            size = path.stat().st_size
        except OSError:  # gone meanwhile, which who reads it says
            size = 0
        self._most = MOST_REPEATED + _TIMES * size
        self._spent = 0

    def spend(self, characters: int, place: str, what: str) -> None:
        """Count what is made once more.

        Parameters
        ----------
        characters
            How much it is, 0 or more.
        place, what
            Where it stands and what repeats it, for the message.

        Raises
        ------
        DatasetError
            It is more than the file may make.
        """
        self._spent += characters
        if self._spent > self._most:
            raise DatasetError(
                f"{self._path}: {place}: {what} multiply to more than {self._most:,} characters "
                f"of cases, and at most {MOST_REPEATED:,} and {_TIMES} for each byte of the file "
                "are made. Write fewer of them, or import the file in several parts"
            )


def weight(value: Any) -> int:
    """Return what a value as JSON has it counts for in characters, each value in it ``_VALUE``."""
    if isinstance(value, str):
        return _VALUE + len(value)
    if isinstance(value, Mapping):
        return _VALUE + sum(len(str(key)) + weight(inner) for key, inner in value.items())
    if isinstance(value, list | tuple):
        return _VALUE + sum(map(weight, value))
    return _VALUE

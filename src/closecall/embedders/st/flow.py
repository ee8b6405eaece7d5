"""How a device is fed: the shapes of its batches, and how many are on their way at once."""

from __future__ import annotations

from collections import deque
from collections.abc import Callable
from typing import NamedTuple

_LEAST_WIDTH = 16
_LADDER = 4


class Flow(NamedTuple):
    """How texts are brought to a device. None of it moves a vector by more than its precision.

    Parameters
    ----------
    multiple
        Windows are padded to a multiple of so many tokens, so that shapes repeat.
    depth
        Batches that may be on their way while the next one is made ready; 0 waits for each.
    ahead
        Whether the next texts are tokenised on another thread meanwhile.
    few
        Few shapes at all, for a model that is compiled anew for each: lengths are powers of two,
        and rows are filled up to one of a few heights.
    """

    multiple: int = 1
    depth: int = 0
    ahead: bool = False
    few: bool = False

    def width(self, length: int, longest: int) -> int:
        """Return the tokens that a window of ``length`` is padded to; ``longest`` has room."""
        if self.few:
            wanted = max(_LEAST_WIDTH, 1 << (length - 1).bit_length())
        else:
            wanted = -(-length // self.multiple) * self.multiple
        return max(length, min(wanted, longest))

    def height(self, rows: int, width: int, tokens: int) -> int:
        """Return how many rows a batch is filled up to, where ``tokens`` is the most in one."""
        if not self.few:
            return rows
        height = max(1, tokens // width)
        while height // _LADDER >= rows:
            height //= _LADDER
        return max(rows, height)


PLAIN = Flow()
"""The CPU, where a batch is computed by the thread that asks for it, and MPS."""

CARD = Flow(multiple=8, depth=2, ahead=True)
"""CUDA."""


def flow_for(device: str) -> Flow:
    """Return what suits a device."""
    return CARD if device.startswith("cuda") else PLAIN


class Flight:
    """Batches on their way, in order; the oldest is waited for when there are too many."""

    def __init__(self, depth: int) -> None:
        self.depth = depth
        self._waiting: deque[Callable[[], None]] = deque()
        self._begun = 0

    @property
    def begun(self) -> int:
        """How many were ever added."""
        return self._begun

    def __len__(self) -> int:
        return len(self._waiting)

    def add(self, land: Callable[[], None]) -> None:
        """Take a batch that has begun; ``land`` waits for it and keeps what came."""
        self._waiting.append(land)
        self._begun += 1
        while len(self._waiting) > self.depth:
            self._waiting.popleft()()

    def land(self, count: int) -> None:
        """Wait until the first ``count`` batches of all are done."""
        while self._begun - len(self._waiting) < count:
            self._waiting.popleft()()

    def drop(self) -> None:
        """Forget what is on its way, when nobody wants it any more."""
        self._waiting.clear()

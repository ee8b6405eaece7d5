"""What is kept in memory of the texts a run has embedded, up to so many bytes."""

from __future__ import annotations

from collections import OrderedDict
from typing import NamedTuple

from closecall.embedders.base import Failure
from closecall.embedders.checked import Outcome

ENTRY_BYTES = 600
"""What a remembered entry takes besides its vectors' numbers, about."""

SPAN_BYTES = 120
"""What the span of a token takes: a pair and two numbers, as Python keeps them."""


class Want(NamedTuple):
    """A text by its cache key, and whether its token vectors are wanted."""

    name: bytes
    pieces: bool


def answer_for(want: Want, other: Outcome) -> Outcome | None:
    """Return what an outcome that lasts says of the same text with or without its pieces.

    None where it leaves that open.
    """
    if isinstance(other, Failure):
        return None if other.no_pieces else other
    return None if want.pieces else other._replace(pieces=None)


class Memory:
    """The least recently used goes first once the limit is passed."""

    def __init__(self, limit: int) -> None:
        self.size = 0
        self._limit = limit
        self._entries: OrderedDict[Want, Outcome] = OrderedDict()

    def get(self, want: Want) -> Outcome | None:
        """Return what is known of a text.

        An entry with pieces also answers for the vector alone; a text without a vector has no
        pieces either.
        """
        at, outcome = want, self._entries.get(want)
        if outcome is None:
            at = Want(want.name, not want.pieces)
            other = self._entries.get(at)
            outcome = None if other is None else answer_for(want, other)
        if outcome is not None:
            self._entries.move_to_end(at)
        return outcome

    def put(self, want: Want, outcome: Outcome) -> None:
        """Remember an outcome, unless it alone passes the limit."""
        old = self._entries.pop(want, None)
        if old is not None:
            self.size -= _weight(old)
        weight = _weight(outcome)
        if weight > self._limit:
            return
        self._entries[want] = outcome
        self.size += weight
        while self.size > self._limit:
            _, gone = self._entries.popitem(last=False)
            self.size -= _weight(gone)


def _weight(outcome: Outcome) -> int:
    if isinstance(outcome, Failure):
        return ENTRY_BYTES
    pieces = outcome.pieces
    own = 0 if pieces is None else pieces.vectors.nbytes + SPAN_BYTES * len(pieces.spans)
    return ENTRY_BYTES + outcome.vector.nbytes + own

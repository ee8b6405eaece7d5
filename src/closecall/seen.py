"""Which texts were there before, in 11 to 16 bytes a text, however many there are.

Each text is held as 64 bits of its BLAKE2b digest, in tables with open addressing (Knuth, The Art
of Computer Programming, volume 3, section 6.4). A text that is there is always found. Another one
is taken for it with a chance of 2^-64 a pair: about one in a billion among 200,000 texts, one in
40 million among a million, and 3 % among a billion. Texts made on purpose can collide. So a wrong
answer may cost a second look or another name, never a result.
"""

from __future__ import annotations

from array import array
from hashlib import blake2b

_TABLES = 64
"""Each grows on its own, so that while one is copied the others are not held twice."""
_FIRST = 8
_FULL = 3, 4
_GROWTH = 3, 2


def mark_of(text: str) -> int:
    """Return the 64 bits that stand for a text; never 0."""
    data = text.encode("utf-8", errors="surrogatepass")
    return int.from_bytes(blake2b(data, digest_size=8).digest(), "little") or 1


class Seen:
    """A set of marks: whole numbers from 1 to 2^64 - 1."""

    def __init__(self) -> None:
        self._tables = [array("Q", bytes(8 * _FIRST)) for _ in range(_TABLES)]
        self._counts = [0] * _TABLES

    def __len__(self) -> int:
        return sum(self._counts)

    def __contains__(self, mark: object) -> bool:
        if not isinstance(mark, int):
            return False
        table = self._tables[mark % _TABLES]
        size = len(table)
        at = mark // _TABLES % size
        while found := table[at]:
            if found == mark:
                return True
            at += 1
            if at == size:
                at = 0
        return False

    def add(self, mark: int) -> bool:
        """Put a mark in; return whether it is new."""
        which = mark % _TABLES
        table = self._tables[which]
        size = len(table)
        at = mark // _TABLES % size
        while found := table[at]:
            if found == mark:
                return False
            at += 1
            if at == size:
                at = 0
        table[at] = mark
        self._counts[which] += 1
        if self._counts[which] * _FULL[1] >= size * _FULL[0]:
            self._tables[which] = _grown(table)
        return True

    @property
    def nbytes(self) -> int:
        """Bytes of the tables."""
        return sum(8 * len(table) for table in self._tables)


def _grown(table: array[int]) -> array[int]:
    size = len(table) * _GROWTH[0] // _GROWTH[1]
    bigger = array("Q", bytes(8 * size))
    for mark in table:
        if mark:
            at = mark // _TABLES % size
            while bigger[at]:
                at += 1
                if at == size:
                    at = 0
            bigger[at] = mark
    return bigger

"""Numbers out of Thrift's compact protocol: heads of pages and footers of Parquet files.

All else is passed over. What is read may be damaged on purpose: nesting, lists and numbers have
their limits, and data that ends early is an ``IndexError``.
"""

from __future__ import annotations

from collections.abc import Iterator

_TRUE, _FALSE, _BYTE, _DOUBLE, _BINARY, LIST, _SET, STRUCT = 1, 2, 3, 7, 8, 9, 10, 12
VARINTS = frozenset({4, 5, 6})
_DEEPEST = 16
INSIDE = 1 << 16
"""Added to the number of a field that stands in a struct of this one."""


class ThriftError(ValueError):
    """What is read is no struct of this protocol."""


class Reader:
    """Thrift's compact protocol, as far as numbers go; all else is passed over."""

    def __init__(self, data: bytes, most_items: int = 1_000) -> None:
        self.data = data
        self.at = 0
        self._most = most_items

    def numbers(self, inside: frozenset[int]) -> Iterator[tuple[int, int]]:
        """Yield (field, number) of the struct here; of these inner structs their first field."""
        for field, kind in self.fields():
            if kind in VARINTS:
                yield field, self.signed()
            elif kind == STRUCT and field in inside:
                for inner, value in self.numbers(frozenset()):
                    if inner == 1:
                        yield field + INSIDE, value
            else:
                self.skip(kind, 0)

    def fields(self) -> Iterator[tuple[int, int]]:
        """Yield (field, kind) of the struct here; each is to be read or passed over."""
        field = 0
        while byte := self._byte():
            kind, step = byte & 15, byte >> 4
            field = field + step if step else self.signed()
            yield field, kind

    def items(self) -> tuple[int, int]:
        """Return how many items the list here has, and of what kind."""
        byte = self._byte()
        count = self._varint() if byte >> 4 == 15 else byte >> 4  # noqa: PLR2004
        if count > self._most:
            raise ThriftError("a list is too long")
        return count, byte & 15

    def _byte(self) -> int:
        byte = self.data[self.at]
        self.at += 1
        return byte

    def _varint(self) -> int:
        value = shift = 0
        while shift < 64:  # noqa: PLR2004 - bits of the largest number
            byte = self._byte()
            value |= (byte & 127) << shift
            if byte < 128:  # noqa: PLR2004
                return value
            shift += 7
        raise ThriftError("a number is too long")

    def signed(self) -> int:
        """Return the whole number here."""
        value = self._varint()
        return (value >> 1) ^ -(value & 1)

    def skip(self, kind: int, depth: int = 0) -> None:
        """Pass over a value of a kind."""
        if depth > _DEEPEST:
            raise ThriftError("it is nested too deep")
        if kind in VARINTS:
            self._varint()
        elif kind in {_BYTE, _DOUBLE, _BINARY}:
            size = 1 if kind == _BYTE else 8 if kind == _DOUBLE else self._varint()
            self.at += size
            if self.at > len(self.data):
                raise IndexError
        elif kind == STRUCT:
            for _, inner in self.fields():
                self.skip(inner, depth + 1)
        elif kind in {LIST, _SET}:
            self._skip_list(depth)
        elif kind not in {_TRUE, _FALSE}:
            raise ThriftError("it holds a kind that is none")

    def _skip_list(self, depth: int) -> None:
        count, kind = self.items()
        for _ in range(count):
            if kind in {_TRUE, _FALSE}:
                self._byte()  # in a list, unlike in a struct, it takes a byte
            else:
                self.skip(kind, depth + 1)

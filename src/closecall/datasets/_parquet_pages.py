"""What a row group of a Parquet file takes in memory, before any of it is unpacked.

A file of a few kilobytes may hold terabytes: pages packed a thousandfold, one long text that a
million rows point to, lists of a billion nothings. The footer says how large all that is, and may
lie; the heads of the pages cannot, as the reader goes by them. Each is a struct of Thrift's
compact protocol (apache/parquet-format, ``PageHeader``), of which a few numbers are read here.
"""

from __future__ import annotations

import os
from collections.abc import Iterator, Sequence
from typing import Any, BinaryIO, NamedTuple

MAX_UNPACKED = 1 << 30
"""Bytes that the largest pages of a row group's columns may take together."""

MAX_VALUES = 100_000_000
"""Values of one column in one row group."""

_HEAD, _MOST_HEAD = 1 << 10, 1 << 24
_DICTIONARY = 2
_TRUE, _FALSE, _BYTE, _DOUBLE, _BINARY, _LIST, _SET, _STRUCT = 1, 2, 3, 7, 8, 9, 10, 12
_VARINTS = frozenset({4, 5, 6})
_DEEPEST = 16
_MOST_ITEMS = 1_000


class Column(NamedTuple):
    """A column of a row group: the bytes of its largest page and of its dictionary, its values."""

    page: int
    dictionary: int
    values: int


class _BadHeadError(ValueError):
    """The head of a page is none."""


def weigh(file: BinaryIO, group: Any, columns: Sequence[int]) -> list[Column]:
    """Return what the columns of a row group take, or refuse it.

    Parameters
    ----------
    file
        The Parquet file; where it stands afterwards is open.
    group
        Its row group's metadata, of pyarrow.
    columns
        Positions of the columns that will be read, all of them leaves.

    Raises
    ------
    ValueError
        It takes more than ``MAX_UNPACKED`` bytes or ``MAX_VALUES`` values, or is damaged.
    """
    found = [_weighed(file, group.column(at)) for at in columns]
    size = sum(one.page + one.dictionary for one in found)
    if size > MAX_UNPACKED:
        raise ValueError(
            f"a row group unpacks to {size:,} bytes at a time, and at most {MAX_UNPACKED:,} are "
            "read"
        )
    most = max((one.values for one in found), default=0)
    if most > MAX_VALUES:
        raise ValueError(
            f"a column holds {most:,} values in one row group, and at most {MAX_VALUES:,} are read"
        )
    return found


def _weighed(file: BinaryIO, chunk: Any) -> Column:
    page = dictionary = values = 0
    start = chunk.data_page_offset
    if chunk.has_dictionary_page and 0 < chunk.dictionary_page_offset < start:
        start = chunk.dictionary_page_offset
    stop = min(start + chunk.total_compressed_size, _size(file))
    at = start
    # The reader stops at so many values too, whatever follows.
    while at < stop and values < chunk.num_values:
        length, kind, unpacked, packed, count = _head(file, at)
        if min(unpacked, packed, count) < 0:
            raise _BadHeadError("the head of a page holds a number below 0")
        if kind == _DICTIONARY:
            dictionary = max(dictionary, unpacked)
        else:
            page = max(page, unpacked)
            values += count
        at += length + packed
    return Column(page, dictionary, values)


def _size(file: BinaryIO) -> int:
    return os.fstat(file.fileno()).st_size


def _head(file: BinaryIO, at: int) -> tuple[int, int, int, int, int]:
    """Return a head's length, the page's kind, its bytes unpacked and packed, and its values."""
    size = _HEAD
    while True:
        file.seek(at)
        reader = _Reader(file.read(size))
        try:
            top = dict(reader.numbers(frozenset({5, 7, 8})))
        except IndexError:
            if len(reader.data) < size or size >= _MOST_HEAD:
                raise _BadHeadError("the head of a page is damaged") from None
            size *= 16
            continue
        counts = [value for field, value in top.items() if field >= _INSIDE]
        return reader.at, top.get(1, 0), top.get(2, 0), top.get(3, 0), max(counts, default=0)


_INSIDE = 1 << 16
"""Added to the number of a field that stands in a struct of this one."""


class _Reader:
    """Thrift's compact protocol, as far as numbers go; all else is passed over."""

    def __init__(self, data: bytes) -> None:
        self.data = data
        self.at = 0

    def numbers(self, inside: frozenset[int]) -> Iterator[tuple[int, int]]:
        """Yield (field, number) of the struct here; of these inner structs their first field."""
        for field, kind in self._fields():
            if kind in _VARINTS:
                yield field, self._signed()
            elif kind == _STRUCT and field in inside:
                for inner, value in self.numbers(frozenset()):
                    if inner == 1:
                        yield field + _INSIDE, value
            else:
                self._skip(kind, 0)

    def _fields(self) -> Iterator[tuple[int, int]]:
        field = 0
        while byte := self._byte():
            kind, step = byte & 15, byte >> 4
            field = field + step if step else self._signed()
            yield field, kind

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
        raise _BadHeadError("the head of a page holds a number too long")

    def _signed(self) -> int:
        value = self._varint()
        return (value >> 1) ^ -(value & 1)

    def _skip(self, kind: int, depth: int) -> None:
        if depth > _DEEPEST:
            raise _BadHeadError("the head of a page is nested too deep")
        if kind in _VARINTS:
            self._varint()
        elif kind in {_BYTE, _DOUBLE, _BINARY}:
            size = 1 if kind == _BYTE else 8 if kind == _DOUBLE else self._varint()
            self.at += size
            if self.at > len(self.data):
                raise IndexError
        elif kind == _STRUCT:
            for _, inner in self._fields():
                self._skip(inner, depth + 1)
        elif kind in {_LIST, _SET}:
            self._skip_list(depth)
        elif kind not in {_TRUE, _FALSE}:
            raise _BadHeadError("the head of a page is damaged")

    def _skip_list(self, depth: int) -> None:
        byte = self._byte()
        count = self._varint() if byte >> 4 == 15 else byte >> 4  # noqa: PLR2004
        if count > _MOST_ITEMS:
            raise _BadHeadError("the head of a page holds too long a list")
        for _ in range(count):
            if byte & 15 in {_TRUE, _FALSE}:
                self._byte()  # in a list, unlike in a struct, it takes a byte
            else:
                self._skip(byte & 15, depth + 1)

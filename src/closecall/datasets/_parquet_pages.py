"""What a row group of a Parquet file takes in memory, before any of it is unpacked.

A file of a few kilobytes may hold terabytes: pages packed a thousandfold, one long text that a
million rows point to, lists of a billion nothings. The footer says how large all that is, and may
lie; the heads of the pages cannot, as the reader goes by them. Each is a struct of Thrift's
compact protocol (apache/parquet-format, ``PageHeader``), of which a few numbers are read here.
"""

from __future__ import annotations

from collections.abc import Sequence
from typing import BinaryIO, NamedTuple

from closecall.datasets._parquet_footer import Chunk, Group, size_of
from closecall.datasets._thrift import INSIDE, Reader, ThriftError

MAX_UNPACKED = 1 << 30
"""Bytes that the largest pages of a row group's columns may take together."""

MAX_VALUES = 100_000_000
"""Values of one column in one row group."""

_HEAD, _MOST_HEAD = 1 << 10, 1 << 24
_BEYOND = 100
"""Bytes of a column that older writers did not count; pyarrow allows for as many."""

_NEEDED = frozenset({1, 2, 3})
"""The page's kind, its bytes unpacked and packed: without them each zero byte were a head."""

_DICTIONARY = 2


class Column(NamedTuple):
    """A column of a row group: the bytes of its largest page and of its dictionary, its values."""

    page: int
    dictionary: int
    values: int


def weigh(file: BinaryIO, group: Group, columns: Sequence[int]) -> list[Column]:
    """Return what the columns of a row group take, or refuse it.

    Parameters
    ----------
    file
        The Parquet file; where it stands afterwards is open.
    group
        Its row group, of ``footer``.
    columns
        Positions of the columns that will be read, all of them leaves.

    Raises
    ------
    ValueError
        It takes more than ``MAX_UNPACKED`` bytes or ``MAX_VALUES`` values, or is damaged.
    """
    found = [_weighed(file, group.columns[at]) for at in columns]
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


def _weighed(file: BinaryIO, chunk: Chunk) -> Column:
    page = dictionary = values = 0
    start = chunk.data_page_offset
    size = size_of(file)
    if 0 < chunk.dictionary_page_offset < start:
        start = chunk.dictionary_page_offset
    stop = min(start + chunk.compressed_bytes, size)
    at = start
    # The reader stops at so many values too, whatever follows.
    while at < stop and values < chunk.values:
        length, kind, unpacked, packed, count = _head(
            file, at, min(stop - at + _BEYOND, _MOST_HEAD)
        )
        if min(unpacked, packed, count) < 0:
            raise ThriftError("the head of a page holds a number below 0")
        if kind == _DICTIONARY:
            dictionary = max(dictionary, unpacked)
        else:
            page = max(page, unpacked)
            values += count
        at += length + packed
    return Column(page, dictionary, values)


def _head(file: BinaryIO, at: int, most: int) -> tuple[int, int, int, int, int]:
    """Return a head's length, the page's kind, its bytes unpacked and packed, and its values.

    A head takes at most ``most`` bytes.
    """
    size = min(_HEAD, most)
    while True:
        file.seek(at)
        reader = Reader(file.read(size))
        try:
            top = dict(reader.numbers(frozenset({5, 7, 8})))
        except IndexError:
            if len(reader.data) < size or size >= most:
                raise ThriftError("the head of a page is damaged") from None
            size = min(size * 16, most)
            continue
        except ThriftError as error:
            raise ThriftError(f"the head of a page is damaged: {error}") from None
        if not top.keys() >= _NEEDED:
            raise ThriftError("the head of a page lacks its kind or its size")
        counts = [value for field, value in top.items() if field >= INSIDE]
        return reader.at, top[1], top[2], top[3], max(counts, default=0)

"""The row groups of a Parquet file, by its footer.

pyarrow reads the footer too, but asked for a column of a row group it ends the whole process where
the footer is damaged: an error of its C++ part that nothing catches (seen in 26.0). So what is to
be known before anything is unpacked is read here (apache/parquet-format, ``FileMetaData``).
"""

from __future__ import annotations

import os
from collections.abc import Callable
from typing import BinaryIO, NamedTuple, TypeVar

from closecall.datasets._thrift import LIST, STRUCT, VARINTS, Reader, ThriftError

BYTE_ARRAY = 6
"""The ``Chunk.kind`` of texts."""

_MAGIC = b"PAR1"
_TAIL = 8
_MOST_ITEMS = 1_000_000
_Item = TypeVar("_Item")


class Chunk(NamedTuple):
    """A column of a row group: numbers as the footer has them, 0 where it has none."""

    kind: int
    values: int
    compressed_bytes: int
    data_page_offset: int
    dictionary_page_offset: int


class Group(NamedTuple):
    """A row group."""

    columns: tuple[Chunk, ...]
    rows: int


def footer(file: BinaryIO, columns: int) -> list[Group]:
    """Return the row groups; 10 to 20 microseconds a column of each.

    Parameters
    ----------
    file
        The Parquet file; where it stands afterwards is open.
    columns
        Leaves that each row group must have.

    Raises
    ------
    ValueError
        The footer is damaged, a row group has another number of columns, or they take more bytes
        than the file has.
    """
    size = size_of(file)
    file.seek(max(0, size - _TAIL))
    tail = file.read(_TAIL)
    length = int.from_bytes(tail[:4], "little")
    if tail[4:] != _MAGIC or length + _TAIL > size:
        raise ThriftError("the file does not end in a footer")
    file.seek(size - _TAIL - length)
    reader = Reader(file.read(length), _MOST_ITEMS)
    groups: list[Group] = []
    try:
        for field, kind in reader.fields():
            if (field, kind) == (4, LIST):
                groups = _listed(reader, _group)
            else:
                reader.skip(kind)
    except IndexError:
        raise ThriftError("the footer ends too early") from None
    except ThriftError as error:
        raise ThriftError(f"the footer is damaged: {error}") from None
    for at, group in enumerate(groups):
        if len(group.columns) != columns:
            raise ThriftError(
                f"row group {at} has {len(group.columns)} columns, and the file {columns}"
            )
    packed = sum(chunk.compressed_bytes for group in groups for chunk in group.columns)
    if packed > size:  # columns that overlap: the same bytes would be read for each of them
        raise ThriftError(f"its columns take {packed:,} bytes, and the file has {size:,}")
    return groups


def size_of(file: BinaryIO) -> int:
    """Return the bytes of an open file; where it stands afterwards is open."""
    return file.seek(0, os.SEEK_END)


def _listed(reader: Reader, read: Callable[[Reader], _Item]) -> list[_Item]:
    count, kind = reader.items()
    if kind != STRUCT:
        raise ThriftError("a list holds what does not belong there")
    return [read(reader) for _ in range(count)]


def _group(reader: Reader) -> Group:
    columns: list[Chunk] = []
    rows = 0
    for field, kind in reader.fields():
        if (field, kind) == (1, LIST):
            columns = _listed(reader, _chunk)
        elif field == 3 and kind in VARINTS:  # noqa: PLR2004 - numbers of the format
            rows = reader.signed()
        else:
            reader.skip(kind)
    return Group(tuple(columns), rows)


def _chunk(reader: Reader) -> Chunk:
    numbers: dict[int, int] = {}
    for field, kind in reader.fields():
        if (field, kind) == (3, STRUCT):
            for inner, kind_inside in reader.fields():
                if kind_inside in VARINTS:
                    numbers[inner] = reader.signed()
                else:
                    reader.skip(kind_inside)
        else:
            reader.skip(kind)
    found = Chunk(*(numbers.get(field, 0) for field in (1, 5, 7, 9, 11)))
    if min(found[:4]) < 0:
        raise ThriftError("a number is below 0")
    return found

"""What a message of an Arrow file takes in memory, before any of it is unpacked.

A file of a few kilobytes may hold gigabytes: buffers packed a thousandfold, a list of a billion
nothings. Each packed buffer begins with its length unpacked, and the reader makes room for just
that. Where the buffers lie stands in the head of their message, a table of FlatBuffers (apache/
arrow, ``Message.fbs`` and ``File.fbs``), of which a few numbers are read here.
"""

from __future__ import annotations

import struct
from collections.abc import Iterator
from typing import Any, BinaryIO, NamedTuple

from closecall.datasets._parquet_pages import MAX_UNPACKED, MAX_VALUES

_CONTINUED = 0xFFFFFFFF
_DICTIONARY, _BATCH = 2, 3
_MOST_HEAD = 1 << 26
_TAIL = 10
"""Bytes at the end of a file: the footer's length and ``ARROW1``."""

_PACKED_BEFORE = b"ARROW:experimental_compression"
"""How Arrow 0.17 said that a message is packed; readers still go by it."""


def batches_of_file(file: BinaryIO) -> Iterator[Any]:
    """Yield the record batches of an Arrow file, each weighed before it is unpacked.

    Raises
    ------
    ValueError, OSError
        It is damaged, or a batch takes more than ``MAX_UNPACKED`` bytes or ``MAX_VALUES`` values.
    """
    import pyarrow as pa

    reader = pa.ipc.open_file(file)
    dictionaries, batches = _blocks(file)
    scale = _Scale(file)
    for at in dictionaries:
        scale.weigh(at)
    for number, at in zip(range(reader.num_record_batches), batches, strict=True):
        scale.weigh(at)
        yield reader.get_batch(number)


def batches_of_stream(file: BinaryIO) -> Iterator[Any]:
    """Yield the record batches of an Arrow stream, each weighed before it is unpacked.

    Raises
    ------
    ValueError, OSError
        As ``batches_of_file``.
    """
    import pyarrow as pa

    reader = pa.ipc.open_stream(file)
    scale = _Scale(file)
    at = 0
    while message := scale.weigh(at):
        at = message.stop
        if message.kind == _BATCH:
            batch = next(reader, None)
            if batch is None:  # pragma: no cover - both read the same heads
                raise ValueError("ends before its last batch")
            yield batch


class _Message(NamedTuple):
    """What a message holds, and where it ends."""

    kind: int
    stop: int


class _Scale:
    """Weighs the messages of a file in the order they are read in."""

    def __init__(self, file: BinaryIO) -> None:
        self._file = file
        self._dictionaries: dict[int, int] = {}
        self._batches = 0

    def weigh(self, at: int) -> _Message | None:
        """Return the message at a place, or None at the end; the file stands where it stood.

        Raises
        ------
        ValueError
            It takes more than it may, or is damaged.
        """
        stood = self._file.tell()
        try:
            return self._weigh(at)
        except struct.error:
            raise ValueError("the head of a message is damaged") from None
        finally:
            self._file.seek(stood)

    def _weigh(self, at: int) -> _Message | None:
        head, body = _head(self._file, at)
        if not head:
            return None
        message = _Table.root(head)
        length = message.number(3, "<q")
        if length < 0:  # the next message would be this one or one before it, for ever
            raise ValueError("the body of a message has a length below 0")
        kind, inner = message.number(1, "<B"), message.table(2)
        if kind == _DICTIONARY:
            name = inner.number(0, "<q")
            before = self._dictionaries.get(name, 0) if inner.number(2, "<B") else 0
            self._dictionaries[name] = before + self._unpacked(inner.table(1), body)
        elif kind == _BATCH:
            self._require_size(self._unpacked(inner, body))
            self._batches += 1
        self._require_size(0)
        return _Message(kind, body + length)

    def _unpacked(self, batch: _Table, body: int) -> int:
        """Return the bytes that the packed buffers of a batch, or of a dictionary, come to."""
        for length, _ in batch.pairs(1):
            if length > MAX_VALUES:
                raise ValueError(
                    f"a column holds {length:,} values in batch {self._batches}, and at most "
                    f"{MAX_VALUES:,} are read"
                )
        if not batch.has(3) and _PACKED_BEFORE not in batch.data:
            return 0
        size = 0
        for offset, length in batch.pairs(2):
            if length >= 8 and offset >= 0:  # noqa: PLR2004 - bytes of a length
                self._file.seek(body + offset)
                (unpacked,) = struct.unpack("<q", self._file.read(8))
                size += max(unpacked, 0)  # -1: packed in vain, and left as it is
        return size

    def _require_size(self, batch: int) -> None:
        size = batch + sum(self._dictionaries.values())
        if size > MAX_UNPACKED:
            raise ValueError(
                f"batch {self._batches} unpacks to {size:,} bytes, and at most {MAX_UNPACKED:,} "
                "are read; write it in smaller batches"
            )


def _head(file: BinaryIO, at: int) -> tuple[bytes, int]:
    """Return the head of the message at a place, empty at the end, and where its body begins."""
    file.seek(at)
    start = file.read(4)
    if not start:
        return b"", at
    (size,) = struct.unpack("<I", start)
    if size == _CONTINUED:  # older files go without
        (size,) = struct.unpack("<I", file.read(4))
    if size > _MOST_HEAD:
        raise ValueError("the head of a message is too long")
    head = file.read(size)
    if len(head) < size:
        raise ValueError("the head of a message is cut short")
    return head, file.tell()


def _blocks(file: BinaryIO) -> tuple[list[int], list[int]]:
    """Return where the dictionaries and the record batches of a file begin, by its footer."""
    end = file.seek(0, 2)
    file.seek(max(end - _TAIL, 0))
    (size,) = struct.unpack_from("<I", file.read(_TAIL))
    if size > min(end, _MOST_HEAD):
        raise ValueError("its footer is damaged")
    file.seek(end - _TAIL - size)
    footer = _Table.root(file.read(size))
    return footer.firsts(2), footer.firsts(3)


class _Table:
    """A table of FlatBuffers; a field that is not there is 0 or empty."""

    def __init__(self, data: bytes, at: int) -> None:
        self.data = data
        self._at = at
        self._fields = at - self._read("<i", at)
        self._size = self._read("<H", self._fields)

    @classmethod
    def root(cls, data: bytes) -> _Table:
        (at,) = struct.unpack_from("<I", data)
        return cls(data, at)

    def has(self, field: int) -> bool:
        return self._place(field) > 0

    def number(self, field: int, form: str) -> int:
        place = self._place(field)
        return self._read(form, place) if place else 0

    def table(self, field: int) -> _Table:
        place = self._place(field)
        if not place:
            raise ValueError("the head of a message lacks a part")
        return _Table(self.data, place + self._read("<I", place))

    def pairs(self, field: int) -> Iterator[tuple[int, int]]:
        """Yield the entries of a list of pairs of 64-bit numbers."""
        for at in self._entries(field, 16):
            yield self._read("<q", at), self._read("<q", at + 8)

    def firsts(self, field: int) -> list[int]:
        """Return the first number of each block of a list of a footer."""
        return [self._read("<q", at) for at in self._entries(field, 24)]

    def _entries(self, field: int, size: int) -> range:
        place = self._place(field)
        if not place:
            return range(0)
        place += self._read("<I", place)
        count = self._read("<I", place)
        return range(place + 4, place + 4 + count * size, size)

    def _place(self, field: int) -> int:
        slot = 4 + 2 * field
        shift = self._read("<H", self._fields + slot) if slot < self._size else 0
        return self._at + shift if shift else 0

    def _read(self, form: str, at: int) -> int:
        if at < 0:  # which would be counted from the end
            raise ValueError("the head of a message points out of it")
        found: int = struct.unpack_from(form, self.data, at)[0]
        return found

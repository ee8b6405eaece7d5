"""The fields of an ONNX file, found in its bytes alone; nothing is copied or loaded.

Only lengths are read, a few milliseconds for hundreds of megabytes.
"""

from __future__ import annotations

import mmap
from collections.abc import Iterator
from typing import NamedTuple, TypeAlias

Data: TypeAlias = bytes | mmap.mmap
"""A file's bytes, read or mapped."""

TENSOR = "tensor"
NODE = "node"

# Each kind of message of the ONNX format, with the fields that lead to tensors and nodes.
_INNER: dict[str, dict[int, str]] = {
    "model": {7: "graph", 20: "training", 25: "function"},
    "training": {1: "graph", 2: "graph"},
    "function": {7: NODE, 11: "attribute"},
    "graph": {1: NODE, 5: TENSOR, 15: "sparse"},
    NODE: {5: "attribute"},
    "attribute": {5: TENSOR, 6: "graph", 10: TENSOR, 11: "graph", 22: "sparse", 23: "sparse"},
    "sparse": {1: TENSOR, 2: TENSOR},
    TENSOR: {},
}

VARINT, BYTES = 0, 2
_FIXED = {1: 8, 5: 4}
_MOST_NUMBER = (1 << 29) - 1
_MOST_BITS = 70
"""A number has 64 bits at most, seven to a byte."""

MOST_PARTS = 500_000
"""Messages that are looked at, and fields of one: the largest graphs have a tenth of that, and
each takes some microseconds."""


class Field(NamedTuple):
    """A field: its number, its wire type, and where it lies; ``value`` is that of a number."""

    number: int
    wire: int
    start: int
    stop: int
    value: int = 0


class Message(NamedTuple):
    """A message of a kind, and where it lies."""

    kind: str
    start: int
    stop: int


def messages(model: bytes) -> Iterator[Message]:
    """Yield every message of a serialised model that may lead to a tensor, however deep.

    Raises
    ------
    ValueError
        If the bytes are not a protobuf message.
    """
    # An explicit stack: graphs may be nested as deeply as the file says.
    waiting = [Message("model", 0, len(model))]
    seen = 0
    while waiting:
        message = waiting.pop()
        seen += 1
        if seen + len(waiting) > MOST_PARTS:
            raise ValueError(f"it has more than {MOST_PARTS:,} parts")
        yield message
        inner = _INNER[message.kind]
        if inner:
            waiting += [
                Message(inner[field.number], field.start, field.stop)
                for field in fields(model, message.start, message.stop)
                if field.number in inner and field.wire == BYTES
            ]


def fields(data: Data, start: int, stop: int) -> Iterator[Field]:
    """Yield the fields of a message.

    Raises
    ------
    ValueError
        If the bytes are not a protobuf message.
    """
    at, left = start, MOST_PARTS
    while at < stop:
        left -= 1
        if left < 0:
            raise ValueError(f"byte {at}: more than {MOST_PARTS:,} fields side by side")
        tag, at = varint(data, at, stop)
        number, wire = tag >> 3, tag & 7
        if not 0 < number <= _MOST_NUMBER:  # readers take the lower 32 bits of a longer one
            raise ValueError(f"byte {at}: a field of number {number}, which none has")
        first, value = at, 0
        if wire == BYTES:
            length, first = varint(data, at, stop)
            at = first + length
        elif wire == VARINT:
            value, at = varint(data, at, stop)
        elif wire in _FIXED:
            at += _FIXED[wire]
        else:
            raise ValueError(f"byte {at}: a field of type {wire}, which ONNX does not use")
        if at > stop:
            raise ValueError(f"byte {stop}: a field ends after what holds it")
        yield Field(number, wire, first, at, value)


def varint(data: Data, at: int, stop: int) -> tuple[int, int]:
    """Return the number written at a place, and the place after it.

    Raises
    ------
    ValueError
        If it does not end before ``stop``.
    """
    value = shift = 0
    while at < stop and shift < _MOST_BITS:
        byte = data[at]
        at += 1
        value |= (byte & 0x7F) << shift
        if byte < 0x80:  # noqa: PLR2004 - the high bit says that more follows
            return value, at
        shift += 7
    raise ValueError(f"byte {stop}: a number that does not end")

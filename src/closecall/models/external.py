"""Whether an ONNX file keeps weights in other files, and in which, read from its bytes alone.

A tensor of an ONNX graph may name a file that holds its numbers. The hash of the graph does not
cover that file, and what runtimes make of its name differs between versions: some look in the
working folder when a graph comes from memory. So closecall looks for such tensors itself.
"""

from __future__ import annotations

from collections.abc import Iterator
from typing import NamedTuple

from closecall.models.onnx_fields import BYTES, TENSOR, Message, fields, messages

_EXTERNAL_DATA = 13
"""The field of a tensor that names its file."""

_KEY, _VALUE = 1, 2


class Place(NamedTuple):
    """Where a tensor's numbers lie: a file as the graph calls it, and the bytes within it.

    ``length`` is -1 where the graph does not say.
    """

    location: str
    offset: int
    length: int


def has_external_data(model: bytes) -> bool:
    """Return whether a tensor of a serialised ONNX model, however deep, names another file.

    Raises
    ------
    ValueError
        If the bytes are not a protobuf message.
    """
    return any(_entries(model, message) for message in messages(model) if message.kind == TENSOR)


def external_places(model: bytes) -> Iterator[Place]:
    """Yield where each tensor that is kept in another file lies.

    Raises
    ------
    ValueError
        If the bytes are not a protobuf message, or a tensor names no file or no whole numbers.
    """
    for message in messages(model):
        found = dict(_entries(model, message)) if message.kind == TENSOR else {}
        if found:
            if "location" not in found:
                raise ValueError("a tensor is kept in a file without a name")
            yield Place(
                found["location"],
                _whole(found.get("offset", "0")),
                _whole(found["length"]) if "length" in found else -1,
            )


def _entries(model: bytes, message: Message) -> list[tuple[str, str]]:
    return [
        _pair(model, field.start, field.stop)
        for field in fields(model, message.start, message.stop)
        if field.number == _EXTERNAL_DATA and field.wire == BYTES
    ]


def _pair(model: bytes, start: int, stop: int) -> tuple[str, str]:
    texts = {
        field.number: model[field.start : field.stop].decode("utf-8")
        for field in fields(model, start, stop)
        if field.wire == BYTES
    }
    return texts.get(_KEY, ""), texts.get(_VALUE, "")


def _whole(text: str) -> int:
    if not text.isascii() or not text.isdigit():
        raise ValueError(f"a tensor's place in a file is {text[:40]!r}, which is no number")
    return int(text)

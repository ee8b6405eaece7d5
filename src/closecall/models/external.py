"""Whether an ONNX file keeps weights in other files, read from its bytes alone.

A tensor of an ONNX graph may name a file that holds its numbers. The hash of the graph does not
cover that file, and what runtimes make of its name differs between versions: some look in the
working folder when a graph comes from memory. So closecall looks for such tensors itself. Only
the lengths of fields are read, a few milliseconds for hundreds of megabytes.
"""

from __future__ import annotations

from collections.abc import Iterator

_TENSOR = "tensor"
_EXTERNAL_DATA = 13
"""The field of a tensor that names its file."""

# Each kind of message of the ONNX format, with the fields that lead to tensors.
_INNER: dict[str, dict[int, str]] = {
    "model": {7: "graph", 20: "training", 25: "function"},
    "training": {1: "graph", 2: "graph"},
    "function": {7: "node", 11: "attribute"},
    "graph": {1: "node", 5: _TENSOR, 15: "sparse"},
    "node": {5: "attribute"},
    "attribute": {5: _TENSOR, 6: "graph", 10: _TENSOR, 11: "graph", 22: "sparse", 23: "sparse"},
    "sparse": {1: _TENSOR, 2: _TENSOR},
    _TENSOR: {},
}

_VARINT, _EIGHT, _BYTES, _FOUR = 0, 1, 2, 5
_FIXED = {_EIGHT: 8, _FOUR: 4}


def has_external_data(model: bytes) -> bool:
    """Return whether a tensor of a serialised ONNX model, however deep, names another file.

    Raises
    ------
    ValueError
        If the bytes are not a protobuf message.
    """
    # An explicit stack: graphs may be nested as deeply as the file says.
    waiting = [("model", 0, len(model))]
    while waiting:
        kind, start, stop = waiting.pop()
        inner = _INNER[kind]
        for field, first, last in _messages(model, start, stop):
            if kind == _TENSOR and field == _EXTERNAL_DATA:
                return True
            if field in inner:
                waiting.append((inner[field], first, last))
    return False


def _messages(data: bytes, start: int, stop: int) -> Iterator[tuple[int, int, int]]:
    """Yield field, start and stop of everything in a message that has a length."""
    at = start
    while at < stop:
        tag, at = _varint(data, at, stop)
        field, wire = tag >> 3, tag & 7
        if wire == _BYTES:
            length, at = _varint(data, at, stop)
            yield field, at, at + length
            at += length
        elif wire == _VARINT:
            _, at = _varint(data, at, stop)
        elif wire in _FIXED:
            at += _FIXED[wire]
        else:
            raise ValueError(f"byte {at}: a field of type {wire}, which ONNX does not use")
        if at > stop:
            raise ValueError(f"byte {stop}: a field ends after what holds it")


def _varint(data: bytes, at: int, stop: int) -> tuple[int, int]:
    """Return the number written at a place, and the place after it."""
    value = shift = 0
    while at < stop:
        byte = data[at]
        at += 1
        value |= (byte & 0x7F) << shift
        if byte < 0x80:  # noqa: PLR2004 - the high bit says that more follows
            return value, at
        shift += 7
    raise ValueError(f"byte {stop}: a number that does not end")

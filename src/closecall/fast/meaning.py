"""What a graph computes, as one digest; how its bytes were written does not show in it.

Two versions of onnx may write one graph in two ways: fields in another order, numbers packed or
not, their own names as producers, documentation. Here the operators in their order, with inputs,
outputs and attributes, the versions they are of, and every stored value with name, type, shape
and bytes are read with closecall's own reader and hashed. What the reader does not know is
refused, so that nothing with a meaning is passed over.
"""

from __future__ import annotations

import hashlib
import json
from collections.abc import Iterator
from typing import Any

from closecall.models.onnx_fields import BYTES, VARINT, Field, fields
from closecall.models.onnx_fields import varint as read_varint

_BITS32 = 5

# Fields by number: how each is read, and by which name it goes into the digest. None: it says
# nothing of what is computed (names of nodes, producers, documentation, versions of the file).
_Read = tuple[str, str] | None
_FIELDS: dict[str, dict[int, _Read]] = {
    "model": {
        1: None,
        2: None,
        3: None,
        4: None,
        5: None,
        6: None,
        7: ("graph", "graph"),
        8: ("versions", "version"),
        14: None,
    },
    "version": {1: ("of", "text"), 2: ("number", "whole")},
    "graph": {
        1: ("nodes", "node"),
        2: None,
        5: ("stored", "tensor"),
        10: None,
        11: ("inputs", "value"),
        12: ("outputs", "value"),
        13: None,
        16: None,
    },
    "value": {1: ("name", "text"), 2: ("type", "type"), 3: None},
    "type": {1: ("tensor", "array"), 6: None},
    "array": {1: ("element", "whole"), 2: ("shape", "shape")},
    "shape": {1: ("sizes", "size")},
    "size": {1: ("number", "whole"), 2: ("name", "text"), 3: None},
    "node": {
        1: ("inputs", "text"),
        2: ("outputs", "text"),
        3: None,
        4: ("operator", "text"),
        5: ("attributes", "attribute"),
        6: None,
        7: ("domain", "text"),
        8: ("overload", "text"),
        9: None,
    },
    "attribute": {
        1: ("name", "text"),
        2: ("number", "bits"),
        3: ("whole", "whole"),
        4: ("text", "bytes"),
        5: ("tensor", "tensor"),
        7: ("numbers", "bits"),
        8: ("wholes", "whole"),
        9: ("texts", "bytes"),
        13: None,
        20: None,
    },
    "tensor": {
        1: ("shape", "whole"),
        2: ("type", "whole"),
        8: ("name", "text"),
        9: ("data", "digest"),
        12: None,
    },
}

_UNORDERED = {"versions": "of", "stored": "name", "attributes": "name"}
"""Lists whose order means nothing, and by what they are sorted."""


def graph_digest(data: bytes) -> str:
    """Return the sha256 of what a serialised graph computes: 64 hex digits.

    Raises
    ------
    ValueError
        If the bytes are no graph, or one with something that is not read: graphs within it,
        sparse or external values, values not kept as bytes, fields that are new to the format.
    """
    found = _read(data, "model", 0, len(data))
    return hashlib.sha256(json.dumps(found, sort_keys=True).encode()).hexdigest()


def _read(data: bytes, kind: str, start: int, stop: int) -> dict[str, list[Any]]:
    """Return what a message says, by name, each as a list; what it leaves out is not there."""
    known = _FIELDS[kind]
    found: dict[str, list[Any]] = {}
    for field in fields(data, start, stop):
        if field.number not in known:
            raise ValueError(f"byte {field.start}: a {kind} with field {field.number}")
        how = known[field.number]
        if how is not None:
            found.setdefault(how[0], []).extend(_values(data, field, how[1]))
    for name in found.keys() & _UNORDERED.keys():
        found[name].sort(key=lambda one: one.get(_UNORDERED[name], [""]))
    # Written or left out, the main set of operators and a node of it are the same.
    return {name: values for name, values in found.items() if values not in ([], [""])}


def _values(data: bytes, field: Field, how: str) -> Iterator[Any]:
    if field.wire == BYTES:
        yield from _within(data, field.start, field.stop, how)
    elif field.wire == VARINT and how == "whole":
        yield field.value
    elif field.wire == _BITS32 and how == "bits":
        yield data[field.start : field.stop].hex()
    else:
        raise ValueError(f"byte {field.start}: field {field.number} is not of its type")


def _within(data: bytes, start: int, stop: int, how: str) -> Iterator[Any]:
    """Yield what stands between two places; numbers may stand there as a run."""
    if how == "whole":
        at = start
        while at < stop:
            value, at = read_varint(data, at, stop)
            yield value
    elif how == "bits":
        for at in range(start, stop, 4):
            yield data[at : at + 4].hex()
    elif how == "text":
        yield data[start:stop].decode("utf-8")
    elif how == "bytes":
        yield data[start:stop].hex()
    elif how == "digest":
        yield hashlib.sha256(memoryview(data)[start:stop]).hexdigest()
    else:
        yield _read(data, how, start, stop)

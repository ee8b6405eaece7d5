"""What an ONNX graph is made of: the precision of its weights, and operators to beware of.

Read from the file's bytes and never from its name: a file called ``model_fp16.onnx`` may hold
anything.
"""

from __future__ import annotations

import math
from collections import Counter
from typing import NamedTuple

from closecall.models.onnx_fields import BYTES, NODE, TENSOR, VARINT, Message, fields, messages
from closecall.models.onnx_fields import varint as read_varint

_DIMS, _DATA_TYPE = 1, 2
_OPERATOR, _ATTRIBUTE = 4, 5
_NAME, _NUMBER = 1, 3

_FLOATS = {1: "fp32", 10: "fp16", 16: "bf16", 11: "fp64"}
_ROUNDED = {3: "int8", 2: "uint8", 22: "int4", 21: "uint4", 17: "fp8", 18: "fp8", 19: "fp8",
            20: "fp8"}  # fmt: skip
"""The format's numbers for types of tensors."""

_BLOCKS = ("MatMulNBits", "GatherBlockQuantized", "MatMulBnb4")
"""Operators whose matrix holds several weights in each byte."""

_BITS = range(1, 9)
_LOWER = (1 << 32) - 1

_BATCH_WIDE = "DynamicQuantize"
"""How operators are called that measure the range of a whole batch and round every row by it."""

_MATRIX, _MOST_RANK = 2, 32


class GraphFacts(NamedTuple):
    """What a graph is made of.

    ``precision`` is ``fp32``, ``fp16``, ``bf16``, ``fp64``, ``int8``, ``uint8``, ``int4``,
    ``uint4`` or ``fp8``, several of the last five joined by a plus; ``fp32`` also where there is
    no weight at all. ``batch_wide``: whether what it makes of a row depends on the rows beside
    it.
    """

    precision: str
    batch_wide: bool


def graph_facts(model: bytes) -> GraphFacts:
    """Return what a serialised model is made of.

    Any matrix of whole numbers of 8 bits or fewer makes it quantised, because each of its
    products is then rounded; all such types are named. Otherwise the type of most weights counts.

    Raises
    ------
    ValueError
        If the bytes are not a protobuf message.
    """
    weights: Counter[str] = Counter()
    operators: set[str] = set()
    blocks: set[str] = set()
    for message in messages(model):
        if message.kind == TENSOR:
            kind, shape = _tensor(model, message)
            name = _FLOATS.get(kind) or _ROUNDED.get(kind)
            if name is not None and _MATRIX <= len(shape) <= _MOST_RANK:
                weights[name] += math.prod(shape)
        elif message.kind == NODE:
            operator, bits = _node(model, message)
            operators.add(operator)
            if operator in _BLOCKS:
                if bits not in _BITS:
                    raise ValueError(f"an operator {operator} of {bits} bits, which there is not")
                blocks.add(f"int{bits}")
    batch_wide = any(operator.startswith(_BATCH_WIDE) for operator in operators)
    rounded = blocks or {name for name in weights if name in _ROUNDED.values()}
    if rounded:
        return GraphFacts("+".join(sorted(rounded)), batch_wide)
    found = weights.most_common(1)
    return GraphFacts(found[0][0] if found else "fp32", batch_wide)


def _tensor(model: bytes, message: Message) -> tuple[int, list[int]]:
    """Return the type of a tensor and its shape."""
    kind = 0
    shape: list[int] = []
    for field in fields(model, message.start, message.stop):
        if field.number == _DATA_TYPE and field.wire == VARINT:
            kind = field.value & _LOWER  # as its readers take it
        elif field.number == _DIMS and field.wire == VARINT:
            shape.append(field.value)
        elif field.number == _DIMS and field.wire == BYTES:  # written as one run of numbers
            at = field.start
            while at < field.stop:
                size, at = read_varint(model, at, field.stop)
                shape.append(size)
    return kind, shape


def _node(model: bytes, message: Message) -> tuple[str, int]:
    """Return the operator of a node, and the bits it says its weights have; 4 if it does not."""
    operator, bits = "", 4
    for field in fields(model, message.start, message.stop):
        if field.number == _OPERATOR and field.wire == BYTES:
            operator = model[field.start : field.stop].decode("utf-8", errors="replace")
        elif field.number == _ATTRIBUTE and field.wire == BYTES:
            parts = {inner.number: inner for inner in fields(model, field.start, field.stop)}
            name = parts.get(_NAME)
            if name is not None and model[name.start : name.stop] == b"bits" and _NUMBER in parts:
                bits = parts[_NUMBER].value
    return operator, bits

"""How large an ONNX graph becomes once its own functions are put in place, counted beforehand.

A graph may bring functions that call each other. A runtime puts each call's nodes in its place,
so twenty functions that call the next one twice make a million nodes of a file of a few kilobytes.
"""

from __future__ import annotations

from typing import NamedTuple

from closecall.models.onnx_fields import BYTES, MOST_PARTS, fields

MOST_NODES = 1_000_000
"""Nodes of a graph with its functions in place; the largest encoders have some ten thousand."""

MOST_CALLS = 100
"""Functions that call one another in a row: runtimes follow them on their stack."""

_FUNCTION, _GRAPH = 25, 7
"""The fields of a model."""

_Key = tuple[bytes, bytes]


class _Body(NamedTuple):
    """Nodes of a graph or function, those of graphs within it included, and whom they call."""

    nodes: int
    calls: list[_Key]

    def with_(self, other: _Body) -> _Body:
        """Return both as one."""
        self.calls.extend(other.calls)
        return _Body(self.nodes + other.nodes, self.calls)


def require_bounded(model: bytes) -> None:
    """Do nothing if a serialised model has at most ``MOST_NODES`` nodes, functions in place.

    Raises
    ------
    ValueError
        If it has more, a function calls itself, or the bytes are not a protobuf message.
    """
    functions: dict[_Key, _Body] = {}
    graph = _Body(0, [])
    for field in fields(model, 0, len(model)):
        if field.wire == BYTES and field.number == _FUNCTION:
            key = _names(model, field.start, field.stop, 1, 10)
            # All of one name (overloads) count together: which is called is the runtime's to say.
            body = _body(model, field.start, field.stop, 7)
            functions[key] = functions[key].with_(body) if key in functions else body
        elif field.wire == BYTES and field.number == _GRAPH:
            # Readers make one graph of several.
            graph = graph.with_(_body(model, field.start, field.stop, 1))
    if not functions:
        return
    sizes: dict[_Key, _Size] = {}
    for key in functions:
        _measure(key, functions, sizes)
    total = graph.nodes + sum(sizes[key].nodes for key in graph.calls if key in sizes)
    if total > MOST_NODES:
        raise ValueError(f"its functions make more than {MOST_NODES:,} nodes of it")


class _Size(NamedTuple):
    """What becomes of a function: its nodes, and how many call one another in a row."""

    nodes: int
    calls: int


def _measure(first: _Key, functions: dict[_Key, _Body], sizes: dict[_Key, _Size]) -> None:
    """Put the size of a function, and of all it calls, into ``sizes``; none calls itself."""
    open_calls: set[_Key] = set()
    waiting = [first]
    while waiting:
        key = waiting[-1]
        if key in sizes:
            waiting.pop()
            continue
        called = [one for one in functions[key].calls if one in functions]
        missing = {one for one in called if one not in sizes}
        if key in missing or not missing.isdisjoint(open_calls):
            raise ValueError("a function of its own calls itself")
        if missing:
            open_calls.add(key)
            waiting += missing
            continue
        nodes = functions[key].nodes + sum(sizes[one].nodes for one in called)
        calls = 1 + max((sizes[one].calls for one in called), default=0)
        if calls > MOST_CALLS:
            raise ValueError(f"more than {MOST_CALLS} functions call one another in a row")
        sizes[key] = _Size(min(nodes, MOST_NODES + 1), calls)
        open_calls.discard(key)
        waiting.pop()


def _body(model: bytes, start: int, stop: int, nodes: int) -> _Body:
    """Return what a graph or function holds; ``nodes`` is the field of its nodes."""
    count, calls = 0, []
    waiting = [(start, stop, nodes)]
    while waiting:
        start, stop, nodes = waiting.pop()
        for field in fields(model, start, stop):
            if field.wire != BYTES or field.number != nodes:
                continue
            count += 1
            if count > MOST_PARTS:
                raise ValueError(f"it has more than {MOST_PARTS:,} nodes")
            calls.append(_names(model, field.start, field.stop, 4, 7))
            for attribute in fields(model, field.start, field.stop):
                if attribute.wire == BYTES and attribute.number == 5:  # noqa: PLR2004 - its number
                    waiting += [
                        (inner.start, inner.stop, 1)
                        for inner in fields(model, attribute.start, attribute.stop)
                        if inner.wire == BYTES and inner.number in (6, 11)
                    ]
    return _Body(count, calls)


def _names(model: bytes, start: int, stop: int, name: int, domain: int) -> _Key:
    """Return a name and its domain, as a node calls a function or a function is called."""
    found = {
        field.number: model[field.start : field.stop]
        for field in fields(model, start, stop)
        if field.wire == BYTES and field.number in (name, domain)
    }
    return found.get(name, b""), found.get(domain, b"")

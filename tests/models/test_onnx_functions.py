"""Graphs that grow once their own functions are put in place are refused before a runtime reads them."""

import pytest
from onnx import TensorProto, helper

from closecall.embedders.onnx_session import make_session
from closecall.errors import ModelError
from closecall.models import onnx_fields
from closecall.models.external import has_external_data
from closecall.models.onnx_functions import MOST_NODES, require_bounded

OWN = helper.make_opsetid("own", 1)
PLAIN = helper.make_opsetid("", 17)


def function(name, *called):
    """A function that passes its input through these, one after the other."""
    values = [f"v{at}" for at in range(len(called) + 1)]
    nodes = [
        helper.make_node(one, [values[at]], [values[at + 1]], domain="own")
        for at, one in enumerate(called)
    ] or [helper.make_node("Identity", ["v0"], ["out"])]
    return helper.make_function(
        "own", name, ["v0"], [values[-1] if called else "out"], nodes, [OWN, PLAIN]
    )


def graph(first, functions):
    value = [helper.make_tensor_value_info(name, TensorProto.FLOAT, ["n"]) for name in ("x", "y")]
    node = helper.make_node(first, ["x"], ["y"], domain="own")
    made = helper.make_graph([node], "g", value[:1], value[1:])
    model = helper.make_model(made, ir_version=8, opset_imports=[PLAIN, OWN], functions=functions)
    return model.SerializeToString()


def doubling(depth):
    """Each function calls the next one twice."""
    names = [f"F{at}" for at in range(depth)]
    return [
        function(name, *([names[at + 1]] * 2 if at + 1 < depth else []))
        for at, name in enumerate(names)
    ]


def test_functions_that_call_few_others_are_run():
    data = graph("F0", doubling(4))
    require_bounded(data)
    assert make_session(data, "here").run(["y"], {"x": _ones()})[0].tolist() == [1.0, 1.0]


def test_a_file_of_kilobytes_that_would_be_millions_of_nodes_is_refused():
    data = graph("F0", doubling(40))
    assert len(data) < 10_000
    with pytest.raises(ModelError, match=rf"here: .* more than {MOST_NODES:,} nodes"):
        make_session(data, "here")


@pytest.mark.parametrize(
    "functions",
    [
        [function("F0", "F0")],
        [function("F0", "F1"), function("F1", "F0")],
        [function("F0", "F1", "F2"), function("F1", "F2"), function("F2", "F1")],
    ],
)
def test_functions_that_call_themselves_are_refused(functions):
    with pytest.raises(ValueError, match="calls itself"):
        require_bounded(graph("F0", functions))


def test_a_function_called_twice_by_the_same_and_by_others_is_no_ring():
    require_bounded(
        graph("F0", [function("F0", "F1", "F2", "F1"), function("F1", "F2"), function("F2")])
    )


def test_millions_of_empty_parts_are_not_looked_at_one_by_one(monkeypatch):
    monkeypatch.setattr(onnx_fields, "MOST_PARTS", 1000)
    nodes = b"\x0a\x00" * 1001
    size = len(nodes)
    data = b"\x3a" + bytes([size & 0x7F | 0x80, size >> 7]) + nodes
    with pytest.raises(ValueError, match="more than 1,000"):
        has_external_data(data)


def _ones():
    import numpy as np

    return np.ones(2, dtype=np.float32)

"""What a graph computes has one digest, however its bytes were written."""

import numpy as np
import pytest

from closecall.fast.meaning import graph_digest

onnx = pytest.importorskip("onnx", reason="the graphs here are made with onnx")
make = onnx.helper


def model(*, axis=-1, numbers=(1.0, 2.0), kind="Add", version=17, element=1, swapped=False):
    """A graph that adds two values to its input and takes the largest."""
    values = [
        onnx.numpy_helper.from_array(np.array(numbers, dtype=np.float32), "first"),
        onnx.numpy_helper.from_array(np.array([3.0, 4.0], dtype=np.float32), "second"),
    ]
    nodes = [
        make.make_node(kind, ["x", "first"], ["one"]),
        make.make_node("Add", ["x", "second"], ["two"]),
        make.make_node("Sum", ["one", "two"], ["sum"]),
        make.make_node("ReduceMax", ["sum"], ["y"], axes=[axis], keepdims=1),
    ]
    if swapped:
        nodes[:2] = nodes[1::-1]
    ends = [make.make_tensor_value_info(name, element, ["n", 2]) for name in "xy"]
    graph = make.make_graph(nodes, "g", ends[:1], ends[1:], values)
    return make.make_model(graph, opset_imports=[make.make_opsetid("", version)])


def digest(made):
    return graph_digest(made.SerializeToString())


def varint(number):
    out = bytearray()
    while number > 0x7F:
        out.append(number & 0x7F | 0x80)
        number >>= 7
    return bytes([*out, number])


def test_names_documentation_and_order_of_what_is_stored_say_nothing():
    other = model()
    other.producer_name, other.producer_version = "another", "9"
    other.doc_string = other.graph.doc_string = "made on another day"
    other.ir_version = 7
    other.graph.name = "another"
    for node in other.graph.node:
        node.name, node.doc_string, node.domain = f"of {node.output[0]}", "words", ""
    values = list(other.graph.initializer)[::-1]
    del other.graph.initializer[:]
    other.graph.initializer.extend(values)
    attributes = list(other.graph.node[-1].attribute)[::-1]
    del other.graph.node[-1].attribute[:]
    other.graph.node[-1].attribute.extend(attributes)
    assert other.SerializeToString() != model().SerializeToString()
    assert digest(other) == digest(model())


def test_fields_in_another_order_and_numbers_in_one_run_say_nothing():
    shape = b"\x08\x02"  # field 1, one number
    packed = b"\x0a" + varint(1) + b"\x02"  # field 1, a run of one
    kind, name, data = b"\x10\x01", b"\x42\x05first", b"\x4a\x08" + bytes(8)

    def whole(tensor):
        graph = b"\x2a" + varint(len(tensor)) + tensor
        return b"\x3a" + varint(len(graph)) + graph

    assert graph_digest(whole(data + name + packed + kind)) == graph_digest(
        whole(shape + kind + name + data)
    )


@pytest.mark.parametrize(
    "changed",
    [
        {"axis": 0},
        {"numbers": (1.0, 2.0000002)},
        {"kind": "Sub"},
        {"version": 16},
        {"element": 11},
        {"swapped": True},
    ],
)
def test_whatever_is_computed_says_something(changed):
    assert digest(model(**changed)) != digest(model())


@pytest.mark.parametrize("field", ["type", "shape", "name"])
def test_a_stored_values_type_shape_and_name_say_something(field):
    other = model()
    value = other.graph.initializer[0]
    if field == "type":
        value.data_type = onnx.TensorProto.INT32
    elif field == "shape":
        value.dims.insert(0, 1)
    else:
        value.name = "third"
    assert digest(other) != digest(model())


def test_what_is_not_read_is_refused():
    other = model()
    other.graph.initializer[0].ClearField("raw_data")
    other.graph.initializer[0].float_data.extend([1.0, 2.0])
    with pytest.raises(ValueError, match="a tensor with field 4"):
        digest(other)
    other = model()
    other.graph.sparse_initializer.add()
    with pytest.raises(ValueError, match="a graph with field 15"):
        digest(other)


@pytest.mark.parametrize("damaged", [b"damaged", b"\x3a\xff\x01", b"\x0a\x01\x00\x39" + bytes(8)])
def test_bytes_that_are_no_graph_are_refused(damaged):
    with pytest.raises(ValueError, match="byte"):
        graph_digest(damaged)

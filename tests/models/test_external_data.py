"""Weights in other files are found wherever an ONNX graph may hold a tensor."""

import contextlib

import numpy as np
import onnx
import pytest
from hypothesis import given
from hypothesis import strategies as st
from onnx import TensorProto, helper, numpy_helper

from closecall.models.external import has_external_data
from closecall.models.store import find_model

IR_VERSION = 10
VALUES = numpy_helper.from_array(np.arange(6, dtype=np.float32).reshape(2, 3), "w")


def external():
    tensor = TensorProto(
        name="w", data_type=TensorProto.FLOAT, dims=[2, 3], data_location=TensorProto.EXTERNAL
    )
    entry = tensor.external_data.add()
    entry.key, entry.value = "location", "w.bin"
    return tensor


def model(nodes=(), initializers=(), sparse=(), functions=()):
    graph = helper.make_graph(nodes, "g", [], [], initializers, sparse_initializer=sparse)
    made = helper.make_model(graph, functions=functions, ir_version=IR_VERSION)
    return made.SerializeToString()


def constant(tensor):
    return helper.make_node("Constant", [], ["c"], value=tensor)


def branch(tensor):
    graph = helper.make_graph([], "inner", [], [], [tensor])
    return helper.make_node("If", ["x"], ["y"], then_branch=graph)


def function(tensor):
    opset = helper.make_opsetid("", 17)
    return helper.make_function("own", "f", [], ["c"], [constant(tensor)], [opset])


def sparse(tensor):
    indices = numpy_helper.from_array(np.arange(6), "i")
    return onnx.SparseTensorProto(values=tensor, indices=indices, dims=[6])


@pytest.mark.parametrize(
    "place",
    {
        "initializer": lambda tensor: model(initializers=[VALUES, tensor]),
        "sparse initializer": lambda tensor: model(sparse=[sparse(tensor)]),
        "constant": lambda tensor: model([constant(VALUES), constant(tensor)]),
        "list of tensors": lambda tensor: model(
            [helper.make_node("Own", [], ["c"], domain="own", values=[tensor])]
        ),
        "branch": lambda tensor: model([branch(tensor)]),
        "function": lambda tensor: model(functions=[function(tensor)]),
    }.items(),
    ids=lambda item: item[0],
)
def test_wherever_a_tensor_may_stand(place):
    assert has_external_data(place[1](external()))
    assert not has_external_data(place[1](VALUES))


def test_the_name_of_the_place_alone_is_no_external_data():
    made = onnx.load_from_string(model(initializers=[VALUES]))
    entry = made.metadata_props.add()
    entry.key, entry.value = "location", "w.bin"
    assert not has_external_data(made.SerializeToString())
    assert not has_external_data(find_model().graph.read_bytes())


@given(st.binary(max_size=60))
def test_any_bytes_are_a_message_or_a_value_error(data):
    with contextlib.suppress(ValueError):
        assert has_external_data(data) in (True, False)


def test_a_message_cut_short_is_told():
    whole = model(initializers=[VALUES])
    with pytest.raises(ValueError, match="byte"):
        has_external_data(whole[:-3])
    with pytest.raises(ValueError, match="byte"):
        has_external_data(b"\x0b" * 9)

"""Graphs that are no pair model, and what is said of them."""

import numpy as np
import onnx
import pair_world
import pytest
from onnx import TensorProto, helper, numpy_helper

from closecall.errors import ModelError
from closecall.metrics.pairs.metric import CrossEncoderScore
from closecall.records import Case, Measured


def inputs(*names, shape=("pairs", "tokens"), kind=TensorProto.INT64):
    return [helper.make_tensor_value_info(name, kind, list(shape)) for name in names]


def model(given, outputs, nodes, constants=()):
    graph = helper.make_graph(nodes, "g", given, outputs, list(constants))
    return helper.make_model(graph, opset_imports=[helper.make_opsetid("", 17)], ir_version=8)


def three(name="logits", width=3):
    """A graph that repeats the ids' sum as each logit."""
    weights = numpy_helper.from_array(np.ones((1, width), dtype=np.float32), "w")
    nodes = [
        helper.make_node("Cast", ["input_ids"], ["x"], to=TensorProto.FLOAT),
        helper.make_node("ReduceMean", ["x"], ["mean"], axes=[1], keepdims=1),
        helper.make_node("MatMul", ["mean", "w"], [name]),
    ]
    out = helper.make_tensor_value_info(name, TensorProto.FLOAT, ["pairs", width])
    return nodes, [out], [weights]


def loading(path, weights, made):
    folder = pair_world.write(path, weights, model=made)
    metric = CrossEncoderScore(model=folder)
    with pytest.raises(ModelError) as caught:
        metric.load()
    assert str(folder / "model.onnx") in str(caught.value)
    return str(caught.value)


def test_other_inputs_are_refused(tmp_path, weights):
    nodes, out, constants = three()
    for at, (given, said) in enumerate(
        [
            (inputs("input_ids", "position_ids"), "input 'position_ids'"),
            (inputs("input_ids", kind=TensorProto.FLOAT), "of tensor(float)"),
            (inputs("input_ids", shape=(1, "tokens")), "dynamic axes"),
            (inputs("input_ids", shape=("pairs", 128)), "dynamic axes"),
        ]
    ):
        assert said in loading(tmp_path / str(at), weights, model(given, out, nodes, constants))


def test_other_outputs_are_refused(tmp_path, weights):
    nodes, out, constants = three(width=2)
    given = inputs("input_ids")
    said = loading(tmp_path / "a", weights, model(given, out, nodes, constants))
    assert "output 'logits' has the shape ['pairs', 2]" in said
    assert "names 3 outputs" in said
    nodes, out, constants = three("scores")
    also = helper.make_tensor_value_info("mean", TensorProto.FLOAT, ["pairs", 1])
    said = loading(tmp_path / "b", weights, model(given, [*out, also], nodes, constants))
    assert "has the outputs scores, mean; expected 'logits'" in said


def test_outputs_that_are_no_numbers_or_not_there_are_refused(tmp_path, weights):
    nodes, _, constants = three("numbers")
    nodes.append(helper.make_node("Cast", ["numbers"], ["logits"], to=TensorProto.STRING))
    spelled = helper.make_tensor_value_info("logits", TensorProto.STRING, ["pairs", 3])
    given = inputs("input_ids")
    said = loading(tmp_path / "a", weights, model(given, [spelled], nodes, constants))
    assert "its output 'logits' is of tensor(string); expected floating-point numbers" in said
    nodes, _, constants = three()
    assert loading(tmp_path / "b", weights, model(given, [], nodes, constants))


def test_outputs_of_another_number_than_the_labels_are_refused(tmp_path, weights):
    nodes = [helper.make_node("Cast", ["input_ids"], ["logits"], to=TensorProto.FLOAT)]
    loose = helper.make_tensor_value_info("logits", TensorProto.FLOAT, ["pairs", "tokens"])
    made = model(inputs("input_ids"), [loose], nodes)
    metric = CrossEncoderScore(model=pair_world.write(tmp_path / "m", weights, model=made))
    with pytest.raises(ModelError, match=r"shape \(2, 7\) for 2 pairs.*names 3"):
        metric.measure(Case(id="1", response="the cat", references=("the dog",)), {})


def test_a_graph_without_token_types_or_mask_is_run(tmp_path, weights):
    nodes, out, constants = three()
    made = model(inputs("input_ids"), out, nodes, constants)
    metric = CrossEncoderScore(model=pair_world.write(tmp_path / "m", weights, model=made))
    found = metric.measure(Case(id="1", response="the cat", references=("the dog",)), {})
    assert isinstance(found, Measured)
    assert found.value == pytest.approx(1 / 3, abs=1e-6)


def test_weights_in_other_files_are_refused(tmp_path, weights):
    made = pair_world.graph(weights)
    folder = pair_world.write(tmp_path / "m", weights)
    onnx.save(
        made, folder / "model.onnx", save_as_external_data=True, location="w.bin", size_threshold=0
    )
    with pytest.raises(ModelError, match="external data"):
        CrossEncoderScore(model=folder).load()


@pytest.mark.parametrize("data", [b"", b"not a graph", b"\x0a\xff\xff\xff"])
def test_what_is_no_graph_is_refused(tmp_path, weights, data):
    folder = pair_world.write(tmp_path / "m", weights)
    (folder / "model.onnx").write_bytes(data)
    with pytest.raises(ModelError, match=r"not an ONNX file|the runtime cannot load it"):
        CrossEncoderScore(model=folder).load()


def test_what_is_no_tokenizer_is_refused(tmp_path, weights):
    folder = pair_world.write(tmp_path / "m", weights)
    (folder / "tokenizer.json").write_text("{}", encoding="utf-8")
    with pytest.raises(ModelError, match="not a tokenizer"):
        CrossEncoderScore(model=folder).load()


def test_a_tokenizer_that_cuts_is_made_to_read_on(tmp_path, weights):
    folder = pair_world.write(tmp_path / "m", weights)
    cutting = pair_world.tokenizer()
    cutting.enable_truncation(6)
    cutting.enable_padding(length=20)
    cutting.save(str(folder / "tokenizer.json"))
    whole = pair_world.write(tmp_path / "whole", weights)
    one = Case(id="1", response="the cat is red", references=("in the barn the cat is red",))
    values = [CrossEncoderScore(model=path).measure(one, {}).value for path in (folder, whole)]
    assert values[0] == values[1]


def test_weights_without_torch_say_what_to_install(tmp_path, weights, monkeypatch):
    folder = pair_world.write(tmp_path / "m", weights)
    (folder / "model.onnx").rename(folder / "model.safetensors")
    monkeypatch.setattr("closecall.metrics.pairs.runtime.find_spec", lambda name: None)
    with pytest.raises(ImportError, match=r"torch and sentence_transformers.*closecall\[torch\]"):
        CrossEncoderScore(model=folder)

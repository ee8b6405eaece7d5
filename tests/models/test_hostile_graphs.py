"""Graphs put together by hand so that a check sees one thing and the runtime another, or crashes."""

import hashlib
import time

import numpy as np
import onnx
import onnxruntime
import pytest
import tiny_bert
import tiny_export
from onnx import TensorProto, helper, numpy_helper
from test_onnx_functions import PLAIN, doubling, function, graph

from closecall.embedders.onnx import OnnxEmbedder
from closecall.embedders.onnx_export import ExportedEmbedder
from closecall.embedders.onnx_session import make_session
from closecall.errors import EmbeddingError, ModelError
from closecall.models import store
from closecall.models.exported import read_exported
from closecall.models.external import has_external_data
from closecall.models.graph_facts import graph_facts
from closecall.models.onnx_functions import MOST_CALLS, MOST_NODES, require_bounded

WIDTH = tiny_bert.CONFIG["hidden_size"]
TEXTS = ["red cat", "blue dog", "green bird"]


def varint(number):
    out = b""
    while True:
        number, low = number >> 7, number & 0x7F
        out += bytes([low | 0x80 * (number > 0)])
        if not number:
            return out


def field(number, data, *, above=0):
    """A field of bytes; ``above`` is added to its tag, beyond the 32 bits that readers take."""
    return varint((number << 3 | 2) + above) + varint(len(data)) + data


# --- what a check sees -----------------------------------------------------------------------


@pytest.mark.parametrize("above", [1 << 32, 1 << 33, 1 << 34])
def test_a_field_whose_number_only_readers_shorten_is_refused(above):
    tensor = TensorProto(name="w", data_type=1, dims=[2], data_location=TensorProto.EXTERNAL)
    entry = onnx.StringStringEntryProto(key="location", value="w.bin").SerializeToString()
    whole = tensor.SerializeToString()
    assert has_external_data(field(7, field(5, whole + field(13, entry))))
    with pytest.raises(ValueError, match="a field of number"):
        has_external_data(field(7, field(5, whole + field(13, entry, above=above))))
    with pytest.raises(ValueError, match="a field of number 0"):
        has_external_data(b"\0\0")


def test_a_second_graph_does_not_hide_the_first():
    """Readers make one of both."""
    data = graph("F0", doubling(40)) + field(7, b"")
    assert len(onnx.load_from_string(data).graph.node) == 1
    with pytest.raises(ValueError, match=f"more than {MOST_NODES:,} nodes"):
        require_bounded(data)


@pytest.mark.parametrize("overload", ["", "other"])
def test_a_second_function_of_the_name_does_not_hide_the_first(overload):
    small = function("F0")
    small.overload = overload
    with pytest.raises(ValueError, match=f"more than {MOST_NODES:,} nodes"):
        require_bounded(graph("F0", [*doubling(40), small]))


def chain(length):
    return [
        function(f"F{at}", *([f"F{at + 1}"] if at + 1 < length else [])) for at in range(length)
    ]


def test_functions_that_call_one_another_in_a_long_row_are_refused_at_once():
    require_bounded(graph("F0", chain(MOST_CALLS)))
    data = graph("F0", chain(6000))
    begun = time.process_time()
    with pytest.raises(ValueError, match=rf"more than {MOST_CALLS} functions call one another"):
        require_bounded(data)
    # In time that grows with the square of their number it took some seconds.
    assert time.process_time() - begun < 1


def test_a_type_of_more_than_32_bits_is_what_readers_make_of_it():
    tensor = varint(2 << 3) + varint((1 << 32) + TensorProto.INT8) + field(1, varint(2) * 2)
    assert graph_facts(field(7, field(5, tensor))).precision == "int8"


def test_an_operator_of_bits_that_there_are_not_is_refused():
    node = helper.make_node("MatMulNBits", ["a"], ["b"], domain="com.microsoft", bits=10**15)
    made = helper.make_model(helper.make_graph([node], "g", [], []))
    with pytest.raises(ValueError, match="MatMulNBits of 1000000000000000 bits"):
        graph_facts(made.SerializeToString())


def both(tmp_path):
    """The bytes of a graph in the runtime's own format that are an empty ONNX file as well.

    The first four of them say where the graph begins, the next four are ORTM. As an ONNX file they
    are a number, and one of eight bytes that nobody asks for; a text takes in all that follows.
    """
    options = onnxruntime.SessionOptions()
    options.log_severity_level = 3
    options.optimized_model_filepath = str(tmp_path / "graph.ort")
    options.add_session_config_entry("session.save_model_format", "ORT")
    value = [helper.make_tensor_value_info(name, TensorProto.FLOAT, ["n"]) for name in ("x", "y")]
    node = helper.make_node("Add", ["x", "w"], ["y"])
    made = helper.make_graph([node], "g", value[:1], value[1:], [constant(1)])
    plain = helper.make_model(made, ir_version=8, opset_imports=[PLAIN]).SerializeToString()
    onnxruntime.InferenceSession(plain, options, providers=["CPUExecutionProvider"])
    data = (tmp_path / "graph.ort").read_bytes()
    assert data[4:8] == b"ORTM"
    begins = 0x090A08
    moved = begins - int.from_bytes(data[:4], "little")
    if moved % 8:  # what is moved by less is not read
        pytest.skip("this runtime lays its files out in another way")
    head = begins.to_bytes(4, "little") + b"ORTM" + bytes(3)
    size = moved + len(data) - len(head) - 6
    return (
        head
        + b"\x32"
        + varint(size | 1 << 34)[:4]
        + bytes([size >> 28])
        + (bytes(8 + moved - len(head) - 6) + data[8:])
    )


def test_bytes_in_the_runtimes_own_format_are_not_run(tmp_path):
    """No check reads that format."""
    data = both(tmp_path)
    begun = onnxruntime.InferenceSession(data, providers=["CPUExecutionProvider"])
    assert [entry.name for entry in begun.get_outputs()] == ["y"]
    assert not has_external_data(data)
    with pytest.raises(ModelError, match="here: the runtime cannot load it"):
        make_session(data, "here")


# --- what a graph gives ----------------------------------------------------------------------


def written(path, nodes, output, weights=(), kind=TensorProto.INT32):
    inputs = [
        helper.make_tensor_value_info(name, kind, ["n", "s"])
        for name in ("input_ids", "attention_mask")
    ]
    made = helper.make_graph(nodes, "g", inputs, [helper.make_tensor_value_info(*output)], weights)
    data = helper.make_model(made, ir_version=8, opset_imports=[PLAIN]).SerializeToString()
    path.write_bytes(data)
    return data


def compiled(tmp_path, *made):
    """A model whose card records another graph than that of its weights."""
    tiny_bert.write_folder(tmp_path / "source")
    model = store.add_model(tmp_path / "source", "tiny")
    data = written(model.graph, *made)
    old = next(entry for entry in model.card.files if entry.name == "model.onnx")
    card = model.folder / "card.toml"
    text = card.read_text(encoding="utf-8").replace(old.sha256, hashlib.sha256(data).hexdigest())
    card.write_text(text.replace(f"size = {old.size}", f"size = {len(data)}"), encoding="utf-8")
    return OnnxEmbedder(model.folder)


def constant(*shape):
    return numpy_helper.from_array(np.ones(shape, dtype=np.float32), "w")


SAME = [helper.make_node("Identity", ["w"], ["embedding"])]
SPELLED = [helper.make_node("Cast", ["w"], ["embedding"], to=TensorProto.STRING)]


@pytest.mark.parametrize(
    "made",
    [
        (SAME, ("embedding", 1, ["n", WIDTH]), [constant(1, WIDTH)]),  # one row for three texts
        (SAME, ("embedding", 1, ["n", WIDTH]), [constant(2, WIDTH)]),
        (SAME, ("embedding", 1, [WIDTH]), [constant(WIDTH)]),
        (SAME, ("embedding", 1, ["n", "s", WIDTH]), [constant(3, 4, WIDTH)]),
        (SPELLED, ("embedding", TensorProto.STRING, ["n", WIDTH]), [constant(3, WIDTH)]),
    ],
    ids=["one row", "too few rows", "no rows", "too deep", "no numbers"],
)
def test_vectors_of_another_shape_are_refused_and_not_spread_over_the_texts(tmp_path, made):
    with pytest.raises(EmbeddingError, match=rf"of shape .*\(3, {WIDTH}\) are wanted"):
        compiled(tmp_path, *made).embed(TEXTS)


def unforeseen(name, shape):
    """Nodes that give an output of a shape that nothing tells before they run."""
    return [
        helper.make_node("Shape", ["input_ids"], ["sizes"]),
        helper.make_node("Mul", ["sizes", "zero"], ["zeros"]),
        helper.make_node("ReduceSum", ["zeros"], ["nothing"], keepdims=1),
        helper.make_node("Add", ["wanted", "nothing"], ["shape"]),
        helper.make_node("ConstantOfShape", ["shape"], [name]),
    ], [
        numpy_helper.from_array(np.array(shape, dtype=np.int64), "wanted"),
        numpy_helper.from_array(np.array(0, dtype=np.int64), "zero"),
    ]


@pytest.mark.parametrize(
    ("name", "shape"),
    [
        ("sentence_embedding", [0, WIDTH]),
        ("sentence_embedding", [2, WIDTH]),
        ("last_hidden_state", [1, 0, WIDTH]),
        ("last_hidden_state", [2, 3, WIDTH]),
    ],
)
def test_an_export_that_gives_other_shapes_than_it_declares_is_refused(tmp_path, name, shape):
    folder = tmp_path / "model"
    tiny_export.write_export(folder)
    nodes, weights = unforeseen(name, shape)
    declared = ["n", WIDTH] if name == "sentence_embedding" else ["n", "s", WIDTH]
    written(folder / "onnx" / "model.onnx", nodes, (name, 1, declared), weights, TensorProto.INT64)
    with pytest.raises(ModelError, match=f"the graph's output '{name}' has the shape"):
        ExportedEmbedder(folder).embed(TEXTS)


def test_an_export_whose_shapes_change_later_on_is_refused(tmp_path):
    """The text it is tried with has one row, the texts have three."""
    folder = tmp_path / "model"
    tiny_export.write_export(folder)
    nodes, weights = unforeseen("sentence_embedding", [1, WIDTH])
    output = ("sentence_embedding", 1, ["n", WIDTH])
    written(folder / "onnx" / "model.onnx", nodes, output, weights, TensorProto.INT64)
    with pytest.raises(EmbeddingError, match=r"'sentence_embedding' has the shape \(1, "):
        ExportedEmbedder(folder).embed(TEXTS)


def test_a_width_that_the_card_makes_up_takes_no_memory(tmp_path):
    tiny_bert.write_folder(tmp_path / "source")
    card = store.add_model(tmp_path / "source", "tiny").folder / "card.toml"
    text = card.read_text(encoding="utf-8")
    card.write_text(text.replace(f"dims = {WIDTH}", "dims = 1000000"), encoding="utf-8")
    with pytest.raises(ModelError, match="the card says 1000000"):
        OnnxEmbedder(card.parent).embed(["red"] * 1_000_000)
    card.write_text(text.replace(f"dims = {WIDTH}", f"dims = {1 << 62}"), encoding="utf-8")
    with pytest.raises(ModelError, match="dims: must be from 1 to 1,000,000"):
        OnnxEmbedder(card.parent)


def test_a_width_that_a_configuration_makes_up_takes_no_memory(tmp_path):
    folder = tmp_path / "model"
    tiny_export.write_export(folder, config={"hidden_size": 24})
    path = folder / "config.json"
    text = path.read_text(encoding="utf-8")
    path.write_text(text.replace('"hidden_size": 24', f'"hidden_size": {1 << 62}'), "utf-8")
    with pytest.raises(ModelError, match="vectors of more than 1,000,000 numbers"):
        ExportedEmbedder(folder).embed([])


# --- what is read ----------------------------------------------------------------------------


def test_a_graph_larger_than_the_format_has_them_is_not_read(tmp_path):
    folder = tmp_path / "model"
    tiny_export.write_export(folder)
    with (folder / "onnx" / "model.onnx").open("r+b") as file:
        file.truncate(1 << 40)  # most file systems keep none of it
    with pytest.raises(ModelError, match=r"model\.onnx: .*more than 2,147,483,647 bytes"):
        _ = ExportedEmbedder(folder).instrument


def test_a_file_of_many_names_is_read_once(tmp_path):
    folder = tmp_path / "model"
    tiny_export.write_export(folder)
    (folder / "onnx" / "w.bin").write_bytes(bytes(1000))
    tensors = []
    for at in range(3):
        tensor = TensorProto(name=f"w{at}", data_type=1, dims=[2, 3], data_location=1)
        for key, value in (("location", "./" * at + "w.bin"), ("length", "24")):
            entry = tensor.external_data.add()
            entry.key, entry.value = key, value
        tensors.append(tensor)
    path = folder / "onnx" / "model.onnx"
    path.write_bytes(
        helper.make_model(helper.make_graph([], "g", [], [], tensors)).SerializeToString()
    )
    found = read_exported(folder, path)
    assert sorted(found.beside) == ["././w.bin", "./w.bin", "w.bin"]
    assert len({id(data) for data in found.beside.values()}) == 1
